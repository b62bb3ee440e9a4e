"""Principal components before an encoder: for k < d bits, the k directions of largest variance instead of any k.

A rotation of all d coordinates of which k are used loses (d - k)/d of the energy of a vector. The first k principal
components hold most of it; the encoder rotates those, so that each of its bits has a fair part. ITQ learns that
rotation, any other encoder of this package draws or computes it at less cost.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import N_TRAIN
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.encoders.wrapper import Wrapper
from cbe_bench.kernels.arrays import Array, Namespace, Place, matmul
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.linalg.principal import centred_products, principal_directions
from cbe_bench.kernels.parallel import slices

_VALUES = 1 << 23
"""Principal components in memory at once while encoding."""


class PrincipalComponents(Wrapper):
    """An encoder of as many principal components as there are bits, at most all.

    Parameters
    ----------
    encoder : Encoder
        The encoder of the components; it is cloned, not fitted.
    n_bits : int or None
        Code length; None means that of the encoder, or else as many bits as there are features.
    random_state : int, RandomState or None
        Decides the draws of the encoder unless it has a random state of its own.

    Attributes
    ----------
    mean_ : float64 array of shape (d,)
        The mean of the training set.
    components_ : float32 array of shape (min(n_bits, d), d)
        The principal directions, largest variance first; zero beyond those in which the training set varies.
    encoder_ : Encoder
        The fitted encoder.
    """

    data_dependent = True
    steps = ("pca",)
    pca = True

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """The mean is subtracted."""
        return False

    @property
    def nested(self) -> bool:
        """Other numbers of components are other vectors to the encoder."""
        return False

    def inner_features(self, n_features: int) -> int:
        """Return the number of components."""
        return min(self.bits(n_features), n_features)

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        count = self.inner_features(X.shape[1])
        self.mean_, directions = principal_directions(X, count)
        if not len(directions):
            raise InputError(f"{self.name}: no two rows of the training set differ (n_samples = {len(X)})")
        if len(directions) < count:
            varies = f"the training set varies in {len(directions)} directions only"
            warnings.warn(f"{self.name}: {varies}, {count} components were asked for", stacklevel=3)
        self.components_ = np.zeros((count, X.shape[1]), np.float32)
        self.components_[: len(directions)] = directions
        rows = X if self.encoder.data_dependent else X[:1]
        self._fit_inner(self.transformed(rows), y if self.encoder.data_dependent else None, rng, X.shape[1])

    def transformed(self, X: NDArray) -> NDArray:
        """Return the components of the rows of X, as the fitted encoder is given them."""
        return centred_products(X, self.mean_, self.components_)

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        for part in slices(len(X), max(32, _VALUES // len(self.components_))):
            out[part] = self.encoder_._project(self.transformed(X[part]))
        return out

    def _encode(self, X: NDArray) -> Codes:
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in slices(len(X), max(32, _VALUES // len(self.components_))):
            codes[part] = self.encoder_._encode(self.transformed(X[part]))
        return codes

    def _device_state(self, place: Place) -> tuple[Array, Array, Any]:
        return place.put(self.mean_), place.put(self.components_), self.encoder_._device_state(place)

    def _project_array(self, xp: Namespace, X: Array, state: tuple[Array, Array, Any]) -> Array:
        mean, components, inner = state
        return self.encoder_._project_array(xp, matmul(xp, X - mean, xp.matrix_transpose(components)), inner)

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        components = Field("f4", (self.inner_features(n_features), n_features))
        own = {"mean_": Field("f8", (n_features,)), "components_": components}
        return super()._state_fields(n_features, shapes) | own

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        side, count = min(n_features, n_train), self.inner_features(n_features)
        decomposition = 8 * max(2 * side * side, side * count + 2 * n_features * count)
        own = decomposition + 4 * count * (n_features + n_train) + (1 << 27)
        return super().memory_bytes(n_features, n_train) + own

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: a dense product, then the encoder's."""
        return super().cost_estimate(n_features) + 2.0 * n_features * self.inner_features(n_features)
