"""The base of steps around an encoder: an encoder of transformed vectors, or with changed thresholds, is an encoder."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cbe_bench.encoders.base import N_TRAIN, Encoder, seed_of
from cbe_bench.encoders.state import Field, Shapes

_INNER = "encoder_."
"""What the names of the fitted encoder's state begin with where they stand among those of the whole."""


class Wrapper(Encoder):
    """An encoder around another.

    Parameters
    ----------
    encoder : Encoder
        The encoder that is wrapped; it is cloned, not fitted.
    n_bits : int or None
        Code length; None means that of the encoder, or else as many bits as there are features.
    random_state : int, RandomState or None
        Decides the draws of this step, and those of the encoder unless it has a random state of its own.

    Attributes
    ----------
    encoder_ : Encoder
        The fitted encoder.
    """

    steps: tuple[str, ...] = ()
    """The parameters of this step, as `make_encoder` calls them."""

    def __init__(self, encoder: Encoder, *, n_bits: int | None = None, random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.encoder = encoder

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the encoder's method."""
        return self.encoder.name

    @property
    def data_dependent(self) -> bool:  # type: ignore[override]
        """Whether the encoder is data-dependent."""
        return self.encoder.data_dependent

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether the encoder is linear."""
        return self.encoder.linear

    @property
    def nested(self) -> bool:
        """Whether the codes of the encoder are nested."""
        return self.encoder.nested

    def code_blocks(self) -> list[slice] | None:
        """Return the blocks of bits of the fitted encoder."""
        return self.encoder_.code_blocks()

    def bits(self, n_features: int) -> int:
        """Return the code length for vectors of this many features."""
        return int(self.n_bits or self.encoder.bits(n_features))

    def inner_features(self, n_features: int) -> int:
        """Return the features of the vectors that the encoder is given."""
        return n_features

    def transformed(self, X: NDArray) -> NDArray:
        """Return the rows of X as the fitted encoder is given them."""
        return X

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        length = self.inner_features(n_features)
        self.encoder.check_params(length)
        self._inner(n_features).check_params(length)

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes that the encoder needs."""
        return self._inner(n_features).memory_bytes(self.inner_features(n_features), n_train)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector with the encoder."""
        return self._inner(n_features).cost_estimate(self.inner_features(n_features))

    def _inner(self, n_features: int) -> Encoder:
        """Return the wrapped encoder, unfitted, with the code length of the whole."""
        inner: Encoder = clone(self.encoder).set_params(n_bits=self.bits(n_features))
        return inner.set_resources(self.resources)

    def _fit_inner(self, X: NDArray, y: Any, rng: np.random.Generator, n_features: int) -> None:
        """Fit the wrapped encoder to transformed rows."""
        self.encoder_ = self._inner(n_features)
        if self.encoder_.random_state is None:
            self.encoder_.set_params(random_state=seed_of(rng))
        self.encoder_._fit_parameters(X, y)

    def _recipe(self) -> dict[str, Any]:
        own = {step: getattr(self, step) for step in self.steps}
        return self.encoder._recipe() | own

    def _fitted_state(self) -> dict[str, Any]:
        state = super()._fitted_state()
        inner = state.pop("encoder_")._fitted_state()
        return state | {_INNER + name: value for name, value in inner.items()}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith(_INNER)})
        self.encoder_ = self._inner(self.n_features_in_)
        self.encoder_._restore(_of_inner(state))

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        inner = self._inner(n_features)._state_fields(self.inner_features(n_features), _of_inner(shapes))
        return super()._state_fields(n_features, shapes) | {_INNER + name: field for name, field in inner.items()}


def _of_inner(state: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(_INNER): value for name, value in state.items() if name.startswith(_INNER)}
