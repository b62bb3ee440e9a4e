"""What learning cbe-opt costs, as a multiple of encoding the learning rows once with cbe-rand on the same cores.

Learning and encoding are interleaved; the fastest of each counts. Iterations are a number asked for, without early
stopping; memory is the peak of what learning allocates. On a machine shared with others a long run is disturbed more
than a short one: the ratio of processor times, over all cores, then says more than that of times.

itq and bilinear-opt are learned beside faiss ITQMatrix, the public form of the former, from the same rows to the same
number of bits, all on as many threads.

Usage: python scripts/bench_learning.py [--sizes 10000x25600] [--iterations 10]
"""

import time
import tracemalloc
from functools import partial

import click
import numpy as np
import pandas as pd
from tables import peer, write_table

from cbe_bench import CBEOpt, CBERand
from cbe_bench.encoders import make_encoder
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


def measure(n: int, d: int, iterations: int, repeats: int) -> dict[str, float]:
    """Time learning and encoding of n unit vectors of d dimensions."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.sqrt(d)
    CBEOpt(max_iter=2, tol=0, random_state=0).fit(X[:4])  # plans and compiled code
    encoder = CBERand(random_state=0).fit(X)
    encoder.encode(X, check_input=False)
    learner = CBEOpt(max_iter=iterations, tol=0, random_state=0)
    learn, encode = [], []
    for _ in range(repeats):
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


def measure_rotations(n: int, d: int, n_bits: int, repeats: int) -> pd.DataFrame:
    """Time learning of itq and bilinear-opt, and of faiss ITQMatrix, as many iterations of each of the ITQs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32) @ (rng.standard_normal((d, d), dtype=np.float32) / np.sqrt(d))
    learners = {name: make_encoder(name, n_bits=n_bits, random_state=0) for name in ("itq", "bilinear-opt")}
    works = {name: partial(learner.fit, X) for name, learner in learners.items()}
    if (faiss := peer("faiss")) is not None:
        faiss.omp_set_num_threads(thread_count())

        def train() -> None:
            transform = faiss.ITQTransform(d, n_bits, True)
            transform.itq.max_iter = learners["itq"].n_iter
            transform.train(X)

        works["faiss ITQ"] = train
    times = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(seconds(work)[0])
    best = {name: min(values) for name, values in times.items()}
    table = pd.DataFrame({"n": n, "d": d, "n_bits": n_bits, "learned_by": list(best), "learn_s": list(best.values())})
    table["iterations"] = [learners[name if name in learners else "itq"].n_iter for name in best]
    return table.assign(threads=thread_count(), times_faiss_itq=table["learn_s"] / best.get("faiss ITQ", np.nan))


@click.command(help=__doc__)
@click.option(
    "--sizes",
    default="10000x25600,10000x768,10000x2048,10000x6400,500x131072",
    show_default=True,
    help="Rows x dimensions.",
)
@click.option("--iterations", default=10, show_default=True)
@click.option("--repeats", default=3, show_default=True, help="How often each is timed.")
@click.option("--rotations", default="5000x512x128,5000x1536x256", show_default=True, help="Rows x dimensions x bits.")
def main(sizes: str, iterations: int, repeats: int, rotations: str) -> None:
    cases = [[int(part) for part in size.split("x")] for size in sizes.split(",")]
    write_table(pd.DataFrame([measure(n, d, iterations, repeats) for n, d in cases]), "learning")
    others = [[int(part) for part in size.split("x")] for size in rotations.split(",")]
    write_table(pd.concat([measure_rotations(*sizes, repeats) for sizes in others]), "learning-rotations")


if __name__ == "__main__":
    main()
