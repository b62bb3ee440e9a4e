"""Random circulant embeddings: sign(circ(r) D x) with r Gaussian, or Gaussian with a flat spectrum."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import Encoder, child_rng, register
from cbe_bench.encoders.circulant_base import CirculantEncoder, draw_signs
from cbe_bench.encoders.state import Field, Shapes, index_field
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.fft.fftw import has_small_factors

ROWS = ("first", "random", "strided")
_LONGEST_STRIDED = 1 << 16
"""Beyond this length all rows are computed faster than some."""


@register("cbe-rand")
class CBERand(CirculantEncoder):
    """Random circulant embedding: r is Gaussian.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    rows : {"first", "random", "strided"}
        Which rows of the circulant matrix give k < d bits: the first k, as in the paper; k in random order; or rows
        at a constant distance, which cost less the fewer they are. Where d has no suitable divisor, or is above
        65,536, "strided" is "first".
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

    def __init__(self, n_bits: int | None = None, *, rows: str = "first", random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.rows = rows

    @property
    def nested(self) -> bool:
        """Rows at a distance are others for every code length."""
        return self.rows != "strided"

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.rows not in ROWS:
            raise InputError(f"{self.name}: rows = {self.rows!r}; {did_you_mean(str(self.rows), ROWS)}")

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        d = X.shape[1]
        blocks = self._blocks(d)
        self.r_, self.signs_ = np.empty((blocks, d), np.float32), np.empty((blocks, d), np.int8)
        orders = np.empty((blocks, d if self.rows == "random" else 0), np.int32)
        for block in range(blocks):
            child = child_rng(rng, block)
            self.r_[block] = self._draw(child, d)
            self.signs_[block] = draw_signs(child, d)
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

    def _stride(self, d: int) -> int:
        """Return the distance of the rows: the largest s with d/s >= k values, in pairs."""
        k = self.bits(d)
        if self.rows != "strided" or k > d or d > _LONGEST_STRIDED or not has_small_factors(d):
            return 1
        return next((s for s in range(d // k, 1, -1) if d % (2 * s) == 0), 1)

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

    def _encode(self, X: NDArray) -> Codes:
        return Encoder._encode(self, X) if self.rows == "random" else super()._encode(X)


@register("cbe-orth")
class CBEOrth(CBERand):
    """Orthogonal random circulant embedding: every frequency of r has modulus one.

    circ(r) is then an orthogonal matrix: as cheap as cbe-rand, untrained, and its bits are less redundant.
    """

    encodes_as = "cbe-rand"

    @staticmethod
    def _draw(rng: np.random.Generator, d: int) -> NDArray:
        spectrum = np.fft.rfft(rng.standard_normal(d))
        return np.fft.irfft(spectrum / np.abs(spectrum), n=d)
