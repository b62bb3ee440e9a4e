"""Circulant binary embedding: sign(circ(r) D x).

circ(r) is the d x d matrix whose columns are the rotations of r and D a diagonal of random signs. The product
is a circular convolution, so a code costs O(d log d) time and O(d) memory where a full matrix costs O(d k).
For k < d bits the first k values are kept; for k > d blocks with their own r and D are concatenated.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.encoders.base import Encoder, register
from cbe_bench.errors import InputError, did_you_mean
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.fftw import has_small_factors
from cbe_bench.kernels.fourier import CirculantProduct
from cbe_bench.kernels.fourstep import LongCirculantProduct, circulant_product

ROWS = ("first", "random", "strided")
_LONGEST_STRIDED = 1 << 16
"""Beyond this length all rows are computed faster than some."""


@register("cbe-rand")
class CBERand(Encoder):
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
        """Rows at a distance are others for every number of bits."""
        return self.rows != "strided"

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.rows not in ROWS:
            raise InputError(f"{self.name}: rows = {self.rows!r}; {did_you_mean(str(self.rows), ROWS)}")

    def _fit(self, X: NDArray, seed: int) -> None:
        d = X.shape[1]
        blocks = -(-self.n_bits_ // d)
        self.r_, self.signs_ = np.empty((blocks, d), np.float32), np.empty((blocks, d), np.int8)
        orders = np.empty((blocks, d if self.rows == "random" else 0), np.int32)
        for block in range(blocks):
            rng = np.random.default_rng([seed, block])
            self.r_[block] = self._draw(rng, d)
            self.signs_[block] = 2 * rng.integers(0, 2, d, dtype=np.int8) - 1
            if self.rows == "random":
                orders[block] = rng.permutation(d)
        self.__dict__.pop("order_", None)
        if self.rows == "random":
            self.order_ = orders
        self._products: dict[str, list[CirculantProduct | LongCirculantProduct]] = {}

    @staticmethod
    def _draw(rng: np.random.Generator, d: int) -> NDArray:
        return rng.standard_normal(d, dtype=np.float32)

    def _products_for(self, dtype: np.dtype) -> list[CirculantProduct | LongCirculantProduct]:
        """Return the blocks ready to multiply in one precision; made when first asked for, never saved."""
        products = self.__dict__.setdefault("_products", {})
        if dtype.name not in products:
            stride = self._stride(self.n_features_in_)
            pairs = zip(self.r_, self.signs_, strict=True)
            products[dtype.name] = [circulant_product(r, signs, dtype, stride) for r, signs in pairs]
        return products[dtype.name]

    def _stride(self, d: int) -> int:
        """Return the distance of the rows: the largest s with d/s >= k values, in pairs."""
        k = self.bits(d)
        if self.rows != "strided" or k > d or d > _LONGEST_STRIDED or not has_small_factors(d):
            return 1
        return next((s for s in range(d // k, 1, -1) if d % (2 * s) == 0), 1)

    def _project(self, X: NDArray) -> NDArray:
        d = X.shape[1]
        out = np.empty((len(X), self.n_bits_), X.dtype)
        for block, product in enumerate(self._products_for(X.dtype)):
            part = out[:, block * d : (block + 1) * d]
            if self.rows == "random":
                whole = np.empty((len(X), d), X.dtype)
                product.project(X, whole)
                part[:] = whole[:, self.order_[block, : part.shape[1]]]
            else:
                product.project(X, part)
        return out

    def _encode(self, X: NDArray) -> Codes:
        d, products = X.shape[1], self._products_for(X.dtype)
        if self.rows == "random" or (len(products) > 1 and d % 8):
            return super()._encode(X)
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for block, product in enumerate(products):
            n_bits = min(d, self.n_bits_ - block * d)
            first = block * d // 8
            product.encode(X, n_bits, codes[:, first : first + code_bytes(n_bits)])
        return codes

    def memory_bytes(self, n_features: int) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        blocks = -(-self.bits(n_features) // n_features)
        drawing = 40 * n_features  # transforms in double precision, where r is made from its spectrum
        return 20 * n_features * blocks + drawing + 128 * min(n_features, 1 << 18) + (1 << 24)

    def work(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: two FFTs a block."""
        blocks = -(-self.bits(n_features) // n_features)
        return 5 * blocks * n_features * (5 * np.log2(n_features + 1) + 10)


@register("cbe-orth")
class CBEOrth(CBERand):
    """Orthogonal random circulant embedding: every frequency of r has modulus one.

    circ(r) is then an orthogonal matrix: as cheap as cbe-rand, untrained, and its bits are less redundant.
    """

    @staticmethod
    def _draw(rng: np.random.Generator, d: int) -> NDArray:
        spectrum = np.fft.rfft(rng.standard_normal(d))
        return np.fft.irfft(spectrum / np.abs(spectrum), n=d)
