"""Every s-th value of a circulant product of short vectors, sixteen vectors at a time.

As in `polyphase_columns`, x is read as a matrix of C = 2 s columns and n = L/C rows, two neighbouring columns are one
complex column z, and two neighbouring outputs are one complex number w:

    w^[f] = sum over q of A_q[f] z_q^[f] + B_q[f] conj(z_q^[f']),    f' = -f mod n

Here each lane of a vector belongs to another vector x: sixteen of them are transposed, and all transforms, of n numbers
down columns, forward and back, need no shuffles. A value never depends on the other vectors.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from cbe_bench.kernels.bits import write_bits
from cbe_bench.kernels.fft.column_fft import ColumnPlan, column_fft, column_plan
from cbe_bench.kernels.fft.polyphase_columns import phase_spectra
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.output import Signs, SignsAbove, is_output
from cbe_bench.kernels.simd.complex import WIDTH, complex_vector, conj, load_split, multiply_add, store_split, swap
from cbe_bench.kernels.simd.vector import LANES, inline, load, load_broadcast, load_int8, shuffle, sign_bits, store

GROUP = LANES
"""Vectors that are multiplied together."""


class VectorsPlan(NamedTuple):
    """What the product of a group of vectors needs: A_q[f], B_q[f] are tables[q, f], real and imaginary parts."""

    signs: NDArray[np.int8]
    stride: int
    columns: ColumnPlan
    tables: NDArray


class VectorsBuffers(NamedTuple):
    """Memory for a group that is not full, the transposed vectors, one phase, and the sum over phases, twice."""

    group: NDArray
    phases: NDArray
    phase: NDArray
    total: NDArray
    other: NDArray


def vectors_plan(r: NDArray, signs: NDArray[np.int8], stride: int, dtype: np.dtype) -> VectorsPlan:
    """Plan the product with circ(r) for an r of a multiple of `2 stride` numbers.

    Parameters
    ----------
    r : array of shape (d,)
        First column of the matrix.
    signs : int8 array
        The sign flips of a vector.
    stride : int
        The distance of the rows wanted.
    dtype : dtype
        Of the vectors.
    """
    direct, mirrored = phase_spectra(r, 2 * stride, np.arange(2 * stride), (0, stride))
    tables = np.stack([direct.T.real, direct.T.imag, mirrored.T.real, mirrored.T.imag], axis=-1)
    return VectorsPlan(signs, stride, column_plan(len(direct), dtype.name), tables.astype(dtype).ravel())


def vectors_buffers(plan: VectorsPlan, scratch: Scratch, dtype: np.dtype) -> VectorsBuffers:
    """Return this thread's memory for a product.

    Parameters
    ----------
    plan : VectorsPlan
    scratch : Scratch
        Of this thread.
    dtype : dtype
        Of the vectors.
    """
    rows = plan.columns.rows
    padded = (-(-rows // LANES) * LANES * WIDTH,)
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
    """Where number j of all vectors lies among the transposed ones: complex columns one after the other."""

    stride: int
    shift: int
    """2 stride is 2 to this power."""
    rows: int


@inline
def _place(layout, j):  # type: ignore[no-untyped-def]
    q, row = (j & (2 * layout.stride - 1)) >> 1, j >> layout.shift
    return (q * layout.rows + row) * WIDTH + (j & 1) * LANES


@inline
def _store16(phases, layout, j, v):  # type: ignore[no-untyped-def]
    """Write the numbers j..j+15 of sixteen vectors among the transposed ones."""
    store(phases, _place(layout, j), v[0])
    store(phases, _place(layout, j + 1), v[1])
    store(phases, _place(layout, j + 2), v[2])
    store(phases, _place(layout, j + 3), v[3])
    store(phases, _place(layout, j + 4), v[4])
    store(phases, _place(layout, j + 5), v[5])
    store(phases, _place(layout, j + 6), v[6])
    store(phases, _place(layout, j + 7), v[7])
    store(phases, _place(layout, j + 8), v[8])
    store(phases, _place(layout, j + 9), v[9])
    store(phases, _place(layout, j + 10), v[10])
    store(phases, _place(layout, j + 11), v[11])
    store(phases, _place(layout, j + 12), v[12])
    store(phases, _place(layout, j + 13), v[13])
    store(phases, _place(layout, j + 14), v[14])
    store(phases, _place(layout, j + 15), v[15])


@njit(nogil=True, cache=True)
def _transpose(X, first, plan, phases):  # type: ignore[no-untyped-def]
    """Flip the signs of the vectors first..first+15 and transpose them; zeros follow up to the length of r."""
    d = X.shape[1]
    flat, signs = X.reshape(-1), plan.signs
    shift = 1
    while 1 << shift < 2 * plan.stride:
        shift += 1
    layout = _Layout(plan.stride, shift, plan.columns.rows)
    whole = d // LANES * LANES
    for j in range(0, whole, LANES):
        i = first * d + j
        v = _load16(flat, i, d, load_int8(signs, j, load(flat, i)))
        _store16(phases, layout, j, _zip(_zip(_zip(_zip(v)))))
    for j in range(whole, d):
        for lane in range(GROUP):
            phases[_place(layout, j) + lane] = X[first + lane, j] * signs[j]
    for j in range(d, 2 * layout.stride * layout.rows):
        phases[_place(layout, j) : _place(layout, j) + LANES] = 0


@njit(nogil=True, cache=True)
def _multiply_group(X, first, plan, buffers):  # type: ignore[no-untyped-def]
    """Return y of a group of vectors, transposed, real and imaginary parts swapped."""
    rows, total, phase, tables = plan.columns.rows, buffers.total, buffers.phase, plan.tables
    _transpose(X, first, plan, buffers.phases)
    for q in range(plan.stride):
        own = buffers.phases[q * rows * WIDTH : (q + 1) * rows * WIDTH]
        z = phase if column_fft(own, phase, plan.columns) else own
        for f in range(rows):
            t = 4 * (q * rows + f)
            a = complex_vector(load_broadcast(tables, t), load_broadcast(tables, t + 1))
            b = complex_vector(load_broadcast(tables, t + 2), load_broadcast(tables, t + 3))
            mirror = conj(load_split(z, (rows - f if f > 0 else 0) * WIDTH))
            product = swap(multiply_add(b, mirror, a * load_split(z, f * WIDTH)))
            if q > 0:
                product = product + load_split(total, f * WIDTH)
            store_split(total, f * WIDTH, product)
    return buffers.other if column_fft(total, buffers.other, plan.columns) else total


@njit(nogil=True, cache=True)
def multiply_vectors(X, plan, buffers, out):  # type: ignore[no-untyped-def]
    """Write every s-th value of the product for each row of X.

    Parameters
    ----------
    X : array of shape (n, d)
    plan : VectorsPlan
    buffers : VectorsBuffers
    out : Output
    """
    full = X.shape[0] // GROUP * GROUP
    for first in range(0, full, GROUP):
        write_group(out, first, _multiply_group(X, first, plan, buffers))
    if full < X.shape[0]:
        buffers.group[: X.shape[0] - full] = X[full:]
        buffers.group[X.shape[0] - full :] = 0
        write_group(out, full, _multiply_group(buffers.group, 0, plan, buffers))


def write_group(out, first, y):  # type: ignore[no-untyped-def]
    """Write the values of vectors first..first+15, transposed, real and imaginary parts swapped."""
    raise NotImplementedError("for compiled code only")


@overload(write_group)
def _write_group(out, first, y):  # type: ignore[no-untyped-def]
    if is_output(out, Signs):
        return lambda out, first, y: _write_signs(out.array, out.n_bits, first, y)
    if is_output(out, SignsAbove):

        def write_above(out, first, y):  # type: ignore[no-untyped-def]
            _subtract(out.thresholds, out.n_bits, y)
            _write_signs(out.array, out.n_bits, first, y)

        return write_above
    return lambda out, first, y: _write_values(out.array, first, y)


@njit(nogil=True, cache=True)
def _write_values(values, first, y):  # type: ignore[no-untyped-def]
    for vector in range(first, min(first + GROUP, values.shape[0])):
        for t in range(values.shape[1]):
            part = 1 - t % 2  # they are swapped
            values[vector, t] = y[t // 2 * WIDTH + part * LANES + vector - first]


@njit(nogil=True, cache=True)
def _subtract(thresholds, n_bits, y):  # type: ignore[no-untyped-def]
    """Subtract its threshold from each value of sixteen vectors."""
    for t in range(n_bits):
        start = t // 2 * WIDTH + (1 - t % 2) * LANES  # real and imaginary parts are swapped
        for lane in range(LANES):
            y[start + lane] -= thresholds[t]


@njit(nogil=True, cache=True)
def _write_signs(codes, n_bits, first, y):  # type: ignore[no-untyped-def]
    words = np.empty(2 * LANES, np.uint32)
    for t in range(0, n_bits, 2 * LANES):
        for row in range(LANES):
            z = swap(load_split(y, (t // 2 + row) * WIDTH))
            words[2 * row], words[2 * row + 1] = sign_bits(z.re), sign_bits(z.im)
        _transpose_bits(words)
        for vector in range(first, min(first + GROUP, codes.shape[0])):
            write_bits(words[vector - first], t, n_bits, codes[vector])


@inline
def _transpose_bits(words):  # type: ignore[no-untyped-def]
    """Transpose a matrix of 32 x 32 bits: bit j of word i becomes bit i of word j."""
    width, mask = 16, np.uint32(0x0000FFFF)
    while width > 0:
        for i in range(2 * LANES):
            if i & width == 0:
                a, b = words[i], words[i + width]
                swapped = ((a >> np.uint32(width)) ^ b) & mask
                words[i + width] = b ^ swapped
                words[i] = a ^ np.uint32(swapped << np.uint32(width))
        width >>= 1
        mask ^= np.uint32(mask << np.uint32(width))
