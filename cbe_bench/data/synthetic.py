"""A synthetic stand-in for VLAD features, for a machine where the real file is not.

A vector is made as a VLAD is: blocks of 128 dimensions, one for each visual word; words that an image does not
show are all zero; the residuals of shown words depend on a low-dimensional description of the image, drawn
around the centre of its class, plus noise; signed square roots and unit length at the end. Nearest neighbours
are then images of similar description, not coincidences of noise.

Rows are drawn in blocks of 256, each from its own seed, so any part of any size can be read in any order and a
stand-in of 10 GB occupies no disk and no memory.
"""

import hashlib
import json

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.data.features import Features, Matrix
from cbe_bench.kernels.parallel import for_slices

_VERSION = 1
"""Part of the content hash: to be raised by any change that changes the numbers."""
_BLOCK = 256
_WORD = 128
_LATENT = 48
_CLASSES = 100
_SHOWN = 0.35
"""Share of visual words an image shows."""
_NOISE = 1.2
"""Strength of what is not explained by the description, relative to what is."""


class SyntheticFeatures(Features):
    """VLAD-like unit vectors, drawn from a seed as they are read.

    Parameters
    ----------
    name : str
        What the stand-in stands for.
    n_rows, n_features : int
        The shape.
    seed : int
        Decides all values.
    """

    kind = "synthetic"

    def __init__(self, name: str, n_rows: int, n_features: int, seed: int = 0) -> None:
        self.name, self.n_rows, self.n_features, self.seed = name, n_rows, n_features, seed
        rng = np.random.default_rng([seed, _VERSION])
        words = -(-n_features // _WORD)
        strength = np.arange(1, _LATENT + 1) ** -0.5
        strength /= np.linalg.norm(strength)
        self._centres = rng.standard_normal((_CLASSES, _LATENT)).astype(np.float32)
        self._residuals = (rng.standard_normal((_LATENT, n_features)) * strength[:, None]).astype(np.float32)
        self._presence = (rng.standard_normal((_LATENT, words)) * strength[:, None]).astype(np.float32)

    def content_hash(self) -> str:
        """Return a hash of all that decides the values. The number of rows does not: more rows only follow."""
        recipe = [_VERSION, self.n_features, self.seed, _BLOCK, _WORD, _LATENT, _CLASSES, _SHOWN, _NOISE]
        return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Draw the given rows, on all cores."""
        out = np.empty((len(rows), self.n_features), np.float32)
        blocks = np.unique(rows // _BLOCK)
        edges = np.searchsorted(rows, np.append(blocks, blocks[-1] + 1) * _BLOCK)

        def draw(part: slice) -> None:
            for i in range(part.start, part.stop):
                wanted = rows[edges[i] : edges[i + 1]] - blocks[i] * _BLOCK
                out[edges[i] : edges[i + 1]] = self._draw(int(blocks[i]))[wanted]

        for_slices(draw, len(blocks), 1, blas=True)
        return out

    def labels(self) -> NDArray[np.int64]:
        """Return the class of every row."""
        blocks = range(-(-self.n_rows // _BLOCK))
        return np.concatenate([self._describe(block)[1] for block in blocks])[: self.n_rows]

    def _describe(self, block: int) -> tuple[Matrix, NDArray[np.int64]]:
        rng = np.random.default_rng([self.seed, _VERSION, 1, block])
        classes = rng.integers(0, _CLASSES, _BLOCK)
        latent = 0.7 * self._centres[classes] + 0.7 * rng.standard_normal((_BLOCK, _LATENT), dtype=np.float32)
        return latent.astype(np.float32), classes

    def _draw(self, block: int) -> Matrix:
        latent, _ = self._describe(block)
        rng = np.random.default_rng([self.seed, _VERSION, 2, block])
        presence = latent @ self._presence + rng.standard_normal((_BLOCK, self._presence.shape[1]), dtype=np.float32)
        shown = presence >= np.quantile(presence, 1 - _SHOWN, axis=1, keepdims=True)
        values = latent @ self._residuals
        noise = rng.standard_normal(values.shape, dtype=np.float32)
        _finish(values, noise, shown)
        return values


@njit(nogil=True, cache=True)
def _finish(values, noise, shown):  # type: ignore[no-untyped-def]
    """Add the noise, clear words not shown, take signed square roots, scale to unit length."""
    n, d = values.shape
    for i in range(n):
        total = 0.0
        for j in range(d):
            value = values[i, j] + np.float32(_NOISE) * noise[i, j] if shown[i, j // _WORD] else np.float32(0)
            total += abs(value)
            values[i, j] = np.sqrt(value) if value >= 0 else -np.sqrt(-value)
        values[i] *= np.float32(1 / np.sqrt(total))
