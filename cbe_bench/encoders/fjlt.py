"""The fast Johnson-Lindenstrauss transform: sign(P H D x), P a sparse Gaussian matrix.

H D spreads the energy of a vector over all its d' places (d' the next power of two), so that a row of P that looks at
a small share of them sees a fair sample. P costs density * k * d' operations and memory: only a low density is fast.
Its rows are drawn in tiles, each from its own seed: the code of fewer bits begins the code of more.
"""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders._fjlt_product import SparseMatrix, chunk_rows, multiply_transformed
from cbe_bench.encoders.base import N_TRAIN, Encoder, child_rng, register
from cbe_bench.encoders.state import Field, Shapes, index_field, sign_field
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.hadamard import padded_length
from cbe_bench.kernels.output import Signs, Values
from cbe_bench.kernels.parallel import for_slices
from cbe_bench.kernels.simd.vector import LANES

_TILE_BITS = 64
"""Rows of P drawn from one seed."""


@register("fjlt")
class FJLT(Encoder):
    """A sparse Gaussian matrix after a Walsh-Hadamard transform.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    density : float
        Share of the places in a row of P that are not zero: as many in every row, one at least.
    random_state : int, RandomState or None
        Decides the signs and P.

    Attributes
    ----------
    signs_ : int8 array of shape (padded length,)
        The sign flips.
    columns_ : uint16 or uint32 array of shape (n_bits, entries of a row)
        Where the entries of P are.
    entries_ : float32 array of shape (n_bits, entries of a row)
        What they are.
    """

    good_for = "angles of sparse vectors, at the cost of more memory than circulant matrices"
    linear = True

    def __init__(self, n_bits: int | None = None, *, density: float = 0.01, random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.density = density

    @property
    def nested(self) -> bool:
        """Rows of P do not depend on how many there are."""
        return True

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if not isinstance(self.density, Real) or not 0 < self.density <= 1:
            raise InputError(f"{self.name}: density = {self.density!r}; it must be above 0 and at most 1")

    def row_entries(self, n_features: int) -> int:
        """Return the entries of a row of P."""
        return max(1, round(self.density * padded_length(n_features)))

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        length, in_row = padded_length(X.shape[1]), self.row_entries(X.shape[1])
        self.signs_ = 2 * child_rng(rng, 0).integers(0, 2, length, dtype=np.int8) - 1
        self.columns_ = np.empty((self.n_bits_, in_row), _column_type(length))
        self.entries_ = np.empty((self.n_bits_, in_row), np.float32)

        def draw(part: slice) -> None:
            for tile in range(part.start, part.stop):
                child = child_rng(rng, 1 + tile)
                for row in range(tile * _TILE_BITS, min((tile + 1) * _TILE_BITS, self.n_bits_)):
                    self.columns_[row] = np.sort(child.choice(length, in_row, replace=False, shuffle=False))
                    child.standard_normal(out=self.entries_[row], dtype=np.float32)

        for_slices(draw, -(-self.n_bits_ // _TILE_BITS), 1)

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        multiply_transformed(X, self.signs_, SparseMatrix(self.columns_, self.entries_), Values(out))
        return out

    def _encode(self, X: NDArray) -> Codes:
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        multiply_transformed(X, self.signs_, SparseMatrix(self.columns_, self.entries_), Signs(codes, self.n_bits_))
        return codes

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        length, shape = padded_length(n_features), (self.bits(n_features), self.row_entries(n_features))
        fields = {
            "signs_": sign_field(length),
            "columns_": index_field(_column_type(length).str, length, *shape),
            "entries_": Field("f4", shape),
        }
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        length = padded_length(n_features)
        matrix = self.bits(n_features) * self.row_entries(n_features) * (4 + _column_type(length).itemsize)
        vectors = 8 * length * (chunk_rows(length) + LANES * self.resources.n_threads)
        return matrix + vectors + 32 * length + (1 << 20)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: a transform, and products with P that count three times."""
        length = padded_length(n_features)
        products = 2.0 * self.bits(n_features) * self.row_entries(n_features)
        return float(5 * length * np.log2(length + 1) + 3 * products)


def _column_type(length: int) -> np.dtype:
    return np.dtype(np.uint16 if length <= 1 << 16 else np.uint32)
