"""Asymmetric scores: inner products of real queries with packed codes taken as -1 and +1, exact whole numbers.

The values of a query are rounded to multiples of a step, a power of two between k / 2^31 and k / 2^30 of the largest
of them for codes of k bits. Scores are then sums of integers below 2^31, a function of query and code alone: they do
not depend on the order of summation, on blocks, threads or processor, and equal codes have equal scores. For values
without a preferred direction the rounding changes a score by about 7e-10 k times its standard deviation over codes.

Instead of single bits the sum runs over tables: for each four bits of a code, the 16 sums of the query's values over
the bits that are set. They are laid out for 32 queries side by side, so that one vector addition serves four bits of
all of them, and the tables of a 32-bit word stay in the first-level cache while many codes pass by.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.array_search import asymmetric_top_k, nearest
from cbe_bench.kernels.arrays import library_of
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.parallel import for_slices, slices
from cbe_bench.kernels.simd.lookup import ENTRIES, LANES, TABLE_BITS, TABLES, add_entries

_WORD_BITS = 32
_BLOCK = 2048
"""Codes that are scored by one filling of the tables."""


class AsymmetricQueries:
    """Queries as whole numbers, ready to be compared with packed codes.

    Parameters
    ----------
    projections : float array of shape (n_queries, n_bits)
        The real values of the queries.

    Attributes
    ----------
    steps : float64 array of shape (n_queries,)
        What the whole numbers are multiples of.
    """

    def __init__(self, projections: NDArray) -> None:
        self.n_queries, self.n_bits = projections.shape
        largest = np.abs(projections).max(axis=1, initial=0.0).astype(np.float64)
        self.steps = np.ldexp(1.0, np.frexp(largest / ((2**31 - 1) // self.n_bits))[1])
        groups, words = -(-self.n_queries // LANES), -(-self.n_bits // _WORD_BITS)
        self._values = np.zeros((groups, words * _WORD_BITS, LANES), np.int32)
        for group, queries in enumerate(slices(groups * LANES, LANES)):
            scaled = np.rint(projections[queries] * (1 / self.steps[queries, None]))  # by a power of two: exact
            self._values[group, : self.n_bits, : len(scaled)] = scaled.T
        self._totals = self._values.sum(axis=1, dtype=np.int64).reshape(-1)[: self.n_queries]

    def scores(self, codes: Codes) -> NDArray[np.float64]:
        """Return the (n_queries, n_codes) inner products with codes, in units of the projections."""
        words, sums = _words(codes), np.empty((len(self._values), len(codes), LANES), np.int32)

        def score(part: slice) -> None:
            for group in range(part.start, part.stop):
                for some in slices(len(codes), _BLOCK):
                    _sum_up(self._values[group], words[some], sums[group, some])

        for_slices(score, len(self._values), 1)
        by_query = sums.transpose(0, 2, 1).reshape(-1, len(codes))[: self.n_queries]
        return (2.0 * by_query - self._totals[:, None]) * self.steps[:, None]

    def count_before(
        self, codes: Codes, own: NDArray[np.int32], greater: NDArray[np.int64], equal: NDArray[np.int64]
    ) -> None:
        """Add, for each query, how many codes have scores above and equal to given ones.

        Parameters
        ----------
        codes : uint8 array of shape (n, bytes)
            Packed codes.
        own : int32 array of shape (n_queries, m)
            Sums to compare with, as `own_sums` returns them.
        greater, equal : int64 arrays of shape (n_queries, m)
            What is added to.
        """
        words = _words(codes)

        def count(part: slice) -> None:
            sums = np.empty((min(_BLOCK, len(codes)), LANES), np.int32)
            for group in range(part.start, part.stop):
                queries = slice(group * LANES, min((group + 1) * LANES, self.n_queries))
                for some in slices(len(codes), _BLOCK):
                    block = sums[: some.stop - some.start]
                    _sum_up(self._values[group], words[some], block)
                    _count(block, own[queries], greater[queries], equal[queries])

        for_slices(count, len(self._values), 1)

    def own_sums(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return, for each query, the sums over the codes in its row of `rows`: they rise with the score."""
        out = np.empty(rows.shape, np.int32)

        def add(part: slice) -> None:
            for query in range(part.start, part.stop):
                group, lane = divmod(query, LANES)
                _sum_one(self._values[group, :, lane].copy(), codes, rows[query], out[query])

        for_slices(add, self.n_queries, LANES)
        return out


def top_k(projections: NDArray, database: Codes, k: int) -> tuple[NDArray, NDArray[np.int64]]:
    """Find the k codes with the largest asymmetric scores for each query.

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
        return asymmetric_top_k(projections, database, k)
    n_bits = projections.shape[1]
    if code_bytes(n_bits) != database.shape[1]:
        raise ValueError(f"projections of {n_bits} bits, but the database has {database.shape[1]} bytes a code")

    def negative_scores(some: slice, part: slice) -> NDArray:
        return -AsymmetricQueries(projections[some]).scores(database[part])

    scores, rows = nearest(np, negative_scores, (projections, database), k, n_bits)
    return -scores, rows


def _words(codes: Codes) -> NDArray[np.uint32]:
    """View codes as 32-bit words, the first bit lowest, padded by zero bytes and copied only if need be."""
    n, width = codes.shape
    if width % 4 or not codes.flags.c_contiguous:
        padded = np.zeros((n, -(-width // 4) * 4), np.uint8)
        padded[:, :width] = codes
        codes = padded
    return codes.view("<u4").astype(np.uint32, copy=False)


@njit(nogil=True, cache=True)
def _sum_up(values, words, sums):  # type: ignore[no-untyped-def]
    """Sum the values of 32 queries over the bits that are set, for all codes."""
    tables = np.empty((TABLES, ENTRIES, LANES), np.int32)
    sums[:] = 0
    for word in range(words.shape[1]):
        for table in range(TABLES):
            tables[table, 0] = 0
            for bit in range(TABLE_BITS):
                more = values[word * _WORD_BITS + table * TABLE_BITS + bit]
                for entry in range(1 << bit):
                    for lane in range(LANES):
                        tables[table, entry + (1 << bit), lane] = tables[table, entry, lane] + more[lane]
        for j in range(words.shape[0]):
            add_entries(tables, words[j, word], sums, j)


@njit(nogil=True, cache=True)
def _sum_one(values, codes, rows, out):  # type: ignore[no-untyped-def]
    """Sum the values of one query over the bits that are set, for some codes."""
    for i in range(len(rows)):
        total = np.int64(0)
        for byte in range(codes.shape[1]):
            bits = codes[rows[i], byte]
            for bit in range(8):
                total += values[8 * byte + bit] * ((bits >> bit) & 1)
        out[i] = total


@njit(nogil=True, cache=True)
def _count(sums, own, greater, equal):  # type: ignore[no-untyped-def]
    """Count, for each query, the sums above and equal to its own."""
    above, level = np.empty(LANES, np.int32), np.empty(LANES, np.int32)
    wanted = np.zeros(LANES, np.int32)
    for i in range(own.shape[1]):
        wanted[: len(own)] = own[:, i]
        above[:], level[:] = 0, 0
        for j in range(len(sums)):
            for lane in range(LANES):
                above[lane] += sums[j, lane] > wanted[lane]
                level[lane] += sums[j, lane] == wanted[lane]
        greater[:, i] += above[: len(own)]
        equal[:, i] += level[: len(own)]
