"""Norms of rows, and rows of unit length, in one pass over memory."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.linalg.products import squared_norms
from cbe_bench.kernels.parallel import for_slices
from cbe_bench.kernels.simd.vector import LANES, broadcast, load, store

_SLICE_VALUES = 1 << 18
"""Values that one thread handles at once."""

_LEAST, _LARGEST = 1e-15, 1e18
"""Norms whose squares single precision holds with all its digits."""


def row_norms(rows: NDArray[np.float32], *, scale: bool) -> NDArray[np.float64]:
    """Return the l2 norm of each row and, if asked for, scale rows to unit length in place, on all cores.

    Sums are in single precision, in a fixed order that does not depend on the processor; those out of its reach are
    computed again in double precision.

    Parameters
    ----------
    rows : float32 array of shape (n, d), C order
        Overwritten if `scale`; rows of zeros, and those that are not finite, are left as they are.
    scale : bool
        Whether rows are scaled.

    Returns
    -------
    float64 array of shape (n,)
        Not finite where a value of the row is not.
    """
    norms = np.empty(len(rows))

    def measure(part: slice) -> None:
        some = rows[part]
        found = norms[part]
        _measure(some, found)
        doubtful = np.flatnonzero(~((found > _LEAST) & (found < _LARGEST)))
        if len(doubtful):
            found[doubtful] = np.sqrt(squared_norms(some[doubtful]))
        if scale:
            _scale(some, found)

    for_slices(measure, len(rows), max(1, _SLICE_VALUES // max(1, rows.shape[1])))
    return norms


@njit(nogil=True, cache=True)
def _measure(rows, norms):  # type: ignore[no-untyped-def]
    lanes = np.empty(2 * LANES, np.float32)
    whole = rows.shape[1] - rows.shape[1] % (2 * LANES)
    for i in range(rows.shape[0]):
        row = rows[i]
        lanes[:] = np.float32(0)
        a, b = load(lanes, 0), load(lanes, LANES)
        for t in range(0, whole, 2 * LANES):
            u, v = load(row, t), load(row, t + LANES)
            a, b = a + u * u, b + v * v
        store(lanes, 0, a)
        store(lanes, LANES, b)
        total = 0.0
        for lane in range(2 * LANES):
            total += np.float64(lanes[lane])
        for t in range(whole, len(row)):
            total += np.float64(row[t]) * np.float64(row[t])
        norms[i] = np.sqrt(total)


@njit(nogil=True, cache=True)
def _scale(rows, norms):  # type: ignore[no-untyped-def]
    whole = rows.shape[1] - rows.shape[1] % LANES
    for i in range(rows.shape[0]):
        if not (0.0 < norms[i] < np.inf):
            continue
        row, factor = rows[i], 1.0 / norms[i]
        single = np.float32(factor)
        if not (0.0 < single < np.inf):  # out of reach: double precision, value by value
            for t in range(len(row)):
                row[t] = np.float32(np.float64(row[t]) * factor)
            continue
        for t in range(0, whole, LANES):
            v = load(row, t)
            store(row, t, v * broadcast(single, v))
        for t in range(whole, len(row)):
            row[t] = row[t] * single
