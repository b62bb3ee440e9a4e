"""The fast Walsh-Hadamard transform, with sign flips before it: x -> H D x, unnormalised, in place.

H is the Sylvester matrix, (-1)^(number of common bits of row and column). A vector is transformed by factors of
eight, pieces that fit the cache first and completely, so that a long one passes through memory few times.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.parallel import for_slices, slice_size
from cbe_bench.kernels.simd.vector import LANES, constant, fma, inline, load, load_int8, shuffle, store

_START = 8 * LANES
"""Numbers transformed by the first operation."""
_CACHED = 1 << 15
"""Numbers that stay in cache."""
EXCLUSIVE = 1 << 20
"""Vectors from this length on are transformed one at a time, by all threads."""
_TASK_VALUES = 1 << 18
"""Numbers worth a thread of their own."""


def padded_length(d: int) -> int:
    """Return the power of two that vectors of length d are padded to."""
    return 1 << (d - 1).bit_length()


def fwht(X: NDArray, signs: NDArray[np.int8] | None = None, block: int | None = None) -> None:
    """Replace each row x of X by H (signs * x), on all cores.

    Parameters
    ----------
    X : array of shape (n, length)
        The rows, in C order, float32 or float64.
    signs : int8 array of shape (length,)
        The sign flips; none by default.
    block : int
        Transform each block of this many numbers of a row by itself: a power of two that divides the length. By default
        the whole row, whose length must be a power of two.
    """
    if X.ndim != 2 or not X.flags.c_contiguous or X.dtype not in (np.float32, np.float64):
        raise ValueError(f"rows of float32 or float64 in C order are transformed, found {X.ndim}-d {X.dtype}")
    n = X.shape[1]
    block = block or n
    if block < 1 or block & (block - 1) or n % block:
        raise ValueError(f"the length must be a power of two, found {block} of {n}")
    flips = np.ones(n, np.int8) if signs is None else np.ascontiguousarray(signs, np.int8)
    if block == n >= EXCLUSIVE:
        for x in X:
            _transform_exclusively(x, flips)
    else:
        for_rows(lambda some: _transform_rows(X[some], flips, block), len(X), n)


def for_rows(work, n_rows: int, length: int) -> None:  # type: ignore[no-untyped-def]
    """Call `work` on slices of rows to be transformed, from all threads.

    Parameters
    ----------
    work : callable
        Called with a slice of range(n_rows).
    n_rows : int
        The number of rows.
    length : int
        The length of a row.
    """
    for_slices(work, n_rows, slice_size(n_rows, _TASK_VALUES // length))


def _transform_exclusively(x: NDArray, signs: NDArray[np.int8]) -> None:
    """Transform one long vector: its eighths, and then across them, on all threads."""
    eighth = len(x) // 8

    def pieces(some: slice) -> None:
        for piece in range(some.start, some.stop):
            transform(x, signs, piece * eighth, eighth)

    for_slices(pieces, 8, 1)
    vectors = eighth // LANES
    for_slices(lambda some: _across(x, 0, eighth, 8, some.start, some.stop), vectors, slice_size(vectors, 1 << 12))


@njit(nogil=True, cache=True)
def _transform_rows(X, signs, block):  # type: ignore[no-untyped-def]
    n = X.shape[1]
    flat = X.reshape(-1)
    for i in range(X.shape[0]):
        for k in range(0, n, block):
            _transform_piece(flat, i * n + k, block, signs, k)


@njit(nogil=True, cache=True, forceinline=True)
def transform(x, signs, start, n):  # type: ignore[no-untyped-def]
    """Replace x[start : start + n] by H (signs * x), the signs from the same position on, in compiled code.

    Parameters
    ----------
    x : array
        The values, transformed in place.
    signs : array
        The sign flips.
    start : int
        Where the transformed part begins.
    n : int
        Its length, a power of two.
    """
    _transform_piece(x, start, n, signs, start)


@njit(nogil=True, cache=True)
def _transform_piece(x, start, n, signs, k):  # type: ignore[no-untyped-def]
    if n < _START:
        _transform_short(x, start, n, signs, k)
        return
    cached = min(n, _CACHED)
    for piece in range(0, n, cached):
        for i in range(piece, piece + cached, _START):
            _transform_start(x, start + i, signs, k + i)
        done = _START
        while done < cached:
            factor = min(8, cached // done)
            for i in range(piece, piece + cached, factor * done):
                _across(x, start + i, done, factor, 0, done // LANES)
            done *= factor
        # a larger piece is complete: combine it while its parts are still near
        end = piece + cached
        while done < n and end % (8 * done if 8 * done <= n else n) == 0:
            factor = min(8, n // done)
            _across(x, start + end - factor * done, done, factor, 0, done // LANES)
            done *= factor


@inline
def _hadamard2(a, b):  # type: ignore[no-untyped-def]
    return a + b, a - b


@inline
def _hadamard4(a, b, c, d):  # type: ignore[no-untyped-def]
    sums, differences = _hadamard2(a + c, b + d), _hadamard2(a - c, b - d)
    return sums[0], sums[1], differences[0], differences[1]


@inline
def _hadamard8(v):  # type: ignore[no-untyped-def]
    """Return the transform across eight vectors."""
    sums = _hadamard4(v[0] + v[4], v[1] + v[5], v[2] + v[6], v[3] + v[7])
    differences = _hadamard4(v[0] - v[4], v[1] - v[5], v[2] - v[6], v[3] - v[7])
    return sums + differences


_swap1, _swap2, _swap4, _swap8 = (shuffle(lane ^ bit for lane in range(LANES)) for bit in (1, 2, 4, 8))
_signs1, _signs2, _signs4, _signs8 = (
    constant(-1.0 if lane & bit else 1.0 for lane in range(LANES)) for bit in (1, 2, 4, 8)
)


@inline
def _within(v):  # type: ignore[no-untyped-def]
    """Return the transform of the sixteen numbers of a vector: v[lane] becomes +-v[lane] + v[lane ^ bit]."""
    v = fma(v, _signs1(v), _swap1(v, v))
    v = fma(v, _signs2(v), _swap2(v, v))
    v = fma(v, _signs4(v), _swap4(v, v))
    return fma(v, _signs8(v), _swap8(v, v))


@inline
def _load_flipped(x, i, signs, k):  # type: ignore[no-untyped-def]
    v = load(x, i)
    return v * load_int8(signs, k, v)


@inline
def _load8(x, i, step):  # type: ignore[no-untyped-def]
    return (
        load(x, i),
        load(x, i + step),
        load(x, i + 2 * step),
        load(x, i + 3 * step),
        load(x, i + 4 * step),
        load(x, i + 5 * step),
        load(x, i + 6 * step),
        load(x, i + 7 * step),
    )


@inline
def _store8(x, i, step, v):  # type: ignore[no-untyped-def]
    store(x, i, v[0])
    store(x, i + step, v[1])
    store(x, i + 2 * step, v[2])
    store(x, i + 3 * step, v[3])
    store(x, i + 4 * step, v[4])
    store(x, i + 5 * step, v[5])
    store(x, i + 6 * step, v[6])
    store(x, i + 7 * step, v[7])


@inline
def _transform_start(x, i, signs, k):  # type: ignore[no-untyped-def]
    """Flip the signs of the 128 numbers x[i:] by signs[k:] and transform them among themselves, in place."""
    vectors = (
        _within(_load_flipped(x, i, signs, k)),
        _within(_load_flipped(x, i + LANES, signs, k + LANES)),
        _within(_load_flipped(x, i + 2 * LANES, signs, k + 2 * LANES)),
        _within(_load_flipped(x, i + 3 * LANES, signs, k + 3 * LANES)),
        _within(_load_flipped(x, i + 4 * LANES, signs, k + 4 * LANES)),
        _within(_load_flipped(x, i + 5 * LANES, signs, k + 5 * LANES)),
        _within(_load_flipped(x, i + 6 * LANES, signs, k + 6 * LANES)),
        _within(_load_flipped(x, i + 7 * LANES, signs, k + 7 * LANES)),
    )
    _store8(x, i, LANES, _hadamard8(vectors))


@njit(nogil=True, cache=True)
def _across(x, start, step, factor, first, last):  # type: ignore[no-untyped-def]
    """Transform across `factor` neighbouring pieces of length `step`: their vectors first..last-1."""
    for i in range(start + first * LANES, start + last * LANES, LANES):
        if factor == 8:
            _store8(x, i, step, _hadamard8(_load8(x, i, step)))
        elif factor == 4:
            a, b, c, d = _hadamard4(load(x, i), load(x, i + step), load(x, i + 2 * step), load(x, i + 3 * step))
            store(x, i, a)
            store(x, i + step, b)
            store(x, i + 2 * step, c)
            store(x, i + 3 * step, d)
        else:
            a, b = _hadamard2(load(x, i), load(x, i + step))
            store(x, i, a)
            store(x, i + step, b)


@njit(nogil=True, cache=True)
def _transform_short(x, start, n, signs, k):  # type: ignore[no-untyped-def]
    for i in range(n):
        x[start + i] *= signs[k + i]
    half = 1
    while half < n:
        for block in range(start, start + n, 2 * half):
            for i in range(block, block + half):
                a, b = x[i], x[i + half]
                x[i], x[i + half] = a + b, a - b
        half *= 2
