"""Centring, and thresholds at the median: any encoder, made for data that do not lie around the origin.

Signs compare projections with zero. Where the rows have a large common mean, as embeddings have, many projections have
one sign for all rows, and their bits say nothing. Centred, the code is that of x - m, m the mean of the training set.
For a linear method, sign(R (x - m)) = sign(R x - t) with t = R m: the mean becomes a threshold of each bit, which the
kernels of circulant and Hadamard codes compare with as they pack. Other methods are given x - m. Thresholds at the
median over the training set balance every bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import N_TRAIN, Encoder
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.encoders.wrapper import Wrapper
from cbe_bench.kernels.arrays import Array, Namespace, Place, column_medians, to_host
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.parallel import slices

THRESHOLDS = ("zero", "median")
_MEDIAN_VALUES = 1 << 27
"""Projections that medians are taken of, at most: those of some rows of a training set that has more."""
_ENCODE_VALUES = 1 << 21
"""Values of centred rows held at once while encoding."""


class Thresholded(Wrapper):
    """An encoder of centred vectors, with thresholds from the training set.

    Parameters
    ----------
    encoder : Encoder
        The encoder of the centred vectors; it is cloned, not fitted.
    center : bool
        Encode x less the mean of the training set.
    threshold : {"zero", "median"}
        What each projection is compared with: zero, or its median over the training set.
    n_bits : int or None
        Code length; None means that of the encoder, or else as many bits as there are features.
    random_state : int, RandomState or None
        Decides the draws of the encoder unless it has a random state of its own.

    Attributes
    ----------
    mean_ : float64 array of shape (d,)
        The mean of the training set; zero if not centred.
    thresholds_ : float64 array of shape (n_bits,)
        What the encoder's projections are compared with.
    encoder_ : Encoder
        The fitted encoder.
    """

    data_dependent = True
    steps = ("center", "threshold")

    def __init__(
        self,
        encoder: Encoder,
        *,
        center: bool = True,
        threshold: str = "zero",
        n_bits: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(encoder, n_bits=n_bits, random_state=random_state)
        self.center = center
        self.threshold = threshold

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Thresholds are not zero at the origin."""
        return False

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        if not isinstance(self.center, bool | np.bool_):
            raise InputError(f"{self.name}: center = {self.center!r}; allowed: True, False")
        if self.threshold not in THRESHOLDS:
            hint = did_you_mean(str(self.threshold), THRESHOLDS)
            raise InputError(f"{self.name}: threshold = {self.threshold!r}; {hint}")
        super().check_params(n_features)

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        self.mean_ = X.mean(axis=0, dtype=np.float64) if self.center else np.zeros(X.shape[1])
        rows = X if self.encoder.data_dependent else X[:1]
        self._fit_inner(self._centred(rows), y if self.encoder.data_dependent else None, rng, X.shape[1])
        self.thresholds_ = np.zeros(self.n_bits_)
        if self.threshold == "median":
            some = X[:: -(-len(X) * self.n_bits_ // _MEDIAN_VALUES)]
            self.thresholds_[:] = np.median(self._values(some), axis=0)
        elif self.encoder_.linear and self.center:
            self.thresholds_[:] = self.encoder_._project(self.mean_[None])[0]

    def _centred(self, X: NDArray) -> NDArray:
        return X - self.mean_.astype(X.dtype) if self.center else X

    def _values(self, X: NDArray) -> NDArray:
        """Return what the thresholds are compared with."""
        return self.encoder_._project(X if self.encoder_.linear else self._centred(X))

    def _project(self, X: NDArray) -> NDArray:
        values = self._values(X)
        values -= self.thresholds_.astype(X.dtype)
        return values

    def _encode(self, X: NDArray) -> Codes:
        thresholds = self.thresholds_.astype(X.dtype)
        if self.encoder_.linear or not self.center:
            return self.encoder_._encode_above(X, thresholds)
        parts = slices(len(X), max(1, _ENCODE_VALUES // X.shape[1]))
        return np.concatenate([self.encoder_._encode_above(self._centred(X[part]), thresholds) for part in parts])

    def _fit_array(self, xp: Namespace, X: Array, y: Any, rng: np.random.Generator) -> None:
        place = Place.of(X)
        mean = to_host(xp.mean(X, axis=0)) if self.center else np.zeros(X.shape[1])
        self.mean_ = mean.astype(np.float64)
        rows = X if self.encoder.data_dependent else X[:1, :]
        centred = rows - place.put(self.mean_) if self.center else rows
        self._fit_inner(centred, y if self.encoder.data_dependent else None, rng, X.shape[1])
        self.thresholds_ = np.zeros(self.n_bits_)
        if self.threshold == "median":
            some = X[:: -(-X.shape[0] * self.n_bits_ // _MEDIAN_VALUES), :]
            state = self._device_state(place)  # with thresholds of zero
            values = xp.concat(list(self._projections(xp, some, state)), axis=0)
            self.thresholds_[:] = to_host(column_medians(xp, values))
        elif self.encoder_.linear and self.center:
            self.thresholds_[:] = self.encoder_._project(self.mean_[None])[0]

    def _device_state(self, place: Place) -> tuple[Array, Array, Any]:
        return place.put(self.mean_), place.put(self.thresholds_), self.encoder_._device_state(place)

    def _project_array(self, xp: Namespace, X: Array, state: tuple[Array, Array, Any]) -> Array:
        mean, thresholds, inner = state
        rows = X if self.encoder_.linear or not self.center else X - mean
        return self.encoder_._project_array(xp, rows, inner) - thresholds

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        own = {"mean_": Field("f8", (n_features,)), "thresholds_": Field("f8", (self.bits(n_features),))}
        return super()._state_fields(n_features, shapes) | own

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        n_bits = self.bits(n_features)
        centred = 4 * n_train * n_features if self.center and self.encoder.data_dependent else 0
        medians = 8 * min(_MEDIAN_VALUES, n_train * n_bits) if self.threshold == "median" else 0
        own = 8 * (n_features + n_bits) + 8 * max(_ENCODE_VALUES, n_features)
        return super().memory_bytes(n_features, n_train) + own + max(centred, medians)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        return super().cost_estimate(n_features) + self.bits(n_features)
