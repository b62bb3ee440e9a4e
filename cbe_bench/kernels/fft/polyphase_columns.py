"""Every s-th value of a circulant product, one vector at a time: its phases are the columns of a matrix.

x, of L numbers, is read as a matrix of C columns and n = L/C rows, where C is a multiple of s and of 32. Each column
is convolved with every C-th value of r, and y at the places o s, o s + C, o s + 2 C, ... is a sum over the columns:

    y_o^[f] = sum over p of r_po^[f] x_p^[f],    r_po[t] = r[t C + o s - p]

Two neighbouring columns are one complex column z = x_2q + i x_2q+1, sixteen of them are transformed at once, and two
neighbouring outputs are one complex number w = y_o + i y_o+1. With f' = -f mod n,

    w^[f] = sum over q of A_q[f] z_q^[f] + B_q[f] conj(z_q^[f'])

so that the transforms have a length of n instead of L/2, need no shuffles, and only L/s values are transformed back.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.column_fft import ColumnPlan, column_fft, column_plan
from cbe_bench.kernels.fft.fftw import ComplexPlans, complex_plans, inverse
from cbe_bench.kernels.fft.four_step import load_flipped, load_last
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.output import row_of, write_row
from cbe_bench.kernels.simd.complex import WIDTH, conj, load_split, multiply_add, store_split
from cbe_bench.kernels.simd.vector import LANES, inline, load, shuffle, store

_BATCH = 8
"""Frequencies whose sums over sixteen columns fill a vector."""
_ENTRY = 4 * LANES
"""Numbers of a table for one frequency: sixteen each of A and B, real and imaginary parts."""


class ColumnsPlan(NamedTuple):
    """What the product of one vector needs."""

    signs: NDArray[np.int8]
    rows: int
    row_length: int
    outputs: int
    columns: ColumnPlan
    inverse: ComplexPlans
    tables: NDArray


class ColumnsBuffers(NamedTuple):
    """Memory for sixteen columns, twice, the spectrum of two outputs, their values, and all values."""

    a: NDArray
    b: NDArray
    spectra: NDArray
    pair: NDArray
    values: NDArray


def row_length(stride: int) -> int:
    """Return the columns C of the matrix, for a stride that is a power of two from 4 on."""
    return max(WIDTH, 2 * stride)


def columns_plan(r: NDArray, signs: NDArray[np.int8], stride: int, dtype: np.dtype) -> ColumnsPlan:
    """Plan the product with circ(r) for an r of a multiple of `row_length(stride)` numbers.

    Parameters
    ----------
    r : array of shape (d,)
        First column of the matrix.
    signs : int8 array
        The sign flips of a vector.
    stride : int
        The distance of the rows wanted.
    dtype : dtype
        Of the vectors.

    Returns
    -------
    ColumnsPlan
    """
    width = row_length(stride)
    rows = len(r) // width
    return ColumnsPlan(
        signs,
        rows,
        width,
        width // stride,
        column_plan(rows, dtype.name),
        complex_plans(rows, dtype.name),
        _tables(r, stride, dtype),
    )


def columns_buffers(plan: ColumnsPlan, scratch: Scratch, dtype: np.dtype) -> ColumnsBuffers:
    """Return this thread's memory for a product.

    Parameters
    ----------
    plan : ColumnsPlan
    scratch : Scratch
        Of this thread.
    dtype : dtype
        Of the vectors.

    Returns
    -------
    ColumnsBuffers
    """
    padded = -(-plan.rows // _BATCH) * _BATCH
    columns, pairs = (plan.rows * WIDTH,), plan.outputs // 2
    shapes = (columns, columns, (pairs, 2 * padded), (2 * padded,), (2 * padded * pairs,))
    named = zip(ColumnsBuffers._fields, shapes, strict=True)
    return ColumnsBuffers(*(scratch.array(name, shape, dtype) for name, shape in named))


def _tables(r: NDArray, stride: int, dtype: np.dtype) -> NDArray:
    """Return A and B, scaled for an inverse transform without 1/n, for each block of columns, pair and frequency."""
    width = row_length(stride)
    rows, blocks, outputs = len(r) // width, width // WIDTH, width // stride
    padded = -(-rows // _BATCH) * _BATCH
    tables = np.zeros((blocks, outputs // 2, padded, 4, LANES), dtype)
    for block in range(blocks):
        columns = np.arange(block * WIDTH, (block + 1) * WIDTH)
        for pair in range(outputs // 2):
            direct, mirrored = phase_spectra(r, width, columns, (2 * pair * stride, (2 * pair + 1) * stride))
            parts = direct.real, direct.imag, mirrored.real, mirrored.imag
            tables[block, pair, :rows] = np.stack(parts, axis=1)
    return tables.reshape(blocks, outputs // 2, -1)


def phase_spectra(
    r: NDArray, width: int, columns: NDArray[np.intp], places: tuple[int, int]
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Return A and B of pairs of neighbouring columns for two outputs, scaled for an inverse transform without 1/n.

    Parameters
    ----------
    r : array of shape (L,)
        First column of the circulant matrix.
    width : int
        C, the columns of the matrix that x is read as.
    columns : int array of shape (2 q,)
        Some of them.
    places : pair of int
        Where y is wanted in the first row; the second output is the imaginary part.

    Returns
    -------
    direct, mirrored : arrays of shape (L / C, q)
        A and B.
    """
    rows = len(r) // width
    direct, mirrored = np.zeros((2, rows, len(columns) // 2), np.complex128)
    for place, unit in zip(places, (1, 1j), strict=True):
        numbers = np.arange(rows)[:, None] * width + place - columns
        spectra = np.fft.fft(r[numbers % len(r)].astype(np.float64), axis=0) * unit / (2 * rows)
        direct += spectra[:, ::2] - 1j * spectra[:, 1::2]
        mirrored += spectra[:, ::2] + 1j * spectra[:, 1::2]
    return direct, mirrored


def _folding(size: int) -> tuple:
    """Return the operations that pick the first and the last half of each `size` lanes of two vectors."""
    return tuple(
        shuffle(lane for lane in range(WIDTH) if (lane % size < size // 2) == first) for first in (True, False)
    )


_first8, _last8 = _folding(16)
_first4, _last4 = _folding(8)
_first2, _last2 = _folding(4)
_first1, _last1 = _folding(2)


@inline
def _fold4(a, b, c, d):  # type: ignore[no-untyped-def]
    """Add up the lanes of four vectors, or of the real and imaginary parts of two complex ones, in groups of four."""
    ab, cd = _first8(a, b) + _last8(a, b), _first8(c, d) + _last8(c, d)
    return _first4(ab, cd) + _last4(ab, cd)


@inline
def _product(table, t, z, f, rows):  # type: ignore[no-untyped-def]
    """Return A z[f] + B conj(z[-f]) of sixteen columns; beyond the last frequency A and B are zero."""
    own, mirror = min(f, rows - 1), max(rows - f, 0) if f > 0 else 0
    a, b = load_split(table, t), load_split(table, t + WIDTH)
    return multiply_add(b, conj(load_split(z, mirror * WIDTH)), a * load_split(z, own * WIDTH))


@inline
def _sum_of_two(table, t, z, f, rows):  # type: ignore[no-untyped-def]
    """Return partial sums over the columns at the frequencies f and f + 1."""
    p, q = _product(table, t, z, f, rows), _product(table, t + _ENTRY, z, f + 1, rows)
    return _fold4(p.re, p.im, q.re, q.im)


@inline
def _sum_of_eight(table, t, z, f, rows):  # type: ignore[no-untyped-def]
    """Return the sums over the columns at the frequencies f..f+7, interleaved complex numbers."""
    a = _sum_of_two(table, t, z, f, rows)
    b = _sum_of_two(table, t + 2 * _ENTRY, z, f + 2, rows)
    c = _sum_of_two(table, t + 4 * _ENTRY, z, f + 4, rows)
    d = _sum_of_two(table, t + 6 * _ENTRY, z, f + 6, rows)
    ab, cd = _first2(a, b) + _last2(a, b), _first2(c, d) + _last2(c, d)
    return _first1(ab, cd) + _last1(ab, cd)


@inline
def _transform_columns(x, plan, column, a, b):  # type: ignore[no-untyped-def]
    """Flip the signs of thirty-two columns of x and transform them; return where the result is."""
    signs, step = plan.signs, plan.row_length
    full = max((x.shape[0] - column - WIDTH) // step + 1, 0)
    for i in range(full):
        store_split(a, i * WIDTH, load_flipped(x, signs, i * step + column))
    for i in range(full, plan.rows):
        store_split(a, i * WIDTH, load_last(x, signs, i * step + column))
    return b if column_fft(a, b, plan.columns) else a


@njit(nogil=True, cache=True)
def multiply_columns(X, plan, buffers, out):  # type: ignore[no-untyped-def]
    """Write every s-th value of the product for each row of X.

    Parameters
    ----------
    X : array of shape (n, d)
        The vectors.
    plan : ColumnsPlan
    buffers : ColumnsBuffers
        Of this thread.
    out : Output
        Of n rows.
    """
    n_pairs, length = buffers.spectra.shape
    spectra, tables = buffers.spectra.reshape(-1), plan.tables.reshape(-1)
    table_length = plan.tables.shape[2]
    for i in range(X.shape[0]):
        x = X[i]
        for block in range(plan.row_length // WIDTH):
            z = _transform_columns(x, plan, block * WIDTH, buffers.a, buffers.b)
            for pair in range(n_pairs):
                t, o = (block * n_pairs + pair) * table_length, pair * length
                for f in range(0, plan.rows, _BATCH):
                    total = _sum_of_eight(tables, t + f * _ENTRY, z, f, plan.rows)
                    if block > 0:
                        total = total + load(spectra, o + 2 * f)
                    store(spectra, o + 2 * f, total)
        write_row(row_of(out, i), _values(plan, buffers, n_pairs, length))


@inline
def _values(plan, buffers, n_pairs, length):  # type: ignore[no-untyped-def]
    """Transform the spectra back and return the values in their order."""
    spectra, pair_values, values = buffers.spectra.reshape(-1), buffers.pair, buffers.values
    if n_pairs == 1:
        inverse(plan.inverse, spectra, 0, values, 0)
        return values
    for pair in range(n_pairs):
        inverse(plan.inverse, spectra, pair * length, pair_values, 0)
        for j in range(plan.rows):
            values[2 * (j * n_pairs + pair)] = pair_values[2 * j]
            values[2 * (j * n_pairs + pair) + 1] = pair_values[2 * j + 1]
    return values
