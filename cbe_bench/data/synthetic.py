"""A synthetic surrogate of VLAD features, for a machine where the real file is not.

A vector is made as a VLAD is: blocks of 128 dimensions, one for each visual word; words that an image does not
show are all zero, some words and some images more often than others; the residuals of shown words depend on a
description of the image, drawn around the centre of its class, plus noise; signed square roots and unit length at the
end. Nearest neighbours are then images of similar description, not coincidences of noise.

The constants were chosen so that zeros, tails, spectrum and neighbour distances resemble those of VLAD features of real
photos; `scripts/compare_surrogate.py` shows how far they do.

Rows are drawn in blocks of 256, each from its own seed, so any part of any size can be read in any order and a
surrogate of 10 GB occupies no disk and no memory.

The values are the same bits on every machine: descriptions and what they are multiplied by are multiples of powers of
two, so coarse that BLAS adds up their products exactly, and all else is drawn and computed one value at a time.
"""

import hashlib
import json
import zlib
from statistics import NormalDist

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.data.features import Features, Matrix
from cbe_bench.kernels.parallel import for_slices, slices
from cbe_bench.kernels.random import fill_gaussian

_VERSION = 4
"""Part of the content hash: to be raised by any change that changes the numbers."""
_BLOCK = 256
_NOISE_ROWS = 8
"""Rows whose noise is drawn at once: it stays in cache."""
_WORD = 128
_LATENT = 400
_LATENT_STEP, _WEIGHT_STEP = 2.0**-5, 2.0**-13
"""Descriptions and weights are multiples of these: the 400 terms of a product, below 64 together, are exact."""
_DECAY = 0.4
"""The strength of the i-th part of a description is i to minus this."""
_CLASSES = 100
_CLASS_SHARE = 0.3
"""Fraction of the variance of descriptions that lies between classes."""
_SHOWN = 0.41
"""Fraction of visual words an image shows."""
_WORD_BIAS = 0.335
"""How much words differ in how often they are shown."""
_IMAGE_BIAS = 0.156
"""How much images differ in how many words they show."""
_DESCRIBED = 0.7
"""Fraction of the variance of what an image shows that its description explains."""
_NOISE = 1.05
"""Strength of what is not explained in the residuals, relative to what is."""


