"""The circulant product of one vector that is much longer than the cache.

As in `fourier`, d real numbers are h = d/2 complex ones, and the product is a transform, a combination of
conjugate pairs of frequencies, and a transform back. Here h = n1 n2, the vector is an n1 x n2 matrix, and a
transform is done as transforms down the columns, a turn of each entry, and transforms along the rows. Frequency
k1 + n1 k2 then lies at (k1, k2), and it is left there: nothing is ever transposed. The mirror image of row k1 is
row n1 - k1, so the two are transformed, combined and transformed back while they are in cache, and the vector is
passed over three times in all:

1. columns, 16 at a time: sign flip, transform, turn
2. rows, by mirrored pairs: transform, combine, transform back
3. columns again: turn back, transform back, sign, pack
"""

import math
import threading
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes, prefix, sign_mask
from cbe_bench.kernels.fftw import ComplexPlans, aligned_empty, complex_plans, execute_plan, good_length
from cbe_bench.kernels.fftw import has_small_factors as smooth
from cbe_bench.kernels.fourier import CirculantProduct, reach_around
from cbe_bench.kernels.parallel import for_slices
from cbe_bench.kernels.vector import LANES, combine, flip, turn, turn_back

_COLUMNS = LANES
"""Columns transformed together: their piece of a row fills two cache lines."""
_LONGEST_COLUMN = 1 << 12
_PADDING = 16
"""Complex numbers between rows, so that a column does not fall into one set of the cache."""


_LONG = 1 << 18
"""Vectors from this length on are faster this way."""


def circulant_product(
    r: NDArray, signs: NDArray, dtype: type | np.dtype, stride: int = 1
) -> "CirculantProduct | LongCirculantProduct":
    """Return circ(r) diag(signs) in the form that is faster for its length."""
    if len(r) >= _LONG and stride == 1:
        return LongCirculantProduct(r, signs, dtype)
    return CirculantProduct(r, signs, dtype, stride)


class _Shape(NamedTuple):
    """A length of h = n1 n2 complex numbers as a matrix."""

    n1: int
    n2: int


