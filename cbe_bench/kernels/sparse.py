"""Products of a sparse matrix with many vectors: P y for a P with the same number of entries in every row.

Sixteen vectors are multiplied at once, laid out so that their numbers at one place are neighbours in memory: an entry
of P is then one load, one multiplication and one addition for all of them. The entries of a row lie in order of their
columns, and a few hundred rows advance together through the columns, so that the part of the vectors they read
stays in cache. A few vectors are multiplied one by one; their sums are added up in the same order, which P alone
decides, and round the same way.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cbe_bench.kernels.bits import pack_row
from cbe_bench.kernels.fft.fftw import aligned_empty
from cbe_bench.kernels.hadamard import transform
from cbe_bench.kernels.parallel import for_slices, share_of, slices
from cbe_bench.kernels.simd.emit import Code
from cbe_bench.kernels.simd.vector import LANES

_FEW = 4
"""Up to so many vectors are faster one by one."""
_TERMS = 8
"""Entries of a row added up at once."""
_CACHED_COLUMNS = 1 << 12
"""Columns whose numbers stay in cache while rows go through them."""
_BLOCK_ENTRIES = 1 << 19
"""Entries of the rows that go through the columns together."""
_MOST_ROWS = 1 << 12
_CHUNK_VALUES = 1 << 24
"""Numbers of vectors in work at once, if that is sixteen vectors or more."""


def chunk_rows(length: int) -> int:
    """Return how many vectors are in work at once: whole groups of sixteen, a few at least to read P less often."""
    return LANES * min(max(1, _CHUNK_VALUES // (LANES * length)), 16)


def multiply_transformed(
    X: NDArray,
    signs: NDArray[np.int8],
    columns: NDArray,
    entries: NDArray[np.float32],
    values: NDArray,
    codes: NDArray[np.uint8],
) -> None:
    """Write P H (signs * x) for each row x, zero-padded, H the Walsh-Hadamard matrix: real values or packed signs.

    Parameters
    ----------
    X : array of shape (n, d)
        Vectors no longer than the transform.
    signs : int8 array of shape (length,)
        The sign flips.
    columns, entries : arrays of shape (k, entries of a row)
        Where the entries of P are, in ascending order, and what they are.
    values : array of shape (n, k) or (n, 0)
        Where real values go, if there is room for them.
    codes : uint8 array of shape (n, bytes) or (n, 0)
        Where packed signs go, if there is room for them.
    """
    lanes = 1 if len(X) <= _FEW else LANES
    for chunk in slices(len(X), chunk_rows(len(signs))):
        groups = _transformed_groups(X[chunk], signs, lanes)
        _multiply_groups(groups, lanes, columns, entries, values[chunk], codes[chunk])


def _multiply_groups(
    groups: NDArray,
    lanes: int,
    columns: NDArray,
    entries: NDArray[np.float32],
    values: NDArray,
    codes: NDArray[np.uint8],
) -> None:
    """Multiply groups of vectors by P; all of them go through a block of its rows before the next is read."""
    n_rows, in_row = columns.shape
    height = min(max(LANES, _BLOCK_ENTRIES // in_row // LANES * LANES), _MOST_ROWS)
    tasks = -(-n_rows // height) * len(groups)

    def work(some: slice) -> None:
        sums, line = aligned_empty((height * lanes,), groups.dtype), np.empty(height, groups.dtype)
        for task in range(some.start, some.stop):
            block, group = divmod(task, len(groups))
            rows = slice(block * height, min((block + 1) * height, n_rows))
            mine = slice(group * lanes, (group + 1) * lanes)
            _multiply_block(columns[rows], entries[rows], groups[group], lanes, sums)
            _write(sums, lanes, line, rows.start, rows.stop, values[mine], codes[mine])

    for_slices(work, tasks, share_of(tasks, 1))


def _transformed_groups(X: NDArray, signs: NDArray[np.int8], lanes: int) -> NDArray:
    """Return the transformed rows in groups of `lanes`, the numbers of a group at one place side by side."""
    length = len(signs)
    groups = aligned_empty((-(-len(X) // lanes), length * lanes), X.dtype)

    def work(some: slice) -> None:
        rows = aligned_empty((lanes, length), X.dtype)
        for group in range(some.start, some.stop):
            _transform_group(X[group * lanes : (group + 1) * lanes], signs, rows, groups[group])

    for_slices(work, len(groups), 1)
    return groups


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


def _adding(terms: int, lanes: int) -> Any:
    def add(typing_context, y, columns, entries, e, sums, o):  # type: ignore[no-untyped-def]
        """sums[o:] += entries[e] * y[lanes * columns[e]:] + ..., `lanes` numbers each, over consecutive entries.

        Nothing is fused, so that every number of lanes rounds the same way.
        """

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            code = Code(context, builder, signature, args)
            word, vector = ir.IntType(64), ir.VectorType(code.real, lanes)
            column, entry = (context.make_array(signature.args[i])(context, builder, args[i]).data for i in (1, 2))
            everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
            totals = [code.reals(4, args[5], lanes)]
            for term in range(terms):
                at = code.shift(args[3], term)
                place = builder.zext(builder.load(builder.gep(column, [at])), word)
                numbers = code.reals(0, builder.mul(place, ir.Constant(word, lanes)), lanes)
                factor = builder.load(builder.gep(entry, [at]))
                if factor.type != code.real:
                    factor = builder.fpext(factor, code.real)
                first = builder.insert_element(ir.Constant(vector, ir.Undefined), factor, ir.IntType(32)(0))
                product = builder.fmul(builder.shuffle_vector(first, first, everywhere), numbers)
                if term in (1, 2, 3):  # four sums at once: one alone would wait for itself
                    totals.append(product)
                else:
                    totals[term % 4] = builder.fadd(totals[term % 4], product)
            while len(totals) > 1:
                totals = [builder.fadd(a, b) for a, b in zip(totals[::2], totals[1::2], strict=True)]
            code.store(4, args[5], totals[0])
            return context.get_dummy_value()

        return types.void(y, columns, entries, types.intp, sums, types.intp), codegen

    return intrinsic(add)


_add_one, _add_many = _adding(1, LANES), _adding(_TERMS, LANES)
_add_one_alone, _add_many_alone = _adding(1, 1), _adding(_TERMS, 1)


@njit(nogil=True, cache=True)
def _multiply_block(columns, entries, y, lanes, sums):  # type: ignore[no-untyped-def]
    """Multiply a group of vectors by some rows of P."""
    n_rows, in_row = columns.shape
    length = y.shape[0] // lanes
    reached = np.zeros(n_rows, np.intp)
    sums[: n_rows * lanes] = 0
    for end in range(_CACHED_COLUMNS, length + _CACHED_COLUMNS, _CACHED_COLUMNS):
        for row in range(n_rows):
            places, factors, e = columns[row], entries[row], reached[row]
            while e + _TERMS <= in_row and places[e + _TERMS - 1] < end:
                if lanes == 1:
                    _add_many_alone(y, places, factors, e, sums, row)
                else:
                    _add_many(y, places, factors, e, sums, row * LANES)
                e += _TERMS
            while e < in_row and places[e] < end:
                if lanes == 1:
                    _add_one_alone(y, places, factors, e, sums, row)
                else:
                    _add_one(y, places, factors, e, sums, row * LANES)
                e += 1
            reached[row] = e


@njit(nogil=True, cache=True)
def _write(sums, lanes, line, first, last, values, codes):  # type: ignore[no-untyped-def]
    """Write the values first..last-1 of each vector, or their signs; first is a multiple of eight."""
    count = last - first
    for i in range(values.shape[0]):
        for row in range(count):
            line[row] = sums[row * lanes + i]
        if values.shape[1]:
            values[i, first:last] = line[:count]
        if codes.shape[1]:
            pack_row(line, count, codes[i, first // 8 : (last + 7) // 8])
