"""What learning cbe-opt costs, as a multiple of encoding the learning rows once with cbe-rand on the same cores.

Learning and encoding take turns; the quickest of each counts. Iterations are a number asked for, without early
stopping; memory is what the process peaked at in learning beyond what it held before. Times wander on a shared machine:
read the ratios.

Usage: python scripts/bench_learning.py [--sizes 10000x25600] [--iterations 10] [--out results/reference/learning.csv]
"""

import time
from pathlib import Path

import click
import numpy as np
import pandas as pd

from cbe_bench import CBEOpt, CBERand
from cbe_bench.cache import whole_file
from cbe_bench.environment import peak_memory
from cbe_bench.kernels.parallel import thread_count


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(n: int, d: int, iterations: int, turns: int) -> dict[str, float]:
    """Time learning and encoding of n unit vectors of d dimensions."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.sqrt(d)
    CBEOpt(max_iter=2, tol=0, random_state=0).fit(X[:4])  # plans and compiled code
    encoder = CBERand(random_state=0).fit(X)
    encoder.encode(X, check_input=False)
    learner = CBEOpt(max_iter=iterations, tol=0, random_state=0)
    before = peak_memory()
    learn, encode = [], []
    for _ in range(turns):
        encode.append(seconds(lambda: encoder.encode(X, check_input=False)))
        learn.append(seconds(lambda: learner.fit(X)))
    encode.append(seconds(lambda: encoder.encode(X, check_input=False)))
    return {
        "n": n,
        "d": d,
        "threads": thread_count(),
        "iterations": learner.n_iter_,
        "encode_s": min(encode),
        "learn_s": min(learn),
        "ratio": min(learn) / min(encode),
        "us_per_row_and_iteration": 1e6 * min(learn) / n / learner.n_iter_,
        "peak_mib_beside_data": (peak_memory() - before) / 2**20,
    }


@click.command(help=__doc__)
@click.option(
    "--sizes",
    default="1000x25600,3000x25600,10000x25600,10000x768,10000x2048,10000x6400,1000x131072",
    show_default=True,
    help="Rows x dimensions, smallest first if memory is to be read.",
)
@click.option("--iterations", default=10, show_default=True)
@click.option("--turns", default=3, show_default=True, help="How often each is timed.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the table to this CSV file.")
def main(sizes: str, iterations: int, turns: int, out: Path | None) -> None:
    rows = []
    for size in sizes.split(","):
        n, d = (int(part) for part in size.split("x"))
        rows.append(measure(n, d, iterations, turns))
        line = rows[-1]
        print(
            f"n = {n:7,} d = {d:7,}  encode {line['encode_s']:7.3f} s  learn {line['learn_s']:7.3f} s"
            f"  ratio {line['ratio']:5.1f}  {line['us_per_row_and_iteration']:7.1f} us a row and iteration"
            f"  +{line['peak_mib_beside_data']:,.0f} MiB",
            flush=True,
        )
    if out:
        with whole_file(out) as temporary:
            pd.DataFrame(rows).to_csv(temporary, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
