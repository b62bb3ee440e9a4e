"""Hamming distances over packed codes.

One block of codes stays in cache while four queries at a time pass over it, so each word read from memory is
compared many times. Everything is exact, ties included; `kernels.nearest` has the nearest codes of queries.
"""

from collections.abc import Callable

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.parallel import for_slices, thread_count
from cbe_bench.kernels.simd.calls import popcount
from cbe_bench.kernels.simd.counts import LOOK, add_differing_bits, no_bits
from cbe_bench.kernels.simd.vector import LANES, inline, load, store

_BLOCK_BYTES = 1 << 18
"""Bytes of database codes compared with all queries before the next are touched: half of a small L2 cache."""

_SHORT_WORDS = 64
"""Codes of up to this many words are compared word by word, many codes at once."""

TILE = 2 * LANES
"""Short codes that are compared at once."""

_LARGEST_BLOCK = 512
"""Codes of a block, at most."""

MOST_QUERIES = 256
"""Queries of one task: enough to amortise the reading of a block, few enough that counts stay small."""


@njit(nogil=True, cache=True)
def distances_to_block(queries, codes, tiles, out):  # type: ignore[no-untyped-def]
    """Distances of every query to every code; the number of queries is a multiple of four."""
    if len(tiles):
        _distances_short(queries.view(np.uint32), codes.view(np.uint32), tiles, out)
    else:
        _distances_long(queries, codes, out)


@njit(nogil=True, cache=True)
def _distances_short(queries, codes, tiles, out):  # type: ignore[no-untyped-def]
    """Short codes: tiles of 32 are laid out word by word, and their distances to 4 queries stay in registers."""
    n, words = codes.shape
    for j in range(n):
        tile, lane = tiles[j // TILE], j % TILE
        for t in range(words):
            tile[t * TILE + lane] = codes[j, t]
    for i in range(0, queries.shape[0], 4):
        q0, q1, q2, q3 = queries[i], queries[i + 1], queries[i + 2], queries[i + 3]
        for j in range(0, n, TILE):  # codes behind the last are whatever is there; nobody looks at them
            tile = tiles[j // TILE]
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = no_bits()
            for t in range(words):
                a, b = load(tile, t * TILE), load(tile, t * TILE + LANES)
                a0, b0 = add_differing_bits(a0, a, q0, t), add_differing_bits(b0, b, q0, t)
                a1, b1 = add_differing_bits(a1, a, q1, t), add_differing_bits(b1, b, q1, t)
                a2, b2 = add_differing_bits(a2, a, q2, t), add_differing_bits(b2, b, q2, t)
                a3, b3 = add_differing_bits(a3, a, q3, t), add_differing_bits(b3, b, q3, t)
            _store(out[i], j, a0, b0)
            _store(out[i + 1], j, a1, b1)
            _store(out[i + 2], j, a2, b2)
            _store(out[i + 3], j, a3, b3)


@inline
def _store(row, j, a, b):  # type: ignore[no-untyped-def]
    store(row, j, a)
    store(row, j + LANES, b)


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
def scratch(queries, block):  # type: ignore[no-untyped-def]
    """Return where distances to a block are written, and where its codes are laid out in tiles if they are short."""
    padded = -(-block // LOOK) * LOOK
    n_tiles = padded // TILE if queries.shape[1] <= _SHORT_WORDS else 0
    return (
        np.empty((queries.shape[0], padded), np.uint32),
        np.empty((n_tiles, 2 * queries.shape[1] * TILE), np.uint32),
    )


@njit(nogil=True, cache=True)
def _scan_counts(queries, codes, block, histogram):  # type: ignore[no-untyped-def]
    """Count, for each query, the codes at every distance."""
    out, tiles = scratch(queries, block)
    for start in range(0, codes.shape[0], block):
        stop = min(start + block, codes.shape[0])
        distances_to_block(queries, codes[start:stop], tiles, out)
        for i in range(queries.shape[0]):
            for j in range(stop - start):
                histogram[i, out[i, j]] += 1


@njit(nogil=True, cache=True)
def _scan_inner(queries, codes, block, n_bits, inner):  # type: ignore[no-untyped-def]
    """Write the inner products, for each row of `inner`, of codes taken as -1 and +1."""
    out, tiles = scratch(queries, block)
    for start in range(0, codes.shape[0], block):
        stop = min(start + block, codes.shape[0])
        distances_to_block(queries, codes[start:stop], tiles, out)
        for i in range(inner.shape[0]):
            for j in range(stop - start):
                inner[i, start + j] = n_bits - 2 * out[i, j]


def padded_words(codes: Codes, rows: int) -> NDArray[np.uint64]:
    """View codes as 64-bit words, padded by zero bytes and, up to `rows`, by zero codes, copied only if need be."""
    n, width = codes.shape
    if n == rows and width % 8 == 0 and codes.flags.c_contiguous:
        return codes.view(np.uint64)
    padded = np.zeros((rows, -(-width // 8) * 8), np.uint8)
    padded[:n, :width] = codes
    return padded.view(np.uint64)


def check_codes(queries: Codes, database: Codes) -> None:
    """Raise ValueError unless both are packed codes of the same length."""
    for name, codes in (("queries", queries), ("database", database)):
        if codes.ndim != 2 or codes.dtype != np.uint8:
            raise ValueError(f"{name}: packed codes are a 2-d uint8 array, found {codes.ndim}-d {codes.dtype}")
    if queries.shape[1] != database.shape[1]:
        raise ValueError(
            f"queries have {queries.shape[1]} bytes a code, the database has {database.shape[1]}: they must agree"
        )


def codes_at_once(words: NDArray[np.uint64]) -> int:
    """Return how many codes are compared with all queries before the next are touched."""
    return min(max(2, _BLOCK_BYTES // (8 * words.shape[1]) // 2 * 2), _LARGEST_BLOCK)


def _for_query_slices(
    scan: Callable[[NDArray[np.uint64], NDArray[np.uint64], int, slice], None],
    queries: Codes,
    database: Codes,
) -> None:
    """Check the codes and call scan(query words, code words, block rows, slice of the queries) from all threads."""
    check_codes(queries, database)
    code_words = padded_words(database, len(database))
    block = codes_at_once(code_words)

    def work(part: slice) -> None:
        fours = -(-(part.stop - part.start) // 4) * 4
        scan(padded_words(queries[part], fours), code_words, block, part)

    share = -(-len(queries) // thread_count())
    for_slices(work, len(queries), min(-(-share // 4) * 4, MOST_QUERIES))


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
