"""The circulant product of vectors of thousands to hundreds of millions of numbers.

As in `fourier`, d real numbers are h = d/2 complex ones, and the product is a transform, a product with the
transform of r that also involves conjugate pairs of frequencies, and a transform back. Here h = n1 n2, the vector
is an n1 x n2 matrix, and a transform is done as transforms down the columns, a turn of each entry, and transforms
along the rows. Frequency k1 + n1 k2 then lies at (k1, k2), and it is left there: nothing is ever transposed. The
mirror image of row k1 is row n1 - k1, so the two are transformed, multiplied and transformed back while they are in
cache, and the vector is passed over three times in all:

1. columns, 16 at a time: sign flip, transform, turn (`begin_columns`)
2. rows, by mirrored pairs: transform, multiply, transform back (`multiply_rows`)
3. columns again: turn back, transform back, sign, pack (`finish_columns`)

Vectors that fit the cache are shared out among the threads; of longer ones, each pass is.
"""

import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes
from cbe_bench.kernels.fft.columns import column_plan
from cbe_bench.kernels.fft.fftw import ComplexPlans, aligned_empty, complex_plans, good_length
from cbe_bench.kernels.fft.fftw import has_small_factors as smooth
from cbe_bench.kernels.fft.fourier import CirculantProduct, reach_around
from cbe_bench.kernels.fft.passes import (
    PADDING,
    begin_columns,
    finish_columns,
    multiply_rows,
    multiply_vectors,
    take_spectrum,
    turn_tables,
)
from cbe_bench.kernels.parallel import for_slices, share_of
from cbe_bench.kernels.simd.vector import LANES, WIDTH

_SHORTEST = 1 << 14
"""Vectors from this length on are faster this way."""
_ALONE = 1 << 20
"""Vectors from this length on have all threads to themselves."""
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
        n1, n2 = self._shape
        self._signs = np.ascontiguousarray(signs, np.int8)
        self._turns = turn_tables(n1, n2, self.dtype)
        self._columns = column_plan(n1, self.dtype.name)
        self._memory = threading.local()
        self._shared_work: NDArray | None = None
        self._busy = threading.Lock()
        far = np.exp(-2j * np.pi * np.arange(n2) / n2)
        self._spectrum = aligned_empty((n1, 2 * (n2 + PADDING)), self.dtype)
        self._rows = (self._spectrum, far.real.astype(self.dtype), far.imag.astype(self.dtype))
        self._transform(r)

    def project(self, X: NDArray, out: NDArray) -> None:
        """Write the first out.shape[1] values of the product of each row."""
        self._run(X, out, np.empty((len(X), 0), np.uint8), out.shape[1])

    def encode(self, X: NDArray, n_bits: int, out: NDArray[np.uint8]) -> None:
        """Write the signs of the first `n_bits` values of the product of each row as packed bits."""
        if out.shape[1] != code_bytes(n_bits):
            raise ValueError(f"{n_bits} bits are {code_bytes(n_bits)} bytes a code, found room for {out.shape[1]}")
        self._run(X, np.empty((len(X), 0), self.dtype), out, n_bits)

    def _run(self, X: NDArray, values: NDArray, codes: NDArray[np.uint8], n_values: int) -> None:
        X = np.ascontiguousarray(X, self.dtype)
        plans = self._plan_addresses()
        if self.length >= _ALONE:
            with self._busy:
                for x, row_values, row_codes in zip(X, values, codes, strict=True):
                    self._run_alone(x, plans, row_values, row_codes, n_values)
            return

        def work(some: slice) -> None:
            whole = np.empty(self.length if values.shape[1] else 0, self.dtype)
            matrices = (self._signs, self._rows, plans, self._turns, self._columns)
            multiply_vectors(X[some], *matrices, *self._scratch(), whole, values[some], codes[some], n_values)

        for_slices(work, len(X), share_of(len(X), _TASK_VALUES // self.length))

    def _run_alone(
        self, x: NDArray, plans: tuple[int, int, int], values: NDArray, codes: NDArray[np.uint8], n_values: int
    ) -> None:
        """Multiply one vector, every pass on all threads."""
        n1, n2 = self._shape
        work = self._begin(x, self._signs)
        whole = np.empty(self.length if len(values) else 0, self.dtype)

        def multiply(some: slice) -> None:
            _, _, buffers = self._scratch(own_work=False)
            multiply_rows(work, *self._rows, *plans, buffers, some.start, some.stop)

        def finish(some: slice) -> None:
            _, columns, _ = self._scratch(own_work=False)
            blocks = (columns, some.start, some.stop)
            finish_columns(work, n2, *self._turns, *self._columns, *blocks, whole, codes, n_values, x[:0])

        for_slices(multiply, n1 // 2 + 1, share_of(n1 // 2 + 1, 1))
        for_slices(finish, n2 // LANES, share_of(n2 // LANES, 1))
        values[:] = whole[: len(values)]

    def _begin(self, x: NDArray, signs: NDArray[np.int8]) -> NDArray:
        """Do the first pass on all threads; return the work it wrote."""
        n1, n2 = self._shape
        if self._shared_work is None:
            self._shared_work = aligned_empty((n1, 2 * (n2 + PADDING)), self.dtype)
        work = self._shared_work

        def begin(some: slice) -> None:
            _, columns, _ = self._scratch(own_work=False)
            begin_columns(x, signs, work, n2, *self._turns, *self._columns, columns, some.start, some.stop)

        for_slices(begin, n2 // LANES, share_of(n2 // LANES, 1))
        return work

    def _scratch(self, *, own_work: bool = True) -> tuple[NDArray, NDArray, NDArray]:
        """Return this thread's memory, kept between calls: a vector in work, a block of columns, rows."""
        n1, n2 = self._shape
        mine = self._memory.__dict__
        if "columns" not in mine:
            mine["columns"] = aligned_empty((2, n1 * WIDTH), self.dtype)
            mine["rows"] = aligned_empty((4, 2 * (n2 + PADDING)), self.dtype)
        if own_work and "work" not in mine:
            mine["work"] = aligned_empty((n1, 2 * (n2 + PADDING)), self.dtype)
        return mine.get("work", mine["rows"]), mine["columns"], mine["rows"]

    def _row_plans(self) -> ComplexPlans:
        return complex_plans(self._shape.n2, self.dtype.name)

    def _plan_addresses(self) -> tuple[int, int, int]:
        plans = self._row_plans()
        return plans.execute, plans.forward, plans.inverse

    def _transform(self, r: NDArray) -> None:
        """Transform r, by the first pass and half of the second."""
        execute, forward, _ = self._plan_addresses()
        r = r.astype(self.dtype, copy=False)
        if self.length > len(r):
            r = reach_around(r, self.length)
        work = self._begin(r, np.ones(self.length, np.int8))

        def transform(some: slice) -> None:
            _, _, buffers = self._scratch(own_work=False)
            take_spectrum(work, self._spectrum, execute, forward, buffers, some.start, some.stop)

        for_slices(transform, self._shape.n1, share_of(self._shape.n1, 1))
        if self.length < _ALONE:
            self._shared_work = None
