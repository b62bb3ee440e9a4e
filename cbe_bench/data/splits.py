"""Which rows are queries, database and learning set, and how they are prepared.

Two protocols: the one the paper describes, and the one its authors' released code ran.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.errors import InputError


@dataclass(frozen=True)
class Protocol:
    """How features are prepared, and what an experiment may use of them."""

    centre: bool = False
    """Subtract the mean of the database from every row before scaling to unit length."""
    permute: bool = False
    """Put the dimensions in one random order, last of all."""
    most_database: int | None = None
    most_learn: int | None = None
    depth_step: int = 1
    """Recall is taken at depths that are multiples of this."""
    encoder_params: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()
    """Parameters the protocol sets: ((encoder, ((name, value), ...)), ...)."""

    def params_for(self, encoder: str) -> dict[str, Any]:
        """Return the parameters this protocol sets for an encoder."""
        return dict(dict(self.encoder_params).get(encoder, ()))


PROTOCOLS = {
    "paper": Protocol(),
    "released-code": Protocol(
        centre=True,
        permute=True,
        most_database=10_000,
        most_learn=5_000,
        depth_step=10,
        encoder_params=(("cbe-rand", (("rows", "random"),)),),
    ),
}


@dataclass(frozen=True)
class Split:
    """Rows of a file by their use; `learn` counts within `database`, of which it is a part."""

    queries: NDArray[np.int64]
    database: NDArray[np.int64]
    learn: NDArray[np.int64]


def make_split(
    n_rows: int, *, database: int, learn: int, queries: int, least: int, seed: int, source: str, own_queries: int = 0
) -> Split:
    """Draw a split from a seed: queries first, then up to `database` of the other rows, then `learn` of those.

    The database is every row that is not a query where the file has no more than that; `least` is the smallest
    database that makes sense, and what is learned from is at most all of it. Where the last rows of the file are its
    own queries, queries are drawn from them alone.
    """
    queries = min(queries, own_queries) if own_queries else queries
    others = n_rows - (own_queries or queries)
    if others < least:
        needed = (own_queries or queries) + least
        raise InputError(
            f"{source}: {n_rows:,} rows; {own_queries or queries:,} queries and a database of at least {least:,} need "
            f"{needed:,}"
        )
    rng = np.random.default_rng([seed, n_rows])
    if own_queries:
        asked, order = others + rng.permutation(own_queries)[:queries], rng.permutation(others)
    else:
        asked, order = np.split(rng.permutation(n_rows), [queries])
    kept = order[:database]
    return Split(
        queries=np.sort(asked),
        database=np.sort(kept),
        learn=np.sort(rng.choice(len(kept), min(learn, len(kept)), replace=False)),
    )
