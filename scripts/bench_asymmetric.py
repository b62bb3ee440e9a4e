"""Asymmetric scores by table look-up against unpacking the codes and a matrix product by BLAS, interleaved.

    python scripts/bench_asymmetric.py

Both rank ten codes of each query among all by the inner product with the query's real values.
"""

import time

import numpy as np
import pandas as pd
from tables import write_table

from cbe_bench.evaluators.retrieval.metrics import asymmetric_ranks
from cbe_bench.kernels.bits import unpack_signs
from cbe_bench.kernels.parallel import for_slices

REPEATS, NEIGHBOURS = 3, 10


def by_blas(projections: np.ndarray, database: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """Count the codes of larger score with single-precision products."""
    n_bits, size = projections.shape[1], max(32, (1 << 23) // projections.shape[1])
    scores = np.empty((len(projections), len(database)), np.float32)

    def multiply(part: slice) -> None:
        scores[:, part] = projections @ unpack_signs(database[part], n_bits, np.float32).T

    for_slices(multiply, len(database), size, blas=True)
    own = np.take_along_axis(scores, neighbours, axis=1)
    return np.stack([np.count_nonzero(scores > own[:, i, None], axis=1) for i in range(NEIGHBOURS)], axis=1)


def compare(n_bits: int, n_codes: int, n_queries: int) -> dict[str, float]:
    """Return the shortest times of both, and their ratio."""
    rng = np.random.default_rng(0)
    projections = rng.standard_normal((n_queries, n_bits), dtype=np.float32)
    database = rng.integers(0, 256, (n_codes, n_bits // 8), np.uint8)
    neighbours = rng.integers(0, n_codes, (n_queries, NEIGHBOURS))
    calls = {
        "tables_s": lambda: asymmetric_ranks(projections, database, neighbours, lambda share: None),
        "unpack_and_blas_s": lambda: by_blas(projections, database, neighbours),
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    ratio = best["unpack_and_blas_s"] / best["tables_s"]
    return {"n_bits": n_bits, "n_codes": n_codes, "n_queries": n_queries, **best, "ratio": ratio}


def main() -> None:
    sizes = ((25_600, 6_000, 200), (1_536, 50_000, 500), (1_536, 50_000, 32), (256, 50_000, 500))
    write_table(pd.DataFrame([compare(*size) for size in sizes]), "asymmetric")


if __name__ == "__main__":
    main()
