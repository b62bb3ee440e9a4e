"""The true nearest neighbours, exactly, in one pass over the database.

Single-precision matrix products screen each block; of every row that could still be among the nearest, allowing for
the largest possible rounding error of that product, the distance is computed in double precision, in a fixed order,
while the block is at hand. The ranking is that of the float32 vectors by these distances, ties to the lower row: it
does not depend on blocks, threads, BLAS or the processor.
"""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.data.features import Matrix
from cbe_bench.data.view import DatasetView, Tick
from cbe_bench.kernels.linalg.products import squared_distances, squared_norms
from cbe_bench.kernels.parallel import for_slices

_QUERIES_AT_ONCE = 128


def exact_neighbours(data: DatasetView, k: int, tick: Tick | None = None) -> NDArray[np.int64]:
    """Return the positions of the k nearest database rows of each query by l2 distance; cached on disk by content.

    Where the file states the neighbours of its own queries and nothing was left out or changed, these are taken.
    """
    stated = stated_neighbours(data, k)
    if stated is not None:
        return stated
    path = cache_directory() / "truth" / f"{data.key()[:32]}-{k}.int64"
    shape, kept = (len(data.split.queries), k), read_checked(path)
    if kept is not None and len(kept) == 8 * shape[0] * k:
        return np.frombuffer(kept, "<i8").reshape(shape).astype(np.int64)
    found = _search(data, k, tick)
    write_cache(path, found.astype("<i8").tobytes())
    return found


def stated_neighbours(data: DatasetView, k: int) -> NDArray[np.int64] | None:
    """Return the neighbours that the file itself states, if they are about just this database."""
    n_database = data.features.n_rows - data.features.own_queries
    if not data.features.own_queries or len(data.split.database) < n_database or not data.as_stored:
        return None
    stated = data.features.own_neighbours()
    if stated is None or stated.shape[1] < k:
        return None
    return stated[data.split.queries - n_database, :k]


def _search(data: DatasetView, k: int, tick: Tick | None) -> NDArray[np.int64]:
    queries = data.queries()
    distances = np.full((len(queries), k), np.inf)
    rows = np.full((len(queries), k), -1, np.int64)
    for part, block in data.database_blocks(tick):
        norms = squared_norms(block)

        def scan(some: slice, block: Matrix = block, norms: NDArray = norms, first: int = part.start) -> None:
            for i, product in enumerate(queries[some] @ block.T, start=some.start):
                _merge(queries[i], block, norms - 2.0 * product, first, distances[i], rows[i])

        for_slices(scan, len(queries), _QUERIES_AT_ONCE, blas=True)
    return rows


def _merge(
    query: Matrix, block: Matrix, screened: NDArray[np.float64], first: int, distances: NDArray, rows: NDArray
) -> None:
    """Bring one query's k nearest up to date with one block.

    `screened` is |x|^2 - 2 x.q, the squared distance less |q|^2. For vectors of unit length its error is at most
    2 n u / (1 - n u), u = 2^-24, in whatever order the products of the n values of q that are not zero were added up:
    zeros add nothing, and no error.
    """
    k, square = len(distances), float(squared_norms(query[None])[0])
    relative = np.count_nonzero(query) * 2.0**-24
    error = 2.1 * relative / (1 - relative)  # norms may be above one by rounding
    bar = distances[-1] - square
    if len(screened) > k:
        bar = min(bar, np.partition(screened, k - 1)[k - 1] + error)
    candidates = np.flatnonzero(screened <= bar + error)
    if not len(candidates):
        return
    all_distances = np.concatenate([distances, squared_distances(query, block, candidates)])
    all_rows = np.concatenate([rows, candidates + first])
    best = np.lexsort((all_rows, all_distances))[:k]
    distances[:], rows[:] = all_distances[best], all_rows[best]
