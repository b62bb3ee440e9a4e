"""Where compiled loops write their results: real values, or the packed signs of them.

A loop is written once, for an output `out` of either type, and compiled for both.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes, pack_row, sign_word, write_bits
from cbe_bench.kernels.simd.vector import LANES, prefetch_to_write, store


class Values(NamedTuple):
    """Write real values: as many as the array has columns."""

    array: NDArray


class Signs(NamedTuple):
    """Write the signs of the first `n_bits` values as packed bits."""

    array: NDArray
    n_bits: int


Output = Values | Signs


def signs_output(codes: NDArray, n_bits: int) -> Signs:
    """Return the output for codes of `n_bits` bits, after a check of their shape."""
    if codes.shape[1] != code_bytes(n_bits):
        raise ValueError(f"{n_bits} bits are {code_bytes(n_bits)} bytes a code, found an array of {codes.shape[1]}")
    return Signs(codes, n_bits)


def part_of(out: Output, rows: slice) -> Any:
    """Return the output of some rows."""
    return out._replace(array=out.array[rows])


def row_of(out, i):  # type: ignore[no-untyped-def]
    """Return the output of row i."""
    raise NotImplementedError("for compiled code only")


def write_row(out, values):  # type: ignore[no-untyped-def]
    """Write a whole row, given all its values and possibly more."""
    raise NotImplementedError("for compiled code only")


def write_pair(out, start, u, v):  # type: ignore[no-untyped-def]
    """Write thirty-two values of a row, u and v, at position `start`, a multiple of 32, as far as the row goes."""
    raise NotImplementedError("for compiled code only")


def is_output(out: Any, kind: type) -> bool:
    """Tell whether the compiled type of an output is that of `kind`."""
    return isinstance(out, types.BaseTuple) and getattr(out, "instance_class", None) is kind


@overload(row_of, jit_options={"forceinline": True})
def _row_of(out, i):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, i: Signs(out.array[i], out.n_bits)
    return lambda out, i: Values(out.array[i])


@overload(write_row, jit_options={"forceinline": True})
def _write_row(out, values):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, values: pack_row(values, out.n_bits, out.array)

    def copy(out, values):  # type: ignore[no-untyped-def]
        out.array[:] = values[: out.array.shape[0]]

    return copy


@overload(write_pair, jit_options={"forceinline": True})
def _write_pair(out, start, u, v):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):

        def pack(out, start, u, v):  # type: ignore[no-untyped-def]
            if start < out.n_bits:
                write_bits(sign_word(u, v), start, out.n_bits, out.array)

        return pack

    def copy(out, start, u, v):  # type: ignore[no-untyped-def]
        n = out.array.shape[0]
        if start + 2 * LANES <= n:
            store(out.array, start, u)
            store(out.array, start + LANES, v)
            prefetch_to_write(out.array, start + 2 * LANES)
            prefetch_to_write(out.array, start + 3 * LANES)
        elif start < n:
            _write_last(out.array, start, u, v)

    return copy


@njit(nogil=True, cache=True)
def _write_last(row, start, u, v):  # type: ignore[no-untyped-def]
    pair = np.empty(2 * LANES, row.dtype)
    store(pair, 0, u)
    store(pair, LANES, v)
    row[start:] = pair[: row.shape[0] - start]
