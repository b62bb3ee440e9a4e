"""The circulant product: y = circ(r) (s * x) for many rows x, to real values or straight to packed signs.

circ(r)[i, j] = r[(i - j) mod d], so y is the circular convolution of r with s * x. For even d, the d real
numbers of a row are read, as they lie in memory, as h = d/2 complex numbers z = even + i odd. With Z their
transform, and so z' of transform Z' for y, the convolution acts on conjugate pairs of frequencies:

    Z'[k] = A[k] Z[k] + B[k] conj(Z[h - k])

for two tables A and B that depend on r alone (`tables`). The inverse transform of Z' holds y in its natural
order. One row is thus two complex transforms of half its length, on buffers that stay in cache between the sign
flip at one end and the packing of bits at the other.

Every s-th value of y alone costs less: the terms of Z' whose frequencies coincide at the lower rate are added up
and a transform of length h/s gives them.

An odd d, or one with a large prime factor, becomes a product of a longer, even length: x padded by zeros, r
repeated to reach around the end. Rows too long for the cache are the business of `fourstep`.
"""

import threading

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes, pack_row
from cbe_bench.kernels.fft.fftw import aligned_empty, complex_plans, execute_plan, good_length, has_small_factors
from cbe_bench.kernels.parallel import for_slices, share_of
from cbe_bench.kernels.simd.vector import LANES, combine

_TASK_VALUES = 1 << 18
"""Values of X worth a thread of their own: about half a millisecond of work."""


def reach_around(r: NDArray, length: int) -> NDArray:
    """Return the first column of a circulant matrix of another length whose top left corner is circ(r)."""
    d = len(r)
    longer = np.zeros(length, r.dtype)
    longer[:d] = r
    longer[length - d + 1 :] = r[1:]
    return longer


class CirculantProduct:
    """Multiply rows by circ(r) diag(signs).

    Parameters
    ----------
    r : array of shape (d,)
        First column of the circulant matrix.
    signs : array of shape (d,)
        The sign flips, -1 and +1.
    dtype : float32 or float64
        Precision of the product.
    stride : int
        Compute every stride-th value only; d must be a multiple of twice the stride.
    """

    def __init__(self, r: NDArray, signs: NDArray, dtype: type | np.dtype = np.float32, stride: int = 1) -> None:
        self.dtype = np.dtype(dtype)
        self.length = d = len(r)
        if d % 2 or not has_small_factors(d):
            if stride > 1:
                raise ValueError(f"every {stride}th value needs an even d with small factors, found {d}")
            self.length = good_length(2 * d - 1)
            r = reach_around(r, self.length)
        self.n_values = d // stride
        self._signs = np.ascontiguousarray(signs, self.dtype)
        self._tables = tables(np.asarray(r, np.float64), stride).astype(self.dtype)
        self._bins = self.length // 2 // stride
        self._buffers = threading.local()

    def project(self, X: NDArray, out: NDArray) -> None:
        """Write the first out.shape[1] values of the product of each row."""
        self._run(X, out, np.empty((0, 0), np.uint8))

    def encode(self, X: NDArray, n_bits: int, out: NDArray[np.uint8]) -> None:
        """Write the signs of the first `n_bits` values of the product of each row as packed bits."""
        if out.shape[1] != code_bytes(n_bits):
            raise ValueError(f"{n_bits} bits are {code_bytes(n_bits)} bytes a code, found room for {out.shape[1]}")
        self._run(X, np.empty((0, n_bits), self.dtype), out)

    def _run(self, X: NDArray, values: NDArray, codes: NDArray[np.uint8]) -> None:
        X = np.ascontiguousarray(X, self.dtype)
        forward, inverse = (complex_plans(length, self.dtype.name) for length in (self.length // 2, self._bins))

        def work(part: slice) -> None:
            if not hasattr(self._buffers, "pair"):
                self._buffers.pair = [aligned_empty((self.length + 2,), self.dtype) for _ in range(2)]
            plans = (self._bins, forward.execute, forward.forward, inverse.inverse)
            a, b = self._buffers.pair
            _multiply_rows(X[part], self._signs, self._tables, *plans, a, b, values[part], codes[part], values.shape[1])

        for_slices(work, len(X), share_of(len(X), _TASK_VALUES // self.length))


def tables(r: NDArray[np.float64], stride: int = 1) -> NDArray[np.float64]:
    """Return A and B as four rows, real and imaginary parts apart, scaled for an inverse transform without 1/n.

    With S the spectrum of r and X that of x, X[k] = E + w^k O and X[k + h] = E - w^k O, where E and O, the
    transforms of the even and odd samples, are (Z[k] +- conj(Z[h - k])) / 2 (over i for O), and w = exp(-2 pi i/d).
    Of y at every `stride`-th place, m = d/stride values, the complex sequence of pairs has the transform
    sum over k = f mod m/2 of (1 + i (-1)^(2k/m) exp(2 pi i k/m)) S[k] X[k] / d.
    """
    d = len(r)
    half, bins = d // 2, d // 2 // stride
    spectrum = np.fft.fft(r)
    k = np.arange(half)
    pair = [1 + 1j * np.exp(2j * np.pi * (k + shift) / (2 * bins)) for shift in (0, half)]
    low, high = pair[0] * spectrum[:half] / d, pair[1] * spectrum[half:] / d
    on_even = low + high
    on_odd = np.exp(-2j * np.pi * k / d) * (low - high)
    direct, mirrored = (on_even - 1j * on_odd) / 2, (on_even + 1j * on_odd) / 2
    return np.stack([direct.real, direct.imag, mirrored.real, mirrored.imag])


@njit(nogil=True, cache=True)
def _combine(z, tables, out):  # type: ignore[no-untyped-def]
    """Z' from Z and its mirror image, folded onto as many bins as `out` has; z repeats its first bin at the end."""
    half = tables.shape[1]
    bins = out.shape[0] // 2
    whole = bins // LANES * LANES
    ar, ai, br, bi = tables[0], tables[1], tables[2], tables[3]
    for fold in range(0, half, bins):
        for f in range(0, whole, LANES):
            k = fold + f
            combine(z, 2 * k, z, 2 * (half - k - LANES + 1), ar, ai, br, bi, k, out, 2 * f, fold > 0)
        for f in range(whole, bins):
            k = fold + f
            zr, zi = z[2 * k], z[2 * k + 1]
            cr, ci = z[2 * (half - k)], z[2 * (half - k) + 1]
            real = ar[k] * zr - ai[k] * zi + br[k] * cr + bi[k] * ci
            imag = ar[k] * zi + ai[k] * zr + bi[k] * cr - br[k] * ci
            out[2 * f] = real + out[2 * f] if fold else real
            out[2 * f + 1] = imag + out[2 * f + 1] if fold else imag


@njit(nogil=True, cache=True)
def _multiply_rows(  # type: ignore[no-untyped-def]
    X, signs, tables, bins, execute, forward, inverse, a, b, values, codes, n_bits
):
    """Multiply every row; write real values if there is room for them, packed signs otherwise."""
    d, half = X.shape[1], tables.shape[1]
    for i in range(X.shape[0]):
        for j in range(d):
            a[j] = X[i, j] * signs[j]
        a[d:] = 0
        execute_plan(execute, forward, a.ctypes.data, b.ctypes.data)
        b[2 * half], b[2 * half + 1] = b[0], b[1]
        _combine(b, tables, a[: 2 * bins])
        execute_plan(execute, inverse, a.ctypes.data, b.ctypes.data)
        if values.shape[0]:
            values[i] = b[:n_bits]
        else:
            pack_row(b, n_bits, codes[i])
