"""The true nearest neighbours, exactly, in one pass over the database.

Single-precision matrix products screen each block; of every row that could still be among the nearest, allowing for
the largest possible rounding error of that product, the distance is computed in double precision, in a fixed order,
while the block is at hand. The ranking is that of the float32 vectors by these distances, ties to the lower row: it
does not depend on blocks, threads, BLAS or the processor.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.data.features import Matrix
from cbe_bench.data.view import DatasetView
from cbe_bench.kernels.linalg.products import paired_products, squared_distances, squared_norms
from cbe_bench.kernels.parallel import for_slices

_QUERIES_AT_ONCE = 128
_STATED_METRICS = {"euclidean": "l2", "angular": "cosine"}
"""The metric of stated neighbours, by the `distance` that a file says they were found with."""


def exact_neighbours(data: DatasetView, k: int, progress: Progress = no_progress) -> NDArray[np.int64]:
    """Return the positions of the k nearest database rows of each query by the metric of the view; cached by content.

    Where the file states the neighbours of its own queries and nothing was left out or changed, these are taken.

    Parameters
    ----------
    data : DatasetView
        Its queries, database and metric.
    k : int
        Neighbours of each query.
    progress : callable
        Called with the progress, from 0 to 1.

    Returns
    -------
    int64 array of shape (n_queries, k)
        The nearest first, ties to the lower row; stated neighbours in the order of the file.
    """
    stated = stated_neighbours(data, k)
    if stated is not None:
        return stated
    path = cache_directory() / "truth" / f"{data.key()[:32]}-{k}.int64"
    shape, kept = (len(data.split.queries), k), read_checked(path)
    if kept is not None and len(kept) == 8 * shape[0] * k:
        return np.frombuffer(kept, "<i8").reshape(shape).astype(np.int64)
    found = _search(data, k, progress)
    write_cache(path, found.astype("<i8").tobytes())
    return found


def stated_neighbours(data: DatasetView, k: int) -> NDArray[np.int64] | None:
    """Return the neighbours that the file itself states, if they are about just this database.

    Parameters
    ----------
    data : DatasetView
        Its queries, database and metric.
    k : int
        Neighbours of each query.

    Returns
    -------
    int64 array of shape (n_queries, k), or None
        None if the file states none, fewer than `k`, or those of another metric or database.
    """
    n_database = data.features.n_rows - data.features.own_queries
    if _STATED_METRICS.get(str(data.features.describe().get("distance")), "cosine") != data.metric:
        return None
    if not data.features.own_queries or len(data.split.database) < n_database or not data.as_stored:
        return None
    stated = data.features.own_neighbours()
    if stated is None or stated.shape[1] < k:
        return None
    return stated[data.split.queries - n_database, :k]


def _search(data: DatasetView, k: int, progress: Progress) -> NDArray[np.int64]:
    queries = data.queries()
    distances = np.full((len(queries), k), np.inf)
    rows = np.full((len(queries), k), -1, np.int64)
    for part, block in data.database_blocks(progress):
        scan = _ProductScan(block, part.start) if data.metric == "ip" else _DistanceScan(block, part.start)

        def merge(some: slice, scan: "_Scan" = scan) -> None:
            for i, product in enumerate(queries[some] @ scan.block.T, start=some.start):
                scan.merge(queries[i], product, distances[i], rows[i])

        for_slices(merge, len(queries), _QUERIES_AT_ONCE, blas=True)
    return rows


class _Scan(ABC):
    """One block of the database that queries are compared with.

    A single-precision product is in error by at most m u |x| |q| / (1 - m u), u = 2^-24, for queries of m values that
    are not zero, in whatever order it was added up.
    """

    def __init__(self, block: Matrix, first: int) -> None:
        self.block, self.first = block, first
        self.squares = squared_norms(block)
        self.norm = float(np.sqrt(self.squares.max(initial=0.0)))

    @abstractmethod
    def screen(self, query_square: float, product: NDArray) -> NDArray[np.float64]:
        """Return the distances of a query to the rows, but for rounding, given its products with them."""

    @abstractmethod
    def exact(self, query: Matrix, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances of a query to the chosen rows in double precision, added in a fixed order."""

    def merge(self, query: Matrix, product: NDArray, distances: NDArray, rows: NDArray) -> None:
        """Bring one query's k nearest up to date."""
        k, square = len(distances), float(squared_norms(query[None])[0])
        relative = np.count_nonzero(query) * 2.0**-24
        error = 2.1 * relative / (1 - relative) * self.norm * np.sqrt(square)  # products count at most twice
        screened = self.screen(square, product)
        bar = distances[-1]
        if len(screened) > k:
            bar = min(bar, np.partition(screened, k - 1)[k - 1] + error)
        candidates = np.flatnonzero(screened <= bar + error)
        if not len(candidates):
            return
        all_distances = np.concatenate([distances, self.exact(query, candidates)])
        all_rows = np.concatenate([rows, candidates + self.first])
        best = np.lexsort((all_rows, all_distances))[:k]
        distances[:], rows[:] = all_distances[best], all_rows[best]


class _DistanceScan(_Scan):
    """By squared l2 distance: |x|^2 - 2 x.q + |q|^2."""

    def screen(self, query_square: float, product: NDArray) -> NDArray[np.float64]:
        return self.squares - 2.0 * product + query_square

    def exact(self, query: Matrix, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = squared_distances(query, self.block, chosen)
        return found


class _ProductScan(_Scan):
    """By inner product, the largest first: -x.q."""

    def screen(self, query_square: float, product: NDArray) -> NDArray[np.float64]:
        return -product.astype(np.float64)

    def exact(self, query: Matrix, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        return -paired_products(query[None], self.block, np.zeros_like(chosen), chosen)
