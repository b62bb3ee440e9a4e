"""Coarse scores of real queries: sums of 16-bit integers that bound the exact ones from above.

The whole numbers of a query are rounded to multiples of a step such that their sum over any 512 bits fits 16 bits. A
code whose coarse sum, plus the most that rounding can have taken from it, does not exceed a bar cannot have an exact
sum above the bar. Few codes are left, and their exact sums are computed: the search is exact, and moves half the bytes
of one by exact sums.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.asymmetric import WORD_BITS, AsymmetricQueries, aligned_rows, fill_tables
from cbe_bench.kernels.ranking import insert
from cbe_bench.kernels.simd.calls import popcount
from cbe_bench.kernels.simd.lookup import ENTRIES, LANES, TABLES, add_entries, add_halves, lanes_above, sum_of_set

_CHUNK_WORDS = 16
"""Words of a code whose sums fit 16 bits."""
_LARGEST_SUM = 65_000
"""Sums over a chunk are within half of this of the middle of their range."""
_AT_ONCE = 256
"""Codes whose coarse sums are computed before they are looked over: they stay in cache."""


class CoarseQueries(NamedTuple):
    """32 queries side by side.

    Attributes
    ----------
    halves : int16 array of shape (n_bits, 32)
        The coarse values, multiples of the step, padded to whole words.
    starts : int16 array of shape (n_chunks, 32)
        What sums of a chunk begin with, so that they end in the range of 16 bits.
    steps, slacks, middles : int64 arrays of shape (32,)
        An exact sum is at most (coarse sum + middle) * step + slack.
    values : int32 array of shape (32, n_bits)
        The exact whole numbers, by query.
    """

    halves: NDArray[np.int16]
    starts: NDArray[np.int16]
    steps: NDArray[np.int64]
    slacks: NDArray[np.int64]
    middles: NDArray[np.int64]
    values: NDArray[np.int32]


def coarse_queries(queries: AsymmetricQueries) -> list[CoarseQueries]:
    """Return the queries in groups of 32, the last padded by zeros."""
    by_query = queries.values.transpose(0, 2, 1).reshape(-1, queries.values.shape[1])
    groups = -(-queries.n_queries // LANES)
    padded = np.zeros((groups * LANES, by_query.shape[1]), np.int32)
    padded[: queries.n_queries] = by_query[: queries.n_queries]
    return [_coarse(padded[start : start + LANES]) for start in range(0, len(padded), LANES)]


def _coarse(values: NDArray[np.int32]) -> CoarseQueries:
    size = _CHUNK_WORDS * WORD_BITS
    firsts = np.arange(0, values.shape[1], size)
    largest = np.add.reduceat(np.abs(values.astype(np.int64)), firsts, axis=1).max(axis=1)
    steps = np.maximum(1, -(-largest // (_LARGEST_SUM - size // 2)))
    halves = (2 * values.astype(np.int64) + steps[:, None]) // (2 * steps[:, None])
    starts = -(np.add.reduceat(halves, firsts, axis=1) // 2)
    return CoarseQueries(
        halves=np.ascontiguousarray(halves.T, np.int16),
        starts=np.ascontiguousarray(starts.T, np.int64).astype(np.int16),  # sums are modulo 2^16 until they end
        steps=steps,
        slacks=np.maximum(values - steps[:, None] * halves, 0).sum(axis=1),
        middles=-starts.sum(axis=1),
        values=np.ascontiguousarray(values),
    )


@njit(nogil=True, cache=True)
def scan_scores(queries, words, first_row, negated, rows):  # type: ignore[no-untyped-def]
    """Hold the k best rows of 32 queries, by negated score, while codes pass by in row order.

    Parameters
    ----------
    queries : CoarseQueries
        The queries.
    words : uint32 array of shape (n, n_words)
        Codes as 32-bit words.
    first_row : int
        The row of the first code.
    negated : int32 array of shape (32, k)
        Negated sums of the best so far, in order; overwritten.
    rows : int64 array of shape (32, k)
        Their rows; overwritten.
    """
    k = negated.shape[1]
    sums, parts = aligned_rows(_AT_ONCE, np.int32), aligned_rows(_AT_ONCE, np.int16)
    tables = aligned_rows(TABLES * ENTRIES, np.int16)
    bars = np.empty(LANES, np.int32)
    for lane in range(LANES):
        bars[lane] = _bar(queries, lane, -np.int64(negated[lane, k - 1]))
    for start in range(0, words.shape[0], _AT_ONCE):
        stop = min(start + _AT_ONCE, words.shape[0])
        _sum_up(queries, words[start:stop], tables, parts, sums)
        for j in range(stop - start):
            left = lanes_above(sums, j, bars)
            while left:  # most of the time there is none
                lane = popcount((left & (~left + np.uint32(1))) - np.uint32(1))
                left &= left - np.uint32(1)
                exact = _exact(queries.values[lane], words[start + j])
                if -exact < negated[lane, k - 1]:
                    insert(negated[lane], rows[lane], -exact, first_row + start + j)
                    bars[lane] = _bar(queries, lane, -np.int64(negated[lane, k - 1]))


@njit(nogil=True, cache=True)
def _bar(queries, lane, bar):  # type: ignore[no-untyped-def]
    """Return the largest coarse sum whose exact sum cannot be above a bar."""
    coarse = (bar - queries.slacks[lane]) // queries.steps[lane] - queries.middles[lane]
    return max(coarse, np.int64(-(2**31)))


@njit(nogil=True, cache=True)
def _sum_up(queries, words, tables, parts, sums):  # type: ignore[no-untyped-def]
    n, n_words = words.shape
    sums[:n] = 0
    for chunk in range(queries.starts.shape[0]):
        parts[:n] = queries.starts[chunk]
        for word in range(chunk * _CHUNK_WORDS, min((chunk + 1) * _CHUNK_WORDS, n_words)):
            fill_tables(tables, queries.halves, word)
            for j in range(n):
                add_entries(tables, words[j, word], parts, j)
        for j in range(n):
            add_halves(sums, j, parts, j)


@njit(nogil=True, cache=True)
def _exact(values, words):  # type: ignore[no-untyped-def]
    """Return the sum of the values of one query over the bits that are set in a code."""
    total = np.int32(0)
    for word in range(len(words)):
        total += sum_of_set(values, word, words[word])
    return total
