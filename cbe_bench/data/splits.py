"""Which rows are queries, database and training set, and how they are preprocessed.

Two protocols: the one the paper describes, and the one its authors' released code ran.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError


@dataclass(frozen=True)
class Protocol:
    """How features are preprocessed, and what an experiment may use of them."""

    centre: bool = False
    """Subtract the mean of all rows, database and queries, from every row before scaling to unit length."""
    permute: bool = False
    """Put the dimensions in one random order, last of all."""
    max_database: int | None = None
    max_train: int | None = None
    depth_step: int = 1
    """Recall is taken at depths that are multiples of this."""
    encoder_params: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()
    """Parameters the protocol sets: ((encoder, ((name, value), ...)), ...)."""
    extra_iterations: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """Iterations of training an encoder makes beyond those that are asked for: ((encoder, count), ...)."""

    def params_for(self, encoder: str) -> dict[str, Any]:
        """Return the parameters this protocol sets for an encoder."""
        return dict(dict(self.encoder_params).get(encoder, ()))


PROTOCOLS = {
    "paper": Protocol(),
    "released-code": Protocol(
        centre=True,
        permute=True,
        max_database=10_000,
        max_train=5_000,
        depth_step=10,
        encoder_params=(
            ("cbe-rand", (("rows", "random"),)),
            ("itq", (("n_iter", 6), ("pca_rows", 1_000))),
            ("aqbc", (("n_iter", 1),)),
            ("sklsh", (("gamma", 1.0),)),
        ),
        extra_iterations=(("cbe-opt", 1),),
    ),
}


@dataclass(frozen=True)
class Split:
    """Row indices of a file by their use; `train_positions`, the training set, index `database`."""

    queries: NDArray[np.int64]
    database: NDArray[np.int64]
    train_positions: NDArray[np.int64]


def make_split(
    n_rows: int, *, database: int, train: int, queries: int, least: int, seed: int, source: str, own_queries: int = 0
) -> Split:
    """Draw a split from a seed: queries first, then the database from the other rows, then the training set from it.

    Parameters
    ----------
    n_rows : int
        Rows of the file.
    database, train, queries : int
        Rows of each part, at most: the database is every row that is not a query where the file has no more.
    least : int
        The smallest database that makes sense.
    seed : int
        Decides the split.
    source : str
        What error messages begin with.
    own_queries : int
        How many of the last rows are meant as queries; queries are then drawn only from them.

    Returns
    -------
    Split
        Row indices, sorted.
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
    chosen = order[:database]
    return Split(
        queries=np.sort(asked),
        database=np.sort(chosen),
        train_positions=np.sort(rng.choice(len(chosen), min(train, len(chosen)), replace=False)),
    )


@dataclass(frozen=True)
class ClassSplit:
    """Row indices of a file by their use in classification, and the class of each, counted from 0."""

    names: NDArray
    """The labels of the classes, as the file has them."""
    train: NDArray[np.int64]
    train_classes: NDArray[np.int64]
    held: NDArray[np.int64]
    """Held-out rows: those for validation and those for the test."""
    held_classes: NDArray[np.int64]
    is_test: NDArray[np.bool_]
    """Which of the held-out rows are for the test."""


def make_class_split(
    labels: NDArray | None,
    *,
    classes: int | None,
    train: int,
    validation: int,
    test: int,
    seed: int,
    source: str,
) -> ClassSplit:
    """Draw rows of each class for training, validation and test.

    Parameters
    ----------
    labels : array (n_rows,) or None
        The class of every row.
    classes : int or None
        How many classes to use; where the file has more, some are drawn, the same for every seed.
    train, validation, test : int
        Rows of each class.
    seed : int
        Decides the split.
    source : str
        What error messages begin with.

    Returns
    -------
    ClassSplit
        Row indices, sorted, and the class of each.
    """
    if labels is None:
        raise InputError(f"{source}: has no labels; classification needs the class of every row")
    names, members = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise InputError(f"{source}: all rows have the label {names[0]}; classification needs at least 2 classes")
    chosen = np.arange(len(names))
    if classes is not None and classes < len(names):
        chosen = np.sort(np.random.default_rng(len(names)).choice(len(names), classes, replace=False))
    rng, each = np.random.default_rng([seed, len(labels)]), train + validation + test
    drawn = np.empty((len(chosen), each), np.int64)
    for place, label in enumerate(chosen):
        rows = np.flatnonzero(members == label)
        if len(rows) < each:
            raise InputError(
                f"{source}: class {names[label]} has {len(rows):,} rows; {train:,} for training, {validation:,} for "
                f"validation and {test:,} for the test need {each:,}"
            )
        drawn[place] = rng.permutation(rows)[:each]
    of_class = np.repeat(np.arange(len(chosen)), each).reshape(drawn.shape)
    in_test = np.broadcast_to(np.arange(each) >= train + validation, drawn.shape)
    trained, held = np.argsort(drawn[:, :train], axis=None), np.argsort(drawn[:, train:], axis=None)
    return ClassSplit(
        names=names[chosen],
        train=drawn[:, :train].ravel()[trained],
        train_classes=of_class[:, :train].ravel()[trained],
        held=drawn[:, train:].ravel()[held],
        held_classes=of_class[:, train:].ravel()[held],
        is_test=in_test[:, train:].ravel()[held],
    )
