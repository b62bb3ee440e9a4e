"""The angle estimate by simulation: a fixed pair, many independent draws of an embedding, the share of differing bits.

A draw is a new r and new sign flips (for hd3, new sign flips of all rounds). From one projection of the plane of the
pair, all angles and all numbers of bits up to d follow: the first k bits are the code of k bits. Draws are projected in
blocks of rows, each block from its own seed, so the numbers do not depend on threads.

Rows of a full Gaussian matrix project an orthonormal basis to independent Gaussian numbers, whatever the basis; for lsh
these are drawn directly. It is the control: its variance is that of independent bits, exactly.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.fft
from numba import njit
from numpy.typing import NDArray

from cbe_bench.data.view import Tick
from cbe_bench.evaluators.pairs import Plane, cosine_and_sine
from cbe_bench.evaluators.theory import difference_chance, iid_variance, tail_deviation
from cbe_bench.kernels.hadamard import transform
from cbe_bench.kernels.parallel import for_slices, slices, thread_count
from cbe_bench.kernels.random import fill_gaussian

Values = NDArray[np.float32]
Signs = NDArray[np.int8]

SIGMAS = (2.0, 3.0)
"""Deviations whose frequency is counted, in standard deviations of independent bits."""
DELTA = 0.05
"""The chance at which Theorem 2 is taken."""
_BLOCK_VALUES = 1 << 18
"""Numbers projected at once by a thread."""
_ROUNDS = 3


@dataclass(frozen=True)
class Method:
    """An embedding, with or without its sign flips, of vectors as they are or after a random Hadamard transform."""

    family: str
    flips: bool = True
    precondition: bool = False

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return self.family + (" without D" if not self.flips else "") + (" after HD'" if self.precondition else "")


METHODS = {
    method.label: method
    for method in (
        Method("lsh"),
        Method("cbe-rand"),
        Method("cbe-orth"),
        Method("hd3"),
        Method("cbe-rand", flips=False),
        Method("cbe-rand", precondition=True),
        Method("cbe-rand", flips=False, precondition=True),
    )
}


def circulant_projection(a: Values, b: Values, spectrum: NDArray[np.complex64], signs: Signs) -> tuple[Values, Values]:
    """Return circ(r) D a and circ(r) D b for each draw: a row of `spectrum`, the rfft of r, and a row of `signs`.

    The two real vectors ride in one complex transform, as its real and its imaginary part.
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
    """Return H D ... H D a / sqrt(d)^rounds for each draw: the sign flips signs[draw, round]."""
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
def count_differences(u, v, cosines, sines, bits, counts):  # type: ignore[no-untyped-def]
    """Count the differing ones among the first bits: counts[draw, angle, k] for each k of the rising `bits`.

    u and v are the projections of the basis; a value >= 0 is bit 1.
    """
    for i in range(u.shape[0]):
        for m in range(cosines.shape[0]):
            total = first = 0
            for j in range(bits.shape[0]):
                for t in range(first, bits[j]):
                    total += (u[i, t] >= 0) != (cosines[m] * u[i, t] + sines[m] * v[i, t] >= 0)
                first = bits[j]
                counts[i, m, j] = total


@njit(nogil=True, cache=True)
def _add_spreads(a, b, cosines, sines, totals):  # type: ignore[no-untyped-def]
    """Add to totals[angle] the spread of the pair in each row of the unit vectors a and b."""
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


def _flips(rng: np.random.Generator, shape: tuple[int, ...], wanted: bool = True) -> Signs:
    return 2 * rng.integers(0, 2, shape, dtype=np.int8) - 1 if wanted else np.ones(shape, np.int8)


def _precondition(a: Values, b: Values, rng: np.random.Generator, n: int) -> tuple[Values, Values]:
    signs = _flips(rng, (n, 1, len(a)))
    return hadamard_projection(a, signs), hadamard_projection(b, signs)


def _project(method: Method, a: Values, b: Values, rng: np.random.Generator, n: int) -> tuple[Values, Values]:
    """Return the projections of the basis under n draws of the embedding; a and b are vectors, or one row a draw."""
    d = a.shape[-1]
    if method.family == "lsh":
        u, v = _gaussian(rng, (2, n, d))
        return u, v
    if method.family == "hd3":
        signs = _flips(rng, (n, _ROUNDS, d))
        return hadamard_projection(a, signs), hadamard_projection(b, signs)
    spectrum = scipy.fft.rfft(_gaussian(rng, (n, d)), axis=1)
    if method.family == "cbe-orth":
        spectrum /= np.abs(spectrum)
    return circulant_projection(a, b, spectrum, _flips(rng, (n, d), method.flips))


def _quiet(share: float) -> None:
    pass


def simulate(
    plane: Plane,
    method: Method,
    angles: list[float],
    bits: list[int],
    draws: int,
    seed: int,
    tick: Tick = _quiet,
) -> tuple[NDArray[np.int32], list[float]]:
    """Draw the embedding many times and count differing bits.

    Returns
    -------
    counts : array of shape (draws, angles, bits)
        How many of the first k bits differ.
    spreads : list of float
        For each angle, the spread of the pair as the embedding meets it, on average over draws.
    """
    d = len(plane.a)
    a, b = plane.a.astype(np.float32), plane.b.astype(np.float32)
    cosines, sines = np.array([cosine_and_sine(theta) for theta in angles], np.float32).T.copy()
    counts = np.empty((draws, len(angles), len(bits)), np.int32)
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
                _add_spreads(*basis, cosines, sines, totals[number])
            u, v = _project(method, *basis, rng, n)
            count_differences(u, v, cosines, sines, np.asarray(bits), counts[block])

    for group in slices(len(blocks), 4 * thread_count()):
        for_slices(partial(run, range(group.start, group.stop)), group.stop - group.start, 1)
        tick(group.stop / len(blocks))
    spreads = totals.sum(axis=0) / draws if method.precondition else [plane.spread(theta) for theta in angles]
    return counts, [float(value) for value in spreads]


def estimates(counts: NDArray[np.int32], angles: list[float], bits: list[int]) -> dict[str, list]:
    """Return what the draws say of the share of differing bits.

    At the most bits, for each angle: its mean, and how many draws are off by more than some standard deviations of
    independent bits. As tables of angles x bits: its variance and kurtosis, from which intervals follow (where all
    draws are the same, 1 as for two values), and how many draws are off by more than Theorem 2 allows. Rounded far
    below what the draws can tell.
    """
    shares = counts / np.asarray(bits)
    variance = shares.var(axis=0, ddof=1)
    fourth = ((shares - shares.mean(axis=0)) ** 4).mean(axis=0)
    kurtosis = np.divide(fourth, variance**2, out=np.ones_like(fourth), where=variance > 0)
    off = np.abs(shares - np.array([difference_chance(theta) for theta in angles])[:, None])
    sd = np.sqrt([iid_variance(theta, bits[-1]) for theta in angles])
    allowed = np.array([tail_deviation(k, DELTA) for k in bits])
    return {
        "mean": _rounded(shares[..., -1].mean(axis=0), 7),
        "variance": _rounded(variance, 5),
        "kurtosis": _rounded(kurtosis, 4),
        **{f"beyond_{z:g}_sigma": (off[..., -1] > z * sd).sum(axis=0).tolist() for z in SIGMAS},
        "beyond_theorem2": (off > allowed).sum(axis=0).tolist(),
    }


def _rounded(values: NDArray, digits: int) -> list:
    """Return numbers with this many significant digits."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"))(values).tolist()
