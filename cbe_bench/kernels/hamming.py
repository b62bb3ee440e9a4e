"""Hamming distances over packed codes.

One block of codes stays in cache while four queries at a time pass over it, so each word read from memory is
compared many times. Everything is exact, ties included: `top_k` orders equal distances by row, and
`distance_counts` says how many codes are nearer and how many equally near.
"""

from collections.abc import Callable

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from cbe_bench.kernels.array_search import hamming_top_k
from cbe_bench.kernels.arrays import library_of
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.parallel import for_slices, thread_count
from cbe_bench.kernels.simd.calls import popcount

_BLOCK_BYTES = 1 << 18
"""Bytes of database codes compared with all queries before the next are touched: half of a small L2 cache."""

_SHORT_WORDS = 16
"""Codes of up to this many words are compared word by word, many codes at once."""

_LARGEST_BLOCK = 512
"""Codes of a block, at most."""

_LOOK = 64
"""Distances looked over at once for one that is small enough."""

_MOST_QUERIES = 256
"""Queries of one task: enough to amortise the reading of a block, few enough that counts stay small."""


@njit(nogil=True, cache=True)
def _distances(queries, codes, by_word, out):  # type: ignore[no-untyped-def]
    """Distances of every query to every code; the number of queries is a multiple of four."""
    if queries.shape[1] <= by_word.shape[0]:
        _distances_short(queries, codes, by_word, out)
    else:
        _distances_long(queries, codes, out)


@njit(nogil=True, cache=True)
def _distances_short(queries, codes, by_word, out):  # type: ignore[no-untyped-def]
    """Short codes: the codes are laid out word by word, and the sums run over many codes at once."""
    n, words = codes.shape
    for j in range(n):
        for t in range(words):
            by_word[t, j] = codes[j, t]
    for i in range(0, queries.shape[0], 4):
        out0, out1, out2, out3 = out[i], out[i + 1], out[i + 2], out[i + 3]
        out[i : i + 4, :n] = 0
        for t in range(words):
            q0, q1, q2, q3 = queries[i, t], queries[i + 1, t], queries[i + 2, t], queries[i + 3, t]
            row = by_word[t]
            for j in range(n):
                out0[j] += popcount(row[j] ^ q0)
                out1[j] += popcount(row[j] ^ q1)
                out2[j] += popcount(row[j] ^ q2)
                out3[j] += popcount(row[j] ^ q3)


@njit(nogil=True, cache=True)
def _distances_long(queries, codes, out):  # type: ignore[no-untyped-def]
    """Long codes: the sums run along the words of one code."""
    words = queries.shape[1]
    last = codes.shape[0] - 1
    for i in range(0, queries.shape[0], 4):
        for j in range(0, last + 1, 2):
            j1 = min(j + 1, last)  # an odd last code is compared twice rather than treated apart
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = uint64(0)
            for t in range(words):
                a = codes[j, t]
                b = codes[j1, t]
                q0 = queries[i, t]
                q1 = queries[i + 1, t]
                q2 = queries[i + 2, t]
                q3 = queries[i + 3, t]
                a0 += popcount(a ^ q0)
                a1 += popcount(a ^ q1)
                a2 += popcount(a ^ q2)
                a3 += popcount(a ^ q3)
                b0 += popcount(b ^ q0)
                b1 += popcount(b ^ q1)
                b2 += popcount(b ^ q2)
                b3 += popcount(b ^ q3)
            out[i, j], out[i, j1] = a0, b0
            out[i + 1, j], out[i + 1, j1] = a1, b1
            out[i + 2, j], out[i + 2, j1] = a2, b2
            out[i + 3, j], out[i + 3, j1] = a3, b3


@njit(nogil=True, cache=True)
def _insert(distances, rows, distance, row):  # type: ignore[no-untyped-def]
    """Put a row into a sorted list of the nearest, behind every equal distance; the last one drops out."""
    place = distances.shape[0] - 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    distances[place] = distance
    rows[place] = row


@njit(nogil=True, cache=True)
def _scan_top(queries, codes, block, distances, rows):  # type: ignore[no-untyped-def]
    """Keep the k nearest rows of each query while blocks of codes pass by in row order."""
    k = distances.shape[1]
    out = np.empty((queries.shape[0], block), np.int32)
    by_word = np.empty((_SHORT_WORDS, block if queries.shape[1] <= _SHORT_WORDS else 0), np.uint64)
    for start in range(0, codes.shape[0], block):
        stop = min(start + block, codes.shape[0])
        _distances(queries, codes[start:stop], by_word, out)
        for i in range(queries.shape[0]):
            for first in range(0, stop - start, _LOOK):
                last = min(first + _LOOK, stop - start)
                worst = distances[i, k - 1]
                better = 0
                for j in range(first, last):  # many at once: most of the time there is none
                    better += out[i, j] < worst
                if better:
                    for j in range(first, last):
                        if out[i, j] < distances[i, k - 1]:
                            _insert(distances[i], rows[i], out[i, j], start + j)


