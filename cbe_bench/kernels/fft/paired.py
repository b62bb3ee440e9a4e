"""Passes over pairs of rows, each pair one complex vector, compiled; `statistics` says what they add up.

A vector of d complex numbers is an n1 x n2 matrix, as in `fourstep`: transforms of n1 numbers down the columns,
sixteen columns at a time, a turn of each entry, and transforms of n2 numbers along the rows. A spectrum is left in the
order this gives. Since the real parts are one row of the data and the imaginary parts another, sixteen neighbours of
either are just what a column transform loads, and the signs of a result are transformed again before they leave the
cache. With n1 = 1 a vector is transformed whole, which does for any d.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from cbe_bench.kernels.fft.columns import transform_columns
from cbe_bench.kernels.fft.fftw import execute_plan
from cbe_bench.kernels.simd.emit import LANES, WIDTH, Code
from cbe_bench.kernels.simd.vector import fetch_to_read, turn, turn_back


@intrinsic
def _flip_two(typing_context, x, y, signs, i, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = (x + i y)[i:] * signs[i:], parted."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
        flips = code.reals(2, args[3])
        code.store_parted(4, args[5], tuple(code.times(code.reals(row, args[3]), flips) for row in (0, 1)))
        return context.get_dummy_value()

    return types.void(x, y, signs, types.intp, out, types.intp), codegen


@intrinsic
def _exchanged_unit(typing_context, z, i, out, o, count):  # type: ignore[no-untyped-def]
    """out[o:] = the signs, -1 or +1, of z[i:], exchanged to parted, of the first `count` numbers; 0 of the others."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
        real, imag = code.parted(0, args[1])[::-1]
        word = ir.IntType(32)
        lanes = ir.VectorType(word, LANES)
        first = builder.insert_element(ir.Constant(lanes, ir.Undefined), builder.trunc(args[4], word), word(0))
        limit = builder.shuffle_vector(first, first, ir.Constant(lanes, [0] * LANES))
        inside = builder.icmp_signed("<", ir.Constant(lanes, list(range(LANES))), limit)
        zero, plus, minus = (ir.Constant(real.type, [value] * LANES) for value in (0.0, 1.0, -1.0))

        def unit(values: Any) -> Any:
            signs = builder.select(builder.fcmp_ordered(">=", values, zero), plus, minus)
            return builder.select(inside, signs, zero)

        code.store_parted(2, args[3], (unit(real), unit(imag)))
        return context.get_dummy_value()

    return types.void(z, types.intp, out, types.intp, types.int64), codegen


@intrinsic
def _multiply(typing_context, z, p, out, i):  # type: ignore[no-untyped-def]
    """out[i:] = z[i:] * p[i:], sixteen complex numbers in pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
        own, other = (code.part(code.reals(array, args[3], WIDTH)) for array in (0, 1))
        code.store(2, args[3], code.pair(code.product(own, other)))
        return context.get_dummy_value()

    return types.void(z, p, out, types.intp), codegen


@intrinsic
def _add_correlation(typing_context, z, w, total, i):  # type: ignore[no-untyped-def]
    """total[i:] += conj(z[i:]) * w[i:], sixteen complex numbers in pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
        own, other = (code.part(code.reals(array, args[3], WIDTH)) for array in (0, 1))
        code.add_to(2, args[3], code.pair(code.product(other, own, conjugate=True)))
        return context.get_dummy_value()

    return types.void(z, w, total, types.intp), codegen


