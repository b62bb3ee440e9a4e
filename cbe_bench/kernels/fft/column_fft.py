"""Fourier transforms of sixteen columns at once.

Every operation is on sixteen neighbours in a row, so nothing is ever rearranged within a vector. Columns are split
(see `simd.complex`) and 32 real numbers apart. The order is Stockham's, from one buffer to another and back, by
factors of 2, 3, 4, 5, 6 and 8.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.dft import dft2, dft3, dft4, dft5, dft6, dft8
from cbe_bench.kernels.simd.complex import (
    WIDTH,
    load_broadcast_planes,
    load_split,
    store_split,
)
from cbe_bench.kernels.simd.vector import inline


class ColumnPlan(NamedTuple):
    """A transform of some number of rows: its factors and the twiddle factors of all stages one after the other."""

    rows: int
    radices: NDArray[np.int64]
    twiddle_re: NDArray
    twiddle_im: NDArray


@cache
def column_plan(rows: int, dtype: str) -> ColumnPlan:
    """Plan the transform of `rows` rows, a product of 2, 3 and 5, in 'float32' or 'float64'.

    Parameters
    ----------
    rows : int
        The length of a column, a product of 2, 3 and 5.
    dtype : str
        'float32' or 'float64'.

    Returns
    -------
    ColumnPlan
        Cached.
    """
    radices = _radices(rows)
    twiddles, n = [np.empty(0, complex)], rows
    for radix in radices:
        p, u = np.arange(n // radix)[:, None], np.arange(1, radix)[None, :]
        twiddles.append(np.exp(-2j * np.pi * p * u / n).ravel())
        n //= radix
    flat = np.concatenate(twiddles)
    return ColumnPlan(rows, np.array(radices, np.int64), flat.real.astype(dtype), flat.imag.astype(dtype))


def _radices(rows: int) -> list[int]:
    """Return the factors of a transform: few of them, hence large ones."""
    rest, odd = rows, []
    for prime in (3, 5):
        while rest > 1 and rest % prime == 0:
            odd.append(prime)
            rest //= prime
    if rest < 1 or rest & (rest - 1):
        raise ValueError(f"{rows} rows: must be a product of 2, 3 and 5")
    power = rest.bit_length() - 1
    if 3 in odd and power % 3 == 1:  # a stage less
        odd, power = [6, *odd[1:]], power - 1
    fours = -power % 3
    return odd + ([2] if power == 1 else [4] * fours + [8] * ((power - 2 * fours) // 3))


@inline
def _twiddle(plan, t):  # type: ignore[no-untyped-def]
    return load_broadcast_planes(plan.twiddle_re, plan.twiddle_im, t)


class _Stage(NamedTuple):
    """s transforms of n rows, side by side, are left to do; their twiddle factors begin at t."""

    n: int
    s: int
    t: int


@inline
def _stage2(z, out, plan, stage):  # type: ignore[no-untyped-def]
    m, s, t = stage.n // 2, stage.s, stage.t
    step, to = WIDTH * s * m, WIDTH * s
    for p in range(m):
        for q in range(s):
            i, o = WIDTH * (q + s * p), WIDTH * (q + 2 * s * p)
            y = dft2(load_split(z, i), load_split(z, i + step))
            store_split(out, o, y[0])
            store_split(out, o + to, y[1] * _twiddle(plan, t))
        t += 1


@inline
def _stage3(z, out, plan, stage):  # type: ignore[no-untyped-def]
    m, s, t = stage.n // 3, stage.s, stage.t
    step, to = WIDTH * s * m, WIDTH * s
    for p in range(m):
        for q in range(s):
            i, o = WIDTH * (q + s * p), WIDTH * (q + 3 * s * p)
            y = dft3(load_split(z, i), load_split(z, i + step), load_split(z, i + 2 * step))
            store_split(out, o, y[0])
            store_split(out, o + to, y[1] * _twiddle(plan, t))
            store_split(out, o + 2 * to, y[2] * _twiddle(plan, t + 1))
        t += 2


@inline
def _stage4(z, out, plan, stage):  # type: ignore[no-untyped-def]
    m, s, t = stage.n // 4, stage.s, stage.t
    step, to = WIDTH * s * m, WIDTH * s
    for p in range(m):
        for q in range(s):
            i, o = WIDTH * (q + s * p), WIDTH * (q + 4 * s * p)
            y = dft4(
                load_split(z, i), load_split(z, i + step), load_split(z, i + 2 * step), load_split(z, i + 3 * step)
            )
            store_split(out, o, y[0])
            store_split(out, o + to, y[1] * _twiddle(plan, t))
            store_split(out, o + 2 * to, y[2] * _twiddle(plan, t + 1))
            store_split(out, o + 3 * to, y[3] * _twiddle(plan, t + 2))
        t += 3


@inline
def _stage5(z, out, plan, stage):  # type: ignore[no-untyped-def]
    m, s, t = stage.n // 5, stage.s, stage.t
    step, to = WIDTH * s * m, WIDTH * s
    for p in range(m):
        for q in range(s):
            i, o = WIDTH * (q + s * p), WIDTH * (q + 5 * s * p)
            y = dft5(
                load_split(z, i),
                load_split(z, i + step),
                load_split(z, i + 2 * step),
                load_split(z, i + 3 * step),
                load_split(z, i + 4 * step),
            )
            store_split(out, o, y[0])
            store_split(out, o + to, y[1] * _twiddle(plan, t))
            store_split(out, o + 2 * to, y[2] * _twiddle(plan, t + 1))
            store_split(out, o + 3 * to, y[3] * _twiddle(plan, t + 2))
            store_split(out, o + 4 * to, y[4] * _twiddle(plan, t + 3))
        t += 4


@inline
def _stage6(z, out, plan, stage):  # type: ignore[no-untyped-def]
    m, s, t = stage.n // 6, stage.s, stage.t
    step, to = WIDTH * s * m, WIDTH * s
    for p in range(m):
        for q in range(s):
            i, o = WIDTH * (q + s * p), WIDTH * (q + 6 * s * p)
            y = dft6(
                load_split(z, i),
                load_split(z, i + step),
                load_split(z, i + 2 * step),
                load_split(z, i + 3 * step),
                load_split(z, i + 4 * step),
                load_split(z, i + 5 * step),
            )
            store_split(out, o, y[0])
            store_split(out, o + to, y[1] * _twiddle(plan, t))
            store_split(out, o + 2 * to, y[2] * _twiddle(plan, t + 1))
            store_split(out, o + 3 * to, y[3] * _twiddle(plan, t + 2))
            store_split(out, o + 4 * to, y[4] * _twiddle(plan, t + 3))
            store_split(out, o + 5 * to, y[5] * _twiddle(plan, t + 4))
        t += 5


@inline
def _stage8(z, out, plan, stage):  # type: ignore[no-untyped-def]
    m, s, t = stage.n // 8, stage.s, stage.t
    step, to = WIDTH * s * m, WIDTH * s
    for p in range(m):
        for q in range(s):
            i, o = WIDTH * (q + s * p), WIDTH * (q + 8 * s * p)
            y = dft8(
                load_split(z, i),
                load_split(z, i + step),
                load_split(z, i + 2 * step),
                load_split(z, i + 3 * step),
                load_split(z, i + 4 * step),
                load_split(z, i + 5 * step),
                load_split(z, i + 6 * step),
                load_split(z, i + 7 * step),
            )
            store_split(out, o, y[0])
            store_split(out, o + to, y[1] * _twiddle(plan, t))
            store_split(out, o + 2 * to, y[2] * _twiddle(plan, t + 1))
            store_split(out, o + 3 * to, y[3] * _twiddle(plan, t + 2))
            store_split(out, o + 4 * to, y[4] * _twiddle(plan, t + 3))
            store_split(out, o + 5 * to, y[5] * _twiddle(plan, t + 4))
            store_split(out, o + 6 * to, y[6] * _twiddle(plan, t + 5))
            store_split(out, o + 7 * to, y[7] * _twiddle(plan, t + 6))
        t += 7


@inline
def _last_stage8(z, out, s):  # type: ignore[no-untyped-def]
    """Do the last stage, if it is by a factor of eight: all its twiddle factors are one."""
    step = WIDTH * s
    for i in range(0, step, WIDTH):
        y = dft8(
            load_split(z, i),
            load_split(z, i + step),
            load_split(z, i + 2 * step),
            load_split(z, i + 3 * step),
            load_split(z, i + 4 * step),
            load_split(z, i + 5 * step),
            load_split(z, i + 6 * step),
            load_split(z, i + 7 * step),
        )
        store_split(out, i, y[0])
        store_split(out, i + step, y[1])
        store_split(out, i + 2 * step, y[2])
        store_split(out, i + 3 * step, y[3])
        store_split(out, i + 4 * step, y[4])
        store_split(out, i + 5 * step, y[5])
        store_split(out, i + 6 * step, y[6])
        store_split(out, i + 7 * step, y[7])


@njit(nogil=True, cache=True)
def column_fft(a, b, plan):  # type: ignore[no-untyped-def]
    """Transform the columns in `a`, using `b` as well; return whether the result is in `b`.

    Parameters
    ----------
    a, b : array
        Split complex numbers, sixteen columns in each row; both are overwritten.
    plan : ColumnPlan

    Returns
    -------
    bool
    """
    stage = _Stage(plan.rows, 1, 0)
    for number in range(plan.radices.shape[0]):
        radix = plan.radices[number]
        z, out = (a, b) if number % 2 == 0 else (b, a)
        if radix == stage.n == 8:
            _last_stage8(z, out, stage.s)
        elif radix == 8:
            _stage8(z, out, plan, stage)
        elif radix == 6:
            _stage6(z, out, plan, stage)
        elif radix == 5:
            _stage5(z, out, plan, stage)
        elif radix == 4:
            _stage4(z, out, plan, stage)
        elif radix == 3:
            _stage3(z, out, plan, stage)
        else:
            _stage2(z, out, plan, stage)
        m = stage.n // radix
        stage = _Stage(m, stage.s * radix, stage.t + m * (radix - 1))
    return plan.radices.shape[0] % 2 == 1
