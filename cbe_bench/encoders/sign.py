"""Signs of the coordinates themselves: the baseline that every vector database ships.

Bit j is [x_j >= 0] for the first k coordinates, which is also how Matryoshka embeddings are cut, or for k coordinates
drawn at random. With `center=True` or `threshold="median"` (see `Thresholded`) bit j compares x_j with its mean or
median over the training set.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import ENCODE_VALUES, N_TRAIN, Encoder, register
from cbe_bench.encoders.state import Field, Shapes, index_field

COORDINATES = ("first", "random")


@register("sign")
class Sign(Encoder):
    """Signs of some coordinates; at most as many bits as features.

    Parameters
    ----------
    n_bits : int or None
        Code length k; None means as many bits as there are features.
    coordinates : {"first", "random"}
        The first k coordinates, or k in random order.
    random_state : int, RandomState or None
        Decides the order.

    Attributes
    ----------
    order_ : int64 array of shape (n_bits,)
        The coordinates, if they are random.
    """

    good_for = "vectors whose coordinates are balanced already: no cost at all, at most d bits"
    linear = True

    def __init__(self, n_bits: int | None = None, *, coordinates: str = "first", random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.coordinates = coordinates

    @property
    def nested(self) -> bool:
        """More bits are more coordinates."""
        return True

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.coordinates not in COORDINATES:
            hint = did_you_mean(str(self.coordinates), COORDINATES)
            raise InputError(f"{self.name}: coordinates = {self.coordinates!r}; {hint}")
        if self.bits(n_features) > n_features:
            raise InputError(f"{self.name}: n_bits = {self.n_bits}; at most the number of features, {n_features}")

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        self.__dict__.pop("order_", None)
        if self.coordinates == "random":
            self.order_ = rng.permutation(X.shape[1])[: self.n_bits_]

    def _project(self, X: NDArray) -> NDArray:
        return X[:, self.order_] if self.coordinates == "random" else X[:, : self.n_bits_].copy()

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        fields = super()._state_fields(n_features, shapes)
        if self.coordinates == "random":
            fields["order_"] = index_field("i8", n_features, self.bits(n_features))
        return fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        return 16 * n_features + 5 * max(ENCODE_VALUES, n_features)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        return float(self.bits(n_features))
