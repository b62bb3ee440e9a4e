"""Medians of Hamming distances: codes cut into blocks, their distance the median over the blocks of their distances.

The median of an even number of blocks is the mean of the two in the middle. All distances here are *doubled*, the sum
of these two or twice the one, so that they are whole numbers and ties are exact.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.parallel import for_slices, slice_size, slices
from cbe_bench.kernels.simd.calls import popcount

Blocks = NDArray[np.uint64]
"""Codes as words, of shape (codes, blocks, words): every block begins a word, and zero bits fill its last one."""

_UNPACKED_BITS = 1 << 26
_CACHED_BYTES = 1 << 18
"""Bytes of database codes that queries are compared with while they are in cache."""


def cut_codes(codes: Codes, blocks: list[slice]) -> Blocks:
    """Cut packed codes into blocks of bits.

    Parameters
    ----------
    codes : uint8 array of shape (n, n_bytes)
        Packed codes.
    blocks : list of slice
        The bits of each block.

    Returns
    -------
    uint64 array of shape (n, n_blocks, n_words)
        Padded by zeros.
    """
    words = max(-(-(block.stop - block.start) // 64) for block in blocks)
    cut = np.zeros((len(codes), len(blocks), 8 * words), np.uint8)
    for part in slices(len(codes), max(1, _UNPACKED_BITS // (8 * codes.shape[1]))):
        bits = np.unpackbits(codes[part], axis=1, bitorder="little")
        for place, block in enumerate(blocks):
            packed = np.packbits(bits[:, block], axis=1, bitorder="little")
            cut[part, place, : packed.shape[1]] = packed
    return cut.view(np.uint64)


def most_median(blocks: list[slice]) -> int:
    """Return the largest doubled median distance there can be."""
    return 2 * max(block.stop - block.start for block in blocks)


def add_median_counts(queries: Blocks, database: Blocks, counts: NDArray[np.int64]) -> None:
    """Add, for each query, how many database codes lie at each doubled median distance 0, 1, 2, ...

    Parameters
    ----------
    queries, database : uint64 array of shape (n, n_blocks, n_words)
        From `cut_codes`.
    counts : int64 array of shape (n_queries, n_distances)
        Added to in place.
    """
    step = max(1, _CACHED_BYTES // database[:1].nbytes)

    def work(part: slice) -> None:
        _count(queries[part], database, step, counts[part])

    for_slices(work, len(queries), slice_size(len(queries), 1))


def paired_medians(queries: Blocks, codes: Blocks) -> NDArray[np.int64]:
    """Return the doubled median distance of each code to the query it broadcasts against.

    Parameters
    ----------
    queries, codes : uint64 array of shape (..., n_blocks, n_words)
        From `cut_codes`.

    Returns
    -------
    int64 array
        Of the broadcast shape, without the last two axes.
    """
    distances = np.bitwise_count(queries ^ codes).sum(axis=-1, dtype=np.int64)
    return (2 * np.median(distances, axis=-1)).astype(np.int64)


@njit(nogil=True, cache=True)
def _count(queries, database, step, counts):  # type: ignore[no-untyped-def]
    blocks = queries.shape[1]
    ordered = np.empty(blocks, np.uint64)
    for start in range(0, database.shape[0], step):
        for i in range(queries.shape[0]):
            for j in range(start, min(start + step, database.shape[0])):
                _sorted_distances(queries[i], database[j], ordered)
                counts[i, ordered[blocks // 2] + ordered[(blocks - 1) // 2]] += 1


@njit(nogil=True, cache=True)
def _sorted_distances(query, code, ordered):  # type: ignore[no-untyped-def]
    """Write the distances of all blocks, in ascending order."""
    for block in range(query.shape[0]):
        distance = np.uint64(0)
        for word in range(query.shape[1]):
            distance += popcount(query[block, word] ^ code[block, word])
        place = block
        while place > 0 and ordered[place - 1] > distance:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = distance
