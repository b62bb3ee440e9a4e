"""Top-k searches by codes, one thread each, interleaved: against faiss, and against unpacking and a matrix product.

    python scripts/bench_hamming.py

Hamming top-k is compared with faiss IndexBinaryFlat on the same codes, asymmetric top-k with the Hamming search and
with unpacking the codes for a product by BLAS. Processor time, the median of interleaved runs. Written to
results/reference/search/codes.csv.
"""

import csv
import time
from pathlib import Path

import click
import faiss
import numpy as np

from cbe_bench.core.environment import describe
from cbe_bench.kernels.bits import unpack_signs
from cbe_bench.kernels.nearest import AsymmetricSearch, top_k
from cbe_bench.kernels.parallel import blas_threads, pinned

OUT = Path(__file__).parents[1] / "results/reference/search/codes.csv"
K = 100


@click.command(help=__doc__)
@click.option("--bits", default=[64, 128, 256, 512, 1024, 1536, 3200], multiple=True, help="Code lengths.")
@click.option("--queries", "n_queries", default=96, help="Queries a search.")
@click.option("--megabytes", default=16, help="Size of the database of codes.")
@click.option("--repeats", default=7, help="Interleaved runs; the median counts.")
def main(bits: tuple[int, ...], n_queries: int, megabytes: int, repeats: int) -> None:
    faiss.omp_set_num_threads(1)
    rows = []
    for n_bits in bits:
        rows.append(compare(n_bits, megabytes * 2**20 * 8 // n_bits, n_queries, repeats))
        print(", ".join(f"{name} {value}" for name, value in rows[-1].items()))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def compare(n_bits: int, n_codes: int, n_queries: int, repeats: int) -> dict[str, object]:
    """Return nanoseconds per query and code of each search, and their ratios."""
    rng = np.random.default_rng(0)
    database = rng.integers(0, 256, (n_codes, n_bits // 8), dtype=np.uint8)
    projections = rng.standard_normal((n_queries, n_bits), dtype=np.float32)
    queries = np.packbits(projections >= 0, axis=1, bitorder="little")
    index = faiss.IndexBinaryFlat(n_bits)
    index.add(database)

    def asymmetric():
        search = AsymmetricSearch(projections, K)
        search.add(database)
        return search.nearest()[0]

    def product():
        scores = np.empty((n_queries, n_codes), np.float32)
        for first in range(0, n_codes, 4096):
            some = slice(first, first + 4096)
            scores[:, some] = projections @ unpack_signs(database[some], n_bits, np.float32).T
        return -np.sort(-np.take_along_axis(scores, np.argpartition(-scores, K, axis=1)[:, :K], axis=1), axis=1)

    calls = {
        "hamming": lambda: top_k(queries, database, K)[0],
        "faiss": lambda: index.search(queries, K)[0],
        "asymmetric": asymmetric,
        "product": product,
    }
    with pinned(1), blas_threads(1):
        assert np.array_equal(calls["hamming"](), calls["faiss"]()), "the two searches disagree"
        np.testing.assert_allclose(asymmetric(), product(), rtol=1e-3)
        samples = [[seconds(call) for call in calls.values()] for _ in range(repeats)]
    times = dict(zip(calls, np.median(samples, axis=0) / (n_queries * n_codes) * 1e9, strict=True))
    return {
        "n_bits": n_bits,
        "n_codes": n_codes,
        **{f"{name}_ns_per_query_and_code": round(value, 3) for name, value in times.items()},
        "faiss_to_hamming": round(times["faiss"] / times["hamming"], 2),
        "asymmetric_to_hamming": round(times["asymmetric"] / times["hamming"], 2),
        "product_to_asymmetric": round(times["product"] / times["asymmetric"], 2),
        "cpu": describe()["cpu"],
    }


def seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
