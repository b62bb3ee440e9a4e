"""What learning cbe-opt costs, as a multiple of encoding the learning rows once with cbe-rand on the same cores.

Learning and encoding take turns; the quickest of each counts. Iterations are a number asked for, without early
stopping; memory is the peak of what learning allocates. On a machine shared with others a long run is disturbed more
than a short one: the ratio of processor times, over all cores, then says more than that of times.

Usage: python scripts/bench_learning.py [--sizes 10000x25600] [--iterations 10] [--out results/reference/learning.csv]
"""

import time
import tracemalloc
from pathlib import Path

import click
import numpy as np
import pandas as pd

from cbe_bench import CBEOpt, CBERand
from cbe_bench.core.cache import whole_file
from cbe_bench.kernels.parallel import thread_count


def seconds(work) -> np.ndarray:
    """Return the time and the processor time of all cores that work takes."""
    start = np.array([time.perf_counter(), time.process_time()])
    work()
    return np.array([time.perf_counter(), time.process_time()]) - start


def allocated(X: np.ndarray) -> int:
    """Return the most that learning from X holds beside X."""
    tracemalloc.start()
    CBEOpt(max_iter=2, tol=0, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measure(n: int, d: int, iterations: int, turns: int) -> dict[str, float]:
    """Time learning and encoding of n unit vectors of d dimensions."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.sqrt(d)
    CBEOpt(max_iter=2, tol=0, random_state=0).fit(X[:4])  # plans and compiled code
    encoder = CBERand(random_state=0).fit(X)
    encoder.encode(X, check_input=False)
    learner = CBEOpt(max_iter=iterations, tol=0, random_state=0)
    learn, encode = [], []
    for _ in range(turns):
        encode.append(seconds(lambda: encoder.encode(X, check_input=False)))
        learn.append(seconds(lambda: learner.fit(X)))
    encode.append(seconds(lambda: encoder.encode(X, check_input=False)))
    (learn_s, learn_cpu), (encode_s, encode_cpu) = np.min(learn, axis=0), np.min(encode, axis=0)
    return {
        "n": n,
        "d": d,
        "threads": thread_count(),
        "iterations": learner.n_iter_,
        "encode_s": encode_s,
        "learn_s": learn_s,
        "ratio": learn_s / encode_s,
        "cpu_ratio": learn_cpu / encode_cpu,
        "us_per_row_and_iteration": 1e6 * learn_s / n / learner.n_iter_,
        "peak_mib_beside_data": allocated(X) / 2**20,
    }


@click.command(help=__doc__)
@click.option(
    "--sizes",
    default="1000x25600,3000x25600,10000x25600,10000x768,10000x2048,10000x6400,1000x131072",
    show_default=True,
    help="Rows x dimensions.",
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
            f"  ratio {line['ratio']:5.1f}, of processor time {line['cpu_ratio']:5.1f}"
            f"  {line['us_per_row_and_iteration']:7.1f} us a row and iteration"
            f"  +{line['peak_mib_beside_data']:,.0f} MiB",
            flush=True,
        )
    if out:
        with whole_file(out) as temporary:
            pd.DataFrame(rows).to_csv(temporary, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
