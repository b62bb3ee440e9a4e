"""Re-ranking: the best candidates of a search scored again by the original vectors, in float32, float16 or int8."""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.view import DatasetView
from cbe_bench.kernels.parallel import for_slices

PRECISIONS = ("float32", "float16", "int8")
_QUERIES_AT_ONCE = 64
_STEPS = 255
"""Steps of eight bits."""
Curve = tuple[float, ...]
Range = tuple[NDArray[np.float32], NDArray[np.float32]]


def value_range(data: DatasetView) -> Range:
    """Return the least and the largest value of each dimension of the database."""
    low, high = np.full(data.n_features, np.inf, np.float32), np.full(data.n_features, -np.inf, np.float32)
    for _, block in data.database_blocks():
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
    return low, high


def rounded(X: NDArray[np.float32], precision: str, within: Range) -> NDArray[np.float32]:
    """Return rows as they are stored in a precision: int8 has 255 equal steps over the range of each dimension."""
    if precision == "float16":
        return X.astype(np.float16).astype(np.float32)
    low, high = within
    steps = np.maximum((high - low) / np.float32(_STEPS), np.finfo(np.float32).tiny)
    return np.rint((X - low) / steps) * steps + low


def rescored(data: DatasetView, queries: NDArray[np.float32], precision: str, within: Range) -> NDArray[np.float32]:
    """Return the (n_queries, n_database) distances of queries to stored rows: lower is nearer.

    They are |x|^2 - 2 x.q for the metric l2, and -x.q otherwise.
    """
    scores = np.empty((len(queries), len(data.split.database)), np.float32)
    for part, block in data.database_blocks():
        stored = rounded(block, precision, within)
        squares = np.einsum("ij,ij->i", stored, stored) if data.metric == "l2" else None

        def score(some: slice, stored: NDArray = stored, squares: NDArray | None = squares, part: slice = part) -> None:
            products = queries[some] @ stored.T
            scores[some, part] = -products if squares is None else squares - 2 * products

        for_slices(score, len(queries), _QUERIES_AT_ONCE, blas=True)
    return scores


def is_neighbour(candidates: NDArray[np.int64], neighbours: NDArray[np.int64], n_database: int) -> NDArray[np.bool_]:
    """Return which candidates of each query, of shape (n_queries, depth), are exact neighbours."""
    among = np.zeros((len(candidates), n_database), bool)
    np.put_along_axis(among, neighbours, values=True, axis=1)
    found: NDArray[np.bool_] = np.take_along_axis(among, candidates, axis=1)
    return found


def recall_curve(hits: NDArray[np.bool_], k: int) -> Curve:
    """Return the recall of k neighbours among the first k, 2k, 3k, ... candidates."""
    counts = np.cumsum(hits.mean(axis=0))[k - 1 :: k]
    return tuple((counts / k).round(9).tolist())


def reranked_curve(hits: NDArray[np.bool_], distances: NDArray[np.float32], k: int) -> Curve:
    """Return the recall of k neighbours among the first k after the first k, 2k, 3k, ... candidates are re-ranked.

    Parameters
    ----------
    hits : bool array of shape (n_queries, depth)
        Which candidates are exact neighbours.
    distances : float32 array of shape (n_queries, depth)
        Those that candidates are re-ranked by, equal ones in the order of candidates.
    k : int
        Neighbours of a query.
    """
    recall = []
    best, kept = distances[:, :0], hits[:, :0]
    for start in range(0, distances.shape[1] // k * k, k):
        best = np.concatenate([best, distances[:, start : start + k]], axis=1)
        kept = np.concatenate([kept, hits[:, start : start + k]], axis=1)
        order = np.argsort(best, axis=1, kind="stable")[:, :k]
        best, kept = np.take_along_axis(best, order, axis=1), np.take_along_axis(kept, order, axis=1)
        recall.append(round(float(kept.mean()), 9))
    return tuple(recall)


def least_oversampling(recall: Curve, wanted: float) -> int | None:
    """Return the least factor c from which on the recall is at least `wanted`; None where no c suffices."""
    short = [c for c, value in enumerate(recall, start=1) if value < wanted]
    least = short[-1] + 1 if short else 1
    return least if least <= len(recall) else None
