"""Encode time of the circulant and the Hadamard-based methods at the paper's Figure 5: same run, interleaved.

Rows in batches, unchecked, one thread unless told otherwise; medians, in microseconds a vector, and how many times
longer than cbe-rand. The sparse product of fjlt is also timed as scipy.sparse does it, alone. Times wander on a
shared machine; read the ratios.

Usage: python scripts/bench_fbe.py [--bits 5000,10000,15000]
"""

from functools import partial

import click
import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from tables import write_table

from cbe_bench import FJLT, make_encoder
from cbe_bench.core.progress import no_progress
from cbe_bench.evaluators.timers import Candidate, interleaved
from cbe_bench.kernels.parallel import blas_threads, pinned

METHODS = {
    "cbe-rand": {},
    "cbe-orth": {},
    "fbe": {},
    "fjlt-1": {"density": 0.01},
    "fjlt-5": {"density": 0.05},
    "fjlt-10": {"density": 0.1},
    "hd3": {},
    "lsh": {"store": True},
}


def by_scipy(encoder: FJLT, batch: int) -> Candidate:
    shape = encoder.n_bits_, len(encoder.signs_)
    ends = np.arange(shape[0] + 1) * encoder.columns_.shape[1]
    P = csr_array((encoder.entries_.ravel(), encoder.columns_.ravel().astype(np.int32), ends), shape=shape)
    Y = np.random.default_rng(0).standard_normal((shape[1], batch), dtype=np.float32)
    return Candidate("fjlt-1, P by scipy", partial(P.__matmul__, Y), batch)


def measure(X: np.ndarray, n_bits: int, budget: float) -> list[dict[str, object]]:
    candidates: list[Candidate] = []
    parameters: dict[str, int] = {}
    for label, params in METHODS.items():
        name = "fjlt" if label.startswith("fjlt") else label
        encoder = make_encoder(name, n_bits=n_bits, random_state=0, **params).fit(X)
        parameters[label] = encoder.parameter_bytes()
        candidates.append(Candidate(label, partial(encoder.encode, X, check_input=False), len(X)))
        if label == "fjlt-1":
            candidates.append(by_scipy(encoder, len(X)))
    list(interleaved(candidates, budget, no_progress))
    base = candidates[0].quartiles()[1]
    return [
        {
            "d": X.shape[1],
            "n_bits": n_bits,
            "batch": len(X),
            "method": candidate.name,
            "encode_us_per_vector": 1e6 * candidate.quartiles()[1],
            "least_us_per_vector": 1e6 * min(candidate.samples),
            "times_cbe_rand": candidate.quartiles()[1] / base,
            "megabytes": parameters.get(candidate.name, np.nan) / 1e6,
            "samples": len(candidate.samples),
        }
        for candidate in candidates
    ]


@click.command(help=__doc__)
@click.option("--dim", default=25_600, show_default=True)
@click.option("--bits", default="5000,10000,15000", show_default=True)
@click.option("--batch", default=256, show_default=True)
@click.option("--threads", default=1, show_default=True)
@click.option("--budget", default=0.5, show_default=True, help="Seconds for each candidate.")
def main(dim: int, bits: str, batch: int, threads: int, budget: float) -> None:
    X = np.random.default_rng(0).standard_normal((batch, dim), dtype=np.float32)
    rows: list[dict[str, object]] = []
    with pinned(threads), blas_threads(threads):
        for n_bits in map(int, bits.split(",")):
            rows += measure(X, n_bits, budget)
    write_table(pd.DataFrame(rows), "fbe")


if __name__ == "__main__":
    main()
