"""Locality-sensitive hashing by random hyperplanes: sign(A x), A a full k x d Gaussian matrix.

The unstructured method the others are measured against. A costs 4 k d bytes (2.6 GB at k = d = 25,600), so its
rows are drawn in tiles, each from its own seed: the matrix is the same whether it is kept or made anew for every
batch, and the code of fewer bits begins the code of more. Signs are settled in double precision where single precision
leaves them open (`kernels.linalg.products`), so codes do not depend on batches, groups, threads or the processor.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import N_TRAIN, Encoder, register, seed_of
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.kernels.arrays import Array, Namespace, Place, matmul
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs
from cbe_bench.kernels.linalg.products import products, settle_signs
from cbe_bench.kernels.parallel import for_slices, slices, thread_count
from cbe_bench.kernels.random import fill_gaussian

_TILE_BITS = 128
"""Rows of A drawn from one seed."""
_STORE_FRACTION = 0.25
"""Fraction of the memory limit up to which A is kept without being asked to."""
_GROUP_BYTES = 1 << 28
"""Bytes of A made at once when it is not kept."""
_VALUES = 1 << 24
"""Real values held at once while encoding."""
_LEAST_ROWS, _MOST_ROWS = 128, 1024
"""Rows of X in one product: enough of them to be worth a thread, few enough to stay in cache."""


@register("lsh")
class LSH(Encoder):
    """Signs of full Gaussian projections.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    store : bool or None
        Keep the matrix (True), draw it anew for every batch (False), or keep it if it takes
        at most a quarter of the memory limit of its `resources` (None).
        The codes are the same.
    random_state : int, RandomState or None
        Decides the matrix.

    Attributes
    ----------
    seed_ : int
        What the matrix is drawn from.
    matrix_ : float32 array of shape (n_bits rounded up to whole tiles, d)
        The matrix, if it is kept.
    """

    good_for = "a baseline with guarantees: independent bits of a dense matrix; slow for long vectors"
    linear = True

    def __init__(self, n_bits: int | None = None, *, store: bool | None = None, random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.store = store

    @property
    def nested(self) -> bool:
        """Rows of the matrix do not depend on how many there are."""
        return True

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.store not in (None, True, False):
            raise InputError(f"{self.name}: store = {self.store!r}; allowed: True, False, None")

    def warm_up(self, X: NDArray) -> None:
        """Do nothing: nothing is built by a first call, and a matrix that is not kept would be drawn for it."""

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        self.seed_ = seed_of(rng)
        self.__dict__.pop("matrix_", None)
        if self._stores(X.shape[1]):
            self.matrix_ = self._draw(0, self._tiles(X.shape[1]))

    def _stores(self, n_features: int) -> bool:
        if self.store is None:
            return self._matrix_bytes(n_features) <= _STORE_FRACTION * self.resources.memory_limit
        return self.store

    def _tiles(self, n_features: int) -> int:
        return -(-self.bits(n_features) // _TILE_BITS)

    def _matrix_bytes(self, n_features: int) -> int:
        return 4 * n_features * self._tiles(n_features) * _TILE_BITS

    def _draw(self, first: int, stop: int) -> NDArray[np.float32]:
        """Draw the tiles first..stop-1 of the matrix, on all cores."""
        matrix = np.empty(((stop - first) * _TILE_BITS, self.n_features_in_), np.float32)

        def draw(part: slice) -> None:
            for tile in range(part.start, part.stop):
                rng = np.random.Generator(np.random.SFC64([self.seed_, first + tile]))
                fill_gaussian(rng, matrix[tile * _TILE_BITS : (tile + 1) * _TILE_BITS])

        for_slices(draw, stop - first, 1)
        return matrix

    def _groups(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the matrix as (first bit, rows), whole or in groups of tiles."""
        if hasattr(self, "matrix_"):
            yield 0, self.matrix_
            return
        tiles = self._tiles(self.n_features_in_)
        size = max(1, _GROUP_BYTES // (4 * self.n_features_in_ * _TILE_BITS))
        for first in range(0, tiles, size):
            yield first * _TILE_BITS, self._draw(first, min(first + size, tiles))

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        for first, rows in self._groups():
            self._multiply(X, rows, out[:, first : first + len(rows)])
        return out

    def _encode(self, X: NDArray) -> Codes:
        """Encode group by group, so that a matrix that is not kept is drawn once for all of X."""
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for first, rows in self._groups():
            bits = min(len(rows), self.n_bits_ - first)
            for part in slices(len(X), max(2, _VALUES // bits)):
                values = np.empty((part.stop - part.start, bits), X.dtype)
                self._multiply(X[part], rows, values)
                codes[part, first // 8 : first // 8 + code_bytes(bits)] = pack_signs(values)
        return codes

    def _device_state(self, place: Place) -> list[Array]:
        """Return the matrix in groups of rows, each drawn on the host and copied: all are kept, whatever `store` is."""
        return [place.put(rows[: self.n_bits_ - first]) for first, rows in self._groups()]

    def _project_array(self, xp: Namespace, X: Array, state: list[Array]) -> Array:
        values = [matmul(xp, X, xp.matrix_transpose(rows)) for rows in state]
        return values[0] if len(values) == 1 else xp.concat(values, axis=1)

    @staticmethod
    def _multiply(X: NDArray, rows: NDArray[np.float32], out: NDArray) -> None:
        """Write the products with the first rows, as many as there is room for."""
        rows = rows[: out.shape[1]].astype(X.dtype, copy=False)
        norm = np.sqrt(X.shape[1]) + 8  # no row is longer: its squared norm is chi-square with d degrees of freedom
        if len(X) == 1:  # BLAS may use all threads for a matrix-vector product
            out[0] = rows @ X[0]
            settle_signs(out, X, rows, norm)
            return

        def multiply(part: slice) -> None:
            out[part] = products(X[part], rows, norm)

        each = -(-len(X) // thread_count())
        for_slices(multiply, len(X), min(_MOST_ROWS, max(_LEAST_ROWS, each)), blas=True)

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        fields = {"seed_": Field("i8", (), 0)}
        if "matrix_" in shapes:
            fields["matrix_"] = Field("f4", (self._tiles(n_features) * _TILE_BITS, n_features))
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        matrix, n_bits = self._matrix_bytes(n_features), self.bits(n_features)
        values = min(_MOST_ROWS * n_bits, _VALUES) * self.resources.n_threads  # of each thread
        return (matrix if self._stores(n_features) else min(matrix, _GROUP_BYTES)) + 5 * _VALUES + 4 * values

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        return 2.0 * n_features * self.bits(n_features)
