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


def make_split(n_rows: int, *, database: int, learn: int, queries: int, least: int, seed: int, source: str) -> Split:
    """Draw a split from a seed: queries first, then up to `database` of the other rows, then `learn` of those.

    The database is every row that is not a query where the file has no more than that; `least` is the smallest
    database that makes sense.
    """
    needed = queries + max(learn, least)
    if n_rows < needed:
        raise InputError(
            f"{source}: {n_rows:,} rows; {queries:,} queries, {learn:,} rows to learn from and a database of at "
            f"least {least:,} need {needed:,}"
        )
    rng = np.random.default_rng([seed, n_rows])
    order = rng.permutation(n_rows)
    kept = order[queries : queries + database]
    return Split(
        queries=np.sort(order[:queries]),
        database=np.sort(kept),
        learn=np.sort(rng.choice(len(kept), min(learn, len(kept)), replace=False)),
    )
