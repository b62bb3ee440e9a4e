"""The circulant product: y = circ(r) (s * x) for many rows x, to real values or straight to packed signs.

circ(r)[i, j] = r[(i - j) mod d], so y is the circular convolution of r with s * x. For even d, the d real
numbers of a row are read, as they lie in memory, as h = d/2 complex numbers z = even + i odd. With Z their
transform, the convolution acts on conjugate pairs of frequencies,

    Z'[k] = A[k] Z[k] + B[k] conj(Z[h - k]),
    A = S_even + (i/2) (1 - w^2) S_odd,   B = (i/2) (1 + w^2) S_odd,   w = exp(-2 pi i k / d),

S_even and S_odd the h-point transforms of the even and odd samples of r; and the inverse transform of Z'
holds y in its natural order. One row is thus two complex transforms of half its length, on buffers that stay
in cache between the sign flip at one end and the packing of bits at the other.

An odd d, or one with a large prime factor, becomes a product of a longer, even length: x padded by zeros, r
repeated to reach around the end.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes
from cbe_bench.kernels.fftw import aligned_empty, complex_plans, execute_plan, good_length, has_small_factors
from cbe_bench.kernels.parallel import for_slices

_TASK_VALUES = 1 << 20
"""Values of X in one task of a thread: about a millisecond of work."""


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
    """

    def __init__(self, r: NDArray, signs: NDArray, dtype: type | np.dtype = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        d = len(r)
        r = np.asarray(r, np.float64)
        self.length = d
        if d % 2 or not has_small_factors(d):
            self.length = good_length(2 * d - 1)
            around = np.zeros(self.length)
            around[:d] = r
            around[self.length - d + 1 :] = r[1:]
            r = around
        self._signs = np.ascontiguousarray(signs, self.dtype)
        half = self.length // 2
        even, odd = np.fft.fft(r[0::2]), np.fft.fft(r[1::2])
        turn = np.exp(-2j * np.pi * np.arange(half) / half)
        direct = (even + 0.5j * (1 - turn) * odd) / half
        mirrored = 0.5j * (1 + turn) * odd / half
        self._tables = np.ascontiguousarray(
            np.stack([direct.real, direct.imag, mirrored.real, mirrored.imag]), dtype=self.dtype
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the tables one row is multiplied with."""
        return self._signs.nbytes + self._tables.nbytes

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
        plans = complex_plans(self.length // 2, self.dtype.name)

        def work(part: slice) -> None:
            a, b = (aligned_empty((self.length,), self.dtype) for _ in range(2))
            _multiply_rows(
                X[part],
                self._signs,
                self._tables,
                plans.execute,
                plans.forward,
                plans.inverse,
                a,
                b,
                values[part],
                codes[part],
                values.shape[1],
            )

        for_slices(work, len(X), max(1, _TASK_VALUES // self.length))


@njit(nogil=True, cache=True, fastmath={"contract"})
def _combine(z, tables, out):  # type: ignore[no-untyped-def]
    """Z'[k] = A[k] Z[k] + B[k] conj(Z[h - k]), complex numbers as pairs of reals."""
    half = tables.shape[1]
    for k in range(half):
        j = half - k if k else 0
        ar, ai, br, bi = tables[0, k], tables[1, k], tables[2, k], tables[3, k]
        zr, zi = z[2 * k], z[2 * k + 1]
        cr, ci = z[2 * j], -z[2 * j + 1]
        out[2 * k] = ar * zr - ai * zi + br * cr - bi * ci
        out[2 * k + 1] = ar * zi + ai * zr + br * ci + bi * cr


@njit(nogil=True, cache=True)
def _pack_row(values, n_bits, code):  # type: ignore[no-untyped-def]
    """Pack the signs of the first n_bits values."""
    for byte in range(n_bits // 8):
        bits = 0
        for t in range(8):
            bits |= (values[8 * byte + t] >= 0) << t
        code[byte] = bits
    if n_bits % 8:
        bits = 0
        for t in range(n_bits % 8):
            bits |= (values[n_bits // 8 * 8 + t] >= 0) << t
        code[n_bits // 8] = bits


@njit(nogil=True, cache=True)
def _multiply_rows(X, signs, tables, execute, forward, inverse, a, b, values, codes, n_bits):  # type: ignore[no-untyped-def]
    """Multiply every row; write real values if there is room for them, packed signs otherwise."""
    d = X.shape[1]
    for i in range(X.shape[0]):
        for j in range(d):
            a[j] = X[i, j] * signs[j]
        a[d:] = 0
        execute_plan(execute, forward, a.ctypes.data, b.ctypes.data)
        _combine(b, tables, a)
        execute_plan(execute, inverse, a.ctypes.data, b.ctypes.data)
        if values.shape[0]:
            values[i] = b[:n_bits]
        else:
            _pack_row(b, n_bits, codes[i])
