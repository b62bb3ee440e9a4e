"""The sample that codes are tried on: queries, a database of nested parts, and the exact neighbours in each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features, Matrix
from cbe_bench.kernels.linalg.rescoring import exact_nearest
from cbe_bench.vectors.rows import prepare

_PART = 4
"""A nested sample has this many times fewer rows than the next one."""
_LEAST_ROWS = 250
_LEAST_ROWS_PER_NEIGHBOUR = 20
"""Rows of the smallest nested sample, at least, and for each neighbour wanted: candidates must be few of them."""
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Sample:
    """What codes are tried on.

    Attributes
    ----------
    queries, database : float32 arrays of shape (n, d)
        Scaled for the metric; the database in random order, so that its first rows are a sample of it.
    sizes : tuple of int
        Rows of the nested samples, the largest, the whole database, first.
    neighbours : list of int64 arrays of shape (n_queries, k)
        The exact neighbours in each nested sample.
    full_rows : int
        Rows of the whole file that is to be searched.
    """

    queries: Matrix
    database: Matrix
    sizes: tuple[int, ...]
    neighbours: list[NDArray[np.int64]]
    metric: str
    full_rows: int

    @property
    def is_whole(self) -> bool:
        """Whether the sample is the whole file, but for the queries."""
        return len(self.database) >= self.full_rows

    def training_set(self, n_rows: int) -> Matrix:
        """Return rows to train on."""
        return self.database[:n_rows]


def draw_sample(
    features: Features,
    *,
    metric: str,
    n_rows: int,
    n_queries: int,
    depth: int,
    at: int,
    seed: int,
    queries: Features | None = None,
) -> Sample:
    """Draw a sample from a file.

    Parameters
    ----------
    features : Features
        The vectors that are to be searched.
    metric : {"cosine", "l2", "ip"}
        What neighbours are nearest by.
    n_rows, n_queries : int
        Rows of the sampled database, and queries, at most; the sample is less than 1 GiB.
    depth : int
        Exact neighbours of each query.
    at : int
        Neighbours that a search is to find.
    seed : int
        Decides the sample.
    queries : Features, optional
        Queries of their own; else rows of the file are queries and left out of the database.
    """
    own = queries is None
    n_rows = min(n_rows, max(depth, _MOST_BYTES // (4 * features.n_features)))
    n_queries = min(n_queries, features.n_rows // 10) if own else min(n_queries, queries.n_rows if queries else 0)
    if features.n_rows < 2 * depth + n_queries or n_queries < 1:
        raise InputError(f"{features.source}: {features.n_rows:,} rows; recall@{depth} needs more than {2 * depth:,}")
    if queries is not None and queries.n_features != features.n_features:
        raise InputError(
            f"{queries.source}: {queries.n_features:,} dimensions; {features.source} has {features.n_features:,}"
        )
    rng = np.random.default_rng([seed, features.n_rows])
    taken = min(features.n_rows, n_rows + (n_queries if own else 0))
    drawn = rng.permutation(rng.choice(features.n_rows, taken, replace=False))
    asked = _read(features, drawn[:n_queries], metric) if own else _read_queries(queries, n_queries, metric, rng)
    database = _read(features, drawn[n_queries:] if own else drawn, metric)
    sizes = [len(database)]
    if len(database) < features.n_rows - (n_queries if own else 0):
        while len(sizes) < 3 and sizes[-1] // _PART >= max(_LEAST_ROWS, depth, _LEAST_ROWS_PER_NEIGHBOUR * at):
            sizes.append(sizes[-1] // _PART)
    neighbours = [exact_nearest(asked, database[:size], depth, metric) for size in sizes]
    full = features.n_rows - (n_queries if own else 0)
    return Sample(asked, database, tuple(sizes), neighbours, metric, max(full, len(database)))


def _read_queries(queries: Features | None, count: int, metric: str, rng: np.random.Generator) -> Matrix:
    assert queries is not None
    return _read(queries, rng.choice(queries.n_rows, count, replace=False), metric)


def _read(features: Features, rows: NDArray[np.int64], metric: str) -> Matrix:
    """Return rows of a file in any order, scaled for the metric, those of zeros left out."""
    order = np.argsort(rows)
    found = prepare(features.read(rows[order]), rows[order], metric, features.source)
    if not len(found.vectors):
        raise InputError(f"{features.source}: the sampled rows hold only zeros")
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows))
    kept = np.isin(rows, found.rows, assume_unique=True)
    return found.vectors[np.searchsorted(found.rows, rows[kept])]
