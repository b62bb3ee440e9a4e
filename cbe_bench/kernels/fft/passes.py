"""The passes of the circulant product of long vectors, compiled; `fourstep` says what they are for."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.columns import transform_columns
from cbe_bench.kernels.fft.fftw import execute_plan
from cbe_bench.kernels.simd.vector import (
    LANES,
    WIDTH,
    exchanged_pairs,
    exchanged_signs,
    fetch_to_read,
    fetch_to_write,
    flip,
    multiply_mirrored,
    part,
    turn,
    turn_back,
)

PADDING = 16
"""Complex numbers between rows, so that a column does not fall into one set of the cache."""


def turn_tables(n1: int, n2: int, dtype: np.dtype) -> tuple[NDArray, NDArray, NDArray[np.complex128]]:
    """Return exp(-2 pi i k1 j / h) for j < 16, real and imaginary parts, and in double precision for j = 16."""
    near = np.exp(-2j * np.pi * np.outer(np.arange(n1), np.arange(LANES + 1)) / (n1 * n2))
    lanes = near[:, :LANES].ravel()
    return lanes.real.astype(dtype), lanes.imag.astype(dtype), near[:, LANES].copy()


@njit(nogil=True, cache=True)
def _angles(block, step):  # type: ignore[no-untyped-def]
    """Return the turns of the first column of a block: those of one block to the power of its number."""
    angles = np.empty_like(step)
    for k1 in range(step.shape[0]):
        angles[k1] = np.exp(1j * (np.angle(step[k1]) * block))
    return angles


@njit(nogil=True, cache=True)
def multiply_vectors(  # type: ignore[no-untyped-def]
    X, signs, rows, plans, turns, columns, work, column_buffers, row_buffers, whole, values, codes, n_values
):
    """All three passes over each of some vectors."""
    n1, n2 = work.shape[0], work.shape[1] // 2 - PADDING
    blocks = (column_buffers, 0, n2 // LANES)
    for i in range(X.shape[0]):
        ahead = X[i + 1] if i + 1 < X.shape[0] else X[i][:0]
        begin_columns(X[i], signs, work, n2, *turns, *columns, *blocks)
        multiply_rows(work, *rows, *plans, row_buffers, 0, n1 // 2 + 1)
        finish_columns(work, n2, *turns, *columns, *blocks, whole, codes[i], n_values, ahead)
        values[i] = whole[: values.shape[1]]


@njit(nogil=True, cache=True)
def begin_columns(  # type: ignore[no-untyped-def]
    x, signs, work, n2, near_re, near_im, step, radices, twiddle_re, twiddle_im, buffers, first, last
):
    """Pass 1 over column blocks first..last-1: sign flip, transform down the columns, turn."""
    n1, row, d = work.shape[0], work.shape[1], x.shape[0]
    flat = work.reshape(-1)  # a view of a row for every block would cost more than the block
    a, b = buffers[0], buffers[1]
    edge = np.zeros(WIDTH, x.dtype)
    angles = _angles(first, step)
    for block in range(first, last):
        column = block * LANES
        for j1 in range(n1):
            start = 2 * (j1 * n2 + column)
            if start + WIDTH <= d:
                flip(x, start, signs, a, j1 * WIDTH)
                fetch_to_read(x, start + WIDTH)
            else:
                inside = max(d - start, 0)
                edge[:inside] = x[start : start + inside] * signs[start : start + inside]
                edge[inside:] = 0
                part(edge, 0, a, j1 * WIDTH)
            fetch_to_write(flat, j1 * row + 2 * column)
        z = b if transform_columns(a, b, n1, radices, twiddle_re, twiddle_im) else a
        for k1 in range(n1):
            real, imag = x.dtype.type(angles[k1].real), x.dtype.type(angles[k1].imag)
            angles[k1] *= step[k1]
            turn(z, k1 * WIDTH, near_re, near_im, k1 * LANES, real, imag, flat, k1 * row + 2 * column)


@njit(nogil=True, cache=True)
def multiply_rows(work, spectrum, far_re, far_im, execute, forward, inverse, buffers, first, last):  # type: ignore[no-untyped-def]
    """Pass 2 over rows first..last-1 and their mirror images: transform, multiply by the spectrum, transform back.

    The image of entry k of row k1 is entry n2 - 1 - k of row n1 - k1; in row 0 it is entry n2 - k, for k = 0 the entry
    itself, which is repeated at the end.
    """
    n1, n2 = work.shape[0], far_re.shape[0]
    a, b, c, d = buffers[0], buffers[1], buffers[2], buffers[3]
    for k1 in range(first, last):
        other = (n1 - k1) % n1
        shift = 1 if k1 == 0 else 0
        execute_plan(execute, forward, work[k1].ctypes.data, a.ctypes.data)
        if other == k1:
            a[2 * n2], a[2 * n2 + 1] = a[0], a[1]
            image = a
        else:
            execute_plan(execute, forward, work[other].ctypes.data, b.ctypes.data)
            image = b
        angle = -2 * np.pi * k1 / (n1 * n2)
        real, imag = work.dtype.type(np.cos(angle)), work.dtype.type(np.sin(angle))
        p, p_image = spectrum[k1], spectrum[other]
        for k in range(0, n2, LANES):
            j = 2 * (n2 - k - LANES + shift)
            multiply_mirrored(a, p, c, 2 * k, image, p_image, d, j, far_re, far_im, k, real, imag)
        execute_plan(execute, inverse, c.ctypes.data, work[k1].ctypes.data)
        if other != k1:
            execute_plan(execute, inverse, d.ctypes.data, work[other].ctypes.data)


@njit(nogil=True, cache=True)
def finish_columns(  # type: ignore[no-untyped-def]
    work,
    n2,
    near_re,
    near_im,
    step,
    radices,
    twiddle_re,
    twiddle_im,
    buffers,
    first,
    last,
    values,
    code,
    n_values,
    ahead,
):
    """Pass 3 over column blocks first..last-1: turn back, transform back, write values or packed signs.

    The vector `ahead`, which comes next, is brought into the cache meanwhile.
    """
    n1, row = work.shape
    flat = work.reshape(-1)
    a, b = buffers[0], buffers[1]
    angles = _angles(first, step)
    for block in range(first, last):
        column = block * LANES
        for k1 in range(n1):
            real, imag = work.dtype.type(angles[k1].real), work.dtype.type(angles[k1].imag)
            angles[k1] *= step[k1]
            fetch_to_read(flat, k1 * row + 2 * column + WIDTH)
            turn_back(flat, k1 * row + 2 * column, near_re, near_im, k1 * LANES, real, imag, a, k1 * WIDTH)
        z = b if transform_columns(a, b, n1, radices, twiddle_re, twiddle_im) else a
        for j1 in range(n1):
            start = 2 * (j1 * n2 + column)
            if start < ahead.shape[0]:
                fetch_to_read(ahead, start)
            if values.shape[0]:
                exchanged_pairs(z, j1 * WIDTH, values, start)
            elif start < n_values:
                _write_bits(exchanged_signs(z, j1 * WIDTH), start, n_values, code)


@njit(nogil=True, cache=True)
def _write_bits(word, start, n_bits, code):  # type: ignore[no-untyped-def]
    """Write thirty-two bits of a code, or as many as belong to it."""
    if start + WIDTH <= n_bits:
        for byte in range(4):
            code[start // 8 + byte] = np.uint8(word >> np.uint32(8 * byte))
    else:
        word &= (np.uint32(1) << np.uint32(n_bits - start)) - np.uint32(1)
        for byte in range((n_bits - start + 7) // 8):
            code[start // 8 + byte] = np.uint8(word >> np.uint32(8 * byte))


@njit(nogil=True, cache=True)
def take_spectrum(work, spectrum, execute, forward, buffers, first, last):  # type: ignore[no-untyped-def]
    """Finish the transform of r along rows first..last-1, scaled so that nothing need be scaled later."""
    n1, n2 = work.shape[0], spectrum.shape[1] // 2 - PADDING
    row = buffers[0]
    for k1 in range(first, last):
        execute_plan(execute, forward, work[k1].ctypes.data, row.ctypes.data)
        spectrum[k1, : 2 * n2] = row[: 2 * n2] / (n1 * n2)
        spectrum[k1, 2 * n2 : 2 * n2 + 2] = spectrum[k1, :2]
