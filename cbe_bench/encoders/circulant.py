"""Random circulant embeddings: sign(circ(r) D x) with r Gaussian, or Gaussian with a flat spectrum."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.encoders.base import child_rng, register
from cbe_bench.encoders.circulant_base import CirculantEncoder
from cbe_bench.encoders.state import Field, Shapes, index_field


@register("cbe-rand")
class CBERand(CirculantEncoder):
    """Random circulant embedding: r is Gaussian.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    rows : {"first", "random", "strided"}
        Which rows of the circulant matrix give k < d bits: the first k, as in the paper; k in random order; or every
        s-th row, s a power of two up to d/k, which costs less the fewer they are.
    sign_flips : bool
        Whether D is random signs; else it is the identity, and vectors that repeat give bits that repeat.
    random_state : int, RandomState or None
        Decides r and the signs.

    Attributes
    ----------
    r_ : float32 array of shape (blocks, d)
        First column of the circulant matrix of each block of d bits.
    signs_ : int8 array of shape (blocks, d)
        The sign flips of each block.
    order_ : int32 array of shape (blocks, d)
        The order of the rows, if it is random.
    """

    good_for = "long vectors and long codes without training: O(d log d) time, O(d) memory"
    allowed_rows = ("first", "random", "strided")

    def __init__(
        self, n_bits: int | None = None, *, rows: str = "first", sign_flips: bool = True, random_state: Any = None
    ) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.rows = rows
        self.sign_flips = sign_flips

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        d = X.shape[1]
        blocks = self._blocks(d)
        self.r_, self.signs_ = np.empty((blocks, d), np.float32), np.empty((blocks, d), np.int8)
        orders = np.empty((blocks, d if self.rows == "random" else 0), np.int32)
        for block in range(blocks):
            child = child_rng(rng, block)
            self.r_[block] = self._draw(child, d)
            self.signs_[block] = self._draw_signs(child, d)
            if self.rows == "random":
                orders[block] = child.permutation(d)
        self.__dict__.pop("order_", None)
        if self.rows == "random":
            self.order_ = orders
        self._products: dict[str, list] = {}

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        fields = super()._state_fields(n_features, shapes)
        if self.rows == "random":
            fields["order_"] = index_field("i4", n_features, self._blocks(n_features), n_features)
        return fields

    @staticmethod
    def _draw(rng: np.random.Generator, d: int) -> NDArray:
        return rng.standard_normal(d, dtype=np.float32)

    def _project(self, X: NDArray) -> NDArray:
        if self.rows != "random":
            return super()._project(X)
        d = X.shape[1]
        out, whole = np.empty((len(X), self.n_bits_), X.dtype), np.empty((len(X), d), X.dtype)
        for block, product in enumerate(self._products_for(X.dtype)):
            part = out[:, block * d : (block + 1) * d]
            product.project(X, whole)
            part[:] = whole[:, self.order_[block, : part.shape[1]]]
        return out

    @property
    def _whole_bytes(self) -> bool:
        """Values in random order are packed after the product."""
        return self.rows != "random" and super()._whole_bytes


@register("cbe-orth")
class CBEOrth(CBERand):
    """Orthogonal random circulant embedding: every frequency of r has modulus one.

    circ(r) is then an orthogonal matrix: as cheap as cbe-rand, untrained, and its bits are less redundant.
    """

    good_for = "the first choice without training: as fast as cbe-rand, less noise in angles"
    encodes_as = "cbe-rand"

    @staticmethod
    def _draw(rng: np.random.Generator, d: int) -> NDArray:
        spectrum = np.fft.rfft(rng.standard_normal(d))
        return np.fft.irfft(spectrum / np.abs(spectrum), n=d)