class SyntheticFeatures(Features):
    """VLAD-like unit vectors, drawn from a seed as they are read.

    Parameters
    ----------
    name : str
        What it is a surrogate of; two of different names have nothing in common.
    n_rows, n_features : int
        The shape.
    seed : int
        Decides all values.
    """

    kind = "synthetic"

    def __init__(self, name: str, n_rows: int, n_features: int, seed: int = 0) -> None:
        self.name, self.n_rows, self.n_features, self.seed = name, n_rows, n_features, seed
        rng = self._rng(0)
        words = -(-n_features // _WORD)
        strength = np.arange(1, _LATENT + 1) ** -_DECAY
        strength = (strength / np.sqrt(np.sum(strength**2))).round(9)[:, None]
        self._centres = _gaussian(rng, _CLASSES, _LATENT)
        self._word_bias = np.float32(_WORD_BIAS) * _gaussian(rng, 1, words)[0]
        self._presence = _rounded(_gaussian(rng, _LATENT, words) * strength, _WEIGHT_STEP)
        self._residuals = _rounded(_gaussian(rng, _LATENT, n_features) * strength, _WEIGHT_STEP)

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, _VERSION, zlib.crc32(self.name.encode()), *purpose])

    def content_hash(self) -> str:
        """Return a hash of all that decides the values. The number of rows does not: more rows only follow."""
        return hashlib.sha256(json.dumps([_VERSION, self.name, self.n_features, self.seed]).encode()).hexdigest()

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Draw the given rows, on all cores."""
        out = np.empty((len(rows), self.n_features), np.float32)
        blocks = np.unique(rows // _BLOCK)
        edges = np.searchsorted(rows, np.append(blocks, blocks[-1] + 1) * _BLOCK)

        def draw(part: slice) -> None:
            for i in range(part.start, part.stop):
                wanted = rows[edges[i] : edges[i + 1]] - blocks[i] * _BLOCK
                np.take(self._draw(int(blocks[i])), wanted, axis=0, out=out[edges[i] : edges[i + 1]], mode="clip")

        for_slices(draw, len(blocks), 1, blas=True)
        return out

    def labels(self) -> NDArray[np.int64]:
        """Return the class of every row."""
        blocks = range(-(-self.n_rows // _BLOCK))
        return np.concatenate([self._describe(block)[1] for block in blocks])[: self.n_rows]

    @staticmethod
    def rows_for(per_class: int, classes: int = _CLASSES) -> int:
        """Return how many rows hold, almost surely, that many of every class: five standard deviations more.

        Parameters
        ----------
        per_class : int
            The rows needed of each class.
        classes : int
            The number of classes.

        Returns
        -------
        int
        """
        return int(classes * (per_class + 5 * np.sqrt(per_class) + 8))

    def _describe(self, block: int) -> tuple[Matrix, NDArray[np.int64]]:
        rng = self._rng(1, block)
        classes = rng.integers(0, _CLASSES, _BLOCK)
        own = _gaussian(rng, _BLOCK, _LATENT)
        latent = np.sqrt(_CLASS_SHARE) * self._centres[classes] + np.sqrt(1 - _CLASS_SHARE) * own
        return _rounded(latent, _LATENT_STEP), classes

    def _draw(self, block: int) -> Matrix:
        latent, _ = self._describe(block)
        rng = self._rng(2, block)
        presence = np.sqrt(_DESCRIBED) * (latent @ self._presence) + self._word_bias
        presence += np.sqrt(1 - _DESCRIBED) * _gaussian(rng, *presence.shape)
        presence += _IMAGE_BIAS * _gaussian(rng, _BLOCK, 1)
        shown = presence >= _BAR
        shown[~shown.any(axis=1)] = True  # an image of few words shows at least one
        values = latent @ self._residuals
        noise = np.empty((_NOISE_ROWS, self.n_features), np.float32)
        for part in slices(_BLOCK, _NOISE_ROWS):
            fill_gaussian(rng, noise)
            _finish(values[part], noise, shown[part])
        return values


def _gaussian(rng: np.random.Generator, *shape: int) -> Matrix:
    out = np.empty(shape, np.float32)
    fill_gaussian(rng, out)
    return out


def _rounded(values: NDArray, step: float) -> Matrix:
    """Return the nearest multiples of a step, a power of two."""
    return (np.rint(values / step) * step).astype(np.float32)


_BAR = round(NormalDist(sigma=np.sqrt(1 + _WORD_BIAS**2 + _IMAGE_BIAS**2)).inv_cdf(1 - _SHOWN), 9)
"""A word is shown whose presence reaches this."""


@njit(nogil=True, cache=True)
def _finish(values, noise, shown):  # type: ignore[no-untyped-def]
    """Add the noise, clear words not shown, take signed square roots, scale to unit length."""
    n, d = values.shape
    sums = np.empty(_WORD, np.float32)
    for i in range(n):
        sums[:] = 0  # one for each place in a word: they are added side by side, in a fixed order
        for start in range(0, d, _WORD):
            word = values[i, start : start + _WORD]
            if not shown[i, start // _WORD]:
                word[:] = 0
                continue
            own = noise[i, start : start + _WORD]
            for j in range(len(word)):
                value = word[j] + np.float32(_NOISE) * own[j]
                size = abs(value)
                sums[j] += size
                word[j] = np.copysign(np.sqrt(size), value)
        total = 0.0
        for j in range(_WORD):
            total += sums[j]
        values[i] *= np.float32(1 / np.sqrt(total))
