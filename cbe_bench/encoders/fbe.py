"""Fast binary embedding (Yi, Caramanis & Price): Toeplitz blocks over a sampled Walsh-Hadamard transform.

y = S H D x holds n values of the transform, at places drawn by S; each of B blocks of bits is sign(T y), T a Gaussian
Toeplitz matrix of k/B rows. Blocks are independent given y, so the *median* over blocks of their Hamming distances
concentrates even where a single one strays: that is the method's own distance. The sum over all bits is the usual
one.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import N_TRAIN, Encoder, register
from cbe_bench.encoders.state import Field, Shapes, index_field, sign_field
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.fft.toeplitz import ToeplitzBlocks, piece_lengths
from cbe_bench.kernels.hadamard import for_rows, padded_length, transform
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.parallel import slices

_ROWS_PER_BIT = 1.3
"""Values of the transform for each bit, unless asked for otherwise."""
_VALUES = 1 << 22
"""Values of the transform held at once while encoding."""


@register("fbe")
class FBE(Encoder):
    """Partial Gaussian Toeplitz blocks after a partial Walsh-Hadamard transform.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    n_rows : int or None
        Rows of the Walsh-Hadamard matrix that are kept; None means 1.3 for each bit, or all where there are fewer.
    blocks : int
        Blocks of bits, as even as possible; no more than there are bits.
    random_state : int, RandomState or None
        Decides signs, rows and Toeplitz matrices.

    Attributes
    ----------
    signs_ : int8 array of shape (padded length,)
        The sign flips.
    places_ : int32 array of shape (n_rows,)
        The rows of the Walsh-Hadamard matrix.
    toeplitz_ : float32 array of shape (blocks, n_rows + rows of the largest block - 1)
        The numbers of each Toeplitz matrix, T[i, j] = g[i - j + n_rows - 1].
    """

    good_for = "distances estimated by the median over blocks, with guarantees for all pairs"
    linear = True

    def __init__(
        self, n_bits: int | None = None, *, n_rows: int | None = None, blocks: int = 10, random_state: Any = None
    ) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.n_rows = n_rows
        self.blocks = blocks

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        length = padded_length(n_features)
        if self.n_rows is not None and not (isinstance(self.n_rows, int | np.integer) and 1 <= self.n_rows <= length):
            raise InputError(f"{self.name}: n_rows = {self.n_rows!r}; it must be an integer from 1 to {length}")
        if not isinstance(self.blocks, int | np.integer) or self.blocks < 1:
            raise InputError(f"{self.name}: blocks = {self.blocks!r}; it must be a positive integer")

    def rows(self, n_features: int) -> int:
        """Return how many values of the transform are kept."""
        return int(self.n_rows or min(np.ceil(_ROWS_PER_BIT * self.bits(n_features)), padded_length(n_features)))

    def block_sizes(self, n_features: int) -> NDArray[np.int64]:
        """Return the bits of each block."""
        n_bits = self.bits(n_features)
        count = min(self.blocks, n_bits)
        return np.diff(np.arange(count + 1) * n_bits // count)

    def code_blocks(self) -> list[slice]:
        """Return the bits of each block, whose distances have a median."""
        ends = np.cumsum(self.block_sizes(self.n_features_in_)).tolist()
        return [slice(first, last) for first, last in zip([0, *ends], ends, strict=False)]

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        length, n, sizes = padded_length(X.shape[1]), self.rows(X.shape[1]), self.block_sizes(X.shape[1])
        self.signs_ = 2 * rng.integers(0, 2, length, dtype=np.int8) - 1
        self.places_ = rng.permutation(length)[:n].astype(np.int32)
        self.toeplitz_ = rng.standard_normal((len(sizes), n + sizes.max() - 1), dtype=np.float32)
        self._products: dict[str, ToeplitzBlocks] = {}
        self._scratch = Scratch()

    def _product_for(self, dtype: np.dtype) -> ToeplitzBlocks:
        """Return the blocks ready to multiply in one precision; made when first asked for, never saved."""
        products = self.__dict__.setdefault("_products", {})
        if dtype.name not in products:
            sizes = self.block_sizes(self.n_features_in_)
            products[dtype.name] = ToeplitzBlocks(self.toeplitz_, len(self.places_), sizes, dtype)
        return products[dtype.name]

    def _transformed(self, X: NDArray) -> NDArray:
        return _sampled_transform(X, self.signs_, self.places_, self.__dict__.setdefault("_scratch", Scratch()))

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        for part in slices(len(X), max(1, _VALUES // len(self.places_))):
            self._product_for(X.dtype).project(self._transformed(X[part]), out[part])
        return out

    def _encode(self, X: NDArray) -> Codes:
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in slices(len(X), max(1, _VALUES // len(self.places_))):
            self._product_for(X.dtype).encode(self._transformed(X[part]), codes[part])
        return codes

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        length, n, n_bits = padded_length(n_features), self.rows(n_features), self.bits(n_features)
        count = min(self.blocks, n_bits)
        fields = {
            "signs_": sign_field(length),
            "places_": index_field("i4", length, n),
            "toeplitz_": Field("f4", (count, n + -(-n_bits // count) - 1)),
        }
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        n, sizes = self.rows(n_features), self.block_sizes(n_features)
        _, length, pieces = piece_lengths(n, sizes.max())
        toeplitz = len(sizes) * (4 * (n + sizes.max()) + 8 * length * pieces) + 160 * length
        transform = 48 * padded_length(n_features) + 4 * max(n, _VALUES)
        return int(toeplitz + transform) + (1 << 20)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: a transform, an FFT a piece and a block, products of spectra."""
        padded, n, sizes = padded_length(n_features), self.rows(n_features), self.block_sizes(n_features)
        _, length, pieces = piece_lengths(n, sizes.max())
        ffts = (pieces + len(sizes)) * 2.5 * length * np.log2(length + 1)
        return float(5 * (padded * np.log2(padded + 1) + ffts) + 8.0 * len(sizes) * pieces * length)


def _sampled_transform(X: NDArray, signs: NDArray[np.int8], places: NDArray[np.int32], scratch: Scratch) -> NDArray:
    """Return the values of H (signs * x) / sqrt(length) at some places, of each row x, zero-padded."""
    out = np.empty((len(X), len(places)), X.dtype)
    length = len(signs)

    def some_rows(some: slice) -> None:
        _sample_rows(X[some], signs, places, scratch.array("vector", (length,), X.dtype), out[some])

    for_rows(some_rows, len(X), length)
    return out


@njit(nogil=True, cache=True)
def _sample_rows(X, signs, places, x, out):  # type: ignore[no-untyped-def]
    d, length = X.shape[1], x.shape[0]
    scale = x.dtype.type(1 / np.sqrt(length))
    for i in range(X.shape[0]):
        x[:d] = X[i]
        x[d:] = 0
        transform(x, signs, 0, length)
        for j in range(places.shape[0]):
            out[i, j] = scale * x[places[j]]
