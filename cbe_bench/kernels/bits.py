"""Signs as packed bits: x >= 0 is bit 1, x < 0 is bit 0, the first bit of a code in the lowest bit of its first byte.

This is ``np.packbits(..., bitorder="little")``, the layout of faiss ``IndexBinary``.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.simd.vector import LANES, inline, load, sign_bits

Codes = NDArray[np.uint8]


def code_bytes(n_bits: int) -> int:
    """Return the bytes of one packed code of `n_bits`, padded with zero bits."""
    return -(-n_bits // 8)


def pack_signs(values: NDArray[np.floating]) -> Codes:
    """Pack the signs of each row of `values` into a row of bytes."""
    return np.packbits(values >= 0, axis=-1, bitorder="little")


def unpack_signs(codes: Codes, n_bits: int, dtype: type = np.int8) -> NDArray:
    """Return the codes as -1 and +1, the inverse of `pack_signs`."""
    signs: NDArray = np.unpackbits(codes, axis=-1, count=n_bits, bitorder="little").astype(dtype)
    signs *= 2
    signs -= 1
    return signs


def prefix(codes: Codes, n_bits: int) -> Codes:
    """Return the codes of the first `n_bits` bits of longer codes."""
    if n_bits == 8 * codes.shape[1]:
        return codes
    short = codes[:, : code_bytes(n_bits)].copy()
    if n_bits % 8:
        short[:, -1] &= (1 << n_bits % 8) - 1
    return short


@inline
def sign_word(u, v):  # type: ignore[no-untyped-def]
    """Return the signs of two vectors as a word of 32 bits, for compiled code."""
    return np.uint32(sign_bits(u)) | (np.uint32(sign_bits(v)) << np.uint32(LANES))


@inline
def write_bits(word, start, n_bits, code):  # type: ignore[no-untyped-def]
    """Write thirty-two bits of a code from bit `start` on, or as many as belong to it."""
    if start + 2 * LANES <= n_bits:
        for byte in range(4):
            code[start // 8 + byte] = np.uint8(word >> np.uint32(8 * byte))
    else:
        word &= (np.uint32(1) << np.uint32(n_bits - start)) - np.uint32(1)
        for byte in range((n_bits - start + 7) // 8):
            code[start // 8 + byte] = np.uint8(word >> np.uint32(8 * byte))


@njit(nogil=True, cache=True)
def pack_row(values, n_bits, code):  # type: ignore[no-untyped-def]
    """Pack the signs of the first `n_bits` values into `code`, for compiled code."""
    words = n_bits // 32
    for word in range(words):
        write_bits(sign_word(load(values, 32 * word), load(values, 32 * word + LANES)), 32 * word, n_bits, code)
    for byte in range(4 * words, code.shape[0]):
        bits = 0
        for t in range(8 * byte, min(8 * byte + 8, n_bits)):
            bits |= (values[t] >= 0) << (t - 8 * byte)
        code[byte] = bits


@njit(nogil=True, cache=True)
def pack_row_above(values, thresholds, n_bits, code):  # type: ignore[no-untyped-def]
    """Pack the signs of the first `n_bits` values less the thresholds into `code`, for compiled code."""
    words = n_bits // 32
    for word in range(words):
        u = load(values, 32 * word) - load(thresholds, 32 * word)
        v = load(values, 32 * word + LANES) - load(thresholds, 32 * word + LANES)
        write_bits(sign_word(u, v), 32 * word, n_bits, code)
    for byte in range(4 * words, code.shape[0]):
        bits = 0
        for t in range(8 * byte, min(8 * byte + 8, n_bits)):
            bits |= (values[t] >= thresholds[t]) << (t - 8 * byte)
        code[byte] = bits
