"""Convolutions of real vectors, computed on half as many complex numbers.

The d real numbers of a row are read, as they lie in memory, as h = d/2 complex numbers z = even + i odd. With Z their
transform and Z' that of the convolution y = r * x, read likewise,

    Z'[k] = A[k] Z[k] + B[k] conj(Z[h - k])

for two tables A and B that depend only on r.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.simd.calls import take
from cbe_bench.kernels.simd.complex import (
    complex_vector,
    conj,
    interleave,
    load_interleaved,
    load_reversed,
    multiply_add,
)
from cbe_bench.kernels.simd.vector import LANES, inline, load, store


def periodic_extension(r: NDArray, length: int) -> NDArray:
    """Return the first column of a circulant matrix of another length whose top left corner is circ(r).

    Parameters
    ----------
    r : array of shape (d,)
        First column of the matrix.
    length : int
        Length of the result, at least 2 d - 1.
    """
    d = len(r)
    longer = np.zeros(length, r.dtype)
    longer[:d] = r
    longer[length - d + 1 :] = r[1:]
    return longer


def tables(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return A and B, scaled for an inverse transform without 1/n.

    With S the spectrum of r and X that of x, X[k] = E + w^k O and X[k + h] = E - w^k O, where E and O, the
    transforms of the even and odd samples, are (Z[k] +- conj(Z[h - k])) / 2 (over i for O), and w = exp(-2 pi i/d).
    Likewise y has the transform S X, and Z' is the sum of (1 + i w^-k) S[k] X[k] / 2 over k and k + h.

    Parameters
    ----------
    r : array of shape (d,)
        One operand of the convolution; d is even.

    Returns
    -------
    array of shape (4, d/2)
        Real and imaginary part of A, real and imaginary part of B.
    """
    d = len(r)
    half = d // 2
    spectrum = np.fft.fft(r)
    k = np.arange(half)
    pair = [1 + 1j * np.exp(2j * np.pi * (k + shift) / d) for shift in (0, half)]
    low, high = pair[0] * spectrum[:half] / d, pair[1] * spectrum[half:] / d
    on_even = low + high
    on_odd = np.exp(-2j * np.pi * k / d) * (low - high)
    direct, mirrored = (on_even - 1j * on_odd) / 2, (on_even + 1j * on_odd) / 2
    return np.stack([direct.real, direct.imag, mirrored.real, mirrored.imag])


class Spectrum(NamedTuple):
    """Where Z lies: half complex numbers z[start:], interleaved, and the first of them once more at the end."""

    z: NDArray
    start: int
    half: int


@inline
def multiply_spectrum(spectrum, tables, t, out, add):  # type: ignore[no-untyped-def]
    """Write Z' to `out`, or add it; A and B are at tables[t:].

    Parameters
    ----------
    spectrum : Spectrum
        The array that holds Z, interleaved, its first number repeated at the end; where it begins; and h.
    tables : array
        The real and imaginary parts of A, then of B, h numbers each.
    t : int
        Where they begin.
    out : array of shape (at least 2 h,)
        The result, interleaved.
    add : bool
        Whether to add to `out`.
    """
    z, start, half = spectrum
    whole = half // LANES * LANES
    for k in range(0, whole, LANES):
        a = complex_vector(load(tables, t + k), load(tables, t + half + k))
        b = complex_vector(load(tables, t + 2 * half + k), load(tables, t + 3 * half + k))
        mirror = conj(load_reversed(z, start + 2 * (half - k - LANES + 1)))
        u, v = interleave(multiply_add(b, mirror, a * load_interleaved(z, start + 2 * k)))
        if add:
            u, v = u + load(out, 2 * k), v + load(out, 2 * k + LANES)
        store(out, 2 * k, u)
        store(out, 2 * k + LANES, v)
    for k in range(whole, half):
        i, j = start + 2 * k, start + 2 * (half - k)
        a_re, a_im = take(tables, t + k), take(tables, t + half + k)
        b_re, b_im = take(tables, t + 2 * half + k), take(tables, t + 3 * half + k)
        re, im, mirror_re, mirror_im = take(z, i), take(z, i + 1), take(z, j), -take(z, j + 1)
        product_re = a_re * re - a_im * im + b_re * mirror_re - b_im * mirror_im
        product_im = a_re * im + a_im * re + b_re * mirror_im + b_im * mirror_re
        out[2 * k] = product_re + out[2 * k] if add else product_re
        out[2 * k + 1] = product_im + out[2 * k + 1] if add else product_im
