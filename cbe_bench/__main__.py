"""``python -m cbe_bench`` is ``cbe-bench``."""

from cbe_bench.cli import main

if __name__ == "__main__":
    main(prog_name="cbe-bench")
