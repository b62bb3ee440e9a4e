"""Pairs of vectors at an exact angle: dense, sparse, and such as are hard for circulant codes.

A kind of pair is a plane with an orthonormal basis a, b; its pair at angle theta is x = a and y = cos(theta) a +
sin(theta) b. Projections are linear, so the projections of a and b give those of the pairs at all angles.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.diagnostics import flatness

Vector = NDArray[np.float64]

_PERIOD = 8
_NONZERO = 16


def cosine_and_sine(theta: float) -> tuple[float, float]:
    """Return cos(theta) and sin(theta), the cosine of a right angle exactly 0.

    A cosine of some 1e-17, as rounding gives it, would decide the bits of values that are exactly 0, as those of hd3
    often are: the bits of y would follow those of x.
    """
    return round(math.cos(theta), 15), math.sin(theta)


@dataclass(frozen=True)
class Plane:
    """An orthonormal basis of the plane a pair lies in: two vectors of shape (d,)."""

    a: Vector
    b: Vector

    def pair(self, theta: float) -> tuple[Vector, Vector]:
        """Return two unit vectors at this angle."""
        cosine, sine = cosine_and_sine(theta)
        return self.a, cosine * self.a + sine * self.b

    def flatness(self, theta: float) -> float:
        """Return the larger rho = ||x||_inf / ||x||_2 of the pair at this angle."""
        return float(max(map(flatness, self.pair(theta))))


def _dense(d: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    return rng.standard_normal(d), rng.standard_normal(d)


def _flat(d: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    signs = rng.choice([-1.0, 1.0], d)
    return signs, signs * rng.permutation(np.resize([1.0, -1.0], d))


def _sparse(d: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    a, b = np.zeros((2, d))
    places = rng.choice(d, min(_NONZERO, d), replace=False)
    a[places], b[places] = rng.standard_normal((2, len(places)))
    return a, b


def _two(d: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    return np.eye(1, d, 0)[0], np.eye(1, d, 1)[0]


def _smooth(d: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    return np.ones(d), np.cos(2 * np.pi * np.arange(d) / d)


def _periodic(d: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    return np.resize(rng.standard_normal(_PERIOD), d), np.resize(rng.standard_normal(_PERIOD), d)


PAIRS: dict[str, Callable[[int, np.random.Generator], tuple[Vector, Vector]]] = {
    "dense": _dense,  # Gaussian entries
    "flat": _flat,  # entries of one size: the smallest flatness rho there is
    "sparse": _sparse,  # 16 entries that are not zero
    "two-coordinate": _two,  # two adjacent coordinates
    "smooth": _smooth,  # constant, and one period of a cosine
    "periodic": _periodic,  # entries that repeat after 8
}
"""The kinds of pairs, as functions that return two vectors which span the plane."""


def make_plane(pair: str, d: int, seed: int) -> Plane:
    """Draw the plane of a kind of pair.

    Parameters
    ----------
    pair : str
        One of `PAIRS`.
    d : int
        Dimension, at least 2.
    seed : int
        Decides the vectors of random pairs.

    Returns
    -------
    Plane
        Its basis, orthonormal to the last digit.
    """
    if pair not in PAIRS:
        raise InputError(f"unknown kind of pair {pair!r}; {did_you_mean(pair, PAIRS)}")
    if d < 2:
        raise InputError(f"pairs in {d} dimensions; at least 2 are needed")
    a, b = PAIRS[pair](d, np.random.default_rng(seed))
    a = a / np.linalg.norm(a)
    for _ in range(2):  # twice is enough for orthogonality to the last digit
        b = b - (a @ b) * a
    return Plane(a, b / np.linalg.norm(b))
