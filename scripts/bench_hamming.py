"""Top-k searches by codes, one thread each, interleaved: against faiss, and against unpacking and a matrix product.

    python scripts/bench_hamming.py

Hamming top-k is compared with faiss IndexBinaryFlat on the same codes, asymmetric top-k with the Hamming search and
with unpacking the codes for a product by BLAS. Processor time, the median of interleaved runs.
"""

import time

import click
import numpy as np
import pandas as pd
from tables import peer, write_table

from cbe_bench.kernels.bits import unpack_signs
from cbe_bench.kernels.nearest import AsymmetricSearch, top_k
from cbe_bench.kernels.parallel import blas_threads, pinned

K = 100


@click.command(help=__doc__)
@click.option("--bits", default=[64, 128, 256, 512, 1024, 1536, 3200], multiple=True, help="Code lengths.")
@click.option("--queries", "n_queries", default=96, help="Queries a search.")
@click.option("--megabytes", default=8, help="Size of the database of codes.")
@click.option("--repeats", default=3, help="Interleaved runs; the median counts.")
def main(bits: tuple[int, ...], n_queries: int, megabytes: int, repeats: int) -> None:
    rows = [compare(n_bits, megabytes * 2**20 * 8 // n_bits, n_queries, repeats) for n_bits in bits]
    write_table(pd.DataFrame(rows), "hamming")


def compare(n_bits: int, n_codes: int, n_queries: int, repeats: int) -> dict[str, object]:
    """Return nanoseconds per query and code of each search, and their ratios."""
    rng = np.random.default_rng(0)
    database = rng.integers(0, 256, (n_codes, n_bits // 8), dtype=np.uint8)
    projections = rng.standard_normal((n_queries, n_bits), dtype=np.float32)
    queries = np.packbits(projections >= 0, axis=1, bitorder="little")

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

    calls = {"hamming": lambda: top_k(queries, database, K)[0], "asymmetric": asymmetric, "product": product}
    if (faiss := peer("faiss")) is not None:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexBinaryFlat(n_bits)
        index.add(database)
        calls["faiss"] = lambda: index.search(queries, K)[0]
        assert np.array_equal(calls["hamming"](), calls["faiss"]()), "the two searches disagree"
    with pinned(1), blas_threads(1):
        np.testing.assert_allclose(asymmetric(), product(), rtol=1e-3)
        samples = [[seconds(call) for call in calls.values()] for _ in range(repeats)]
    times = dict(zip(calls, np.median(samples, axis=0) / (n_queries * n_codes) * 1e9, strict=True))
    return {
        "n_bits": n_bits,
        "n_codes": n_codes,
        **{f"{name}_ns_per_query_and_code": value for name, value in times.items()},
        "faiss_to_hamming": times.get("faiss", np.nan) / times["hamming"],
        "asymmetric_to_hamming": times["asymmetric"] / times["hamming"],
        "product_to_asymmetric": times["product"] / times["asymmetric"],
    }


def seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