@intrinsic
def _add_power(typing_context, z, i, total, o):  # type: ignore[no-untyped-def]
    """total[o:] += |z[i:]|^2, sixteen complex numbers in pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
        real, imag = code.part(code.reals(0, args[1], WIDTH))
        code.add_to(2, args[3], code.plus(code.times(real, real), code.times(imag, imag)))
        return context.get_dummy_value()

    return types.void(z, types.intp, total, types.intp), codegen


@njit(nogil=True, cache=True)
def _begin(x, y, signs, work, n2, turns, columns, buffers):  # type: ignore[no-untyped-def]
    """Flip the signs of two rows and transform them, as one vector, down the columns."""
    if work.shape[0] == 1:
        for j in range(n2):
            work[0, 2 * j], work[0, 2 * j + 1] = x[j] * signs[j], y[j] * signs[j]
        return
    n1, row = work.shape
    near_re, near_im, far_re, far_im = turns
    flat = work.reshape(-1)
    a, b = buffers[0], buffers[1]
    for block in range(n2 // LANES):
        column = block * LANES
        for j1 in range(n1):
            start = j1 * n2 + column
            _flip_two(x, y, signs, start, a, j1 * WIDTH)
            fetch_to_read(x, start + WIDTH)
            fetch_to_read(y, start + WIDTH)
        z = b if transform_columns(a, b, n1, *columns) else a
        for k1 in range(n1):
            real, imag = far_re[block, k1], far_im[block, k1]
            turn(z, k1 * WIDTH, near_re, near_im, k1 * LANES, real, imag, flat, k1 * row + 2 * column)


@njit(nogil=True, cache=True)
def _to_signs(work, n_bits, n2, turns, columns, buffers):  # type: ignore[no-untyped-def]
    """Transform back down the columns, take the first `n_bits` signs of both rows, transform those down the columns."""
    if work.shape[0] == 1:
        values = work[0]
        for j in range(2 * n_bits):
            values[j] = np.float32(1) if values[j] >= 0 else np.float32(-1)
        values[2 * n_bits :] = 0
        return
    n1, row = work.shape
    near_re, near_im, far_re, far_im = turns
    flat = work.reshape(-1)
    a, b = buffers[0], buffers[1]
    for block in range(n2 // LANES):
        column = block * LANES
        for k1 in range(n1):
            real, imag = far_re[block, k1], far_im[block, k1]
            turn_back(flat, k1 * row + 2 * column, near_re, near_im, k1 * LANES, real, imag, a, k1 * WIDTH)
        z = b if transform_columns(a, b, n1, *columns) else a
        for j1 in range(n1):
            count = min(max(n_bits - j1 * n2 - column, 0), LANES)
            _exchanged_unit(z, j1 * WIDTH, a, j1 * WIDTH, count)
        z = b if transform_columns(a, b, n1, *columns) else a
        for k1 in range(n1):
            real, imag = far_re[block, k1], far_im[block, k1]
            turn(z, k1 * WIDTH, near_re, near_im, k1 * LANES, real, imag, flat, k1 * row + 2 * column)


@njit(nogil=True, cache=True)
def add_statistics(  # type: ignore[no-untyped-def]
    X, signs, spectrum, n_bits, n2, plans, turns, columns, kept, known, work, own, row, buffers, powers, correlations
):
    """Add up, over pairs of rows of X, the powers of their spectra, and the correlations with those of their signs.

    Either is left out if there is no room for it. The spectra of the first pairs are written to `kept` or, if `known`,
    read from there; `own` and `work` have room for a spectrum, `row` for a row of one. An odd last row is paired with
    zeros.
    """
    n, d = X.shape
    nothing = np.zeros(d if n % 2 else 0, X.dtype)
    execute, forward, inverse = plans
    for i in range(0, n, 2):
        keep = i // 2 < kept.shape[0]
        spectra = kept[i // 2] if keep else own
        transform = not (keep and known)
        if transform:
            _begin(X[i], X[i + 1] if i + 1 < n else nothing, signs, work, n2, turns, columns, buffers)
        for k1 in range(work.shape[0]):
            values, of_rows = work[k1], spectra[k1]
            if transform:
                execute_plan(execute, forward, values.ctypes.data, of_rows.ctypes.data)
            if powers.shape[0]:
                _add_powers(of_rows, n2, powers[k1])
            if correlations.shape[0]:
                _filter(of_rows, spectrum[k1], n2, row)
                execute_plan(execute, inverse, row.ctypes.data, values.ctypes.data)
        if correlations.shape[0]:
            _to_signs(work, n_bits, n2, turns, columns, buffers)
            for k1 in range(work.shape[0]):
                execute_plan(execute, forward, work[k1].ctypes.data, row.ctypes.data)
                _add_correlations(spectra[k1], row, n2, correlations[k1])


@njit(nogil=True, cache=True)
def _filter(z, factors, n, out):  # type: ignore[no-untyped-def]
    for k in range(0, n, LANES):
        _multiply(z, factors, out, 2 * k)


@njit(nogil=True, cache=True)
def _add_powers(z, n, sums):  # type: ignore[no-untyped-def]
    for k in range(0, n, LANES):
        _add_power(z, 2 * k, sums, k)


@njit(nogil=True, cache=True)
def _add_correlations(z, w, n, sums):  # type: ignore[no-untyped-def]
    for k in range(0, n, LANES):
        _add_correlation(z, w, sums, 2 * k)
