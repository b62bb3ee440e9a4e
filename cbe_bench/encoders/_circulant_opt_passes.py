"""Passes over pairs of rows, each pair one complex vector, compiled; `_circulant_opt_statistics` says what they add up.

A vector of d complex numbers is transformed in tiles (`kernels.fft.tiled`) where d suits, and whole, by FFTW, where it
does not. Since the real parts are one row of the data and the imaginary parts another, sixteen neighbours of either are
just what a column transform loads, and the signs of a result are transformed again before they leave the cache. Spectra
are split, in the order of the tiled transform: of B blocks of M vectors of sixteen numbers. That of a whole transform
is in its natural order, which is the same with B = 1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray

from cbe_bench.kernels.fft.column_fft import column_fft
from cbe_bench.kernels.fft.fftw import ComplexPlans, forward, inverse
from cbe_bench.kernels.fft.tiled import TiledPlan, load_tiles, store_tiles
from cbe_bench.kernels.simd.complex import (
    WIDTH,
    complex_vector,
    conj,
    load_interleaved,
    load_split,
    multiply_add,
    scale,
    store_interleaved,
    store_split,
    swap,
)
from cbe_bench.kernels.simd.vector import LANES, fma, inline, load, load_int8, prefetch, signs, store


class PairTransform(NamedTuple):
    """How two rows of the data become a complex vector, and how that is transformed."""

    flips: NDArray[np.float32]
    mask: NDArray[np.int8]
    """1 where the sign of a value is a bit of the code, 0 elsewhere."""
    fft: TiledPlan | ComplexPlans


class Spectra(NamedTuple):
    """Spectra of pairs of rows, cached from one pass to the next."""

    cached: NDArray[np.float32]
    known: bool
    """Whether they have been computed by an earlier pass."""


class Buffers(NamedTuple):
    """Memory for a pair, its spectrum, a block of a spectrum, and sixteen columns, twice."""

    work: NDArray[np.float32]
    own: NDArray[np.float32]
    block: NDArray[np.float32]
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
def _tiled_begin(x, y, plan, buffers):  # type: ignore[no-untyped-def]
    """Flip the signs of two rows and transform them, as one vector, down the columns."""
    n1, n2 = plan.fft.first.rows, plan.fft.second.rows
    a, b = buffers.columns[0], buffers.columns[1]
    for column in range(0, n2, LANES):
        for j1 in range(n1):
            start = j1 * n2 + column
            z = complex_vector(load(x, start), load(y, start))
            store_split(a, j1 * WIDTH, scale(z, load(plan.flips, start)))
            prefetch(x, start + WIDTH)
            prefetch(y, start + WIDTH)
        store_tiles(b if column_fft(a, b, plan.fft.first) else a, plan.fft, column, buffers.work)


@inline
def _tiled_spectrum(fft, block, buffers):  # type: ignore[no-untyped-def]
    """Return a block of the spectrum of what `_tiled_begin` or `_tiled_signs` left."""
    own = buffers.work[block]
    return buffers.block if column_fft(own, buffers.block, fft.second) else own


@inline
def _tiled_inverse(fft, z, factors, block, buffers):  # type: ignore[no-untyped-def]
    """Multiply a block of a spectrum by factors and begin to transform it back, real and imaginary parts swapped."""
    n, own = fft.second.rows * WIDTH, buffers.work[block]
    # the result is to be in the work array, whatever the number of stages
    source, other = (buffers.block, own) if fft.second.radices.shape[0] % 2 else (own, buffers.block)
    for k in range(0, n, WIDTH):
        store_split(source, k, swap(load_split(z, block * n + k) * load_split(factors, block * n + k)))
    column_fft(source, other, fft.second)


@inline
def _tiled_signs(plan, buffers, following):  # type: ignore[no-untyped-def]
    """Transform back down the columns, take the signs of both rows that count, transform those down the columns.

    The spectrum `following`, which comes next, is brought into the cache meanwhile.
    """
    n1, n2 = plan.fft.first.rows, plan.fft.second.rows
    a, b = buffers.columns[0], buffers.columns[1]
    for column in range(0, n2, LANES):
        load_tiles(buffers.work, plan.fft, column, a)  # times w, not conj(w), as the parts are swapped
        z = b if column_fft(a, b, plan.fft.first) else a
        for j1 in range(n1):
            y = swap(load_split(z, j1 * WIDTH))
            counts = load_int8(plan.mask, j1 * n2 + column, y.re)
            store_split(a, j1 * WIDTH, scale(complex_vector(signs(y.re), signs(y.im)), counts))
            ahead = n1 * column * 2 + j1 * WIDTH
            if ahead < following.shape[0]:
                prefetch(following, ahead)
                prefetch(following, ahead + LANES)
        store_tiles(b if column_fft(a, b, plan.fft.first) else a, plan.fft, column, buffers.work)


@inline
def _whole_begin(x, y, plan, buffers):  # type: ignore[no-untyped-def]
    work, flips = buffers.work[0], plan.flips
    for j in range(x.shape[0]):
        work[2 * j], work[2 * j + 1] = x[j] * flips[j], y[j] * flips[j]


@inline
def _whole_spectrum(fft, buffers):  # type: ignore[no-untyped-def]
    z = buffers.block
    forward(fft, buffers.work[0], 0, z, 0)
    for k in range(0, z.shape[0], WIDTH):
        store_split(z, k, load_interleaved(z, k))
    return z


@inline
def _whole_inverse(fft, z, factors, buffers):  # type: ignore[no-untyped-def]
    product = buffers.block
    for k in range(0, product.shape[0], WIDTH):
        store_interleaved(product, k, load_split(z, k) * load_split(factors, k))
    inverse(fft, product, 0, buffers.work[0], 0)


@inline
def _whole_signs(plan, buffers):  # type: ignore[no-untyped-def]
    values, mask = buffers.work[0], plan.mask
    for j in range(2 * mask.shape[0]):
        values[j] = mask[j // 2] if values[j] >= 0 else -mask[j // 2]


def _begin(fft, x, y, plan, buffers):  # type: ignore[no-untyped-def]
    """Flip the signs of two rows and begin to transform them, as one vector."""
    raise NotImplementedError("for compiled code only")


def _spectrum(fft, block, buffers):  # type: ignore[no-untyped-def]
    """Return a block of the spectrum of what `_begin` or `_signs` left, split."""
    raise NotImplementedError("for compiled code only")


def _inverse(fft, z, factors, block, buffers):  # type: ignore[no-untyped-def]
    """Multiply a block of a spectrum by factors and begin to transform it back."""
    raise NotImplementedError("for compiled code only")


def _signs(fft, plan, buffers, following):  # type: ignore[no-untyped-def]
    """Transform back, take the signs of both rows that count, begin to transform those."""
    raise NotImplementedError("for compiled code only")


def _is_tiled(fft):  # type: ignore[no-untyped-def]
    return isinstance(fft, types.BaseTuple) and getattr(fft, "instance_class", None) is TiledPlan


@overload(_begin, jit_options={"forceinline": True})
def _begin_either(fft, x, y, plan, buffers):  # type: ignore[no-untyped-def]
    if _is_tiled(fft):
        return lambda fft, x, y, plan, buffers: _tiled_begin(x, y, plan, buffers)
    return lambda fft, x, y, plan, buffers: _whole_begin(x, y, plan, buffers)


@overload(_spectrum, jit_options={"forceinline": True})
def _spectrum_either(fft, block, buffers):  # type: ignore[no-untyped-def]
    if _is_tiled(fft):
        return lambda fft, block, buffers: _tiled_spectrum(fft, block, buffers)
    return lambda fft, block, buffers: _whole_spectrum(fft, buffers)


@overload(_inverse, jit_options={"forceinline": True})
def _inverse_either(fft, z, factors, block, buffers):  # type: ignore[no-untyped-def]
    if _is_tiled(fft):
        return lambda fft, z, factors, block, buffers: _tiled_inverse(fft, z, factors, block, buffers)
    return lambda fft, z, factors, block, buffers: _whole_inverse(fft, z, factors, buffers)


@overload(_signs, jit_options={"forceinline": True})
def _signs_either(fft, plan, buffers, following):  # type: ignore[no-untyped-def]
    if _is_tiled(fft):
        return lambda fft, plan, buffers, following: _tiled_signs(plan, buffers, following)
    return lambda fft, plan, buffers, following: _whole_signs(plan, buffers)


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
    n_blocks, width = buffers.own.shape
    factors = wanted.spectrum.reshape(-1)
    powers, correlations = sums.powers.reshape(-1), sums.correlations.reshape(-1)
    zeros = np.zeros(d if n % 2 else 0, X.dtype)
    for i in range(0, n, 2):
        cached = i // 2 < spectra.cached.shape[0]
        spectrum = (spectra.cached[i // 2] if cached else buffers.own).reshape(-1)
        transform = not (cached and spectra.known)
        if transform:
            _begin(plan.fft, X[i], X[i + 1] if i + 1 < n else zeros, plan, buffers)
        for block in range(n_blocks):
            start = block * width
            if transform:
                spectrum[start : start + width] = _spectrum(plan.fft, block, buffers)[:width]
            if wanted.powers:
                _add_powers(spectrum, start, width, powers)
            if wanted.correlations:
                _inverse(plan.fft, spectrum, factors, block, buffers)
        if wanted.correlations:
            ready = spectra.known and i // 2 + 1 < spectra.cached.shape[0]
            _signs(plan.fft, plan, buffers, spectra.cached[i // 2 + 1].reshape(-1) if ready else factors[:0])
            for block in range(n_blocks):
                _add_correlations(spectrum, block * width, _spectrum(plan.fft, block, buffers), width, correlations)


@inline
def _add_powers(z, start, width, sums):  # type: ignore[no-untyped-def]
    """Add |z|^2 of a block of a spectrum to the sums."""
    for i in range(start, start + width, WIDTH):
        w = load_split(z, i)
        store(sums, i // 2, fma(w.re, w.re, fma(w.im, w.im, load(sums, i // 2))))


@inline
def _add_correlations(z, start, w, width, sums):  # type: ignore[no-untyped-def]
    """Add conj(z) w of a block of two spectra to the sums."""
    for k in range(0, width, WIDTH):
        i = start + k
        store_split(sums, i, multiply_add(load_split(w, k), conj(load_split(z, i)), load_split(sums, i)))
