"""Fourier transforms of sixteen columns at once, of a power of two rows.

Every operation is on sixteen neighbours in a row, so nothing is ever rearranged within a vector. The order is
Stockham's, from one buffer to another and back, by factors of eight and four.
"""

from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.simd.vector import WIDTH, butterfly4, butterfly8

_SHORTEST = 4
"""Rows of the shortest transform."""

ColumnPlan = tuple[NDArray[np.int64], NDArray, NDArray]
"""The factors, and the real and imaginary parts of the twiddles of all stages one after the other."""


@cache
def column_plan(rows: int, dtype: str) -> ColumnPlan:
    """Return what `transform_columns` needs for this many rows."""
    if rows < _SHORTEST or rows & (rows - 1):
        raise ValueError(f"{rows} rows: must be a power of two from {_SHORTEST} on")
    power = rows.bit_length() - 1
    fours = -power % 3
    radices = [4] * fours + [8] * ((power - 2 * fours) // 3)
    twiddles, n = [], rows
    for radix in radices:
        p, u = np.arange(n // radix)[:, None], np.arange(1, radix)[None, :]
        twiddles.append(np.exp(-2j * np.pi * p * u / n).ravel())
        n //= radix
    flat = np.concatenate(twiddles)
    return np.array(radices), flat.real.astype(dtype), flat.imag.astype(dtype)


@njit(nogil=True, cache=True)
def transform_columns(a, b, rows, radices, twiddle_re, twiddle_im):  # type: ignore[no-untyped-def]
    """Transform the parted columns in `a`, with `b` to work in; tell whether the result is in `b`."""
    n, s, t = rows, 1, 0
    for stage in range(radices.shape[0]):
        radix = radices[stage]
        m = n // radix
        z, out = (a, b) if stage % 2 == 0 else (b, a)
        for p in range(m):
            for q in range(s):
                i, o = WIDTH * (q + s * p), WIDTH * (q + s * radix * p)
                if radix == 8:
                    butterfly8(z, i, WIDTH * s * m, out, o, WIDTH * s, twiddle_re, twiddle_im, t)
                else:
                    butterfly4(z, i, WIDTH * s * m, out, o, WIDTH * s, twiddle_re, twiddle_im, t)
            t += radix - 1
        n, s = m, s * radix
    return radices.shape[0] % 2 == 1
