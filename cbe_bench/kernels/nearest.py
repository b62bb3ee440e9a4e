"""The nearest codes of queries, exactly: by Hamming distance, or by the inner product of a real query with codes.

A search takes the database in pieces, in row order, and holds the k nearest of each query so far. Distances and the
choice of the nearest are one pass: distances to a block of codes are looked over, many at once, for one that is small
enough while they are in cache. Where there are fewer groups of queries than threads, the codes of a piece are split
over threads. Equal distances are ordered by row: results do not depend on pieces, threads or the processor.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels import array_search
from cbe_bench.kernels.arrays import library_of
from cbe_bench.kernels.asymmetric import AsymmetricQueries, code_words
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.coarse import coarse_queries, scan_scores
from cbe_bench.kernels.hamming import (
    MOST_QUERIES,
    check_codes,
    codes_at_once,
    distances_to_block,
    padded_words,
    scratch,
)
from cbe_bench.kernels.parallel import for_slices, slices, thread_count
from cbe_bench.kernels.ranking import insert
from cbe_bench.kernels.simd.counts import LOOK, any_below
from cbe_bench.kernels.simd.lookup import LANES

_FARTHEST = np.iinfo(np.int32).max

Nearest = tuple[NDArray, NDArray[np.int64]]
"""Distances, or scores, and rows of the nearest codes, each of shape (n_queries, k)."""


class _Best:
    """The k nearest of each query so far, for each part of the codes apart."""

    def __init__(self, n_queries: int, k: int, groups: int) -> None:
        self.parts = -(-thread_count() // groups)
        self.distances = np.full((self.parts, n_queries, k), _FARTHEST, np.int32)
        self.rows = np.zeros((self.parts, n_queries, k), np.int64)

    def merged(self, n_queries: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the k nearest over all parts."""
        distances, rows = self.distances[0], self.rows[0]
        for part in range(1, self.parts):
            distances, rows = merge(distances, rows, self.distances[part], self.rows[part])
        return distances[:n_queries], rows[:n_queries]


