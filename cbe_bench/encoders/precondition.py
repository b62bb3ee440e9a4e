"""Hadamard pre-conditioning: any encoder, of x -> H D x instead of x.

Structured projections do well on vectors whose energy is spread over all their features and less well on peaky ones.
Random signs D and a Walsh-Hadamard matrix H, scaled to a rotation, keep all angles and spread any vector. The
transform needs a power of two: vectors are padded with zeros, or, without padding, cut into blocks of the largest
power of two that divides their length (25,600 features: 25 blocks of 1,024), each with a transform of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import N_TRAIN, Encoder, seed_of
from cbe_bench.encoders.state import Field, Shapes, sign_field
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.hadamard import fwht, padded_length
from cbe_bench.kernels.parallel import slices

PRECONDITIONS = ("hadamard", "hadamard-blocks")
_VALUES = 1 << 24
"""Values of transformed vectors held at once while encoding."""
_INNER = "encoder_."
"""What the names of the fitted encoder's state begin with where they stand among those of the whole."""


class Preconditioned(Encoder):
    """An encoder of vectors that a random rotation has spread over all features.

    Parameters
    ----------
    encoder : Encoder
        The encoder of the transformed vectors; it is copied, not fitted.
    precondition : {"hadamard", "hadamard-blocks"}
        Transform the whole vector, padded to a power of two, or blocks of a power of two, without padding.
    n_bits : int or None
        Bits of a code; None means those of the encoder, or else as many as there are features.
    random_state : int, RandomState or None
        Decides the signs, and the draws of the encoder unless it has a random state of its own.

    Attributes
    ----------
    signs_ : int8 array of shape (features of a transformed vector,)
        The sign flips.
    encoder_ : Encoder
        The fitted encoder.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        precondition: str = "hadamard",
        n_bits: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.encoder = encoder
        self.precondition = precondition

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the encoder."""
        return self.encoder.name

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the encoder learns."""
        return self.encoder.learns

    @property
    def nested(self) -> bool:
        """Whether the codes of the encoder are nested."""
        return self.encoder.nested

    def code_blocks(self) -> list[slice] | None:
        """Return the blocks of bits of the fitted encoder."""
        return self.encoder_.code_blocks()

    def bits(self, n_features: int) -> int:
        """Return the bits of a code of vectors of this many features."""
        return int(self.n_bits or self.encoder.bits(n_features))

    def lengths(self, n_features: int, most: int) -> Sequence[int]:
        """Return the numbers of bits that make good use of the encoder's time."""
        return self._inner(n_features).lengths(self.shape(n_features)[0], most)

    def shape(self, n_features: int) -> tuple[int, int]:
        """Return the features of a transformed vector and of a block that is transformed."""
        if self.precondition == "hadamard":
            return padded_length(n_features), padded_length(n_features)
        return n_features, n_features & -n_features

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.precondition not in PRECONDITIONS:
            hint = did_you_mean(str(self.precondition), PRECONDITIONS)
            raise InputError(f"{self.name}: precondition = {self.precondition!r}; {hint}")
        length, block = self.shape(n_features)
        if block == 1 < length:
            raise InputError(
                f"{self.name}: precondition = 'hadamard-blocks' needs an even number of features, found {n_features}; "
                "'hadamard' pads"
            )
        self.encoder.check_params(length)
        self._inner(n_features).check_params(length)

    def _inner(self, n_features: int) -> Encoder:
        """Return the encoder of the transformed vectors, unfitted."""
        inner: Encoder = clone(self.encoder).set_params(n_bits=self.bits(n_features))
        return inner.set_resources(self.resources)

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        length, _ = self.shape(X.shape[1])
        self.signs_ = 2 * rng.integers(0, 2, length, dtype=np.int8) - 1
        self.encoder_ = self._inner(X.shape[1])
        if self.encoder_.random_state is None:
            self.encoder_.set_params(random_state=seed_of(rng))
        self.encoder_.fit(self._transformed(X if self.learns else X[:1]), y if self.learns else None)

    def _transformed(self, X: NDArray) -> NDArray:
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
            out[part] = self.encoder_._project(self._transformed(X[part]))
        return out

    def _encode(self, X: NDArray) -> Codes:
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in self._parts(X):
            codes[part] = self.encoder_._encode(self._transformed(X[part]))
        return codes

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        length, _ = self.shape(n_features)
        inner_shapes = {name.removeprefix(_INNER): shape for name, shape in shapes.items() if name.startswith(_INNER)}
        inner = self._inner(n_features)._state_fields(length, inner_shapes)
        own = super()._state_fields(n_features, shapes) | {"signs_": sign_field(length)}
        return own | {_INNER + name: field for name, field in inner.items()}

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        length, _ = self.shape(n_features)
        return self._inner(n_features).memory_bytes(length, n_train) + 10 * length + 8 * max(32 * length, _VALUES)

    def work(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        length, block = self.shape(n_features)
        return float(self._inner(n_features).work(length) + 5 * length * np.log2(block + 1))

    def _recipe(self) -> dict[str, Any]:
        return {**self.encoder._recipe(), "precondition": self.precondition, "n_bits": self.bits(self.n_features_in_)}

    def _fitted_state(self) -> dict[str, Any]:
        state = super()._fitted_state()
        inner = state.pop("encoder_")._fitted_state()
        return state | {_INNER + name: value for name, value in inner.items()}

    def _restore(self, state: dict[str, Any]) -> None:
        inner = {name.removeprefix(_INNER): value for name, value in state.items() if name.startswith(_INNER)}
        super()._restore({name: value for name, value in state.items() if not name.startswith(_INNER)})
        self.encoder_ = self._inner(self.n_features_in_)
        self.encoder_._restore(inner)
