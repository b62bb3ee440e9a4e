"""Exact distances of queries to some vectors each, and the nearest of them: the last step of a search by codes."""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.linalg.products import paired_products, squared_distances
from cbe_bench.kernels.parallel import for_slices

_MORE = 32
"""Vectors compared in double precision beside the k nearest and half as many."""
_SCREENED_VALUES = 1 << 24
"""Products that one task holds at once."""


def exact_distances(queries: NDArray, vectors: NDArray, candidates: NDArray[np.int64], metric: str) -> NDArray:
    """Return the distances of each query to its candidates in double precision, added in a fixed order, on all cores.

    Parameters
    ----------
    queries : float32 array of shape (n_queries, d)
        Of unit length for "cosine".
    vectors : float32 array of shape (n, d)
        Likewise.
    candidates : int64 array of shape (n_queries, m)
        Rows of `vectors`.
    metric : {"cosine", "l2", "ip"}
        Returns 1 - cos, the l2 distance or the negated inner product: smaller is nearer.

    Returns
    -------
    float64 array of shape (n_queries, m)
    """
    found = np.empty(candidates.shape)

    def measure(part: slice) -> None:
        for i in range(part.start, part.stop):
            if metric == "ip":
                found[i] = -paired_products(queries[i : i + 1], vectors, np.zeros_like(candidates[i]), candidates[i])
            else:
                found[i] = squared_distances(queries[i], vectors, candidates[i])

    for_slices(measure, len(queries), 1)
    if metric == "l2":
        np.sqrt(found, out=found)
    elif metric == "cosine":
        found /= 2
    return found


def nearest_first(distances: NDArray, rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return which k columns are the nearest of each row of `distances`, equal ones in order of `rows`."""
    order: NDArray[np.int64] = np.lexsort((rows, distances), axis=1)[:, :k]
    return order


def exact_nearest(queries: NDArray, vectors: NDArray, k: int, metric: str) -> NDArray[np.int64]:
    """Return the k nearest vectors of each query, the nearest first, equal ones in order of row.

    Single-precision products screen all vectors; the nearest by them, and some more to allow for rounding, are compared
    in double precision.

    Parameters
    ----------
    queries, vectors : float32 arrays of shape (n_queries, d) and (n, d)
        Of unit length for "cosine".
    k : int
        At most n.
    metric : {"cosine", "l2", "ip"}
        What is nearest.
    """
    more = min(len(vectors), k + k // 2 + _MORE)
    screened = np.empty((len(queries), more), np.int64)
    squares = np.einsum("ij,ij->i", vectors, vectors) / 2 if metric == "l2" else np.zeros(len(vectors), np.float32)

    def screen(part: slice) -> None:
        keys = squares - queries[part] @ vectors.T
        screened[part] = np.argpartition(keys, more - 1, axis=1)[:, :more]

    for_slices(screen, len(queries), max(1, _SCREENED_VALUES // len(vectors)), blas=True)
    screened.sort(axis=1)
    order = nearest_first(exact_distances(queries, vectors, screened, metric), screened, k)
    return np.take_along_axis(screened, order, axis=1)
