"""Products with several Toeplitz matrices: T_1 y, ..., T_B y, each of m rows and n >> m columns.

T[i, j] = g[i - j + n - 1] for a vector g of n + m - 1 numbers. One circulant matrix around T would have a length of
n + m - 1 and give n - 1 values that nobody asks for. So y is cut into pieces of about 3m numbers: every piece is
transformed once, at a length of about 4m, for all B matrices; for each of these the products of the spectra are
added up over the pieces, and a single transform back gives its m values. As in `fourier`, the real numbers of a
piece are taken in pairs, as half as many complex ones.
"""

import threading

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.bits import pack_row
from cbe_bench.kernels.fft.fftw import aligned_empty, complex_plans, execute_plan, good_length
from cbe_bench.kernels.fft.fourier import tables
from cbe_bench.kernels.parallel import for_slices, share_of
from cbe_bench.kernels.simd.vector import LANES, combine

_TRANSFORM_ROWS = 4
"""Length of a transform for each row of a matrix."""
_TASK_VALUES = 1 << 16
"""Values worth a thread of their own."""


class ToeplitzBlocks:
    """Multiply vectors by several Toeplitz matrices and put the results one after the other.

    Parameters
    ----------
    generators : array of shape (B, n + m - 1)
        The numbers of each matrix: T[i, j] = g[i - j + n - 1].
    n : int
        Columns of each matrix.
    sizes : int array of shape (B,)
        Rows of each matrix that are wanted, at most m.
    dtype : float32 or float64
        Precision of the product.
    """

    def __init__(self, generators: NDArray, n: int, sizes: NDArray[np.int64], dtype: type | np.dtype) -> None:
        self.dtype = np.dtype(dtype)
        self._sizes = sizes
        m = generators.shape[1] - n + 1
        self._piece, self.length, self.pieces = piece_lengths(n, m)
        self._tables = np.empty((len(generators), self.pieces, 4, self.length // 2), self.dtype)
        for g, block in zip(generators.astype(np.float64), self._tables, strict=True):
            padded = np.concatenate([np.zeros(self.pieces * self._piece - n), g])  # columns beyond the last
            for p, table in enumerate(block):
                middle = (self.pieces - p) * self._piece - 1
                column = np.zeros(self.length)
                column[:m] = padded[middle : middle + m]
                column[self.length - self._piece + 1 :] = padded[middle - self._piece + 1 : middle]
                table[:] = tables(column)
        self._memory = threading.local()

    def project(self, Y: NDArray, out: NDArray) -> None:
        """Write the values of all matrices for each row of Y."""
        self._run(Y, out, np.empty((len(Y), 0), np.uint8))

    def encode(self, Y: NDArray, out: NDArray[np.uint8]) -> None:
        """Write the signs of all values for each row of Y as packed bits."""
        self._run(Y, np.empty((len(Y), 0), self.dtype), out)

    def _run(self, Y: NDArray, values: NDArray, codes: NDArray[np.uint8]) -> None:
        plans = complex_plans(self.length // 2, self.dtype.name)

        def work(part: slice) -> None:
            sizes = (self._piece, self._sizes)
            _multiply_rows(Y[part], *sizes, self._tables, *plans, *self._scratch(), values[part], codes[part])

        for_slices(work, len(Y), share_of(len(Y), _TASK_VALUES // Y.shape[1]))

    def _scratch(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return this thread's memory, kept between calls: spectra of pieces, their total, one piece, a result."""
        mine = self._memory.__dict__
        if "spectra" not in mine:
            stride = -(-(self.length + 2) // LANES) * LANES
            mine["spectra"] = aligned_empty((self.pieces, stride), self.dtype)
            mine["total"] = aligned_empty((stride,), self.dtype)
            mine["piece"] = aligned_empty((stride,), self.dtype)
            mine["whole"] = np.empty(self._sizes.sum(), self.dtype)
        return mine["spectra"], mine["total"], mine["piece"], mine["whole"]


def piece_lengths(n: int, m: int) -> tuple[int, int, int]:
    """Return the length of a piece of y, of its transform, and the number of pieces."""
    length = good_length(min(_TRANSFORM_ROWS * m, n + m - 1))
    piece = min(n, length - m + 1)
    return piece, length, -(-n // piece)


@njit(nogil=True, cache=True)
def _add_product(z, tables, out, add):  # type: ignore[no-untyped-def]
    """Add the product with the spectrum z, which repeats its first bin at the end, or begin with it."""
    half = tables.shape[1]
    whole = half // LANES * LANES
    ar, ai, br, bi = tables[0], tables[1], tables[2], tables[3]
    for k in range(0, whole, LANES):
        combine(z, 2 * k, z, 2 * (half - k - LANES + 1), ar, ai, br, bi, k, out, 2 * k, add)
    for k in range(whole, half):
        zr, zi = z[2 * k], z[2 * k + 1]
        cr, ci = z[2 * (half - k)], z[2 * (half - k) + 1]
        real = ar[k] * zr - ai[k] * zi + br[k] * cr + bi[k] * ci
        imag = ar[k] * zi + ai[k] * zr + bi[k] * cr - br[k] * ci
        out[2 * k] = real + out[2 * k] if add else real
        out[2 * k + 1] = imag + out[2 * k + 1] if add else imag


@njit(nogil=True, cache=True)
def _transform_pieces(y, piece, half, execute, forward, x, spectra):  # type: ignore[no-untyped-def]
    n = y.shape[0]
    for p in range(spectra.shape[0]):
        count = min(piece, n - p * piece)
        x[:count] = y[p * piece : p * piece + count]
        x[count:] = 0
        z = spectra[p]
        execute_plan(execute, forward, x.ctypes.data, z.ctypes.data)
        z[2 * half], z[2 * half + 1] = z[0], z[1]


@njit(nogil=True, cache=True)
def _multiply_rows(  # type: ignore[no-untyped-def]
    Y, piece, sizes, tables, execute, forward, inverse, spectra, total, x, whole, values, codes
):
    """Multiply every row; write real values or packed signs, whichever there is room for."""
    half = tables.shape[3]
    for i in range(Y.shape[0]):
        _transform_pieces(Y[i], piece, half, execute, forward, x, spectra)
        first = 0
        for b in range(tables.shape[0]):
            for p in range(tables.shape[1]):
                _add_product(spectra[p], tables[b, p], total, p > 0)
            execute_plan(execute, inverse, total.ctypes.data, x.ctypes.data)
            whole[first : first + sizes[b]] = x[: sizes[b]]
            first += sizes[b]
        if values.shape[1]:
            values[i] = whole
        if codes.shape[1]:
            pack_row(whole, whole.shape[0], codes[i])
