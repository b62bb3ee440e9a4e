"""Pairs of rows that are known to be similar or dissimilar, given or drawn from labels."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cbe_bench.core.errors import InputError


class Pairs(NamedTuple):
    """Row numbers, two for each pair."""

    similar: NDArray[np.intp]
    dissimilar: NDArray[np.intp]

    @property
    def number(self) -> int:
        """How many there are of both kinds."""
        return len(self.similar) + len(self.dissimilar)


def given_pairs(similar: ArrayLike | None, dissimilar: ArrayLike | None, n_rows: int) -> Pairs:
    """Check pairs of row numbers; either kind may be missing, not both.

    Parameters
    ----------
    similar, dissimilar : array_like of shape (n_pairs, 2), or None
        Pairs of row numbers.
    n_rows : int
        Rows of the training set.

    Returns
    -------
    Pairs

    Raises
    ------
    InputError
        If there is no pair at all, or these are no pairs of row numbers.
    """
    pairs = Pairs(_checked("similar", similar, n_rows), _checked("dissimilar", dissimilar, n_rows))
    if pairs.number == 0:
        raise InputError("similar and dissimilar hold no pair; at least one is needed")
    return pairs


def _checked(kind: str, pairs: ArrayLike | None, n_rows: int) -> NDArray[np.intp]:
    if pairs is None:
        return np.empty((0, 2), np.intp)
    rows = np.asarray(pairs)
    if rows.size == 0:
        return np.empty((0, 2), np.intp)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise InputError(
            f"{kind}: {rows.dtype} array of shape {rows.shape}; pairs are an integer array of shape (n, 2)"
        )
    wrong = rows[(rows < 0) | (rows >= n_rows)]
    if len(wrong):
        raise InputError(f"{kind}: there is no row {wrong[0]}; X has rows 0..{n_rows - 1}")
    return rows.astype(np.intp)


def labelled_pairs(y: Any, n_rows: int, n_pairs: int, rng: np.random.Generator) -> Pairs:
    """Draw `n_pairs` pairs, half of one class and half of two, each row of either kind equally likely to come first.

    Parameters
    ----------
    y : array_like of shape (n_rows,)
        The label of each row.
    n_rows : int
        Rows of the training set.
    n_pairs : int
        Pairs in all; an odd one is of one class.
    rng : Generator

    Returns
    -------
    Pairs

    Raises
    ------
    InputError
        If `y` has another shape, a single class, or no class of two rows.
    """
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}; one label for each of the {n_rows} rows is needed")
    order = np.argsort(labels, kind="stable")
    _, starts, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    if len(starts) < 2:
        raise InputError("y holds a single class; dissimilar pairs need at least two")
    if sizes.max() < 2:
        raise InputError("y holds no class of two rows; there is no similar pair")
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)

    first = rng.choice(np.flatnonzero(size > 1), n_pairs - n_pairs // 2)
    further = first - start[first] + rng.integers(1, size[first])
    similar = np.stack([first, start[first] + further % size[first]], axis=1)

    first = rng.integers(0, n_rows, n_pairs // 2)
    second = rng.integers(0, n_rows - size[first])
    dissimilar = np.stack([first, second + np.where(second < start[first], 0, size[first])], axis=1)
    return Pairs(order[similar], order[dissimilar])
