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
from cbe_bench.kernels.fft.fftw import good_length
from cbe_bench.kernels.fft.fftw import has_small_factors as smooth
from cbe_bench.kernels.fft.four_step import PADDING
from cbe_bench.kernels.fft.packed_real import periodic_extension
from cbe_bench.kernels.fft.row_product import RowProduct
from cbe_bench.kernels.memory import Scratch, aligned_empty
from cbe_bench.kernels.output import Output, part_of
from cbe_bench.kernels.parallel import for_slices, slice_size
from cbe_bench.kernels.simd.complex import WIDTH
from cbe_bench.kernels.simd.vector import LANES

_EXCLUSIVE = 1 << 20
"""Vectors from this length on are multiplied one at a time, by all threads."""
_LONGEST_COLUMN, _LONGEST_ROW = 1 << 12, 1 << 17
_TASK_VALUES = 1 << 18
"""Numbers worth a thread of their own."""


class Shape(NamedTuple):
    """A length of h = n1 n2 complex numbers as a matrix; n1 is a power of two, n2 a multiple of 16."""

    n1: int
    n2: int


def matrix_shape(length: int, stride: int = 1) -> Shape | None:
    """Lay out `length` real numbers, or None if that cannot be done well.

    The rows of a product of every stride-th value are shortened by half the stride.
    """
    half = length // 2
    if length % 2 or not smooth(length):
        return None
    twos = half & -half
    n1 = min(twos // (LANES * max(1, stride // 2)), _LONGEST_COLUMN, 1 << (math.isqrt(half).bit_length() - 1))
    return Shape(n1, half // n1) if n1 >= LANES and half // n1 <= _LONGEST_ROW else None


def layout(d: int, stride: int = 1) -> tuple[int, Shape]:
    """Return the length a product of d values is computed with, d itself or one it can be padded to, and its shape."""
    length, shape = d, matrix_shape(d, stride)
    multiple = (
        2 * LANES * max(1, stride // 2) * max(LANES, min(_LONGEST_COLUMN, (1 << math.isqrt(d).bit_length()) // 4))
    )
    while shape is None:
        length = good_length(max(2 * d - 1, length + 1), multiple)
        shape = matrix_shape(length, stride)
    return length, shape


class LongCirculantProduct(RowProduct):
    """Multiply rows by circ(r) diag(signs).

    Parameters
    ----------
    r : array of shape (d,)
        First column of the circulant matrix.
    signs : int8 array of shape (d,)
        The sign flips, -1 and +1.
    dtype : float32 or float64
        Precision of the product.
    stride : int
        Compute every stride-th value only: 1 or a power of two.
    """

    def __init__(self, r: NDArray, signs: NDArray, dtype: type | np.dtype = np.float32, stride: int = 1) -> None:
        self.dtype = np.dtype(dtype)
        self.length, self._shape = layout(len(r), stride)
        n1, n2 = self._shape
        self._signs = np.ascontiguousarray(signs, np.int8)
        self._plan = passes.four_step(n1, n2, self.dtype)
        self._back = self._plan if stride <= 2 else passes.four_step(n1, n2 // (stride // 2), self.dtype)
        self._real = stride > 1
        self._scratch = Scratch()
        self._shared_work: NDArray | None = None
        self._busy = threading.Lock()
        self._spectrum = self._transform(r.astype(self.dtype, copy=False))

    def _multiply(self, X: NDArray, out: Output) -> None:
        if self.length >= _EXCLUSIVE:
            with self._busy:
                for i, x in enumerate(X):
                    self._multiply_exclusively(x, out._replace(array=out.array[i]))
            return

        def work(some: slice) -> None:
            vector = self._scratch.array("work", self._work_shape, self.dtype)
            buffers = (self._column_buffers(), self._row_buffers())
            plans = (self._plan, self._back)
            some_out = part_of(out, some)
            passes.multiply_vectors(X[some], self._signs, self._spectrum, plans, self._real, vector, buffers, some_out)

        for_slices(work, len(X), slice_size(len(X), _TASK_VALUES // self.length))

    def _multiply_exclusively(self, x: NDArray, out: Output) -> None:
        """Multiply one vector, every pass on all threads."""
        work = self._columns_forward(x, self._signs)
        plan, back, spectrum = self._plan, self._back, self._spectrum

        def rows(some: slice) -> None:
            passes.rows_multiply(work, spectrum, plan, back, self._row_buffers(), some.start, some.stop)

        def columns(some: slice) -> None:
            buffers = self._column_buffers()
            passes.columns_inverse(work, back, self._real, buffers, some.start, some.stop, out, x[:0])

        n_rows, n_blocks = self._shape.n1 // 2 + 1, len(back.row_re) // LANES
        for_slices(rows, n_rows, slice_size(n_rows, 1))
        for_slices(columns, n_blocks, slice_size(n_blocks, 1))

    def _columns_forward(self, x: NDArray, signs: NDArray[np.int8]) -> NDArray:
        """Do the first pass on all threads; return what it wrote."""
        if self._shared_work is None:
            self._shared_work = aligned_empty(self._work_shape, self.dtype)
        work = self._shared_work

        def columns(some: slice) -> None:
            passes.columns_forward(x, signs, self._plan, work, self._column_buffers(), some.start, some.stop)

        n_blocks = self._shape.n2 // LANES
        for_slices(columns, n_blocks, slice_size(n_blocks, 1))
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

        for_slices(rows, self._shape.n1, slice_size(self._shape.n1, 1))
        if self.length < _EXCLUSIVE:
            self._shared_work = None
        return spectrum
