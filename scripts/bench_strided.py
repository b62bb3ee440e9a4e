"""Fewer bits for less time: strided rows of a circulant matrix against all rows, the first rows, and hd3.

Same vectors, same run, one thread each, interleaved, from float32 vectors in memory to packed bits; the best of many
calls. Times vary on a shared machine; read the ratios.

Usage: python scripts/bench_strided.py [--seconds 2]
"""

import time
from collections.abc import Callable
from functools import partial

import click
import numpy as np
import pandas as pd
from tables import write_table

from cbe_bench.encoders import make_encoder
from cbe_bench.kernels.parallel import blas_threads, pinned

CASES = [
    (768, 192),
    (1536, 256),
    (1536, 384),
    (4096, 256),
    (25_600, 1_600),
    (25_600, 3_200),
    (2**15, 2**10),
    (2**17, 2**12),
    (2**20, 2**16),
    (2**20, 2**14),
    (2**24, 2**20),
    (2**24, 2**18),
]
"""Dimensions and code lengths."""


def compare(d: int, n_bits: int, seconds: float) -> pd.DataFrame:
    """Time every form at one dimension and code length."""
    X = np.random.default_rng(0).standard_normal((max(1, min(1024, 2**20 // d)), d), dtype=np.float32)
    encoders = {
        "k = d": make_encoder("cbe-rand", random_state=0),
        "first rows": make_encoder("cbe-rand", n_bits=n_bits, random_state=0),
        "strided rows": make_encoder("cbe-rand", n_bits=n_bits, rows="strided", random_state=0),
        "hd3": make_encoder("hd3", n_bits=n_bits, random_state=0),
    }
    jobs = {name: partial(encoder.fit(X[:1]).encode, X, check_input=False) for name, encoder in encoders.items()}
    us = {name: 1e6 * best / len(X) for name, best in best_times(jobs, seconds).items()}
    return pd.DataFrame(
        {
            "d": d,
            "n_bits": n_bits,
            "form": list(us),
            "encode_us_per_vector": list(us.values()),
            "speedup_over_k_equal_d": [us["k = d"] / t for t in us.values()],
            "speedup_over_hd3": [us["hd3"] / t for t in us.values()],
        }
    )


def best_times(jobs: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the shortest time of each job, interleaved."""
    best = dict.fromkeys(jobs, float("inf"))
    for job in jobs.values():
        job()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


@click.command(help=__doc__)
@click.option("--seconds", default=2.0, show_default=True, help="Seconds for each dimension and code length.")
def main(seconds: float) -> None:
    with pinned(1), blas_threads(1):
        frame = pd.concat([compare(d, n_bits, seconds) for d, n_bits in CASES])
    write_table(frame, "strided")


if __name__ == "__main__":
    main()
