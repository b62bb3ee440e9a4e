"""Matrix products whose signs do not depend on how BLAS rounds.

The last bits of a BLAS product depend on the processor, on the shape of the matrices and on the place of a row in
them. Where only signs matter that is harmless except next to zero. `products` therefore computes again, in double
precision and in an order of its own, every single-precision value that lies within its rounding error of zero: the
signs are then the same for any batch, any number of threads and any processor, and the other values are equal up to
rounding.

The rounding error of a sum of d products a_i b_i with no preferred direction is about 0.3 u |a| |b|, u = 2^-24; what
is computed again lies within 64 u |a| |b|. Double-precision input is rounded only by BLAS: a sign may then differ
where the value is within about 1e-16 |a| |b| of zero, of one in 10^12 values.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

ROUNDING = 64 * 2.0**-24
"""Single-precision products of rows of unit length are in error by less than this."""
_LOOK = 64
"""Values scanned at once for one that is small enough."""


def products(a: NDArray, b: NDArray, norm: float | None = None) -> NDArray:
    """Return a @ b.T with signs that do not depend on the rounding of BLAS.

    To be called from a task of `for_slices`, called with blas=True.

    Parameters
    ----------
    a, b : float32 or float64 arrays of shape (n, d) and (m, d)
        Rows to be multiplied, of the same type.
    norm : float or None
        An upper bound of the l2 norms of the rows of b, computed if not given.

    Returns
    -------
    values : array of shape (n, m)
        The inner products, in the precision of the input.
    """
    values: NDArray = a @ b.T
    settle_signs(values, a, b, norm)
    return values


def settle_signs(values: NDArray, a: NDArray, b: NDArray, norm: float | None = None) -> None:
    """Recompute float32 products of rows of a and b that are too near zero for their sign to be certain.

    Parameters
    ----------
    values : array of shape (n, k)
        The products, changed in place.
    a : array of shape (n, d)
    b : array of shape (k, d)
    norm : float, optional
        The largest l2 norm of a row of b; computed if not given.
    """
    if values.dtype == np.float32 and values.size:
        _settle(values, a, b, np.float32(ROUNDING * (_largest_norm(b) if norm is None else norm)))


def near_zero(values: NDArray, margins: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the values of modulus up to the margin, which broadcasts against them.

    Parameters
    ----------
    values : array of shape (n, k)
        The values.
    margins : array
        The largest modulus, broadcast against the values.

    Returns
    -------
    rows, columns : int64 arrays of shape (n_found,)
    """
    rows, columns = np.nonzero(np.abs(values) <= margins)
    return rows, columns


@njit(nogil=True, cache=True)
def squared_norms(rows):  # type: ignore[no-untyped-def]
    """Return the squared l2 norm of every row in double precision, added in a fixed order."""
    out = np.empty(len(rows))
    for i in range(len(rows)):
        out[i] = _dot(rows[i], rows[i])
    return out


@njit(nogil=True, cache=True)
def squared_distances(x, rows, chosen):  # type: ignore[no-untyped-def]
    """Return the squared l2 distances of x to the chosen rows in double precision, added in a fixed order.

    Parameters
    ----------
    x : array of shape (d,)
        A vector.
    rows : array of shape (n, d)
        The rows to choose from.
    chosen : int64 array of shape (m,)
        Row numbers.

    Returns
    -------
    float64 array of shape (m,)
    """
    out = np.empty(len(chosen))
    for i in range(len(chosen)):
        y = rows[chosen[i]]
        s0 = s1 = s2 = s3 = 0.0
        whole = len(x) - len(x) % 4
        for t in range(0, whole, 4):
            s0 += (np.float64(x[t]) - np.float64(y[t])) ** 2
            s1 += (np.float64(x[t + 1]) - np.float64(y[t + 1])) ** 2
            s2 += (np.float64(x[t + 2]) - np.float64(y[t + 2])) ** 2
            s3 += (np.float64(x[t + 3]) - np.float64(y[t + 3])) ** 2
        for t in range(whole, len(x)):
            s0 += (np.float64(x[t]) - np.float64(y[t])) ** 2
        out[i] = (s0 + s1) + (s2 + s3)
    return out


@njit(nogil=True, cache=True)
def paired_products(a, b, rows, columns):  # type: ignore[no-untyped-def]
    """Return the inner products of the paired rows of a and b in double precision, added in a fixed order.

    Parameters
    ----------
    a : array of shape (n, d)
    b : array of shape (k, d)
    rows, columns : int64 array of shape (m,)
        Row numbers in a and in b of each pair.

    Returns
    -------
    float64 array of shape (m,)
    """
    out = np.empty(len(rows))
    for pair in range(len(rows)):
        out[pair] = _dot(a[rows[pair]], b[columns[pair]])
    return out


@njit(nogil=True, cache=True)
def _settle(values, a, b, margin):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        row, limit = values[i], margin * np.sqrt(_square(a[i]))
        for first in range(0, len(row), _LOOK):
            last = min(first + _LOOK, len(row))
            doubtful = np.uint8(0)
            for j in range(first, last):  # many at once: most of the time there is none
                doubtful |= np.uint8(abs(row[j]) <= limit)
            if doubtful:
                for j in range(first, last):
                    if abs(row[j]) <= limit:
                        row[j] = _dot(a[i], b[j])


@njit(nogil=True, cache=True)
def _largest_norm(rows):  # type: ignore[no-untyped-def]
    largest = np.float32(0)
    for i in range(rows.shape[0]):
        largest = max(largest, _square(rows[i]))
    return np.sqrt(largest)


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _square(x):  # type: ignore[no-untyped-def]
    """Return |x|^2, to single precision: it bounds an error, no result depends on its last bits."""
    total = np.float32(0)
    for t in range(len(x)):
        total += x[t] * x[t]
    return total


@njit(nogil=True, cache=True)
def _dot(x, y):  # type: ignore[no-untyped-def]
    """Return x.y in double precision, in which each product of singles is exact, as four sums in a fixed order."""
    s0 = s1 = s2 = s3 = 0.0
    whole = len(x) - len(x) % 4
    for t in range(0, whole, 4):
        s0 += np.float64(x[t]) * np.float64(y[t])
        s1 += np.float64(x[t + 1]) * np.float64(y[t + 1])
        s2 += np.float64(x[t + 2]) * np.float64(y[t + 2])
        s3 += np.float64(x[t + 3]) * np.float64(y[t + 3])
    for t in range(whole, len(x)):
        s0 += np.float64(x[t]) * np.float64(y[t])
    return (s0 + s1) + (s2 + s3)
