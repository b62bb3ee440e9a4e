"""Where compiled loops write their results: real values, the packed signs of them, or of them less thresholds.

A loop is written once, for an output `out` of any of these types, and compiled for each that is used.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes, pack_row, pack_row_above, sign_word, write_bits
from cbe_bench.kernels.memory import aligned_empty
from cbe_bench.kernels.simd.vector import LANES, inline, load, prefetch_to_write, sign_bits, store


class Values(NamedTuple):
    """Write real values: as many as the array has columns."""

    array: NDArray


class Signs(NamedTuple):
    """Write the signs of the first `n_bits` values as packed bits."""

    array: NDArray
    n_bits: int


class SignsAbove(NamedTuple):
    """Write the signs of the first `n_bits` values less their thresholds as packed bits."""

    array: NDArray
    n_bits: int
    thresholds: NDArray
    """One for each value, padded to whole vectors of 32."""


Output = Values | Signs | SignsAbove


def signs_output(codes: NDArray, n_bits: int, thresholds: NDArray | None = None) -> Signs | SignsAbove:
    """Return the output for codes of `n_bits` bits, after a check of their shape.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes of a code)
        Where the packed bits go.
    n_bits : int
        Bits of a code.
    thresholds : array of shape (n_bits,) or None
        What values are compared with, in their precision; None means zero.
    """
    if codes.shape[1] != code_bytes(n_bits):
        raise ValueError(f"{n_bits} bits are {code_bytes(n_bits)} bytes a code, found an array of {codes.shape[1]}")
    if thresholds is None:
        return Signs(codes, n_bits)
    padded = aligned_empty((-(-n_bits // (2 * LANES)) * 2 * LANES,), thresholds.dtype)
    padded[:n_bits], padded[n_bits:] = thresholds, 0
    return SignsAbove(codes, n_bits, padded)


def part_of(out: Output, rows: slice) -> Any:
    """Return the output of some rows.

    Parameters
    ----------
    out : Output
        Of all rows.
    rows : slice
        The rows wanted.

    Returns
    -------
    Output
        Of the same type, a view.
    """
    return out._replace(array=out.array[rows])


def row_of(out, i):  # type: ignore[no-untyped-def]
    """Return the output of row i.

    Parameters
    ----------
    out : Output
        Of all rows.
    i : int
        The number of the row.

    Returns
    -------
    Output
        Of the row.
    """
    raise NotImplementedError("for compiled code only")


def write_row(out, values):  # type: ignore[no-untyped-def]
    """Write a whole row, given all its values and possibly more.

    Parameters
    ----------
    out : Output
        Of one row.
    values : array
        The values of the row, possibly followed by others.
    """
    raise NotImplementedError("for compiled code only")


def write_pair(out, start, u, v):  # type: ignore[no-untyped-def]
    """Write thirty-two values of a row, u and v, at position `start`, a multiple of 32, as far as the row goes.

    Parameters
    ----------
    out : Output
        Of one row.
    start : int
        The position of the first value.
    u, v : vector of 16 values
    """
    raise NotImplementedError("for compiled code only")


def write_vector(out, start, u):  # type: ignore[no-untyped-def]
    """Write sixteen values of a row at position `start`, a multiple of 16, as far as the row goes.

    Parameters
    ----------
    out : Output
        Of one row.
    start : int
        The position of the first value.
    u : vector of 16 values
    """
    raise NotImplementedError("for compiled code only")


def is_output(out: Any, kind: type) -> bool:
    """Return whether the compiled type of an output is that of `kind`.

    Parameters
    ----------
    out : numba type
        The type of the argument of an overload.
    kind : type
        One of the types of `Output`.

    Returns
    -------
    bool
    """
    return isinstance(out, types.BaseTuple) and getattr(out, "instance_class", None) is kind


@overload(row_of, jit_options={"forceinline": True})
def _row_of(out, i):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, i: Signs(out.array[i], out.n_bits)
    if is_output(out, SignsAbove):
        return lambda out, i: SignsAbove(out.array[i], out.n_bits, out.thresholds)
    return lambda out, i: Values(out.array[i])


@overload(write_row, jit_options={"forceinline": True})
def _write_row(out, values):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, values: pack_row(values, out.n_bits, out.array)
    if is_output(out, SignsAbove):
        return lambda out, values: pack_row_above(values, out.thresholds, out.n_bits, out.array)

    def copy(out, values):  # type: ignore[no-untyped-def]
        for j in range(out.array.shape[0]):
            out.array[j] = values[j]

    return copy


@overload(write_pair, jit_options={"forceinline": True})
def _write_pair(out, start, u, v):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):

        def pack(out, start, u, v):  # type: ignore[no-untyped-def]
            if start < out.n_bits:
                write_bits(sign_word(u, v), start, out.n_bits, out.array)

        return pack

    if is_output(out, SignsAbove):

        def pack_above(out, start, u, v):  # type: ignore[no-untyped-def]
            if start < out.n_bits:
                u, v = u - load(out.thresholds, start), v - load(out.thresholds, start + LANES)
                write_bits(sign_word(u, v), start, out.n_bits, out.array)

        return pack_above

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


@overload(write_vector, jit_options={"forceinline": True})
def _write_vector(out, start, u):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, start, u: _write_half_word(sign_bits(u), start, out.n_bits, out.array)
    if is_output(out, SignsAbove):

        def pack_above(out, start, u):  # type: ignore[no-untyped-def]
            if start < out.n_bits:
                _write_half_word(sign_bits(u - load(out.thresholds, start)), start, out.n_bits, out.array)

        return pack_above

    def copy(out, start, u):  # type: ignore[no-untyped-def]
        if start + LANES <= out.array.shape[0]:
            store(out.array, start, u)
        elif start < out.array.shape[0]:
            _write_last(out.array, start, u, u)

    return copy


@inline
def _write_half_word(bits, start, n_bits, code):  # type: ignore[no-untyped-def]
    for byte in range(2):
        place = start // 8 + byte
        if place < code.shape[0]:
            inside = min(n_bits - 8 * place, 8)
            code[place] = (bits >> np.uint16(8 * byte)) & np.uint16((1 << inside) - 1)


@njit(nogil=True, cache=True)
def _write_last(row, start, u, v):  # type: ignore[no-untyped-def]
    pair = np.empty(2 * LANES, row.dtype)
    store(pair, 0, u)
    store(pair, LANES, v)
    row[start:] = pair[: row.shape[0] - start]