@njit(nogil=True, cache=True)
def _scan_counts(queries, codes, block, histogram):  # type: ignore[no-untyped-def]
    """Count, for each query, the codes at every distance."""
    out = np.empty((queries.shape[0], block), np.int32)
    by_word = np.empty((_SHORT_WORDS, block if queries.shape[1] <= _SHORT_WORDS else 0), np.uint64)
    for start in range(0, codes.shape[0], block):
        stop = min(start + block, codes.shape[0])
        _distances(queries, codes[start:stop], by_word, out)
        for i in range(queries.shape[0]):
            for j in range(stop - start):
                histogram[i, out[i, j]] += 1


@njit(nogil=True, cache=True)
def _scan_inner(queries, codes, block, n_bits, inner):  # type: ignore[no-untyped-def]
    """Write the inner products, for each row of `inner`, of codes taken as -1 and +1."""
    out = np.empty((queries.shape[0], block), np.int32)
    by_word = np.empty((_SHORT_WORDS, block if queries.shape[1] <= _SHORT_WORDS else 0), np.uint64)
    for start in range(0, codes.shape[0], block):
        stop = min(start + block, codes.shape[0])
        _distances(queries, codes[start:stop], by_word, out)
        for i in range(inner.shape[0]):
            for j in range(stop - start):
                inner[i, start + j] = n_bits - 2 * out[i, j]


def _words(codes: Codes, rows: int) -> NDArray[np.uint64]:
    """View codes as 64-bit words, padded by zero bytes and, up to `rows`, by zero codes, copied only if need be."""
    n, width = codes.shape
    if n == rows and width % 8 == 0 and codes.flags.c_contiguous:
        return codes.view(np.uint64)
    padded = np.zeros((rows, -(-width // 8) * 8), np.uint8)
    padded[:n, :width] = codes
    return padded.view(np.uint64)


def _for_query_slices(
    scan: Callable[[NDArray[np.uint64], NDArray[np.uint64], int, slice], None],
    queries: Codes,
    database: Codes,
) -> None:
    """Check the codes and call scan(query words, code words, block rows, slice of the queries) from all threads."""
    for name, codes in (("queries", queries), ("database", database)):
        if codes.ndim != 2 or codes.dtype != np.uint8:
            raise ValueError(f"{name}: packed codes are a 2-d uint8 array, found {codes.ndim}-d {codes.dtype}")
    if queries.shape[1] != database.shape[1]:
        raise ValueError(
            f"queries have {queries.shape[1]} bytes a code, the database has {database.shape[1]}: they must agree"
        )
    code_words = _words(database, len(database))
    block = min(max(2, _BLOCK_BYTES // (8 * code_words.shape[1]) // 2 * 2), _LARGEST_BLOCK)

    def work(part: slice) -> None:
        fours = -(-(part.stop - part.start) // 4) * 4
        scan(_words(queries[part], fours), code_words, block, part)

    share = -(-len(queries) // thread_count())
    for_slices(work, len(queries), min(-(-share // 4) * 4, _MOST_QUERIES))


def top_k(queries: Codes, database: Codes, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find the k nearest codes of each query.

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
        return hamming_top_k(queries, database, k)
    if not len(queries):
        return np.empty((0, k), np.int32), np.empty((0, k), np.int64)
    if not 1 <= k <= len(database):
        raise ValueError(f"k = {k}: must be from 1 to the {len(database)} codes in the database")
    distances = np.empty((len(queries), k), np.int32)
    rows = np.empty((len(queries), k), np.int64)

    def scan(words: NDArray[np.uint64], codes: NDArray[np.uint64], block: int, part: slice) -> None:
        best = np.full((len(words), k), np.iinfo(np.int32).max, np.int32)
        where = np.zeros((len(words), k), np.int64)
        _scan_top(words, codes, block, best, where)
        count = part.stop - part.start
        distances[part], rows[part] = best[:count], where[:count]

    _for_query_slices(scan, queries, database)
    return distances, rows


def distance_counts(queries: Codes, database: Codes) -> NDArray[np.int64]:
    """Return, for each query, how many database codes lie at each Hamming distance 0, 1, 2, ..."""
    histogram = np.zeros((len(queries), 8 * queries.shape[1] + 1), np.int64)

    def scan(words: NDArray[np.uint64], codes: NDArray[np.uint64], block: int, part: slice) -> None:
        counts = np.zeros((len(words), histogram.shape[1]), np.int64)
        _scan_counts(words, codes, block, counts)
        histogram[part] = counts[: part.stop - part.start]

    _for_query_slices(scan, queries, database)
    return histogram


def inner_products(queries: Codes, database: Codes, n_bits: int) -> NDArray[np.float32]:
    """Return the inner product of each query with each code, both taken as -1 and +1: bits less twice the distance."""
    inner = np.empty((len(queries), len(database)), np.float32)

    def scan(words: NDArray[np.uint64], codes: NDArray[np.uint64], block: int, part: slice) -> None:
        _scan_inner(words, codes, block, n_bits, inner[part])

    _for_query_slices(scan, queries, database)
    return inner


def paired_distances(a: Codes, b: Codes) -> NDArray[np.int64]:
    """Hamming distance of each code in `a` to the code(s) in `b` it broadcasts against."""
    return np.bitwise_count(a ^ b).sum(axis=-1, dtype=np.int64)
