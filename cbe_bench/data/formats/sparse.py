"""Index arrays of sparse matrices, checked before compiled code follows them."""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError


def check_row_pointers(source: object, indptr: NDArray, n_rows: int, n_values: int) -> NDArray[np.int64]:
    """Return where each row of a sparse matrix begins, or raise InputError.

    Parameters
    ----------
    source : object
        What the message begins with.
    indptr : array of integers, shape (n_rows + 1,)
        As stored: from 0 to `n_values`, never decreasing.
    n_rows, n_values : int
        Rows and stored values of the matrix.
    """
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != n_rows + 1:
        raise InputError(
            f"{source}: indptr is {indptr.dtype} of shape {indptr.shape}; {n_rows:,} rows need {n_rows + 1:,}"
        )
    pointers = indptr.astype(np.int64)
    if pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any() or pointers[-1] != n_values:
        raise InputError(f"{source}: indptr does not cut {n_values:,} values into rows")
    return pointers


def check_coordinates(source: object, what: str, places: NDArray, n_values: int, length: int) -> NDArray[np.int64]:
    """Return the coordinate of each stored value along an axis.

    Parameters
    ----------
    source : object
        The file, for messages.
    what : str
        The name of the array, for messages.
    places : array of shape (n_values,)
        The coordinates as read from the file.
    n_values : int
        The number of stored values.
    length : int
        The length of the axis.

    Returns
    -------
    int64 array of shape (n_values,)

    Raises
    ------
    InputError
        Unless these are integers from 0 to `length` - 1 of that shape.
    """
    if places.shape != (n_values,) or places.dtype.kind not in "iu":
        raise InputError(f"{source}: {what} is {places.dtype} of shape {places.shape}; there are {n_values:,} values")
    if n_values and not 0 <= int(places.min()) <= int(places.max()) < length:
        bad = int(places.max() if places.min() >= 0 else places.min())
        raise InputError(f"{source}: {what} holds {bad}; allowed: 0 to {length - 1:,}")
    return places.astype(np.int64)