def _shape(length: int) -> _Shape | None:
    """Lay out `length` real numbers, rows longer than columns, or None if that cannot be done well."""
    half = length // 2
    if length % (4 * _COLUMNS) or not smooth(length):
        return None
    longest = min(math.isqrt(half), _LONGEST_COLUMN)
    for n1 in range(longest - longest % 2, 1, -2):
        if half % n1 == 0 and half // n1 % _COLUMNS == 0:
            return _Shape(n1, half // n1)
    return None


def layout(d: int) -> tuple[int, _Shape]:
    """Return the length a product of d values is computed with, d itself or one it can be padded to, and its shape."""
    length, shape = d, _shape(d)
    while shape is None:
        length = good_length(max(2 * d - 1, length + 1), 4 * _COLUMNS)
        shape = _shape(length)
    return length, shape


class LongCirculantProduct:
    """Multiply long rows by circ(r) diag(signs), one row at a time on all cores.

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
        self._d = d = len(r)
        self.length, self._shape = layout(d)
        shape = self._shape
        self._signs = np.ascontiguousarray(signs, np.int8)
        self._turns = _turn_tables(shape, self.dtype)
        self._work = aligned_empty((shape.n1, 2 * (shape.n2 + _PADDING)), self.dtype)
        self._tables = aligned_empty((4, shape.n1, shape.n2), self.dtype)
        self._busy = threading.Lock()
        self._transform_r(r)

    def prepare(self) -> float:
        """Make the plans; return the seconds it took when they were made first."""
        return sum(plans.seconds for plans in self._plans())

    def _plans(self) -> tuple[ComplexPlans, ComplexPlans]:
        name = self.dtype.name
        return complex_plans(self._shape.n1, name, _COLUMNS), complex_plans(self._shape.n2, name)

    def project(self, X: NDArray, out: NDArray) -> None:
        """Write the first out.shape[1] values of the product of each row."""
        whole = np.empty(self.length, self.dtype)
        for i, x in enumerate(X):
            self._run(x, whole, np.empty(0, np.uint32))
            out[i] = whole[: out.shape[1]]

    def encode(self, X: NDArray, n_bits: int, out: NDArray[np.uint8]) -> None:
        """Write the signs of the first `n_bits` values of the product of each row as packed bits."""
        words = np.empty(self.length // 32, np.uint32)
        for i, x in enumerate(X):
            self._run(x, np.empty(0, self.dtype), words)
            out[i] = prefix(words.astype("<u4", copy=False).view(np.uint8)[None, : code_bytes(n_bits)], n_bits)[0]

    def _run(self, x: NDArray, values: NDArray, words: NDArray[np.uint32]) -> None:
        x = np.ascontiguousarray(x, self.dtype)
        columns, rows = self._plans()
        n1, n2 = self._shape
        with self._busy:
            self._columns_forward(x, self._signs)

            def multiply(part: slice) -> None:
                buffers = aligned_empty((3, 2 * (n2 + _PADDING)), self.dtype)
                plans = (rows.execute, rows.forward, rows.inverse)
                _multiply_rows(self._work, self._tables, *plans, buffers, part.start, part.stop)

            for_slices(multiply, n1 // 2 + 1, 16)

            def finish(part: slice) -> None:
                buffers = aligned_empty((2, 2 * n1 * _COLUMNS), self.dtype)
                plans = (columns.execute, columns.inverse)
                _finish(self._work, n2, *self._turns, *plans, buffers, part.start, part.stop, values, words)

            for_slices(finish, n2 // _COLUMNS, 16)

    def _columns_forward(self, x: NDArray, signs: NDArray[np.int8]) -> None:
        columns, _ = self._plans()
        n1, n2 = self._shape

        def begin(part: slice) -> None:
            buffers = aligned_empty((2, 2 * n1 * _COLUMNS), self.dtype)
            plans = (columns.execute, columns.forward)
            _begin(x, signs, self._work, n2, *self._turns, *plans, buffers, part.start, part.stop)

        for_slices(begin, n2 // _COLUMNS, 16)

    def _transform_r(self, r: NDArray) -> None:
        """Fill the tables from the transform of r, done by the same passes."""
        _, rows = self._plans()
        d, (n1, n2) = self._d, self._shape
        r = r.astype(self.dtype, copy=False)
        self._columns_forward(reach_around(r, self.length) if self.length > d else r, np.ones(self.length, np.int8))

        def tabulate(part: slice) -> None:
            buffers = aligned_empty((2, 2 * n2), self.dtype)
            _tabulate(self._work, self._tables, rows.execute, rows.forward, buffers, part.start, part.stop)

        for_slices(tabulate, n1 // 2 + 1, 16)


def _turn_tables(shape: _Shape, dtype: np.dtype) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Return exp(-2 pi i k1 j / h) for j < 16, real and imaginary, and what any power of exp(-2 pi i / h) is made of.

    A power p = high * step + low is the product of two entries of small tables in double precision.
    """
    n1, n2 = shape
    h = n1 * n2
    near = np.exp(-2j * np.pi * np.outer(np.arange(n1), np.arange(_COLUMNS)) / h)
    step = 1 << (h.bit_length() // 2)
    low = np.exp(-2j * np.pi * np.arange(step) / h)
    high = np.exp(-2j * np.pi * step * np.arange(h // step + 1) / h)
    return near.real.astype(dtype).ravel(), near.imag.astype(dtype).ravel(), low, high, np.array([h, step])


@njit(nogil=True, cache=True)
def _power(p, low, high, size):  # type: ignore[no-untyped-def]
    """exp(-2 pi i p / h)."""
    p = p % size[0]
    return low[p % size[1]] * high[p // size[1]]


@njit(nogil=True, cache=True)
def _begin(x, signs, work, n2, near_re, near_im, low, high, size, execute, forward, buffers, first, last):  # type: ignore[no-untyped-def]
    """Pass 1 over column blocks first..last-1: sign flip, transform down the columns, turn."""
    n1, d = work.shape[0], x.shape[0]
    width = 2 * _COLUMNS
    a, b = buffers[0], buffers[1]
    for block in range(first, last):
        column = block * _COLUMNS
        for j1 in range(n1):
            start = 2 * (j1 * n2 + column)
            here = a[j1 * width : (j1 + 1) * width]
            inside = min(max(d - start, 0), width)
            if inside == width:
                flip(x, start, signs, start, here, 0)
            else:
                here[:inside] = x[start : start + inside] * signs[start : start + inside]
                here[inside:] = 0
        execute_plan(execute, forward, a.ctypes.data, b.ctypes.data)
        for k1 in range(n1):
            angle = _power(k1 * column, low, high, size)
            real, imag = x.dtype.type(angle.real), x.dtype.type(angle.imag)
            turn(b, k1 * width, near_re, near_im, k1 * _COLUMNS, real, imag, work[k1], 2 * column)


@njit(nogil=True, cache=True)
def _combine_rows(z, mirror, first_is_own, tables, k1, out):  # type: ignore[no-untyped-def]
    """One row of Z' from the row of Z and its mirror image, which lies backwards in another row.

    In row 0 the first entry is its own image and the others are shifted by one; `z` repeats it at the end.
    """
    n2 = tables.shape[2]
    ar, ai, br, bi = tables[0, k1], tables[1, k1], tables[2, k1], tables[3, k1]
    for k in range(0, n2, LANES):
        combine(z, 2 * k, mirror, 2 * (n2 - k - LANES + first_is_own), ar, ai, br, bi, k, out, 2 * k, False)


@njit(nogil=True, cache=True)
def _multiply_rows(work, tables, execute, forward, inverse, buffers, first, last):  # type: ignore[no-untyped-def]
    """Pass 2 over rows first..last-1 and their mirror images: transform, combine, transform back."""
    n1, n2 = work.shape[0], tables.shape[2]
    a, b, c = buffers[0], buffers[1], buffers[2]
    for k1 in range(first, last):
        other = (n1 - k1) % n1
        execute_plan(execute, forward, work[k1].ctypes.data, a.ctypes.data)
        if other == k1:
            a[2 * n2], a[2 * n2 + 1] = a[0], a[1]
            _combine_rows(a, a, 1 if k1 == 0 else 0, tables, k1, c)
            execute_plan(execute, inverse, c.ctypes.data, work[k1].ctypes.data)
        else:
            execute_plan(execute, forward, work[other].ctypes.data, b.ctypes.data)
            _combine_rows(a, b, 0, tables, k1, c)
            execute_plan(execute, inverse, c.ctypes.data, work[k1].ctypes.data)
            _combine_rows(b, a, 0, tables, other, c)
            execute_plan(execute, inverse, c.ctypes.data, work[other].ctypes.data)


@njit(nogil=True, cache=True)
def _finish(  # type: ignore[no-untyped-def]
    work, n2, near_re, near_im, low, high, size, execute, inverse, buffers, first, last, values, words
):
    """Pass 3 over column blocks first..last-1: turn back, transform back, write values or packed signs."""
    n1 = work.shape[0]
    width = 2 * _COLUMNS
    a, b = buffers[0], buffers[1]
    for block in range(first, last):
        column = block * _COLUMNS
        for k1 in range(n1):
            angle = _power(k1 * column, low, high, size)
            real, imag = work.dtype.type(angle.real), work.dtype.type(angle.imag)
            turn_back(work[k1], 2 * column, near_re, near_im, k1 * _COLUMNS, real, imag, a, k1 * width)
        execute_plan(execute, inverse, a.ctypes.data, b.ctypes.data)
        for j1 in range(n1):
            start = 2 * (j1 * n2 + column)
            if words.shape[0]:
                words[start // 32] = sign_mask(b, j1 * width)
            else:
                values[start : start + width] = b[j1 * width : (j1 + 1) * width]


@njit(nogil=True, cache=True)
def _tabulate(work, tables, execute, forward, buffers, first, last):  # type: ignore[no-untyped-def]
    """Fill the tables of rows first..last-1 and their mirror images from the transform of r.

    With E and O the transforms of the even and odd samples of r, A = E + (i/2) (1 - w^2) O and B = (i/2) (1 + w^2) O,
    w^2 = exp(-2 pi i k / h).
    """
    n1, n2 = work.shape[0], tables.shape[2]
    h = n1 * n2
    z, mirror = buffers[0], buffers[1]
    for some in range(first, last):
        for k1, other in ((some, (n1 - some) % n1), ((n1 - some) % n1, some)):
            shift = 1 if k1 == 0 else 0
            execute_plan(execute, forward, work[k1].ctypes.data, z.ctypes.data)
            execute_plan(execute, forward, work[other].ctypes.data, mirror.ctypes.data)
            for k2 in range(n2):
                j = (n2 - 1 + shift - k2) % n2
                own, image = complex(z[2 * k2], z[2 * k2 + 1]), complex(mirror[2 * j], -mirror[2 * j + 1])
                even, odd = (own + image) / 2, (own - image) / 2j
                turn = np.exp(-2j * np.pi * (k1 + n1 * k2) / h)
                direct, mirrored = even + 0.5j * (1 - turn) * odd, 0.5j * (1 + turn) * odd
                tables[0, k1, k2], tables[1, k1, k2] = direct.real / h, direct.imag / h
                tables[2, k1, k2], tables[3, k1, k2] = mirrored.real / h, mirrored.imag / h
