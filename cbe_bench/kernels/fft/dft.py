"""Fourier transforms of a few values, each of them a vector of sixteen complex numbers."""

import numpy as np

from cbe_bench.kernels.simd.complex import scale, times_minus_i
from cbe_bench.kernels.simd.vector import inline

_HALF_SQRT2 = np.sqrt(0.5)
_SIN3 = np.sin(2 * np.pi / 3)
_COS5 = np.cos(2 * np.pi / 5), np.cos(4 * np.pi / 5)
_SIN5 = np.sin(2 * np.pi / 5), np.sin(4 * np.pi / 5)


@inline
def dft2(a, b):  # type: ignore[no-untyped-def]
    """Return the transform of 2 values.

    Parameters
    ----------
    a, b : complex vectors
    """
    return a + b, a - b


@inline
def dft3(a, b, c):  # type: ignore[no-untyped-def]
    """Return the transform of 3 values.

    Parameters
    ----------
    a, b, c : complex vectors
    """
    total, difference = b + c, scale(times_minus_i(b - c), _SIN3)
    middle = a - scale(total, 0.5)
    return a + total, middle + difference, middle - difference


@inline
def dft4(a, b, c, d):  # type: ignore[no-untyped-def]
    """Return the transform of 4 values.

    Parameters
    ----------
    a, b, c, d : complex vectors
    """
    even, odd = dft2(a, c), dft2(b, d)
    rotated = times_minus_i(odd[1])
    return even[0] + odd[0], even[1] + rotated, even[0] - odd[0], even[1] - rotated


@inline
def dft5(a, b, c, d, e):  # type: ignore[no-untyped-def]
    """Return the transform of 5 values.

    Parameters
    ----------
    a, b, c, d, e : complex vectors
    """
    sum1, sum2, diff1, diff2 = b + e, c + d, times_minus_i(b - e), times_minus_i(c - d)
    even1 = a + scale(sum1, _COS5[0]) + scale(sum2, _COS5[1])
    even2 = a + scale(sum1, _COS5[1]) + scale(sum2, _COS5[0])
    odd1 = scale(diff1, _SIN5[0]) + scale(diff2, _SIN5[1])
    odd2 = scale(diff1, _SIN5[1]) - scale(diff2, _SIN5[0])
    return a + sum1 + sum2, even1 + odd1, even2 + odd2, even2 - odd2, even1 - odd1


@inline
def dft8(a, b, c, d, e, f, g, h):  # type: ignore[no-untyped-def]
    """Return the transform of 8 values.

    Parameters
    ----------
    a, b, c, d, e, f, g, h : complex vectors
    """
    even, odd = dft4(a, c, e, g), dft4(b, d, f, h)
    one = scale(odd[1] + times_minus_i(odd[1]), _HALF_SQRT2)  # times exp(-2 pi i / 8)
    two = times_minus_i(odd[2])
    three = scale(times_minus_i(odd[3]) - odd[3], _HALF_SQRT2)
    return (
        even[0] + odd[0],
        even[1] + one,
        even[2] + two,
        even[3] + three,
        even[0] - odd[0],
        even[1] - one,
        even[2] - two,
        even[3] - three,
    )


@inline
def dft6(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    """Return the transform of 6 values: of 3 values twice, without twiddle factors since 2 and 3 are coprime.

    Parameters
    ----------
    a, b, c, d, e, f : complex vectors
    """
    u, v = dft3(a, c, e), dft3(d, f, b)
    return u[0] + v[0], u[1] - v[1], u[2] + v[2], u[0] - v[0], u[1] + v[1], u[2] - v[2]
