"""The lowest of many scores, in order, ties by position: what a search returns."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.parallel import for_slices

_ROWS = 16
"""Rows of scores that one task orders."""


def lowest(scores: NDArray, k: int) -> NDArray[np.int64]:
    """Return the positions of the k lowest scores of each row, lowest first, equal ones by position.

    Parameters
    ----------
    scores : float or integer array of shape (n, m)
        Scores without NaN.
    k : int
        At most m.

    Returns
    -------
    int64 array of shape (n, k)
    """
    found = np.empty((len(scores), k), np.int64)

    def order(part: slice) -> None:
        for i in range(part.start, part.stop):
            row = scores[i]
            candidates = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1])
            found[i] = candidates[np.argsort(row[candidates], kind="stable")[:k]]

    for_slices(order, len(scores), _ROWS)
    return found


@njit(nogil=True, cache=True)
def insert(distances, rows, distance, row):  # type: ignore[no-untyped-def]
    """Put a row into a sorted list of the nearest, behind every equal distance; the last one drops out.

    Parameters
    ----------
    distances, rows : arrays of shape (k,)
        The list, changed in place.
    distance, row : numbers
        What is put into it.
    """
    place = distances.shape[0] - 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    distances[place] = distance
    rows[place] = row
