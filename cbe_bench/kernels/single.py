"""One vector at a time: calls that cost little more than the work they do.

A compiled function is called with few arguments, plain arrays and integers, since taking apart each of them costs more
than some hundred multiplications. It also checks the vector, so that Python need not.
"""

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.simd.vector import inline

SINGLE_EXPONENT = 60
"""Largest magnitudes from 2**-e to 2**e are computed in single precision; far from its limits, as sums are larger."""
EncodeSingle = Callable[[NDArray[np.float32], NDArray[np.uint8]], bool]
"""Write the code of a contiguous vector, or return False where its numbers do not suit single precision."""

_MAGNITUDE = np.uint32(0x7FFFFFFF)
_LEAST, _MOST = (np.uint32((127 + sign * SINGLE_EXPONENT) << 23) for sign in (-1, 1))
"""The bits of 2**-e and 2**e: magnitudes are in the order of their bits, infinity and NaN above all."""


@inline
def suits_single(x):  # type: ignore[no-untyped-def]
    """Tell whether a contiguous float32 vector is finite, and zero or of a magnitude that cannot overflow."""
    bits = x.view(np.uint32)
    largest = np.uint32(0)
    for i in range(bits.shape[0]):
        largest = max(largest, bits[i] & _MAGNITUDE)
    return largest == 0 or (_LEAST <= largest <= _MOST)


@njit(nogil=True, cache=True)
def is_suitable(x):  # type: ignore[no-untyped-def]
    """Tell the same, to be called from Python."""
    return suits_single(x)
