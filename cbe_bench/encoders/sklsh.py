"""Shift-invariant kernel hashing: random cosine features, compared with random thresholds.

Bit = [cos(w.x + b) + t >= 0] with w ~ N(0, gamma I), b ~ U[0, 2 pi] and t ~ U[-1, 1]. The expected Hamming distance is
a function of the Gaussian kernel exp(-gamma |x - y|^2 / 2) alone, so gamma says which distances the code resolves: by
default the square of one over the mean distance of nearest neighbours. Bits are drawn in tiles, each from its own
seed: the code of fewer bits begins the code of more.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import N_TRAIN, Encoder, child_rng, register
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.kernels.linalg.products import ROUNDING, near_zero, paired_products, squared_distances, squared_norms
from cbe_bench.kernels.parallel import for_slices

_TILE_BITS = 128
"""Bits drawn from one seed."""
_PROBES = 256
"""Rows of the training set whose nearest neighbours are sought."""
_TASK_VALUES = 1 << 19
_LARGEST_EXPONENT = 125
"""Entries of w from 2**-e to 2**e fit into single precision."""


@register("sklsh")
class SKLSH(Encoder):
    """Signs of random cosine features plus random thresholds.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    gamma : float or None
        Variance of the entries of w; None means one over the squared mean distance of nearest neighbours, measured
        from some rows of the training set.
    random_state : int, RandomState or None
        Decides w, b and t, and the rows that distances are measured from.

    Attributes
    ----------
    gamma_ : float
        The variance of the entries of w.
    weights_ : float32 array of shape (n_bits rounded up to whole tiles, d)
        The vectors w.
    phases_, thresholds_ : float32 arrays of shape (n_bits rounded up to whole tiles,)
        The numbers b and t.
    """

    good_for = "Gaussian kernels: only near neighbours matter"
    data_dependent = True

    def __init__(self, n_bits: int | None = None, *, gamma: float | None = None, random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.gamma = gamma

    @property
    def nested(self) -> bool:
        """Neither gamma nor a bit depends on how many bits there are."""
        return True

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.gamma is None:
            return
        if not isinstance(self.gamma, int | float | np.number) or not 0 < self.gamma < np.inf:
            raise InputError(f"{self.name}: gamma = {self.gamma!r}; it must be a positive number, or None to tune it")

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        self.gamma_ = float(self.gamma or self._tuned(X, child_rng(rng, 0)))
        if not 2**-_LARGEST_EXPONENT <= np.sqrt(self.gamma_) <= 2**_LARGEST_EXPONENT:
            raise InputError(
                f"{self.name}: gamma = {self.gamma_:.3g} is out of reach; scale the training set to about 1"
            )
        tiles = -(-self.n_bits_ // _TILE_BITS)
        self.weights_ = np.empty((tiles * _TILE_BITS, X.shape[1]), np.float32)
        self.phases_, self.thresholds_ = np.empty((2, tiles * _TILE_BITS), np.float32)

        def draw(part: slice) -> None:
            for tile in range(part.start, part.stop):
                child = child_rng(rng, 1 + tile)
                bits = slice(tile * _TILE_BITS, (tile + 1) * _TILE_BITS)
                child.standard_normal(out=self.weights_[bits], dtype=np.float32)
                self.weights_[bits] *= np.float32(np.sqrt(self.gamma_))
                self.phases_[bits] = child.uniform(0, 2 * np.pi, _TILE_BITS)
                self.thresholds_[bits] = child.uniform(-1, 1, _TILE_BITS)

        for_slices(draw, tiles, 1)

    def _tuned(self, X: NDArray, rng: np.random.Generator) -> float:
        """Return one over the squared mean distance of rows to their nearest neighbours."""
        probes = rng.choice(len(X), min(_PROBES, len(X)), replace=False)
        distance = float(nearest_distances(X, probes).mean()) if len(X) > 1 else 0.0
        if distance == 0:
            raise InputError(
                f"{self.name}: gamma cannot be tuned where no row has its nearest neighbour at a distance "
                f"(n_samples = {len(X)}); give gamma"
            )
        return distance**-2

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        weights, phases, thresholds = (
            v[: self.n_bits_].astype(X.dtype, copy=False) for v in (self.weights_, self.phases_, self.thresholds_)
        )
        norm = np.sqrt(self.gamma_) * (np.sqrt(X.shape[1]) + 8)  # no w is longer

        def project(part: slice) -> None:
            values = X[part] @ weights.T
            values += phases
            np.cos(values, out=values)
            values += thresholds
            if X.dtype == np.float32:  # settle the signs that rounding leaves open
                rows, bits = near_zero(values, ROUNDING * (np.sqrt(squared_norms(X[part])) * norm + 2 * np.pi)[:, None])
                angles = paired_products(X[part], weights, rows, bits) + phases[bits]
                values[rows, bits] = np.cos(angles) + thresholds[bits]
            out[part] = values

        for_slices(project, len(X), max(32, _TASK_VALUES // len(weights)), blas=True)
        return out

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        rows = -(-self.bits(n_features) // _TILE_BITS) * _TILE_BITS
        fields = {"weights_": Field("f4", (rows, n_features)), "gamma_": Field("f8", (), 0)}
        fields |= dict.fromkeys(("phases_", "thresholds_"), Field("f4", (rows,)))
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        return 4 * (n_features + 2) * (self.bits(n_features) + _TILE_BITS) + (1 << 26)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        return (2.0 * n_features + 50.0) * self.bits(n_features)


def nearest_distances(X: NDArray, probes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distances of the rows `probes` of X to the nearest other rows."""
    norms = squared_norms(X)
    distances = np.empty(len(probes))

    def search(part: slice) -> None:
        squares = norms - 2.0 * (X[probes[part]] @ X.T)
        squares[np.arange(len(squares)), probes[part]] = np.inf
        errors = ROUNDING * np.sqrt(norms[probes[part]] * norms.max())
        for i, row, error in zip(range(part.start, part.stop), squares, errors, strict=True):
            nearest = np.flatnonzero(row <= row.min() + 4 * error)
            distances[i] = np.sqrt(squared_distances(X[probes[i]], X, nearest).min())

    for_slices(search, len(probes), 32, blas=True)
    return distances
