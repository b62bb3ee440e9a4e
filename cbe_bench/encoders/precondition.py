"""Hadamard pre-conditioning: any encoder, of x -> H D x instead of x.

Structured projections do well on vectors whose energy is distributed over all features and less well on peaky ones.
Random signs D and a Walsh-Hadamard matrix H, scaled to a rotation, preserve all angles and flatten any vector. The
transform needs a power of two: vectors are padded with zeros, or, without padding, cut into blocks of the largest
power of two that divides their length (25,600 features: 25 blocks of 1,024), each with a transform of its own.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import N_TRAIN, Encoder
from cbe_bench.encoders.state import Field, Shapes, sign_field
from cbe_bench.encoders.wrapper import Wrapper
from cbe_bench.kernels.arrays import (
    Array,
    Namespace,
    Place,
    hadamard_factors,
    hadamard_transform,
    padded_rows,
)
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.hadamard import fwht, padded_length
from cbe_bench.kernels.parallel import slices

PRECONDITIONS = ("hadamard", "hadamard-blocks")
_VALUES = 1 << 24
"""Values of transformed vectors in memory at once while encoding."""


class Preconditioned(Wrapper):
    """An encoder of vectors that a random rotation has flattened: their energy is distributed over all features.

    Parameters
    ----------
    encoder : Encoder
        The encoder of the transformed vectors; it is cloned, not fitted.
    precondition : {"hadamard", "hadamard-blocks"}
        Transform the whole vector, padded to a power of two, or blocks of a power of two, without padding.
    n_bits : int or None
        Code length; None means that of the encoder, or else as many bits as there are features.
    random_state : int, RandomState or None
        Decides the signs, and the draws of the encoder unless it has a random state of its own.

    Attributes
    ----------
    signs_ : int8 array of shape (features of a transformed vector,)
        The sign flips.
    encoder_ : Encoder
        The fitted encoder.
    """

    steps = ("precondition",)

    def __init__(
        self,
        encoder: Encoder,
        *,
        precondition: str = "hadamard",
        n_bits: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(encoder, n_bits=n_bits, random_state=random_state)
        self.precondition = precondition

    def inner_features(self, n_features: int) -> int:
        """Return the features of a transformed vector."""
        return self.shape(n_features)[0]

    def shape(self, n_features: int) -> tuple[int, int]:
        """Return the features of a transformed vector and of a block that is transformed."""
        if self.precondition == "hadamard":
            return padded_length(n_features), padded_length(n_features)
        return n_features, n_features & -n_features

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        if self.precondition not in PRECONDITIONS:
            hint = did_you_mean(str(self.precondition), PRECONDITIONS)
            raise InputError(f"{self.name}: precondition = {self.precondition!r}; {hint}")
        length, block = self.shape(n_features)
        if block == 1 < length:
            raise InputError(
                f"{self.name}: precondition = 'hadamard-blocks' needs an even number of features, found {n_features}; "
                "'hadamard' pads"
            )
        super().check_params(n_features)

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        self._draw_signs(X.shape[1], rng)
        rows = X if self.data_dependent else X[:1]
        self._fit_inner(self.transformed(rows), y if self.data_dependent else None, rng, X.shape[1])

    def _draw_signs(self, n_features: int, rng: np.random.Generator) -> None:
        self.signs_ = 2 * rng.integers(0, 2, self.inner_features(n_features), dtype=np.int8) - 1

    def transformed(self, X: NDArray) -> NDArray:
        """Return the transforms of the rows of X, as the fitted encoder is given them."""
        length, block = self.shape(X.shape[1])
        out = np.zeros((len(X), length), X.dtype)
        out[:, : X.shape[1]] = X
        fwht(out, self.signs_, block)
        out *= X.dtype.type(1 / np.sqrt(block))
        return out

    def _parts(self, X: NDArray) -> list[slice]:
        return slices(len(X), max(32, _VALUES // len(self.signs_)))

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        for part in self._parts(X):
            out[part] = self.encoder_._project(self.transformed(X[part]))
        return out

    def _encode(self, X: NDArray) -> Codes:
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in self._parts(X):
            codes[part] = self.encoder_._encode(self.transformed(X[part]))
        return codes

    def _encode_above(self, X: NDArray, thresholds: NDArray) -> Codes:
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in self._parts(X):
            codes[part] = self.encoder_._encode_above(self.transformed(X[part]), thresholds)
        return codes

    def _fit_array(self, xp: Namespace, X: Array, y: Any, rng: np.random.Generator) -> None:
        if not self.data_dependent:
            super()._fit_array(xp, X, y, rng)
            return
        self._draw_signs(X.shape[1], rng)
        rows = self._transformed_array(xp, X, *self._own_state(Place.of(X)))
        self._fit_inner(rows, y, rng, X.shape[1])

    def _own_state(self, place: Place) -> tuple[Array, list[Array]]:
        """Return the sign flips, scaled so that the transform is a rotation, and its factors."""
        block = self.shape(self.n_features_in_)[1]
        return place.put(self.signs_ / np.sqrt(block)), [place.put(factor) for factor in hadamard_factors(block)]

    def _device_state(self, place: Place) -> tuple[Array, list[Array], Any]:
        return *self._own_state(place), self.encoder_._device_state(place)

    def _transformed_array(self, xp: Namespace, X: Array, signs: Array, factors: list[Array]) -> Array:
        return hadamard_transform(xp, padded_rows(xp, X, signs.shape[0]) * signs, factors)

    def _project_array(self, xp: Namespace, X: Array, state: tuple[Array, list[Array], Any]) -> Array:
        *own, inner = state
        return self.encoder_._project_array(xp, self._transformed_array(xp, X, *own), inner)

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        length = self.inner_features(n_features)
        return super().memory_bytes(n_features, n_train) + 10 * length + 8 * max(32 * length, _VALUES)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        length, block = self.shape(n_features)
        return float(super().cost_estimate(n_features) + 5 * length * np.log2(block + 1))

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        signs = sign_field(self.inner_features(n_features))
        return super()._state_fields(n_features, shapes) | {"signs_": signs}
