"""Every s-th value of a circulant product of short vectors, thirty-two vectors at a time.

y at every s-th place is a sum over the s phases of x, each convolved with the matching phase of r:

    y^[f] = sum over p of r_p^[f] x_p^[f],    x_p[t] = x[t s + p],  r_p[t] = r[t s - p]

The vectors are transposed, sixteen as real and sixteen as imaginary parts of the lanes of one complex vector: since r
is real, they never mix. All transforms are then of L/s numbers down columns, forward and back, without shuffles.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from cbe_bench.kernels.bits import sign_word, write_bits
from cbe_bench.kernels.fft.column_fft import ColumnPlan, column_fft, column_plan
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.output import Signs, is_output
from cbe_bench.kernels.simd.complex import (
    WIDTH,
    load_broadcast_planes,
    load_split,
    store_split,
    swap,
)
from cbe_bench.kernels.simd.vector import LANES, inline, load, load_int8, shuffle, store

GROUP = WIDTH
"""Vectors that are multiplied together."""


class VectorsPlan(NamedTuple):
    """What the product of a group of vectors needs: phase p of the spectrum of r is at [p n : (p + 1) n]."""

    signs: NDArray[np.int8]
    stride: int
    shift: int
    """The stride is 2 to this power."""
    columns: ColumnPlan
    phase_re: NDArray
    phase_im: NDArray


class VectorsBuffers(NamedTuple):
    """Memory for a group that is not full, the transposed vectors, one phase, and the sum over phases, twice."""

    group: NDArray
    phases: NDArray
    phase: NDArray
    total: NDArray
    other: NDArray


def vectors_plan(r: NDArray, signs: NDArray[np.int8], stride: int, dtype: np.dtype) -> VectorsPlan:
    """Plan the product with circ(r) for an r of a multiple of `stride` numbers."""
    rows = len(r) // stride
    places = np.arange(rows) * stride - np.arange(stride)[:, None]
    spectra = np.fft.fft(r[places % len(r)].astype(np.float64), axis=1).ravel() / rows
    columns = column_plan(rows, dtype.name)
    return VectorsPlan(
        signs, stride, stride.bit_length() - 1, columns, spectra.real.astype(dtype), spectra.imag.astype(dtype)
    )


def vectors_buffers(plan: VectorsPlan, scratch: Scratch, dtype: np.dtype) -> VectorsBuffers:
    """Return this thread's memory for a product."""
    rows = plan.columns.rows
    padded = (-(-rows // GROUP) * GROUP * WIDTH,)
    shapes = ((GROUP, len(plan.signs)), (plan.stride * rows * WIDTH,), (rows * WIDTH,), padded, padded)
    named = zip(VectorsBuffers._fields, shapes, strict=True)
    return VectorsBuffers(*(scratch.array(name, shape, dtype) for name, shape in named))


_zip_first = shuffle(lane for number in range(LANES // 2) for lane in (number, LANES + number))
_zip_last = shuffle(lane for number in range(LANES // 2, LANES) for lane in (number, LANES + number))


@inline
def _zip(v):  # type: ignore[no-untyped-def]
    """Interleave the first eight of sixteen vectors with the last eight; four times, this transposes them."""
    return (
        _zip_first(v[0], v[8]),
        _zip_last(v[0], v[8]),
        _zip_first(v[1], v[9]),
        _zip_last(v[1], v[9]),
        _zip_first(v[2], v[10]),
        _zip_last(v[2], v[10]),
        _zip_first(v[3], v[11]),
        _zip_last(v[3], v[11]),
        _zip_first(v[4], v[12]),
        _zip_last(v[4], v[12]),
        _zip_first(v[5], v[13]),
        _zip_last(v[5], v[13]),
        _zip_first(v[6], v[14]),
        _zip_last(v[6], v[14]),
        _zip_first(v[7], v[15]),
        _zip_last(v[7], v[15]),
    )


@inline
def _load16(x, i, step, flips):  # type: ignore[no-untyped-def]
    """Return the vectors x[i:], x[i + step:], ... of sixteen rows, each times the same flips."""
    return (
        load(x, i) * flips,
        load(x, i + step) * flips,
        load(x, i + 2 * step) * flips,
        load(x, i + 3 * step) * flips,
        load(x, i + 4 * step) * flips,
        load(x, i + 5 * step) * flips,
        load(x, i + 6 * step) * flips,
        load(x, i + 7 * step) * flips,
        load(x, i + 8 * step) * flips,
        load(x, i + 9 * step) * flips,
        load(x, i + 10 * step) * flips,
        load(x, i + 11 * step) * flips,
        load(x, i + 12 * step) * flips,
        load(x, i + 13 * step) * flips,
        load(x, i + 14 * step) * flips,
        load(x, i + 15 * step) * flips,
    )


class _Layout(NamedTuple):
    """How number j of all vectors is placed among the transposed ones: phases of `rows` numbers one after the other."""

    stride: int
    shift: int
    rows: int


@inline
def _place(layout, j):  # type: ignore[no-untyped-def]
    return ((j & (layout.stride - 1)) * layout.rows + (j >> layout.shift)) * WIDTH


@inline
def _store16(phases, o, layout, j, v):  # type: ignore[no-untyped-def]
    """Write the numbers j..j+15 of sixteen vectors to lanes o.. of the phases."""
    store(phases, o + _place(layout, j), v[0])
    store(phases, o + _place(layout, j + 1), v[1])
    store(phases, o + _place(layout, j + 2), v[2])
    store(phases, o + _place(layout, j + 3), v[3])
    store(phases, o + _place(layout, j + 4), v[4])
    store(phases, o + _place(layout, j + 5), v[5])
    store(phases, o + _place(layout, j + 6), v[6])
    store(phases, o + _place(layout, j + 7), v[7])
    store(phases, o + _place(layout, j + 8), v[8])
    store(phases, o + _place(layout, j + 9), v[9])
    store(phases, o + _place(layout, j + 10), v[10])
    store(phases, o + _place(layout, j + 11), v[11])
    store(phases, o + _place(layout, j + 12), v[12])
    store(phases, o + _place(layout, j + 13), v[13])
    store(phases, o + _place(layout, j + 14), v[14])
    store(phases, o + _place(layout, j + 15), v[15])


@njit(nogil=True, cache=True)
def _transpose(X, first, plan, phases):  # type: ignore[no-untyped-def]
    """Flip the signs of the vectors first..first+31 and transpose them; zeros follow up to the length of r."""
    d = X.shape[1]
    flat, signs = X.reshape(-1), plan.signs
    layout = _Layout(plan.stride, plan.shift, plan.columns.rows)
    whole = d // LANES * LANES
    for lanes in range(0, GROUP, LANES):
        i = (first + lanes) * d
        for j in range(0, whole, LANES):
            v = _load16(flat, i + j, d, load_int8(signs, j, load(flat, i + j)))
            _store16(phases, lanes, layout, j, _zip(_zip(_zip(_zip(v)))))
    for j in range(whole, d):
        for lane in range(GROUP):
            phases[_place(layout, j) + lane] = X[first + lane, j] * signs[j]
    for j in range(d, layout.stride * layout.rows):
        phases[_place(layout, j) : _place(layout, j) + WIDTH] = 0


@njit(nogil=True, cache=True)
def _multiply_group(X, first, plan, buffers):  # type: ignore[no-untyped-def]
    """Return y of a group of vectors, transposed, real and imaginary parts swapped."""
    rows, total, phase = plan.columns.rows, buffers.total, buffers.phase
    _transpose(X, first, plan, buffers.phases)
    for p in range(plan.stride):
        own = buffers.phases[p * rows * WIDTH : (p + 1) * rows * WIDTH]
        z = phase if column_fft(own, phase, plan.columns) else own
        for f in range(rows):
            r = load_broadcast_planes(plan.phase_re, plan.phase_im, p * rows + f)
            product = swap(load_split(z, f * WIDTH) * r)
            if p > 0:
                product = product + load_split(total, f * WIDTH)
            store_split(total, f * WIDTH, product)
    return buffers.other if column_fft(total, buffers.other, plan.columns) else total


@njit(nogil=True, cache=True)
def multiply_vectors(X, plan, buffers, out):  # type: ignore[no-untyped-def]
    """Write every s-th value of the product for each row of X."""
    full = X.shape[0] // GROUP * GROUP
    for first in range(0, full, GROUP):
        write_group(out, first, _multiply_group(X, first, plan, buffers))
    if full < X.shape[0]:
        buffers.group[: X.shape[0] - full] = X[full:]
        buffers.group[X.shape[0] - full :] = 0
        write_group(out, full, _multiply_group(buffers.group, 0, plan, buffers))


def write_group(out, first, y):  # type: ignore[no-untyped-def]
    """Write the values of vectors first..first+31, transposed, real and imaginary parts swapped."""
    raise NotImplementedError("for compiled code only")


@overload(write_group)
def _write_group(out, first, y):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, first, y: _write_signs(out.array, out.n_bits, first, y)
    return lambda out, first, y: _write_values(out.array, first, y)


@njit(nogil=True, cache=True)
def _write_values(values, first, y):  # type: ignore[no-untyped-def]
    for vector in range(first, min(first + GROUP, values.shape[0])):
        lane = (vector - first + LANES) % GROUP
        for t in range(values.shape[1]):
            values[vector, t] = y[t * WIDTH + lane]


@njit(nogil=True, cache=True)
def _write_signs(codes, n_bits, first, y):  # type: ignore[no-untyped-def]
    words = np.empty(GROUP, np.uint32)
    for t in range(0, n_bits, GROUP):
        for bit in range(GROUP):
            z = swap(load_split(y, (t + bit) * WIDTH))
            words[bit] = sign_word(z.re, z.im)
        _transpose_bits(words)
        for vector in range(first, min(first + GROUP, codes.shape[0])):
            write_bits(words[vector - first], t, n_bits, codes[vector])


@inline
def _transpose_bits(words):  # type: ignore[no-untyped-def]
    """Transpose a matrix of 32 x 32 bits: bit j of word i becomes bit i of word j."""
    width, mask = 16, np.uint32(0x0000FFFF)
    while width > 0:
        for i in range(GROUP):
            if i & width == 0:
                a, b = words[i], words[i + width]
                swapped = ((a >> np.uint32(width)) ^ b) & mask
                words[i + width] = b ^ swapped
                words[i] = a ^ np.uint32(swapped << np.uint32(width))
        width >>= 1
        mask ^= np.uint32(mask << np.uint32(width))