class HammingSearch:
    """Searches codes that arrive in pieces for the nearest of each query by Hamming distance.

    Parameters
    ----------
    queries : uint8 array of shape (n_queries, bytes)
        Packed codes.
    k : int
        Neighbours wanted.
    """

    def __init__(self, queries: Codes, k: int) -> None:
        self._queries, self._k = queries, k
        self._words = padded_words(queries, -(-len(queries) // 4) * 4)
        share = -(-len(queries) // thread_count())
        self._groups = slices(len(self._words) // 4, max(1, min(-(-share // 4), MOST_QUERIES // 4)))
        self._best = _Best(len(self._words), k, max(1, len(self._groups)))

    def add(self, codes: Codes, first: int = 0) -> None:
        """Search a piece of the database, whose first code is that of row `first`.

        Parameters
        ----------
        codes : uint8 array of shape (n, n_bytes)
            Packed codes.
        first : int
            The row number of the first.
        """
        check_codes(self._queries, codes)
        words = padded_words(codes, len(codes))
        block, best = codes_at_once(words), self._best
        pieces = [slice(len(words) * i // best.parts, len(words) * (i + 1) // best.parts) for i in range(best.parts)]

        def scan(tasks: slice) -> None:
            for task in range(tasks.start, tasks.stop):
                group, part = divmod(task, best.parts)
                fours, piece = self._groups[group], pieces[part]
                some = slice(4 * fours.start, 4 * fours.stop)
                _scan_distances(
                    self._words[some],
                    words[piece],
                    block,
                    first + piece.start,
                    best.distances[part, some],
                    best.rows[part, some],
                )

        for_slices(scan, len(self._groups) * best.parts, 1)

    def nearest(self) -> Nearest:
        """Return distances, int32, and rows of the k nearest codes that were added, the nearest first."""
        return self._best.merged(len(self._queries))


class AsymmetricSearch:
    """Searches codes that arrive in pieces for those of the largest inner product with each real query.

    Scores are exact sums of the queries' values, rounded as `AsymmetricQueries` says: equal codes have equal scores.

    Parameters
    ----------
    projections : float array of shape (n_queries, n_bits)
        The real values of the queries.
    k : int
        Neighbours wanted.
    """

    def __init__(self, projections: NDArray, k: int) -> None:
        self._queries = AsymmetricQueries(projections)
        self._groups = coarse_queries(self._queries)
        self._best = _Best(LANES * len(self._groups), k, max(1, len(self._groups)))

    def add(self, codes: Codes, first: int = 0) -> None:
        """Search a piece of the database, whose first code is that of row `first`.

        Parameters
        ----------
        codes : uint8 array of shape (n, n_bytes)
            Packed codes.
        first : int
            The row number of the first.
        """
        words, best = code_words(codes), self._best
        pieces = [slice(len(words) * i // best.parts, len(words) * (i + 1) // best.parts) for i in range(best.parts)]

        def scan(tasks: slice) -> None:
            for task in range(tasks.start, tasks.stop):
                group, part = divmod(task, best.parts)
                some, piece = slice(LANES * group, LANES * (group + 1)), pieces[part]
                found = best.distances[part, some], best.rows[part, some]
                scan_scores(self._groups[group], words[piece], first + piece.start, *found)

        for_slices(scan, len(self._groups) * best.parts, 1)

    def nearest(self) -> Nearest:
        """Return scores, float64 in units of the projections, and rows of the k best codes, the best first."""
        negated, rows = self.negated()
        return self._queries.scores_of(-negated), rows

    def negated(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return, in the place of the scores, negated sums: whole numbers that can be merged exactly."""
        return self._best.merged(self._queries.n_queries)


def top_k(queries: Codes, database: Codes, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find the k nearest codes of each query by Hamming distance, on all cores.

    Parameters
    ----------
    queries, database : uint8 arrays of shape (n, bytes)
        Packed codes of the same length.
    k : int
        Neighbours wanted, at most the number of codes in the database.

    Returns
    -------
    distances, rows : arrays of shape (n_queries, k)
        In order of distance, equal distances in order of row; of the library and on the device of the codes.
    """
    if library_of(queries) is not None or library_of(database) is not None:
        return array_search.hamming_top_k(queries, database, k)
    check_codes(queries, database)
    if not len(queries):
        return np.empty((0, k), np.int32), np.empty((0, k), np.int64)
    if not 1 <= k <= len(database):
        raise ValueError(f"k = {k}: must be from 1 to the {len(database)} codes in the database")
    search = HammingSearch(queries, k)
    search.add(database)
    return search.nearest()


def asymmetric_top_k(projections: NDArray, database: Codes, k: int) -> Nearest:
    """Find the k codes with the largest asymmetric scores for each query, on all cores.

    Parameters
    ----------
    projections : float array of shape (n_queries, n_bits)
        The real values of the queries.
    database : uint8 array of shape (n, bytes)
        Packed codes of `n_bits` bits.
    k : int
        Neighbours wanted, at most the number of codes in the database.

    Returns
    -------
    scores, rows : arrays of shape (n_queries, k)
        Largest scores first, equal scores in order of row; of the library and on the device of the codes. Those of
        NumPy arrays are exact, of others they are inner products in the precision of the projections.
    """
    if library_of(projections) is not None or library_of(database) is not None:
        return array_search.asymmetric_top_k(projections, database, k)
    n_bits = projections.shape[1]
    if code_bytes(n_bits) != database.shape[1]:
        raise ValueError(f"projections of {n_bits} bits, but the database has {database.shape[1]} bytes a code")
    if not 1 <= k <= len(database):
        raise ValueError(f"k = {k}: must be from 1 to the {len(database)} codes in the database")
    search = AsymmetricSearch(projections, k)
    search.add(database)
    return search.nearest()


@njit(nogil=True, cache=True)
def _scan_distances(queries, codes, block, first_row, distances, rows):  # type: ignore[no-untyped-def]
    """Hold the k nearest rows of each query while blocks of codes pass by in row order."""
    k = distances.shape[1]
    out, tiles = scratch(queries, block)
    for start in range(0, codes.shape[0], block):
        stop = min(start + block, codes.shape[0])
        distances_to_block(queries, codes[start:stop], tiles, out)
        for i in range(queries.shape[0]):
            for first in range(0, stop - start, LOOK):
                if any_below(out[i], first, np.uint32(distances[i, k - 1])):  # most of the time there is none
                    for j in range(first, min(first + LOOK, stop - start)):
                        if out[i, j] < np.uint32(distances[i, k - 1]):
                            insert(distances[i], rows[i], np.int32(out[i, j]), first_row + start + j)


@njit(nogil=True, cache=True)
def merge(distances, rows, other_distances, other_rows):  # type: ignore[no-untyped-def]
    """Return the k nearest of two lists for each query, each in order of distance and row.

    Parameters
    ----------
    distances, other_distances : array of shape (n_queries, k)
        Both in the same dtype.
    rows, other_rows : int64 array of shape (n_queries, k)
        Their row numbers.

    Returns
    -------
    distances, rows : arrays of shape (n_queries, k)
    """
    n, k = distances.shape
    merged, merged_rows = np.empty_like(distances), np.empty_like(rows)
    for i in range(n):
        a = b = 0
        for place in range(k):
            x, y = distances[i, a], other_distances[i, b]
            if x < y or (x == y and rows[i, a] <= other_rows[i, b]):
                merged[i, place], merged_rows[i, place] = x, rows[i, a]
                a += 1
            else:
                merged[i, place], merged_rows[i, place] = y, other_rows[i, b]
                b += 1
    return merged, merged_rows
