"""Signs as packed bits: x >= 0 is bit 1, x < 0 is bit 0, the first bit of a code in the lowest bit of its first byte.

This is ``np.packbits(..., bitorder="little")``, the layout of faiss ``IndexBinary``.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
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


@intrinsic
def sign_mask(typing_context: Any, values: Any, first: Any) -> Any:
    """Return the signs of the 32 values from position `first` on as a word, for compiled code.

    Said as one comparison of a vector, which is a handful of instructions on any processor; from a loop over bits
    the compiler does not find it.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        element = context.get_data_type(signature.args[0].dtype)
        vector = ir.VectorType(element, 32)
        place = builder.bitcast(builder.gep(array.data, [args[1]]), vector.as_pointer())
        loaded = builder.load(place, align=signature.args[0].dtype.bitwidth // 8)
        return builder.bitcast(builder.fcmp_ordered(">=", loaded, ir.Constant(vector, None)), ir.IntType(32))

    return types.uint32(values, types.intp), codegen


@njit(nogil=True, cache=True)
def pack_row(values, n_bits, code):  # type: ignore[no-untyped-def]
    """Pack the signs of the first `n_bits` values into `code`, from compiled code."""
    words = n_bits // 32
    for word in range(words):
        mask = sign_mask(values, 32 * word)
        for byte in range(4):
            code[4 * word + byte] = np.uint8(mask >> np.uint32(8 * byte))
    for byte in range(4 * words, code.shape[0]):
        bits = 0
        for t in range(8 * byte, min(8 * byte + 8, n_bits)):
            bits |= (values[t] >= 0) << (t - 8 * byte)
        code[byte] = bits


@njit(nogil=True, cache=True)
def pack_above(values, thresholds, codes):  # type: ignore[no-untyped-def]
    """Pack the signs of each row of `values` less the thresholds into a row of `codes`; `values` are overwritten."""
    n_bits = values.shape[1]
    for i in range(values.shape[0]):
        row = values[i]
        for j in range(n_bits):
            row[j] -= thresholds[j]
        pack_row(row, n_bits, codes[i])
