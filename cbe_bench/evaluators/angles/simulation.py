"""The angle estimate by simulation: a fixed pair, many draws of an embedding, the fraction of differing bits.

A draw is a new r and new sign flips (for hd3, new sign flips of all rounds). From one projection of the plane of the
pair, all angles and all code lengths up to d follow: the first k bits are the code of k bits. Draws are projected in
blocks of rows, each block from its own seed, so the numbers do not depend on threads.

Rows of a full Gaussian matrix project an orthonormal basis to independent Gaussian numbers, whatever the basis; for lsh
these are drawn directly. It is the control: its variance is that of independent bits, exactly.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.fft
from numba import njit
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.evaluators.angles.methods import METHODS, Method
from cbe_bench.evaluators.angles.pairs import Plane, cosine_and_sine, make_plane
from cbe_bench.evaluators.angles.rows import SimulationSpec
from cbe_bench.evaluators.angles.theory import difference_probability, iid_variance, tail_deviation
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels.hadamard import transform
from cbe_bench.kernels.parallel import for_slices, slices, thread_count
from cbe_bench.kernels.random import fill_gaussian

Values = NDArray[np.float32]
Signs = NDArray[np.int8]

SIGMAS = (2, 3)
"""Deviations whose frequency is counted, in standard deviations of independent bits."""
_BLOCK_VALUES = 1 << 18
"""Values projected at once by a thread."""
_ROUNDS = 3
"""Rounds of sign flips and Hadamard transforms of hd3."""


def evaluate_simulation(spec: SimulationSpec, progress: Progress = no_progress) -> dict[str, Any]:
    """Simulate a method on a kind of pair and return the metrics of a `SimulationRow`.

    Parameters
    ----------
    spec : SimulationSpec
        The method, the pair, the angles, the code lengths and the number of draws.
    progress : Progress
        Called with the progress, from 0 to 1.

    Returns
    -------
    dict
    """
    axes = (spec.seed, spec.pair, spec.n_features)
    plane = make_plane(spec.pair, spec.n_features, derive_seed("pair", *axes))
    seed = derive_seed("draws", *axes, spec.method)
    counts, flatness = simulate(plane, METHODS[spec.method], spec.angles_rad, spec.n_bits, spec.draws, seed, progress)
    return {"flatness": flatness, **estimates(counts, spec.angles_rad, spec.n_bits, spec.delta)}


def circulant_projection(a: Values, b: Values, spectrum: NDArray[np.complex64], signs: Signs) -> tuple[Values, Values]:
    """Project two vectors by circ(r) D, for each draw of r and D.

    The two real vectors are the real and the imaginary part of one complex transform.

    Parameters
    ----------
    a, b : array of shape (d,) or (n, d)
        The vectors, the same or others for each draw.
    spectrum : array of shape (n, d // 2 + 1)
        The rfft of r of each draw.
    signs : array of shape (n, d)
        The diagonal of D of each draw.

    Returns
    -------
    u, v : array of shape (n, d)
        circ(r) D a and circ(r) D b.
    """
    d = signs.shape[1]
    both = np.empty(signs.shape, np.complex64)
    both.real, both.imag = a * signs, b * signs
    both = scipy.fft.fft(both, axis=1, overwrite_x=True)
    half = spectrum.shape[1]
    both[:, :half] *= spectrum
    both[:, half:] *= spectrum[:, d - half : 0 : -1].conj()
    both = scipy.fft.ifft(both, axis=1, overwrite_x=True)
    return both.real, both.imag


def hadamard_projection(a: Values, signs: Signs) -> Values:
    """Project a vector by rounds of sign flips and normalised Hadamard transforms, for each draw of the signs.

    Parameters
    ----------
    a : array of shape (d,) or (n, d)
        The vector, the same or another for each draw.
    signs : array of shape (n, rounds, d)
        The sign flips.

    Returns
    -------
    array of shape (n, d)
        H D ... H D a / sqrt(d)^rounds.
    """
    n, rounds, d = signs.shape
    values = np.empty((n, d), np.float32)
    values[:] = a
    for number in range(rounds):
        _transform_rows(values.reshape(-1), np.ascontiguousarray(signs[:, number]).reshape(-1), d)
    values *= np.float32(d ** (-rounds / 2))
    return values


@njit(nogil=True, cache=True)
def _transform_rows(values, signs, d):  # type: ignore[no-untyped-def]
    for start in range(0, values.shape[0], d):
        transform(values, signs, start, d)


@njit(nogil=True, cache=True)
def count_differences(u, v, cosines, sines, n_bits, counts):  # type: ignore[no-untyped-def]
    """Count how many of the first k bits of a pair differ; a value >= 0 is bit 1.

    Parameters
    ----------
    u, v : array of shape (n, d)
        Projections of the basis, a row for each draw.
    cosines, sines : array of shape (m,)
        Of the angles.
    n_bits : integer array of shape (l,)
        Code lengths k, rising.
    counts : integer array of shape (n, m, l)
        The output.
    """
    for i in range(u.shape[0]):
        for m in range(cosines.shape[0]):
            total = first = 0
            for j in range(n_bits.shape[0]):
                for t in range(first, n_bits[j]):
                    total += (u[i, t] >= 0) != (cosines[m] * u[i, t] + sines[m] * v[i, t] >= 0)
                first = n_bits[j]
                counts[i, m, j] = total


@njit(nogil=True, cache=True)
def _add_flatness(a, b, cosines, sines, totals):  # type: ignore[no-untyped-def]
    """Add to totals[angle] the flatness of the pair in each row of the basis a, b."""
    for i in range(a.shape[0]):
        largest_x = np.abs(a[i]).max()
        for m in range(cosines.shape[0]):
            largest = largest_x
            for t in range(a.shape[1]):
                largest = max(largest, abs(cosines[m] * a[i, t] + sines[m] * b[i, t]))
            totals[m] += largest


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    out = np.empty(shape, np.float32)
    fill_gaussian(rng, out)
    return out


def _signs(rng: np.random.Generator, shape: tuple[int, ...], flips: bool = True) -> Signs:
    return 2 * rng.integers(0, 2, shape, dtype=np.int8) - 1 if flips else np.ones(shape, np.int8)


def _precondition(a: Values, b: Values, rng: np.random.Generator, n: int) -> tuple[Values, Values]:
    signs = _signs(rng, (n, 1, len(a)))
    return hadamard_projection(a, signs), hadamard_projection(b, signs)


def _project(method: Method, a: Values, b: Values, rng: np.random.Generator, n: int) -> tuple[Values, Values]:
    """Return the projections, of shape (n, d), of a basis under n draws; a and b may have a row for each draw."""
    d = a.shape[-1]
    if method.encoder == "lsh":
        u, v = _gaussian(rng, (2, n, d))
        return u, v
    if method.encoder == "hd3":
        signs = _signs(rng, (n, _ROUNDS, d))
        return hadamard_projection(a, signs), hadamard_projection(b, signs)
    spectrum = scipy.fft.rfft(_gaussian(rng, (n, d)), axis=1)
    if method.encoder == "cbe-orth":
        spectrum /= np.abs(spectrum)
    return circulant_projection(a, b, spectrum, _signs(rng, (n, d), method.sign_flips))


def simulate(
    plane: Plane,
    method: Method,
    angles: tuple[float, ...],
    n_bits: tuple[int, ...],
    draws: int,
    seed: int,
    progress: Progress = no_progress,
) -> tuple[NDArray[np.int32], tuple[float, ...]]:
    """Draw an embedding many times and count the bits in which the codes of a pair differ.

    Parameters
    ----------
    plane : Plane
        The plane of the pair, in d dimensions.
    method : Method
        The embedding.
    angles : tuple of float
        Angles of the pair, in radians.
    n_bits : tuple of int
        Code lengths, rising, at most d.
    draws : int
        Independent draws of the embedding.
    seed : int
        Decides all draws.
    progress : Progress
        Called with the fraction of draws that are done.

    Returns
    -------
    counts : array of shape (draws, angles, code lengths)
        How many of the first k bits differ.
    flatness : tuple of float
        For each angle, the flatness rho of the pair as the embedding sees it, averaged over draws.
    """
    d = len(plane.a)
    a, b = plane.a.astype(np.float32), plane.b.astype(np.float32)
    cosines, sines = np.array([cosine_and_sine(theta) for theta in angles], np.float32).T.copy()
    counts = np.empty((draws, len(angles), len(n_bits)), np.int32)
    blocks = slices(draws, max(1, _BLOCK_VALUES // d))
    totals = np.zeros((len(blocks), len(angles)))

    def run(numbers: range, some: slice) -> None:
        for number in numbers[some]:
            rng = np.random.default_rng([seed, number])
            block = blocks[number]
            n = block.stop - block.start
            basis = a, b
            if method.precondition:
                basis = _precondition(a, b, rng, n)
                _add_flatness(*basis, cosines, sines, totals[number])
            u, v = _project(method, *basis, rng, n)
            count_differences(u, v, cosines, sines, np.asarray(n_bits), counts[block])

    for group in slices(len(blocks), 4 * thread_count()):
        for_slices(partial(run, range(group.start, group.stop)), group.stop - group.start, 1)
        progress(group.stop / len(blocks))
    flatness = totals.sum(axis=0) / draws if method.precondition else [plane.flatness(theta) for theta in angles]
    return counts, tuple(float(rho) for rho in flatness)


def estimates(
    counts: NDArray[np.int32], angles: tuple[float, ...], n_bits: tuple[int, ...], delta: float
) -> dict[str, tuple]:
    """Return what the draws say of the fraction of differing bits, rounded far below what they can resolve.

    Parameters
    ----------
    counts : array of shape (draws, angles, code lengths)
        Differing bits, from `simulate`.
    angles : tuple of float
        In radians.
    n_bits : tuple of int
        Code lengths.
    delta : float
        The probability at which Theorem 2 is taken.

    Returns
    -------
    dict of tuples
        At the longest code, for each angle: the mean, and how many draws are off by more than some standard deviations
        of independent bits. For each angle and code length: the variance, the kurtosis (1, as for two values, where
        all draws are the same), and how many draws are off by more than Theorem 2 allows.
    """
    fractions = counts / np.asarray(n_bits)
    variance = fractions.var(axis=0, ddof=1)
    fourth = ((fractions - fractions.mean(axis=0)) ** 4).mean(axis=0)
    kurtosis = np.divide(fourth, variance**2, out=np.ones_like(fourth), where=variance > 0)
    deviation = np.abs(fractions - np.array([difference_probability(theta) for theta in angles])[:, None])
    sigma = np.sqrt([iid_variance(theta, n_bits[-1]) for theta in angles])
    allowed = np.array([tail_deviation(k, delta) for k in n_bits])
    return {
        "mean": _rounded(fractions[..., -1].mean(axis=0), 7),
        "variance": _rounded(variance, 5),
        "kurtosis": _rounded(kurtosis, 4),
        **{f"n_beyond_{z}_sigma": _as_tuples((deviation[..., -1] > z * sigma).sum(axis=0)) for z in SIGMAS},
        "n_beyond_theorem2": _as_tuples((deviation > allowed).sum(axis=0)),
    }


def _rounded(values: NDArray, digits: int) -> tuple:
    """Return numbers with this many significant digits, as tuples."""
    return _as_tuples(np.vectorize(lambda value: float(f"{value:.{digits}g}"))(values))


def _as_tuples(values: NDArray) -> tuple:
    return tuple(map(_as_tuples, values)) if values.ndim > 1 else tuple(values.tolist())
