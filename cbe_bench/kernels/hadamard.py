"""The fast Walsh-Hadamard transform, with sign flips before it: x -> H D x, unnormalised, in place.

H is the Sylvester matrix, (-1)^(number of common bits of row and column). A vector is transformed by factors of
eight, pieces that fit the cache first and whole, so that a long one passes through memory few times.
"""

import threading

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray

from cbe_bench.kernels.bits import pack_row
from cbe_bench.kernels.fft.fftw import aligned_empty
from cbe_bench.kernels.parallel import for_slices, share_of
from cbe_bench.kernels.simd.vector import LANES, hadamard2, hadamard4, hadamard8, hadamard_start

_START = 8 * LANES
"""Numbers transformed by the first operation."""
_CACHED = 1 << 15
"""Numbers that stay in cache."""
_ALONE = 1 << 20
"""Vectors from this length on have all threads to themselves."""
_TASK_VALUES = 1 << 18
"""Numbers worth a thread of their own."""


class Scratch:
    """Memory for one vector in work, kept between calls, for every thread its own."""

    def __init__(self) -> None:
        self._kept = threading.local()

    def vector(self, length: int, dtype: DTypeLike) -> NDArray:
        """Return this thread's memory, with whatever was left in it."""
        kept: NDArray | None = getattr(self._kept, "vector", None)
        if kept is None or len(kept) != length or kept.dtype != dtype:
            kept = self._kept.vector = aligned_empty((length,), dtype)
        return kept


def padded_length(d: int) -> int:
    """Return the power of two that vectors of length d are padded to."""
    return 1 << (d - 1).bit_length()


def fwht(X: NDArray, signs: NDArray[np.int8] | None = None, block: int | None = None) -> None:
    """Replace each row x of X by H (signs * x), on all cores; the length is a power of two.

    Or each block of a row, if the row is that of blocks of such a length.
    """
    if X.ndim != 2 or not X.flags.c_contiguous or X.dtype not in (np.float32, np.float64):
        raise ValueError(f"rows of float32 or float64 in C order are transformed, found {X.ndim}-d {X.dtype}")
    n = X.shape[1]
    block = block or n
    if block < 1 or block & (block - 1) or n % block:
        raise ValueError(f"the length must be a power of two, found {block} of {n}")
    flips = np.ones(n, np.int8) if signs is None else np.ascontiguousarray(signs, np.int8)
    if block == n >= _ALONE:
        for x in X:
            _transform_alone(x, flips)
    else:
        for_slices(lambda some: _transform_rows(X[some], flips, block), len(X), share_of(len(X), _TASK_VALUES // n))


def _transform_alone(x: NDArray, signs: NDArray[np.int8]) -> None:
    """Transform one long vector: its eighths, and then across them, on all threads."""
    eighth = len(x) // 8

    def pieces(some: slice) -> None:
        for piece in range(some.start, some.stop):
            transform(x, signs, piece * eighth, eighth)

    for_slices(pieces, 8, 1)
    vectors = eighth // LANES
    for_slices(lambda some: _across(x, 0, eighth, 8, some.start, some.stop), vectors, share_of(vectors, 1 << 12))


@njit(nogil=True, cache=True)
def _transform_rows(X, signs, block):  # type: ignore[no-untyped-def]
    n = X.shape[1]
    flat = X.reshape(-1)
    for i in range(X.shape[0]):
        for k in range(0, n, block):
            _transform_piece(flat, i * n + k, block, signs, k)


@njit(nogil=True, cache=True)
def transform(x, signs, start, n):  # type: ignore[no-untyped-def]
    """Replace x[start : start + n] by H (signs * x), the signs from the same position on, from compiled code."""
    _transform_piece(x, start, n, signs, start)


@njit(nogil=True, cache=True)
def _transform_piece(x, start, n, signs, k):  # type: ignore[no-untyped-def]
    if n < _START:
        _transform_short(x, start, n, signs, k)
        return
    cached = min(n, _CACHED)
    for piece in range(0, n, cached):
        for i in range(piece, piece + cached, _START):
            hadamard_start(x, start + i, signs, k + i)
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


@njit(nogil=True, cache=True)
def _across(x, start, step, factor, first, last):  # type: ignore[no-untyped-def]
    """Transform across `factor` neighbouring pieces of length `step`: their vectors first..last-1."""
    for i in range(start + first * LANES, start + last * LANES, LANES):
        if factor == 8:
            hadamard8(x, i, step)
        elif factor == 4:
            hadamard4(x, i, step)
        else:
            hadamard2(x, i, step)


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


def spin(
    X: NDArray,
    signs: NDArray[np.int8],
    values: NDArray,
    codes: NDArray[np.uint8],
    n_values: int,
    scratch: Scratch,
) -> None:
    """Write the first `n_values` of H D ... H D x of each row, zero-padded: real values, packed signs, or both.

    Parameters
    ----------
    X : array of shape (n, d)
        Vectors no longer than the transform.
    signs : int8 array of shape (rounds, length)
        The sign flips before each transform.
    values : array of shape (n, n_values) or (n, 0)
        Where real values go, divided by the length, if there is room for them.
    codes : uint8 array of shape (n, bytes) or (n, 0)
        Where packed signs go, if there is room for them.
    scratch : Scratch
        Where vectors are transformed.
    """
    length = signs.shape[1]

    def some_rows(some: slice) -> None:
        buffer = scratch.vector(length, X.dtype)
        _spin_rows(X[some], signs, buffer, values[some], codes[some], n_values)

    if length < _ALONE:
        for_slices(some_rows, len(X), share_of(len(X), _TASK_VALUES // length))
        return
    whole = scratch.vector(length, X.dtype)[None]
    for i, x in enumerate(X):
        whole[0, : len(x)] = x
        whole[0, len(x) :] = 0
        for flips in signs:
            fwht(whole, flips)
        values[i] = whole[0, : values.shape[1]] / length
        pack_row(whole[0], n_values if codes.shape[1] else 0, codes[i])


@njit(nogil=True, cache=True)
def _spin_rows(X, signs, x, values, codes, n_values):  # type: ignore[no-untyped-def]
    d, length = X.shape[1], x.shape[0]
    for i in range(X.shape[0]):
        for j in range(d):
            x[j] = X[i, j]
        x[d:] = 0
        for r in range(signs.shape[0]):
            _transform_piece(x, 0, length, signs[r], 0)
        for j in range(values.shape[1]):
            values[i, j] = x[j] / length
        if codes.shape[1]:
            pack_row(x, n_values, codes[i])


def sampled_transform(X: NDArray, signs: NDArray[np.int8], places: NDArray[np.int32], scratch: Scratch) -> NDArray:
    """Return the values of H (signs * x) / sqrt(length) at some places, of each row x, zero-padded."""
    out = np.empty((len(X), len(places)), X.dtype)
    length = len(signs)

    def some_rows(some: slice) -> None:
        _sample_rows(X[some], signs, places, scratch.vector(length, X.dtype), out[some])

    for_slices(some_rows, len(X), share_of(len(X), _TASK_VALUES // length))
    return out


@njit(nogil=True, cache=True)
def _sample_rows(X, signs, places, x, out):  # type: ignore[no-untyped-def]
    d, length = X.shape[1], x.shape[0]
    scale = x.dtype.type(1 / np.sqrt(length))
    for i in range(X.shape[0]):
        x[:d] = X[i]
        x[d:] = 0
        _transform_piece(x, 0, length, signs, 0)
        for j in range(places.shape[0]):
            out[i, j] = scale * x[places[j]]
