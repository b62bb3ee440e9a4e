"""Passes over pairs of rows, each pair one complex vector, compiled; `_circulant_opt_statistics` says what they add up.

A vector of d complex numbers is an n1 x n2 matrix, as in `kernels.fft.four_step`: transforms of n1 numbers down the
columns, sixteen columns at a time, twiddle factors, and transforms of n2 numbers along the rows. A spectrum is left in
the order this gives. Since the real parts are one row of the data and the imaginary parts another, sixteen neighbours
of either are just what a column transform loads, and the signs of a result are transformed again before they leave the
cache. With n1 = 1 a vector is transformed whole, which does for any d.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.column_fft import ColumnPlan, column_fft
from cbe_bench.kernels.fft.fftw import ComplexPlans, forward, inverse
from cbe_bench.kernels.fft.four_step import twiddle
from cbe_bench.kernels.simd.complex import (
    WIDTH,
    complex_vector,
    conj,
    interleave,
    load_interleaved,
    load_split,
    scale,
    store_interleaved,
    store_split,
    swap,
)
from cbe_bench.kernels.simd.vector import LANES, fma, inline, load, prefetch, signs, store


class PairTransform(NamedTuple):
    """Plans and twiddle factors for d = n1 n2 complex numbers, and how rows of the data become such a vector.

    Column j of row k1 is multiplied by exp(-2 pi i k1 j / d) = lane[k1, j mod 16] block[j // 16, k1].
    """

    flips: NDArray[np.float32]
    mask: NDArray[np.float32]
    """1 where the sign of a value is a bit of the code, 0 elsewhere."""
    n2: int
    columns: ColumnPlan
    rows: ComplexPlans
    lane_re: NDArray[np.float32]
    lane_im: NDArray[np.float32]
    block: NDArray[np.complex64]


class Spectra(NamedTuple):
    """Spectra of pairs of rows, cached from one pass to the next."""

    cached: NDArray[np.float32]
    known: bool
    """Whether they have been computed by an earlier pass."""


class Buffers(NamedTuple):
    """Memory for the spectrum of a pair, twice, a row of one, and a block of columns, twice."""

    work: NDArray[np.float32]
    own: NDArray[np.float32]
    row: NDArray[np.float32]
    columns: NDArray[np.float32]


class Sums(NamedTuple):
    """Powers and correlations added up so far."""

    powers: NDArray[np.float32]
    correlations: NDArray[np.float32]


class Wanted(NamedTuple):
    """Which sums are wanted; correlations are those with the signs of what `spectrum` makes of a row."""

    powers: bool
    correlations: bool
    spectrum: NDArray[np.float32]


@inline
def _columns_forward(x, y, plan, buffers):  # type: ignore[no-untyped-def]
    """Flip the signs of two rows and transform them, as one vector, down the columns."""
    work, flips = buffers.work, plan.flips
    if work.shape[0] == 1:
        for j in range(plan.n2):
            work[0, 2 * j], work[0, 2 * j + 1] = x[j] * flips[j], y[j] * flips[j]
        return
    n1 = work.shape[0]
    a, b = buffers.columns[0], buffers.columns[1]
    for column in range(0, plan.n2, LANES):
        for j1 in range(n1):
            start = j1 * plan.n2 + column
            z = complex_vector(load(x, start), load(y, start))
            store_split(a, j1 * WIDTH, scale(z, load(flips, start)))
            prefetch(x, start + WIDTH)
            prefetch(y, start + WIDTH)
        _store_columns(b if column_fft(a, b, plan.columns) else a, plan, column, work)


@inline
def _store_columns(z, plan, column, work):  # type: ignore[no-untyped-def]
    """Multiply sixteen columns by their twiddle factors and write them where they belong."""
    row = work.shape[1]
    flat, lane_re, lane_im, factors = work.reshape(-1), plan.lane_re, plan.lane_im, plan.block[column // LANES]
    for k1 in range(work.shape[0]):
        w = twiddle(lane_re, lane_im, k1, factors[k1])
        store_interleaved(flat, k1 * row + 2 * column, load_split(z, k1 * WIDTH) * w)


@inline
def _columns_to_signs(plan, buffers):  # type: ignore[no-untyped-def]
    """Transform back down the columns, take the signs of both rows that count, transform those down the columns."""
    work, mask = buffers.work, plan.mask
    if work.shape[0] == 1:
        values = work[0]
        for j in range(2 * plan.n2):
            values[j] = mask[j // 2] if values[j] >= 0 else -mask[j // 2]
        return
    n1, row = work.shape
    flat, lane_re, lane_im = work.reshape(-1), plan.lane_re, plan.lane_im
    a, b = buffers.columns[0], buffers.columns[1]
    for column in range(0, plan.n2, LANES):
        factors = plan.block[column // LANES]
        for k1 in range(n1):
            w = twiddle(lane_re, lane_im, k1, factors[k1])
            store_split(a, k1 * WIDTH, swap(load_interleaved(flat, k1 * row + 2 * column) * conj(w)))
        z = b if column_fft(a, b, plan.columns) else a
        for j1 in range(n1):
            y = swap(load_split(z, j1 * WIDTH))
            counts = load(mask, j1 * plan.n2 + column)
            store_split(a, j1 * WIDTH, scale(complex_vector(signs(y.re), signs(y.im)), counts))
        _store_columns(b if column_fft(a, b, plan.columns) else a, plan, column, work)


@njit(nogil=True, cache=True)
def add_statistics(X, plan, wanted, spectra, buffers, sums):  # type: ignore[no-untyped-def]
    """Add up, over pairs of rows of X, the powers of their spectra, and the correlations with those of their signs.

    The spectra of the first pairs are written to `spectra.cached` or, if known, read from there. An odd last row is
    paired with zeros.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    plan : PairTransform
        The transforms, and the sign flips before them.
    wanted : Wanted
        Whether powers and correlations are wanted, and the spectrum of r.
    spectra : Spectra
        `cached`, the spectra of the first pairs, and whether they are `known`.
    buffers : Buffers
        Work arrays of this thread.
    sums : Sums
        `powers` and `correlations`, added to in place.
    """
    n, d = X.shape
    n1, row = buffers.work.shape
    work, factors = buffers.work.reshape(-1), wanted.spectrum.reshape(-1)
    powers, correlations = sums.powers.reshape(-1), sums.correlations.reshape(-1)
    zeros = np.zeros(d if n % 2 else 0, X.dtype)
    for i in range(0, n, 2):
        cached = i // 2 < spectra.cached.shape[0]
        spectrum = (spectra.cached[i // 2] if cached else buffers.own).reshape(-1)
        width = spectrum.shape[0] // n1
        transform = not (cached and spectra.known)
        if transform:
            _columns_forward(X[i], X[i + 1] if i + 1 < n else zeros, plan, buffers)
        for k1 in range(n1):
            if transform:
                forward(plan.rows, work, k1 * row, spectrum, k1 * width)
            if wanted.powers:
                _add_powers(spectrum, k1 * width, plan.n2, powers, k1 * row // 2)
            if wanted.correlations:
                _multiply(spectrum, k1 * width, factors, k1 * row, plan.n2, buffers.row)
                inverse(plan.rows, buffers.row, 0, work, k1 * row)
        if wanted.correlations:
            _columns_to_signs(plan, buffers)
            for k1 in range(n1):
                forward(plan.rows, work, k1 * row, buffers.row, 0)
                _add_correlations(spectrum, k1 * width, buffers.row, plan.n2, correlations, k1 * row)


@inline
def _multiply(z, i, factors, j, n, out):  # type: ignore[no-untyped-def]
    """Write the products of n numbers of a spectrum, from z[i:] on, with factors[j:]."""
    for k in range(0, 2 * n, WIDTH):
        store_interleaved(out, k, load_interleaved(z, i + k) * load_interleaved(factors, j + k))


@inline
def _add_powers(z, i, n, sums, j):  # type: ignore[no-untyped-def]
    """Add |z|^2 of n numbers of a spectrum, from z[i:] on, to sums[j:]."""
    for k in range(0, n, LANES):
        w = load_interleaved(z, i + 2 * k)
        store(sums, j + k, fma(w.re, w.re, fma(w.im, w.im, load(sums, j + k))))


@inline
def _add_correlations(z, i, w, n, sums, j):  # type: ignore[no-untyped-def]
    """Add conj(z) w of n numbers of two spectra, from z[i:] and w on, to sums[j:]."""
    for k in range(0, 2 * n, WIDTH):
        u, v = interleave(load_interleaved(w, k) * conj(load_interleaved(z, i + k)))
        store(sums, j + k, load(sums, j + k) + u)
        store(sums, j + k + LANES, load(sums, j + k + LANES) + v)
