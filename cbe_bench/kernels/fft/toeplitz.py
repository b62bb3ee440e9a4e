"""Products with several Toeplitz matrices: T_1 y, ..., T_B y, each of m rows and n >> m columns.

T[i, j] = g[i - j + n - 1] for a vector g of n + m - 1 numbers. One circulant matrix around T would have a length of
n + m - 1 and give n - 1 values that nobody asks for. So y is cut into pieces of about 3m numbers: every piece is
transformed once, at a length of about 4m, for all B matrices; for each of these the products of the spectra are
added up over the pieces, and a single transform back gives its m values. As in `packed_real`, the real numbers of a
piece are transformed as half as many complex ones.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.fftw import ComplexPlans, complex_plans, forward, good_length, inverse
from cbe_bench.kernels.fft.packed_real import Spectrum, multiply_spectrum, tables
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.output import Output, Values, part_of, row_of, signs_output, write_row
from cbe_bench.kernels.parallel import for_slices, slice_size
from cbe_bench.kernels.simd.vector import LANES, inline

_TRANSFORM_ROWS = 4
"""Length of a transform for each row of a matrix."""
_TASK_VALUES = 1 << 16
"""Values worth a thread of their own."""


class _Plan(NamedTuple):
    """What the products of one vector need."""

    piece: int
    sizes: NDArray[np.int64]
    tables: NDArray
    fft: ComplexPlans


class _Buffers(NamedTuple):
    """Spectra of all pieces, their total, one piece, all results."""

    spectra: NDArray
    total: NDArray
    piece: NDArray
    results: NDArray


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
        m = generators.shape[1] - n + 1
        piece, self.length, self.pieces = piece_lengths(n, m)
        spectra = np.empty((len(generators), self.pieces, 4, self.length // 2), self.dtype)
        for g, block in zip(generators.astype(np.float64), spectra, strict=True):
            padded = np.concatenate([np.zeros(self.pieces * piece - n), g])  # columns beyond the last
            for p, table in enumerate(block):
                middle = (self.pieces - p) * piece - 1
                column = np.zeros(self.length)
                column[:m] = padded[middle : middle + m]
                column[self.length - piece + 1 :] = padded[middle - piece + 1 : middle]
                table[:] = tables(column)
        self._plan = _Plan(piece, sizes, spectra, complex_plans(self.length // 2, self.dtype.name))
        self._scratch = Scratch()

    def project(self, Y: NDArray, out: NDArray) -> None:
        """Write the values of all matrices for each row of Y.

        Parameters
        ----------
        Y : array of shape (rows, n)
            The vectors.
        out : array of shape (rows, number of values)
            The result.
        """
        self._multiply(Y, Values(out))

    def encode(self, Y: NDArray, out: NDArray[np.uint8]) -> None:
        """Write the signs of all values for each row of Y as packed bits.

        Parameters
        ----------
        Y : array of shape (rows, n)
            The vectors.
        out : uint8 array of shape (rows, n_bytes)
            The result.
        """
        self._multiply(Y, signs_output(out, int(self._plan.sizes.sum())))

    def _multiply(self, Y: NDArray, out: Output) -> None:
        def work(part: slice) -> None:
            _multiply_rows(Y[part], self._plan, self._buffers(), part_of(out, part))

        for_slices(work, len(Y), slice_size(len(Y), _TASK_VALUES // Y.shape[1]))

    def _buffers(self) -> _Buffers:
        """Return this thread's memory."""
        width = -(-(self.length + 2) // LANES) * LANES
        shapes = ((self.pieces, width), (width,), (width,), (int(self._plan.sizes.sum()),))
        named = zip(_Buffers._fields, shapes, strict=True)
        return _Buffers(*(self._scratch.array(name, shape, self.dtype) for name, shape in named))


def piece_lengths(n: int, m: int) -> tuple[int, int, int]:
    """Return the length of a piece of y, the length of its transform, and the number of pieces.

    Parameters
    ----------
    n : int
        The length of y.
    m : int
        The number of rows of the largest matrix.

    Returns
    -------
    piece, length, count : int
    """
    length = good_length(min(_TRANSFORM_ROWS * m, n + m - 1))
    piece = min(n, length - m + 1)
    return piece, length, -(-n // piece)


@inline
def _transform_pieces(y, plan, x, spectra):  # type: ignore[no-untyped-def]
    n, half = y.shape[0], plan.tables.shape[3]
    for p in range(spectra.shape[0]):
        count = min(plan.piece, n - p * plan.piece)
        x[:count] = y[p * plan.piece : p * plan.piece + count]
        x[count:] = 0
        z = spectra[p]
        forward(plan.fft, x, 0, z, 0)
        z[2 * half], z[2 * half + 1] = z[0], z[1]


@njit(nogil=True, cache=True)
def _multiply_rows(Y, plan, buffers, out):  # type: ignore[no-untyped-def]
    n_blocks, n_pieces, half = plan.tables.shape[0], plan.tables.shape[1], plan.tables.shape[3]
    tables, spectra, width = plan.tables.reshape(-1), buffers.spectra.reshape(-1), buffers.spectra.shape[1]
    piece, results, total = buffers.piece, buffers.results, buffers.total[: 2 * half]
    for i in range(Y.shape[0]):
        _transform_pieces(Y[i], plan, piece, buffers.spectra)
        first = 0
        for b in range(n_blocks):
            t = 4 * half * n_pieces * b
            multiply_spectrum(Spectrum(spectra, 0, half), tables, t, total, False)
            for p in range(1, n_pieces):
                multiply_spectrum(Spectrum(spectra, p * width, half), tables, t + 4 * half * p, total, True)
            inverse(plan.fft, total, 0, piece, 0)
            last = first + plan.sizes[b]
            results[first:last] = piece[: plan.sizes[b]]
            first = last
        write_row(row_of(out, i), results)
