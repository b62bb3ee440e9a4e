"""Fourier transforms that stay in cache, entirely by column transforms: no vector is ever rearranged but in tiles.

A vector of n1 n2 complex numbers is an n1 x n2 matrix, and its transform is transforms down the columns, multiplication
by twiddle factors, and transforms along the rows (`four_step`). Here the latter are transforms down columns too: what
the first ones leave, sixteen columns at a time, is transposed in tiles of 16 x 16, after which sixteen rows of the
matrix lie side by side. Frequency k1 + n1 k2 ends up at place (k1 // 16, k2, k1 mod 16), and a spectrum is left in this
order, its numbers split (see `simd.complex`). Both n1 and n2 are multiples of 16 and products of 2, 3 and 5.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.fft.column_fft import ColumnPlan, column_plan
from cbe_bench.kernels.fft.fftw import has_small_factors
from cbe_bench.kernels.fft.four_step import lane_twiddles, twiddle
from cbe_bench.kernels.simd.complex import WIDTH, complex_vector, load_split, store_split
from cbe_bench.kernels.simd.transpose import load16, store16, transpose
from cbe_bench.kernels.simd.vector import LANES, inline

TILE = LANES * WIDTH
"""Real numbers of a tile; as many lie between blocks, so that the tiles of a column share no set of the cache."""


class TiledPlan(NamedTuple):
    """Transforms of n1 n2 complex numbers.

    Column j of row k1 is multiplied by exp(-2 pi i k1 j / (n1 n2)) = lane[k1, j mod 16] block[j // 16, k1].
    """

    first: ColumnPlan
    """Of n1 numbers."""
    second: ColumnPlan
    """Of n2 numbers."""
    lane_re: NDArray
    lane_im: NDArray
    block: NDArray[np.complex64]


def tiled_shape(length: int) -> tuple[int, int] | None:
    """Return n1 and n2, as near to each other as can be; None for a length that has none.

    Parameters
    ----------
    length : int
        n1 n2, complex numbers.

    Returns
    -------
    (int, int) or None
    """
    if length % LANES**2 or not has_small_factors(length, (2, 3, 5)):
        return None
    tiles = length // LANES**2
    smaller = max(n for n in range(1, int(tiles**0.5) + 1) if tiles % n == 0)
    return LANES * smaller, LANES * (tiles // smaller)


def tiled_plan(n1: int, n2: int) -> TiledPlan:
    """Plan the transform of n1 n2 complex numbers in single precision."""
    lane_re, lane_im, _ = lane_twiddles(n1, n2, np.dtype(np.float32))
    steps = np.outer(np.arange(0, n2, LANES), np.arange(n1))
    block = np.exp(-2j * np.pi * steps / (n1 * n2)).astype(np.complex64)
    return TiledPlan(column_plan(n1, "float32"), column_plan(n2, "float32"), lane_re, lane_im, block)


class _Columns(NamedTuple):
    """Sixteen columns of n1 numbers, split, and the factors of their twiddle factors."""

    z: NDArray
    lane_re: NDArray
    lane_im: NDArray
    factors: NDArray[np.complex64]


@inline
def _twiddled(columns, k1):  # type: ignore[no-untyped-def]
    """Return row k1 times its twiddle factors."""
    w = twiddle(columns.lane_re, columns.lane_im, k1, columns.factors[k1])
    return load_split(columns.z, k1 * WIDTH) * w


@inline
def _store_twiddled(columns, k1, re, im):  # type: ignore[no-untyped-def]
    """Write re + i im, times its twiddle factors, to row k1."""
    w = twiddle(columns.lane_re, columns.lane_im, k1, columns.factors[k1])
    store_split(columns.z, k1 * WIDTH, complex_vector(re, im) * w)


@inline
def _real_parts(c):  # type: ignore[no-untyped-def]
    return (
        c[0].re,
        c[1].re,
        c[2].re,
        c[3].re,
        c[4].re,
        c[5].re,
        c[6].re,
        c[7].re,
        c[8].re,
        c[9].re,
        c[10].re,
        c[11].re,
        c[12].re,
        c[13].re,
        c[14].re,
        c[15].re,
    )


@inline
def _imaginary_parts(c):  # type: ignore[no-untyped-def]
    return (
        c[0].im,
        c[1].im,
        c[2].im,
        c[3].im,
        c[4].im,
        c[5].im,
        c[6].im,
        c[7].im,
        c[8].im,
        c[9].im,
        c[10].im,
        c[11].im,
        c[12].im,
        c[13].im,
        c[14].im,
        c[15].im,
    )


@inline
def store_tiles(z, plan, column, work):  # type: ignore[no-untyped-def]
    """Multiply sixteen columns of n1 numbers by twiddle factors and write them to where the second transforms are done.

    Parameters
    ----------
    z : array
        The columns, split.
    plan : TiledPlan
    column : int
        The number of the first of them.
    work : array of shape (n1 / 16, 32 n2 + padding)
        Written in place.
    """
    columns = _Columns(z, plan.lane_re, plan.lane_im, plan.block[column // LANES])
    flat, row = work.reshape(-1), work.shape[1]
    for tile in range(work.shape[0]):
        k1, target = tile * LANES, tile * row + column * WIDTH
        c = (
            _twiddled(columns, k1),
            _twiddled(columns, k1 + 1),
            _twiddled(columns, k1 + 2),
            _twiddled(columns, k1 + 3),
            _twiddled(columns, k1 + 4),
            _twiddled(columns, k1 + 5),
            _twiddled(columns, k1 + 6),
            _twiddled(columns, k1 + 7),
            _twiddled(columns, k1 + 8),
            _twiddled(columns, k1 + 9),
            _twiddled(columns, k1 + 10),
            _twiddled(columns, k1 + 11),
            _twiddled(columns, k1 + 12),
            _twiddled(columns, k1 + 13),
            _twiddled(columns, k1 + 14),
            _twiddled(columns, k1 + 15),
        )
        store16(flat, target, WIDTH, transpose(_real_parts(c)))
        store16(flat, target + LANES, WIDTH, transpose(_imaginary_parts(c)))


@inline
def load_tiles(work, plan, column, z):  # type: ignore[no-untyped-def]
    """Read sixteen columns of n1 numbers from where second transforms left them, and multiply by twiddle factors.

    Parameters
    ----------
    work : array of shape (n1 / 16, 32 n2 + padding)
        What transforms of n2 numbers left.
    plan : TiledPlan
    column : int
        The number of the first of the columns.
    z : array
        The columns, split, written in place.
    """
    columns = _Columns(z, plan.lane_re, plan.lane_im, plan.block[column // LANES])
    flat, row = work.reshape(-1), work.shape[1]
    for tile in range(work.shape[0]):
        k1, source = tile * LANES, tile * row + column * WIDTH
        re, im = transpose(load16(flat, source, WIDTH)), transpose(load16(flat, source + LANES, WIDTH))
        _store_twiddled(columns, k1, re[0], im[0])
        _store_twiddled(columns, k1 + 1, re[1], im[1])
        _store_twiddled(columns, k1 + 2, re[2], im[2])
        _store_twiddled(columns, k1 + 3, re[3], im[3])
        _store_twiddled(columns, k1 + 4, re[4], im[4])
        _store_twiddled(columns, k1 + 5, re[5], im[5])
        _store_twiddled(columns, k1 + 6, re[6], im[6])
        _store_twiddled(columns, k1 + 7, re[7], im[7])
        _store_twiddled(columns, k1 + 8, re[8], im[8])
        _store_twiddled(columns, k1 + 9, re[9], im[9])
        _store_twiddled(columns, k1 + 10, re[10], im[10])
        _store_twiddled(columns, k1 + 11, re[11], im[11])
        _store_twiddled(columns, k1 + 12, re[12], im[12])
        _store_twiddled(columns, k1 + 13, re[13], im[13])
        _store_twiddled(columns, k1 + 14, re[14], im[14])
        _store_twiddled(columns, k1 + 15, re[15], im[15])
