"""What circulant embeddings have in common: sign(circ(r) D x), however r comes about.

circ(r) is the d x d matrix whose columns are the rotations of r and D a diagonal of random signs. The product
is a circular convolution, so a code costs O(d log d) time and O(d) memory where a full matrix costs O(d k).
For k < d bits the first k values are used, or k values at a constant distance, which cost less; for k > d blocks with
their own r and D are concatenated.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import N_TRAIN, Encoder
from cbe_bench.encoders.state import Field, Shapes, sign_field
from cbe_bench.kernels.arrays import Array, Namespace, Place
from cbe_bench.kernels.arrays import circulant_product as circulant_array_product
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.fft.circulant import CirculantProduct
from cbe_bench.kernels.fft.circulant_product import circulant_product
from cbe_bench.kernels.fft.circulant_strided import row_stride, strided_bytes
from cbe_bench.kernels.fft.row_product import RowProduct
from cbe_bench.kernels.single import EncodeSingle


class CirculantBlock(NamedTuple):
    """A block of bits on a device: D, the spectrum of r, and which rows of circ(r) D are used."""

    signs: Array
    spectrum: Array
    rows: Any


class CirculantEncoder(Encoder):
    """sign(circ(r) D x) for r and D in the attributes `r_` and `signs_`, a row for each block of d bits."""

    linear = True

    allowed_rows: ClassVar[tuple[str, ...]] = ("first", "strided")

    rows: str
    sign_flips: bool
    r_: NDArray[np.float32]
    signs_: NDArray[np.int8]

    @property
    def nested(self) -> bool:
        """Whether the code of fewer bits is the beginning of the code of more bits: strided rows depend on n_bits."""
        return not self.data_dependent and self.rows != "strided"

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.rows not in self.allowed_rows:
            raise InputError(f"{self.name}: rows = {self.rows!r}; {did_you_mean(str(self.rows), self.allowed_rows)}")
        if not isinstance(self.sign_flips, bool):
            raise InputError(f"{self.name}: sign_flips = {self.sign_flips!r}; allowed: True, False")

    def _blocks(self, n_features: int) -> int:
        return -(-self.bits(n_features) // n_features)

    def _draw_signs(self, rng: np.random.Generator, d: int) -> NDArray[np.int8]:
        """Draw the diagonal of D; without sign flips it is all ones, and what is drawn after it is the same."""
        signs = 2 * rng.integers(0, 2, d, dtype=np.int8) - 1
        return signs if self.sign_flips else np.ones(d, np.int8)

    def _stride(self, d: int) -> int:
        """Return the distance of the rows of circ(r) that are used."""
        return row_stride(d, self.bits(d)) if self.rows == "strided" else 1

    def _products_for(self, dtype: np.dtype) -> list[RowProduct]:
        """Return the blocks ready to multiply in one precision; made when first asked for, never saved."""
        products = self.__dict__.setdefault("_products", {})
        if dtype.name not in products:
            stride = self._stride(self.n_features_in_)
            pairs = zip(self.r_, self.signs_, strict=True)
            products[dtype.name] = [circulant_product(r, flips, dtype, stride) for r, flips in pairs]
        blocks: list[RowProduct] = products[dtype.name]
        return blocks

    def _project(self, X: NDArray) -> NDArray:
        d = X.shape[1]
        out = np.empty((len(X), self.n_bits_), X.dtype)
        for block, product in enumerate(self._products_for(X.dtype)):
            product.project(X, out[:, block * d : (block + 1) * d])
        return out

    def _encode(self, X: NDArray) -> Codes:
        return self._pack(X, None) if self._whole_bytes else super()._encode(X)

    def _encode_above(self, X: NDArray, thresholds: NDArray) -> Codes:
        return self._pack(X, thresholds) if self._whole_bytes else super()._encode_above(X, thresholds)

    @property
    def _whole_bytes(self) -> bool:
        """Whether the code of every block begins with a byte of its own."""
        return len(self.r_) == 1 or self.n_features_in_ % 8 == 0

    def _pack(self, X: NDArray, thresholds: NDArray | None) -> Codes:
        """Return the packed signs of the products, less thresholds if there are any."""
        d, products = X.shape[1], self._products_for(X.dtype)
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for block, product in enumerate(products):
            bits = slice(block * d, min((block + 1) * d, self.n_bits_))
            part = codes[:, bits.start // 8 : code_bytes(bits.stop)]
            product.encode(X, bits.stop - bits.start, part, None if thresholds is None else thresholds[bits])
        return codes

    def _single(self) -> EncodeSingle:
        product = self._products_for(np.dtype(np.float32))[0]
        if isinstance(product, CirculantProduct) and self.n_bits_ <= self.n_features_in_ and self.rows == "first":
            return product.single(self.n_bits_)
        return super()._single()

    def _device_state(self, place: Place) -> list[CirculantBlock]:
        stride, orders = self._stride(self.n_features_in_), getattr(self, "order_", None)
        blocks = []
        for block, (r, signs) in enumerate(zip(self.r_, self.signs_, strict=True)):
            n_bits = min(len(r), self.n_bits_ - block * len(r))
            rows = slice(0, n_bits * stride, stride) if orders is None else place.put(orders[block, :n_bits])
            spectrum = place.put(np.fft.rfft(r.astype(np.float64)))
            blocks.append(CirculantBlock(place.put(signs.astype(np.float32)), spectrum, rows))
        return blocks

    def _project_array(self, xp: Namespace, X: Array, state: list[CirculantBlock]) -> Array:
        values = []
        for signs, spectrum, rows in state:
            whole = circulant_array_product(xp, X, signs, spectrum)
            values.append(whole[:, rows] if isinstance(rows, slice) else xp.take(whole, rows, axis=1))
        return values[0] if len(values) == 1 else xp.concat(values, axis=1)

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        blocks = self._blocks(n_features)
        fields = {"r_": Field("f4", (blocks, n_features)), "signs_": sign_field(blocks, n_features)}
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        drawing = 40 * n_features  # transforms in double precision, where r is made from its spectrum
        products = 20 * n_features * self._blocks(n_features) + strided_bytes(n_features, self._stride(n_features))
        return products + drawing + 128 * min(n_features, 1 << 18) + (1 << 22)  # plans included

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: two FFTs a block."""
        return 5 * self._blocks(n_features) * n_features * (5 * np.log2(n_features + 1) + 10)
