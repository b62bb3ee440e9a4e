"""The circulant product of vectors of thousands to hundreds of millions of numbers.

Each is done in three passes over the vector (`four_step`). Vectors that fit the cache are distributed over the
threads; of longer ones, each pass is.
"""

import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.fft import four_step as passes
from cbe_bench.kernels.fft.circulant import CirculantProduct
from cbe_bench.kernels.fft.fftw import good_length
from cbe_bench.kernels.fft.fftw import has_small_factors as smooth
from cbe_bench.kernels.fft.four_step import PADDING
from cbe_bench.kernels.fft.packed_real import periodic_extension
from cbe_bench.kernels.memory import Scratch, aligned_empty
from cbe_bench.kernels.output import Output, Values, part_of, signs_output
from cbe_bench.kernels.parallel import for_slices, share_of
from cbe_bench.kernels.simd.complex import WIDTH
from cbe_bench.kernels.simd.vector import LANES

_SHORTEST = 1 << 14
"""Vectors from this length on are faster this way."""
_EXCLUSIVE = 1 << 20
"""Vectors from this length on are multiplied one at a time, by all threads."""
_LONGEST_COLUMN, _LONGEST_ROW = 1 << 12, 1 << 17
_TASK_VALUES = 1 << 18
"""Numbers worth a thread of their own."""


def circulant_product(
    r: NDArray, signs: NDArray, dtype: type | np.dtype, stride: int = 1
) -> "CirculantProduct | LongCirculantProduct":
    """Return circ(r) diag(signs) in the form that is faster for its length."""
    d = len(r)
    fits = matrix_shape(d) is not None or d % 2 or not smooth(d) or d >= 16 * _SHORTEST
    if stride == 1 and d >= _SHORTEST and fits:
        return LongCirculantProduct(r, signs, dtype)
    return CirculantProduct(r, signs, dtype, stride)


class Shape(NamedTuple):
    """A length of h = n1 n2 complex numbers as a matrix; n1 is a power of two, n2 a multiple of 16."""

    n1: int
    n2: int


def matrix_shape(length: int) -> Shape | None:
    """Lay out `length` real numbers, or None if that cannot be done well."""
    half = length // 2
    if length % 2 or not smooth(length):
        return None
    twos = half & -half
    n1 = min(twos // LANES, _LONGEST_COLUMN, 1 << (math.isqrt(half).bit_length() - 1))
    return Shape(n1, half // n1) if n1 >= LANES and half // n1 <= _LONGEST_ROW else None


def layout(d: int) -> tuple[int, Shape]:
    """Return the length a product of d values is computed with, d itself or one it can be padded to, and its shape."""
    length, shape = d, matrix_shape(d)
    multiple = 2 * LANES * max(LANES, min(_LONGEST_COLUMN, (1 << math.isqrt(d).bit_length()) // 4))
    while shape is None:
        length = good_length(max(2 * d - 1, length + 1), multiple)
        shape = matrix_shape(length)
    return length, shape


class LongCirculantProduct:
    """Multiply rows by circ(r) diag(signs).

    Parameters
    ----------
    r : array of shape (d,)
        First column of the circulant matrix.
    signs : int8 array of shape (d,)
        The sign flips, -1 and +1.
    dtype : float32 or float64
        Precision of the product.
    """

    def __init__(self, r: NDArray, signs: NDArray, dtype: type | np.dtype = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        self.length, self._shape = layout(len(r))
        self._signs = np.ascontiguousarray(signs, np.int8)
        self._plan = passes.four_step(*self._shape, self.dtype)
        self._scratch = Scratch()
        self._shared_work: NDArray | None = None
        self._busy = threading.Lock()
        self._spectrum = self._transform(r.astype(self.dtype, copy=False))

    def project(self, X: NDArray, out: NDArray) -> None:
        """Write the first values of the product of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        out : array of shape (n, k)
            Where the values go.
        """
        self._multiply(X, Values(out))

    def encode(self, X: NDArray, n_bits: int, out: NDArray[np.uint8]) -> None:
        """Write the signs of the first `n_bits` values of the product of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        n_bits : int
            Bits of a code.
        out : uint8 array of shape (n, bytes of a code)
            Where the packed bits go.
        """
        self._multiply(X, signs_output(out, n_bits))

    def _multiply(self, X: NDArray, out: Output) -> None:
        X = np.ascontiguousarray(X, self.dtype)
        if self.length >= _EXCLUSIVE:
            with self._busy:
                for i, x in enumerate(X):
                    self._multiply_exclusively(x, out._replace(array=out.array[i]))
            return

        def work(some: slice) -> None:
            vector = self._scratch.array("work", self._work_shape, self.dtype)
            buffers = (self._column_buffers(), self._row_buffers())
            passes.multiply_vectors(
                X[some], self._signs, self._spectrum, self._plan, vector, buffers, part_of(out, some)
            )

        for_slices(work, len(X), share_of(len(X), _TASK_VALUES // self.length))

    def _multiply_exclusively(self, x: NDArray, out: Output) -> None:
        """Multiply one vector, every pass on all threads."""
        n1, n2 = self._shape
        work = self._columns_forward(x, self._signs)

        def rows(some: slice) -> None:
            passes.rows_multiply(work, self._spectrum, self._plan, self._row_buffers(), some.start, some.stop)

        def columns(some: slice) -> None:
            passes.columns_inverse(work, self._plan, self._column_buffers(), some.start, some.stop, out, x[:0])

        for_slices(rows, n1 // 2 + 1, share_of(n1 // 2 + 1, 1))
        for_slices(columns, n2 // LANES, share_of(n2 // LANES, 1))

    def _columns_forward(self, x: NDArray, signs: NDArray[np.int8]) -> NDArray:
        """Do the first pass on all threads; return what it wrote."""
        if self._shared_work is None:
            self._shared_work = aligned_empty(self._work_shape, self.dtype)
        work = self._shared_work

        def columns(some: slice) -> None:
            passes.columns_forward(x, signs, self._plan, work, self._column_buffers(), some.start, some.stop)

        n_blocks = self._shape.n2 // LANES
        for_slices(columns, n_blocks, share_of(n_blocks, 1))
        return work

    @property
    def _work_shape(self) -> tuple[int, int]:
        n1, n2 = self._shape
        return n1, 2 * (n2 + PADDING)

    def _column_buffers(self) -> NDArray:
        return self._scratch.array("columns", (2, self._shape.n1 * WIDTH), self.dtype)

    def _row_buffers(self) -> NDArray:
        return self._scratch.array("rows", (4, self._work_shape[1]), self.dtype)

    def _transform(self, r: NDArray) -> NDArray:
        """Return the spectrum of r, by the first pass and half of the second."""
        if self.length > len(r):
            r = periodic_extension(r, self.length)
        work = self._columns_forward(r, np.ones(self.length, np.int8))
        spectrum = aligned_empty(self._work_shape, self.dtype)

        def rows(some: slice) -> None:
            passes.rows_spectrum(work, self._plan, self._row_buffers(), some.start, some.stop, spectrum)

        for_slices(rows, self._shape.n1, share_of(self._shape.n1, 1))
        if self.length < _EXCLUSIVE:
            self._shared_work = None
        return spectrum
