"""Hamming top-k against faiss IndexBinaryFlat: same codes, same run, one thread each, taking turns.

Times on a shared machine wander; read the ratio. Usage: python scripts/bench_hamming.py [--bits 25600]
"""

import time

import click
import faiss
import numpy as np

from cbe_bench.kernels.nearest import top_k
from cbe_bench.kernels.parallel import pinned


@click.command(help=__doc__)
@click.option("--bits", default=[25_600, 3_200, 256], multiple=True, help="Code lengths, multiples of 8.")
@click.option("--queries", "n_queries", default=100, help="Queries a search.")
@click.option("--megabytes", default=32, help="Size of the database of codes.")
@click.option("--repeats", default=7, help="Turns each takes; the median counts.")
def main(bits: tuple[int, ...], n_queries: int, megabytes: int, repeats: int) -> None:
    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(0)
    print(f"{'bits':>7} {'codes':>9} {'cbe-bench GB/s':>15} {'faiss GB/s':>11} {'ratio':>6}")
    for n_bits in bits:
        n_codes = megabytes * 2**20 * 8 // n_bits
        database = rng.integers(0, 256, (n_codes, n_bits // 8), dtype=np.uint8)
        queries = rng.integers(0, 256, (n_queries, n_bits // 8), dtype=np.uint8)
        index = faiss.IndexBinaryFlat(n_bits)
        index.add(database)

        def ours(queries=queries, database=database):
            return top_k(queries, database, 100)[0]

        def theirs(queries=queries, index=index):
            return index.search(queries, 100)[0]

        with pinned(1):
            assert np.array_equal(ours(), theirs()), "the two searches disagree"
            samples = np.array([[seconds(ours), seconds(theirs)] for _ in range(repeats)])
        mine, other = n_queries * database.nbytes / np.median(samples, axis=0) / 1e9
        print(f"{n_bits:7,} {n_codes:9,} {mine:15.1f} {other:11.1f} {mine / other:6.2f}")


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
