"""Asymmetric scores: inner products of real queries with packed codes taken as -1 and +1, exact whole numbers.

The values of a query are rounded to multiples of a step, a power of two between k / 2^31 and k / 2^30 of the largest
of them for codes of k bits. Scores are then sums of integers below 2^31, a function of only query and code: they do
not depend on the order of summation, on blocks, threads or processor, and equal codes have equal scores. For values
without a preferred direction the rounding changes a score by about 7e-10 k times its standard deviation over codes.

Instead of single bits the sum runs over tables: for each four bits of a code, the 16 sums of the query's values over
the bits that are set. They are laid out for 32 queries side by side, so that one vector addition serves four bits of
all of them, and the tables of a 32-bit word stay in the first-level cache while many codes pass by.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.parallel import for_slices, slices
from cbe_bench.kernels.simd.lookup import ENTRIES, LANES, TABLE_BITS, TABLES, add_entries, put_sum

WORD_BITS = 32
_LINE_BYTES = 64
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
    values : int32 array of shape (groups, bits, 32)
        The whole numbers, 32 queries side by side, padded by zeros.
    """

    def __init__(self, projections: NDArray) -> None:
        self.n_queries, self.n_bits = projections.shape
        largest = np.abs(projections).max(axis=1, initial=0.0).astype(np.float64)
        self.steps = np.ldexp(1.0, np.frexp(largest / ((2**31 - 1) // self.n_bits))[1])
        groups, words = -(-self.n_queries // LANES), -(-self.n_bits // WORD_BITS)
        self.values = np.zeros((groups, words * WORD_BITS, LANES), np.int32)
        for group, queries in enumerate(slices(groups * LANES, LANES)):
            scaled = np.rint(projections[queries] * (1 / self.steps[queries, None]))  # by a power of two: exact
            self.values[group, : self.n_bits, : len(scaled)] = scaled.T
        self._totals = self.values.sum(axis=1, dtype=np.int64).reshape(-1)[: self.n_queries]

    def scores(self, codes: Codes) -> NDArray[np.float64]:
        """Return the (n_queries, n_codes) inner products with codes, in units of the projections."""
        return self.scores_of(self.sums(codes))

    def sums(self, codes: Codes) -> NDArray[np.int32]:
        """Return the (n_queries, n_codes) sums of the whole numbers over the bits that are set in codes."""
        words, sums = code_words(codes), np.empty((len(self.values), len(codes), LANES), np.int32)

        def score(part: slice) -> None:
            for group in range(part.start, part.stop):
                for some in slices(len(codes), _BLOCK):
                    sum_up(self.values[group], words[some], sums[group, some])

        for_slices(score, len(self.values), 1)
        return sums.transpose(0, 2, 1).reshape(-1, len(codes))[: self.n_queries]

    def scores_of(self, sums: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return inner products, in units of the projections, from sums over the bits that are set, by query."""
        return (2.0 * sums - self._totals[:, None]) * self.steps[:, None]

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
        words = code_words(codes)

        def count(part: slice) -> None:
            sums = np.empty((min(_BLOCK, len(codes)), LANES), np.int32)
            for group in range(part.start, part.stop):
                queries = slice(group * LANES, min((group + 1) * LANES, self.n_queries))
                for some in slices(len(codes), _BLOCK):
                    block = sums[: some.stop - some.start]
                    sum_up(self.values[group], words[some], block)
                    _count(block, own[queries], greater[queries], equal[queries])

        for_slices(count, len(self.values), 1)

    def own_sums(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return, for each query, the sums over the codes in its row of `rows`: they rise with the score.

        Parameters
        ----------
        codes : uint8 array of shape (n, n_bytes)
            Packed codes.
        rows : int64 array of shape (n_queries, m)
            For each query, row numbers of codes.

        Returns
        -------
        int32 array of shape (n_queries, m)
        """
        out = np.empty(rows.shape, np.int32)

        def add(part: slice) -> None:
            for query in range(part.start, part.stop):
                group, lane = divmod(query, LANES)
                _sum_one(self.values[group, :, lane].copy(), codes, rows[query], out[query])

        for_slices(add, self.n_queries, LANES)
        return out


def code_words(codes: Codes) -> NDArray[np.uint32]:
    """View codes as 32-bit words, the first bit lowest, padded by zero bytes and copied only if need be."""
    n, width = codes.shape
    if width % 4 or not codes.flags.c_contiguous:
        padded = np.zeros((n, -(-width // 4) * 4), np.uint8)
        padded[:, :width] = codes
        codes = padded
    return codes.view("<u4").astype(np.uint32, copy=False)


@njit(nogil=True, cache=True)
def aligned_rows(count, dtype):  # type: ignore[no-untyped-def]
    """Return an uninitialised (count, 32) array of integers, of which no row crosses more cache lines than it must.

    Parameters
    ----------
    count : int
        The number of rows.
    dtype : np.int32 or np.int16
        The type of the integers.

    Returns
    -------
    array of shape (count, 32)
    """
    memory = np.empty((count + 2) * LANES, dtype)
    first = (-memory.ctypes.data % _LINE_BYTES) // memory.itemsize
    return memory[first : first + count * LANES].reshape(count, LANES)


@njit(nogil=True, cache=True)
def sum_up(values, words, sums):  # type: ignore[no-untyped-def]
    """Sum the values of 32 queries over the bits that are set, for all codes.

    Parameters
    ----------
    values : int32 array of shape (n_bits, 32)
        The whole numbers of 32 queries, padded to whole words.
    words : uint32 array of shape (n, n_words)
        Codes as 32-bit words.
    sums : int32 array of shape (at least n, 32)
        The result, overwritten.
    """
    tables = aligned_rows(TABLES * ENTRIES, np.int32)
    sums[: words.shape[0]] = 0
    for word in range(words.shape[1]):
        fill_tables(tables, values, word)
        for j in range(words.shape[0]):
            add_entries(tables, words[j, word], sums, j)


@njit(nogil=True, cache=True)
def fill_tables(tables, values, word):  # type: ignore[no-untyped-def]
    """Write the sums over the ones of every four bits of a word.

    Parameters
    ----------
    tables : int32 or int16 array of shape (128, 32)
        The result: 16 sums for each four bits.
    values : array of shape (n_bits, 32)
        The whole numbers of queries side by side, of the same type.
    word : int
        Which 32 bits.
    """
    for table in range(TABLES):
        first = table * ENTRIES
        tables[first] = 0
        for bit in range(TABLE_BITS):
            for entry in range(first, first + (1 << bit)):
                put_sum(tables, entry + (1 << bit), entry, values, word * WORD_BITS + table * TABLE_BITS + bit)


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
