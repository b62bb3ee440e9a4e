"""The sample that codes are tried on: queries, a database and disjoint parts of it, the exact neighbours in each.

Encoders are trained on the rows that `encode` trains on, but for the queries. Like the file, the sampled database holds
some of these rows and some that were not trained on, in the same proportion.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features, Matrix
from cbe_bench.kernels.linalg.rescoring import exact_nearest
from cbe_bench.vectors.rows import prepare, sample

_PARTS = (1, 2, 4)
"""The sampled database is measured whole and in so many disjoint parts."""
_MOST_BYTES = 1 << 30
_STREAM = 1
"""Of random numbers, another than that of the training set: what is searched must not depend on it."""


@dataclass(frozen=True)
class Sample:
    """What codes are tried on.

    Attributes
    ----------
    queries, database, training_set : float32 arrays of shape (n, d)
        Scaled for the metric; the database in random order, so that parts of it are samples of the file.
    neighbours : list of lists of int64 arrays of shape (n_queries, k)
        The exact neighbours in the database, in its halves and in its quarters; of the whole file alone if it is that.
    full_rows : int
        Rows of the whole file that is to be searched.
    skipped : int
        Rows of zeros that were drawn and left out.
    """

    queries: Matrix
    database: Matrix
    training_set: Matrix
    neighbours: list[list[NDArray[np.int64]]]
    full_rows: int
    skipped: int

    @property
    def is_whole(self) -> bool:
        """Whether the sample is the whole file, but for the queries."""
        return len(self.database) >= self.full_rows

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of the database, of a half and of a quarter of it, as far as they are measured."""
        return tuple(len(self.database) // len(parts) for parts in self.neighbours)

    @property
    def parts(self) -> list[list[slice]]:
        """Rows of the database that `neighbours` are the neighbours in."""
        return [_parts(len(self.database), len(parts)) for parts in self.neighbours]


def draw_sample(
    features: Features,
    *,
    metric: str,
    n_rows: int,
    n_queries: int,
    n_train: int,
    depth: int,
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
    n_train : int
        Rows to train on.
    depth : int
        Exact neighbours of each query.
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
    rng = np.random.default_rng([seed, features.n_rows, _STREAM])
    taken = min(features.n_rows, n_rows + (n_queries if own else 0))
    drawn = rng.permutation(rng.choice(features.n_rows, taken, replace=False))
    asked = _read(features, drawn[:n_queries], metric) if own else _read_queries(queries, n_queries, metric, rng)
    database = _read(features, drawn[n_queries:] if own else drawn, metric)
    trained = sample(features, n_train, metric, seed)
    held_out = np.isin(trained.rows, drawn[:n_queries]) if own else np.zeros(len(trained.rows), bool)
    others = taken - n_queries if own else taken
    full = round((features.n_rows - taken + others) * len(database) / others)  # less the rows of zeros
    neighbours = [
        [
            exact_nearest(asked, database[part], min(depth, part.stop - part.start), metric)
            for part in _parts(len(database), count)
        ]
        for count in (_PARTS if len(database) < full else (1,))
    ]
    skipped = taken + (0 if own else n_queries) - len(asked) - len(database)
    return Sample(asked, database, trained.vectors[~held_out], neighbours, full, skipped)


def _parts(n_rows: int, count: int) -> list[slice]:
    size = n_rows // count
    return [slice(first * size, (first + 1) * size) for first in range(count)]


def _read_queries(queries: Features | None, count: int, metric: str, rng: np.random.Generator) -> Matrix:
    assert queries is not None
    return _read(queries, rng.choice(queries.n_rows, count, replace=False), metric)


def _read(features: Features, rows: NDArray[np.int64], metric: str) -> Matrix:
    """Return rows of a file in any order, scaled for the metric, those of zeros left out."""
    order = np.argsort(rows)
    found = prepare(features.read(rows[order]), rows[order], metric, features.source)
    if not len(found.vectors):
        raise InputError(f"{features.source}: the sampled rows hold only zeros")
    kept = np.isin(rows, found.rows, assume_unique=True)
    return found.vectors[np.searchsorted(found.rows, rows[kept])]
