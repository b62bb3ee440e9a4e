"""The product of FJLT: P H D x for a sparse matrix P with the same number of entries in every row.

Sixteen vectors are multiplied at once, laid out so that their numbers at one place are neighbours in memory: an entry
of P is then one load, one multiplication and one addition for all of them. The entries of a row lie in order of their
columns, and a few hundred rows advance together through the columns, so that the part of the vectors they read
stays in cache. A few vectors are multiplied one by one; their sums are added up in the same order, which P alone
decides, and round the same way.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from cbe_bench.kernels.hadamard import transform
from cbe_bench.kernels.memory import aligned_empty
from cbe_bench.kernels.output import Output, Signs, Values, is_output, part_of, write_row
from cbe_bench.kernels.parallel import for_slices, slice_size, slices
from cbe_bench.kernels.simd.calls import take
from cbe_bench.kernels.simd.vector import LANES, Vector, inline, load, store

_FEW = 4
"""The most vectors that are faster one by one."""
_TERMS = 8
"""Entries of a row added up at once."""
_CACHED_COLUMNS = 1 << 12
"""Columns whose numbers stay in cache while rows go through them."""
_BLOCK_ENTRIES = 1 << 19
"""Entries of the rows that go through the columns together."""
_MOST_ROWS = 1 << 12
_CHUNK_VALUES = 1 << 24
"""Numbers of all vectors that are multiplied together, if that is sixteen vectors or more."""


class SparseMatrix(NamedTuple):
    """Where the entries of each row of P are, in ascending order, and what they are: arrays of shape (k, entries)."""

    columns: NDArray
    entries: NDArray[np.float32]


def chunk_rows(length: int) -> int:
    """Return how many vectors are multiplied together: whole groups of sixteen, several so as to read P less often."""
    return LANES * min(max(1, _CHUNK_VALUES // (LANES * length)), 16)


def multiply_transformed(X: NDArray, signs: NDArray[np.int8], matrix: SparseMatrix, out: Output) -> None:
    """Write P H (signs * x) for each row x, zero-padded, H the Walsh-Hadamard matrix.

    Parameters
    ----------
    X : array of shape (n, d)
        Vectors no longer than the transform.
    signs : int8 array of shape (length,)
        The sign flips.
    matrix : SparseMatrix
        P, of k rows and `length` columns.
    out : Values or Signs
        Where the values, or their packed signs, go.
    """
    lanes = 1 if len(X) <= _FEW else LANES
    for chunk in slices(len(X), chunk_rows(len(signs))):
        groups = _transformed_groups(X[chunk], signs, lanes)
        _multiply_groups(groups, lanes, matrix, part_of(out, chunk))


def _multiply_groups(groups: NDArray, lanes: int, matrix: SparseMatrix, out: Output) -> None:
    """Multiply groups of vectors by P; all of them go through a block of its rows before the next is read."""
    n_rows, in_row = matrix.columns.shape
    height = min(max(LANES, _BLOCK_ENTRIES // in_row // LANES * LANES), _MOST_ROWS)
    tasks = -(-n_rows // height) * len(groups)

    def work(some: slice) -> None:
        sums, line = aligned_empty((height * lanes,), groups.dtype), np.empty(height, groups.dtype)
        _multiply_tasks(matrix, groups, lanes, some.start, some.stop, sums, line, out)

    for_slices(work, tasks, slice_size(tasks, 1))


def _transformed_groups(X: NDArray, signs: NDArray[np.int8], lanes: int) -> NDArray:
    """Return the transformed rows in groups of `lanes`, the numbers of a group at one place side by side."""
    length = len(signs)
    groups = aligned_empty((-(-len(X) // lanes), length * lanes), X.dtype)

    def work(some: slice) -> None:
        rows = aligned_empty((lanes, length), X.dtype)
        _transform_groups(X, signs, rows, groups, some.start, some.stop)

    for_slices(work, len(groups), 1)
    return groups


@njit(nogil=True, cache=True)
def _transform_groups(X, signs, rows, groups, first, last):  # type: ignore[no-untyped-def]
    lanes = rows.shape[0]
    for group in range(first, last):
        _transform_group(X[group * lanes : (group + 1) * lanes], signs, rows, groups[group])


@njit(nogil=True, cache=True)
def _transform_group(X, signs, rows, out):  # type: ignore[no-untyped-def]
    d, (lanes, length) = X.shape[1], rows.shape
    for i in range(X.shape[0]):
        rows[i, :d] = X[i]
        rows[i, d:] = 0
        transform(rows[i], signs, 0, length)
    rows[X.shape[0] :] = 0
    for j in range(length):
        for i in range(lanes):
            out[j * lanes + i] = rows[i, j]


def _numbers_at(total, y, place):  # type: ignore[no-untyped-def]
    """Return what is at one place of y: one number, or a vector of sixteen if `total` is a vector."""
    raise NotImplementedError("for compiled code only")


@overload(_numbers_at, jit_options={"forceinline": True})
def _numbers_at_either(total, y, place):  # type: ignore[no-untyped-def]
    if isinstance(total, Vector):
        return lambda total, y, place: load(y, LANES * np.intp(place))
    return lambda total, y, place: take(y, np.intp(place))


@inline
def _term(total, matrix, e, y):  # type: ignore[no-untyped-def]
    return _numbers_at(total, y, take(matrix.columns, e)) * take(matrix.entries, e)


@inline
def _add_eight(total, matrix, e, y):  # type: ignore[no-untyped-def]
    """Return the total with eight terms added: four sums at a time, because a single one would wait for itself."""
    a, b = total + _term(total, matrix, e, y), _term(total, matrix, e + 1, y)
    c, d = _term(total, matrix, e + 2, y), _term(total, matrix, e + 3, y)
    a, b = a + _term(total, matrix, e + 4, y), b + _term(total, matrix, e + 5, y)
    c, d = c + _term(total, matrix, e + 6, y), d + _term(total, matrix, e + 7, y)
    return (a + b) + (c + d)


@inline
def _add_terms(total, matrix, e, last, end, y):  # type: ignore[no-untyped-def]
    """Return the total with terms added from entry e on, before `last` and column `end`, and the entry reached."""
    while e + _TERMS <= last and take(matrix.columns, e + _TERMS - 1) < end:
        total = _add_eight(total, matrix, e, y)
        e += _TERMS
    while e < last and take(matrix.columns, e) < end:
        total = total + _term(total, matrix, e, y)
        e += 1
    return total, e


@njit(nogil=True, cache=True)
def _multiply_block(matrix, y, lanes, sums):  # type: ignore[no-untyped-def]
    """Multiply a group of vectors by some rows of P."""
    n_rows, in_row = matrix.columns.shape
    flat = SparseMatrix(matrix.columns.reshape(-1), matrix.entries.reshape(-1))
    reached = np.arange(n_rows) * in_row
    sums[: n_rows * lanes] = 0
    for end in range(_CACHED_COLUMNS, y.shape[0] // lanes + _CACHED_COLUMNS, _CACHED_COLUMNS):
        for row in range(n_rows):
            e, last = reached[row], (row + 1) * in_row
            if lanes == 1:
                sums[row], reached[row] = _add_terms(sums[row], flat, e, last, end, y)
            else:
                total, reached[row] = _add_terms(load(sums, row * LANES), flat, e, last, end, y)
                store(sums, row * LANES, total)


def _columns_of_row(out, i, first, last):  # type: ignore[no-untyped-def]
    """Return the output of columns first..last-1 of row i; the first is a multiple of eight."""
    raise NotImplementedError("for compiled code only")


@overload(_columns_of_row, jit_options={"forceinline": True})
def _columns_of_row_of_either(out, i, first, last):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, i, first, last: Signs(out.array[i, first // 8 : (last + 7) // 8], last - first)
    return lambda out, i, first, last: Values(out.array[i, first:last])


@njit(nogil=True, cache=True)
def _multiply_tasks(matrix, groups, lanes, first, last, sums, line, out):  # type: ignore[no-untyped-def]
    """Do some tasks: each multiplies a group of vectors by a block of rows of P and writes the values."""
    n_rows, height = matrix.columns.shape[0], line.shape[0]
    for task in range(first, last):
        block, group = divmod(task, groups.shape[0])
        begin, end = block * height, min((block + 1) * height, n_rows)
        _multiply_block(SparseMatrix(matrix.columns[begin:end], matrix.entries[begin:end]), groups[group], lanes, sums)
        for i in range(min(lanes, out.array.shape[0] - group * lanes)):
            for row in range(end - begin):
                line[row] = sums[row * lanes + i]
            write_row(_columns_of_row(out, group * lanes + i, begin, end), line)
