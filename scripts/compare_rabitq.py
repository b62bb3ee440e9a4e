"""RaBitQ on a circulant rotation against faiss: recall at equal bytes, and the time to encode.

    python scripts/compare_rabitq.py [VECTORS.npy] [--queries 500]

Without a file, 10,000 synthetic vectors of 768 dimensions around 200 centres away from the origin. Recall is that of
the ten largest inner products among the first 10 and 100. Times are the least of several interleaved runs.
A Hadamard rotation pads to a power of two and takes more bytes where d is none.
"""

import argparse
import time
from collections.abc import Callable

import faiss
import numpy as np

from cbe_bench.encoders.rabitq import RaBitQ

REPEATS = 5


def synthetic(n: int = 10_000, d: int = 768) -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((200, d)) + 1.5 * rng.standard_normal(d)
    rows = (centers[rng.integers(0, 200, n)] + 1.2 * rng.standard_normal((n, d))).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def recalls(found: np.ndarray, exact: np.ndarray) -> str:
    at = [100 * np.mean([len(set(f[:m]) & set(e)) / 10 for f, e in zip(found, exact, strict=True)]) for m in (10, 100)]
    return f"{at[0]:5.1f} / {at[1]:5.1f}"


def faiss_index(d: int, n_dims: int, bits: int) -> faiss.Index:
    index = faiss.IndexRaBitQ(n_dims, faiss.METRIC_INNER_PRODUCT, bits)
    index = faiss.IndexPreTransform(faiss.RandomRotationMatrix(n_dims, n_dims), index)
    return index if n_dims == d else faiss.IndexPreTransform(faiss.PCAMatrix(d, n_dims), index)


def interleaved(*runs: Callable[[], object]) -> list[float]:
    best = [np.inf] * len(runs)
    for _ in range(REPEATS):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", nargs="?")
    parser.add_argument("--queries", type=int, default=500)
    options = parser.parse_args()
    X = synthetic() if options.vectors is None else np.load(options.vectors, allow_pickle=False).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    queries, rows = X[order[: options.queries]], X[order[options.queries :]]
    exact = np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :10]
    d = X.shape[1]
    print(f"{len(rows):,} x {d:,}; faiss {faiss.__version__}; recall 10@10 / 10@100, %")
    for bits, n_dims in [(1, d // 4), (1, d // 2), (1, d), (2, d), (4, d)]:
        theirs = faiss_index(d, n_dims, bits)
        theirs.train(rows)
        theirs.add(rows)
        line = [f"{bits} bits x {n_dims:5,d}: faiss {recalls(theirs.search(queries, 100)[1], exact)}"]
        for rotation, query_bits in [("circulant", None), ("circulant", 8), ("circulant", 4), ("hadamard", None)]:
            components = None if n_dims == d else n_dims
            ours = RaBitQ(
                bits_per_dim=bits, rotation=rotation, n_components=components, query_bits=query_bits, random_state=0
            ).fit(rows)
            found = ours.search(queries, ours.encode(rows), 100)[1]
            query = "" if query_bits is None else f", {query_bits}-bit query"
            line.append(f"{rotation}{query} {recalls(found, exact)}")
        print("; ".join(line), flush=True)
        if n_dims == d:
            ours = RaBitQ(bits_per_dim=bits, random_state=0).fit(rows)
            own, other = interleaved(lambda ours=ours: ours.encode(rows), lambda theirs=theirs: theirs.sa_encode(rows))
            print(f"  encoding: {own / len(rows) * 1e6:.1f} us a vector, faiss {other / len(rows) * 1e6:.1f} us")


if __name__ == "__main__":
    main()
