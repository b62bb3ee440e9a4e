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
from cbe_bench.evaluators.theory import spread

Vector = NDArray[np.float64]

_PERIOD = 8
_NONZERO = 16


def cosine_and_sine(theta: float) -> tuple[float, float]:
    """Return cos(theta) and sin(theta), the cosine of a right angle exactly 0.

    Left as rounding makes it, some 1e-17, it would decide the bits of values that are exactly 0, as those of hd3
    often are: y would seem to go along with x.
    """
    return round(math.cos(theta), 15), math.sin(theta)


@dataclass(frozen=True)
class Plane:
    """An orthonormal basis of the plane a pair lies in."""

    a: Vector
    b: Vector

    def pair(self, theta: float) -> tuple[Vector, Vector]:
        """Return two unit vectors at this angle."""
        cosine, sine = cosine_and_sine(theta)
        return self.a, cosine * self.a + sine * self.b

    def spread(self, theta: float) -> float:
        """Return the larger ||x||_inf / ||x||_2 of the pair at this angle."""
        return float(max(map(spread, self.pair(theta))))


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


KINDS: dict[str, tuple[str, Callable[[int, np.random.Generator], tuple[Vector, Vector]]]] = {
    "dense": ("Gaussian entries", _dense),
    "flat": ("entries of one size, so of the smallest spread there is", _flat),
    "sparse": ("16 entries that are not zero", _sparse),
    "two-coordinate": ("two neighbouring coordinates", _two),
    "smooth": ("all ones, and all ones with a slow wave", _smooth),
    "periodic": ("entries that repeat after 8", _periodic),
}
"""The kinds of pairs: what they are, and two vectors that span their plane."""


def make_plane(kind: str, d: int, seed: int) -> Plane:
    """Draw the plane of a kind of pair in d dimensions."""
    if kind not in KINDS:
        raise InputError(f"unknown kind of pair {kind!r}; {did_you_mean(kind, KINDS)}")
    if d < 2:
        raise InputError(f"pairs in {d} dimensions; at least 2 are needed")
    a, b = KINDS[kind][1](d, np.random.default_rng(seed))
    a = a / np.linalg.norm(a)
    for _ in range(2):  # twice is enough for orthogonality to the last digit
        b = b - (a @ b) * a
    return Plane(a, b / np.linalg.norm(b))
