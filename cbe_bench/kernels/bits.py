"""Signs as packed bits: x >= 0 is bit 1, x < 0 is bit 0, the first bit of a code in the lowest bit of its first byte.

This is ``np.packbits(..., bitorder="little")``, the layout of faiss ``IndexBinary``.
"""

import numpy as np
from numpy.typing import NDArray

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
