"""Spectral hashing: the slowest eigenfunctions along principal directions of the data.

On a box of uniformly distributed data the graph Laplacian's eigenfunctions are products of cosines; those that vary
along one direction i, of range R_i, are cos(j pi (v - min_i) / R_i) with eigenvalues (j pi / R_i)^2, j = 1, 2, ...
The code holds the signs of the k of smallest eigenvalue: long directions give several bits, short ones none.
Nothing is drawn: the training set decides everything.
"""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import N_TRAIN, Encoder, register
from cbe_bench.encoders.state import Field, Shapes, index_field
from cbe_bench.kernels.linalg.principal import centred_products, principal_directions
from cbe_bench.kernels.linalg.products import ROUNDING, near_zero, paired_products, squared_norms
from cbe_bench.kernels.parallel import for_slices

_TASK_VALUES = 1 << 19


def slowest_modes(ranges: NDArray, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return direction i and number j of the `count` eigenfunctions of smallest j / ranges[i], the slowest first."""
    modes = [(1 / length, i, 1) for i, length in enumerate(ranges.tolist()) if length > 0]
    heapq.heapify(modes)
    chosen = []
    for _ in range(count):
        _, i, j = modes[0]
        chosen.append((i, j))
        heapq.heapreplace(modes, ((j + 1) / float(ranges[i]), i, j + 1))
    directions, numbers = np.array(chosen, np.int64).T
    return directions, numbers


@register("sh")
class SpectralHashing(Encoder):
    """Signs of the slowest eigenfunctions along principal directions.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    random_state : int, RandomState or None
        Taken as by every encoder; nothing is drawn.

    Attributes
    ----------
    mean_ : float64 array of shape (d,)
        The mean of the training set.
    components_ : float32 array of shape (directions used, d)
        The principal directions that are used.
    direction_ : int array of shape (n_bits,)
        The direction of each bit's eigenfunction.
    frequency_, start_ : float64 arrays of shape (n_bits,)
        j pi / R and the smallest value along the direction, of each bit.
    """

    good_for = "very short codes of data that vary along few directions"
    data_dependent = True

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        mean, directions = principal_directions(X, self.n_bits_)
        if not len(directions):
            raise InputError(f"{self.name}: no two rows of the training set differ (n_samples = {len(X)})")
        V = centred_products(X, mean, directions)
        low, ranges = V.min(axis=0).astype(np.float64), np.ptp(V, axis=0).astype(np.float64)
        direction, numbers = slowest_modes(ranges, self.n_bits_)
        used, self.direction_ = np.unique(direction, return_inverse=True)
        self.mean_, self.components_ = mean, directions[used].astype(np.float32)
        self.frequency_ = np.pi * numbers / ranges[direction]
        self.start_ = low[direction]

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        mean, components, frequency, start = (
            values.astype(X.dtype, copy=False)
            for values in (self.mean_, self.components_, self.frequency_, self.start_)
        )

        def project(part: slice) -> None:
            centred = X[part] - mean
            values = (centred @ components.T).take(self.direction_, axis=1)
            values -= start
            values *= frequency
            np.cos(values, out=out[part])
            if X.dtype == np.float32:  # settle the signs that rounding leaves open
                norms = np.sqrt(squared_norms(centred))[:, None]
                rows, bits = near_zero(out[part], ROUNDING * frequency * (norms + np.abs(start)))
                exact = paired_products(centred, components, rows, self.direction_[bits])
                out[part][rows, bits] = np.cos((exact - self.start_[bits]) * self.frequency_[bits])

        for_slices(project, len(X), max(32, _TASK_VALUES // max(X.shape[1], self.n_bits_)), blas=True)
        return out

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        n_bits, used = self.bits(n_features), shapes.get("components_", (0,))[0]
        fields = {
            "mean_": Field("f8", (n_features,)),
            "components_": Field("f4", (used, n_features)),
            "direction_": index_field("i8", used, n_bits),
            "frequency_": Field("f8", (n_bits,)),
            "start_": Field("f8", (n_bits,)),
        }
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        side, k = min(n_features, n_train), self.bits(n_features)
        count = min(side, k)
        decompositions = 8 * max(2 * side * side, side * count + 2 * n_features * count)
        return decompositions + 4 * n_train * count + 256 * (k + count) + (1 << 28)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector, all directions used."""
        k = self.bits(n_features)
        return 2.0 * n_features * min(k, n_features) + 50.0 * k
