"""Bilinear projections: the vector as a d1 x d2 matrix Z, the code the signs of R1' Z R2.

With d1, d2 and the code's sides c1, c2 near the square roots, a code costs O(d sqrt(k)) time and O(sqrt(d k))
memory. The features are put in a fixed random order first, so that neighbours, which are often related, do not
share a row of Z.

Learned, R1 and R2 have orthonormal columns and agree with their own codes as far as they can: of
sum_i trace(B_i' R1' Z_i R2) each of B_i = sign(R1' Z_i R2), R2 = polar(sum Z_i' R1 B_i) and
R1 = polar(sum Z_i R2 B_i') is the maximum with the others fixed, so it never falls. Learning is in double
precision: a sign that rounding flips would change all that follows.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.encoders.base import ENCODE_VALUES, N_TRAIN, Encoder, register
from cbe_bench.encoders.state import Field, Shapes, index_field
from cbe_bench.kernels.arrays import Array, Namespace, Place, matmul
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs, unpack_signs
from cbe_bench.kernels.linalg.orthogonal import BLOCKS_AT_ONCE, polar, sum_over_blocks
from cbe_bench.kernels.parallel import for_slices

_TASK_VALUES = 1 << 20
_LEARNING_VALUES = 1 << 18
"""Values of the training set that go through all products of a sum while they are in cache."""


def sides(n: int) -> tuple[int, int]:
    """Factor n as a x b with a the largest divisor up to sqrt(n)."""
    a = next(a for a in range(math.isqrt(n), 0, -1) if n % a == 0)
    return a, n // a


def code_sides(n_bits: int, input_sides: tuple[int, int]) -> tuple[int, int]:
    """Return the sides of the smallest code of at least `n_bits` bits that fits: no side longer than the input's.

    Parameters
    ----------
    n_bits : int
        The code length.
    input_sides : tuple of int
        The sides (d1, d2) of the input.

    Returns
    -------
    tuple of int
        (c1, c2).
    """
    d1, d2 = input_sides
    for padded in range(n_bits, d1 * d2 + 1):
        c1 = next(c1 for c1 in range(min(d1, math.isqrt(padded)), 0, -1) if padded % c1 == 0)
        if padded // c1 <= d2:
            return c1, padded // c1
    raise ValueError(f"{n_bits} bits are more than the {d1 * d2} features of one block")


class _DeviceState(NamedTuple):
    """Parameters on a device: the order of the features, if permuted, and R1 and R2 of each block of bits."""

    order: Array | None
    models: list[tuple[Array, Array]]


def _left_first(R1: Array, R2: Array) -> bool:
    """Return whether (R1 Z) R2 takes fewer operations than R1 (Z R2)."""
    (c1, d1), (d2, c2) = R1.shape, R2.shape
    return bool(c1 * d2 * (d1 + c2) <= d1 * c2 * (d2 + c1))


@register("bilinear-rand")
class BilinearRand(Encoder):
    """Random bilinear embedding: R1 and R2 are Gaussian.

    A code length without two suitable factors is computed as the next that has them and cut, with a warning.
    For k > d independent models are concatenated.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    permute : bool
        Put the features in a random order first.
    random_state : int, RandomState or None
        Decides the order and the matrices.

    Attributes
    ----------
    left_, right_ : float32 arrays
        The matrices R1 and R2 of all blocks of bits, one after the other.
    order_ : int array of shape (d,)
        The order of the features, if permuted.
    """

    good_for = "very long vectors on little memory without training, where FFTs are not wanted"
    linear = True

    def __init__(self, n_bits: int | None = None, *, permute: bool = True, random_state: Any = None) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.permute = permute

    def shapes(self, n_features: int, n_bits: int | None = None) -> list[tuple[int, int]]:
        """Return the code sides (c1, c2) of each block, of codes of `n_bits` bits or those of the encoder.

        Parameters
        ----------
        n_features : int
        n_bits : int, optional
        """
        whole, rest = divmod(n_bits or self.bits(n_features), n_features)
        input_sides = sides(n_features)
        return [input_sides] * whole + ([code_sides(rest, input_sides)] if rest else [])

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        d = X.shape[1]
        self.__dict__.pop("order_", None)
        if self.permute:
            self.order_ = rng.permutation(d)
        shapes = self.shapes(d)
        computed = sum(c1 * c2 for c1, c2 in shapes)
        if computed != self.n_bits_:
            warnings.warn(
                f"{self.name}: {self.n_bits_} bits have no sides that fit {sides(d)}; {computed} are computed and cut",
                stacklevel=3,
            )
        d1, d2 = sides(d)
        self.left_ = rng.standard_normal((sum(c1 for c1, _ in shapes), d1), dtype=np.float32)
        self.right_ = rng.standard_normal((sum(c2 for _, c2 in shapes), d2), dtype=np.float32)

    def _matrices(self, X: NDArray) -> NDArray:
        """Return the rows of X as matrices Z."""
        Z = X.take(self.order_, axis=1) if self.permute else X
        return Z.reshape(-1, *sides(X.shape[1]))

    def _project(self, X: NDArray) -> NDArray:
        left, right = (side.astype(X.dtype, copy=False) for side in (self.left_, self.right_))
        out = np.empty((len(X), self.n_bits_), X.dtype)

        def multiply(part: slice) -> None:
            Z = self._matrices(X[part])
            i = j = first = 0
            for c1, c2 in self.shapes(X.shape[1]):
                R1, R2 = left[i : i + c1], right[j : j + c2].T
                values = R1 @ Z @ R2 if _left_first(R1, R2) else R1 @ (Z @ R2)
                bits = min(c1 * c2, self.n_bits_ - first)
                out[part, first : first + bits] = values.reshape(len(Z), -1)[:, :bits]
                i, j, first = i + c1, j + c2, first + bits

        for_slices(multiply, len(X), max(1, _TASK_VALUES // X.shape[1]), blas=True)
        return out

    def _device_state(self, place: Place) -> _DeviceState:
        models, i, j = [], 0, 0
        for c1, c2 in self.shapes(self.n_features_in_):
            models.append((place.put(self.left_[i : i + c1]), place.put(self.right_[j : j + c2].T)))
            i, j = i + c1, j + c2
        return _DeviceState(place.put(self.order_) if self.permute else None, models)

    def _project_array(self, xp: Namespace, X: Array, state: _DeviceState) -> Array:
        ordered = X if state.order is None else xp.take(X, state.order, axis=1)
        Z = xp.reshape(ordered, (-1, *sides(X.shape[1])))
        values = []
        for R1, R2 in state.models:
            product = matmul(xp, R1, Z) if _left_first(R1, R2) else matmul(xp, Z, R2)
            product = matmul(xp, product, R2) if _left_first(R1, R2) else matmul(xp, R1, product)
            values.append(xp.reshape(product, (X.shape[0], -1)))
        whole = values[0] if len(values) == 1 else xp.concat(values, axis=1)
        return whole[:, : self.n_bits_]

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        (d1, d2), (whole, rest) = sides(n_features), divmod(self.bits(n_features), n_features)
        c1, c2 = code_sides(rest, (d1, d2)) if rest else (0, 0)
        fields = {"left_": Field("f4", (whole * d1 + c1, d1)), "right_": Field("f4", (whole * d2 + c2, d2))}
        if self.permute:
            fields["order_"] = index_field("i8", n_features, n_features)
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        (d1, d2), shapes = sides(n_features), self.shapes(n_features)
        matrices = sum(c1 * d1 + c2 * d2 for c1, c2 in shapes)
        products = sum(c1 * (c2 + d2) for c1, c2 in shapes) / n_features  # for each value of X
        tasks = 4 * max(_TASK_VALUES, n_features) * (1 + products) * self.resources.n_threads
        return int(4 * matrices + 8 * n_features + tasks) + 5 * max(ENCODE_VALUES, self.bits(n_features))

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: the cheaper order of two products."""
        return self._work_of(self.bits(n_features), n_features)

    def _work_of(self, n_bits: int, n_features: int) -> float:
        d1, d2 = sides(n_features)
        shapes = self.shapes(n_features, n_bits)
        return sum(2.0 * min(c1 * d2 * (d1 + c2), d1 * c2 * (d2 + c1)) for c1, c2 in shapes)


@register("bilinear-opt")
class BilinearOpt(BilinearRand):
    """Learned bilinear embedding: R1 and R2 have orthonormal columns that fit the codes of the training set.

    Code lengths are treated as by bilinear-rand; for k > d each model is learned from a start of its own.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    n_iter : int
        Rounds of learning.
    permute : bool
        Put the features in a random order first.
    random_state : int, RandomState or None
        Decides the order and where learning starts: random orthonormal columns.

    Attributes
    ----------
    left_, right_ : float32 arrays
        The matrices R1 and R2 of all blocks of bits, one after the other.
    order_ : int array of shape (d,)
        The order of the features, if permuted.
    """

    good_for = "very long vectors that have a matrix structure, such as VLAD"
    data_dependent = True
    encodes_as = "bilinear-rand"

    def __init__(
        self, n_bits: int | None = None, *, n_iter: int = 5, permute: bool = True, random_state: Any = None
    ) -> None:
        super().__init__(n_bits, permute=permute, random_state=random_state)
        self.n_iter = n_iter

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        self._check_count("n_iter")

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        super()._fit(X, y, rng)
        i = j = 0
        for c1, c2 in self.shapes(X.shape[1]):
            left, right = self.left_[i : i + c1], self.right_[j : j + c2]
            left[:], right[:] = polar(left.astype(np.float64)), polar(right.astype(np.float64))
            codes = np.empty((len(X), code_bytes(c1 * c2)), np.uint8)
            for _ in range(self.n_iter):
                right[:] = polar(self._sum_for_right(X, left, right, codes)).T
                left[:] = polar(self._sum_for_left(X, right, codes, c1)).T
            i, j = i + c1, j + c2

    def _sum_for_right(self, X: NDArray, left: NDArray, right: NDArray, codes: Codes) -> NDArray:
        """Write the codes B of all rows and return the sum of Z' R1 B."""
        left, right = left.astype(np.float64), right.astype(np.float64)

        def term(part: slice) -> NDArray:
            halves = (left @ self._matrices(X[part])).reshape(-1, right.shape[1])
            codes[part] = pack_signs((halves @ right.T).reshape(part.stop - part.start, -1))
            signs = unpack_signs(codes[part], len(left) * len(right), np.float64)
            return halves.T @ signs.reshape(-1, len(right))

        return sum_over_blocks(term, len(X), max(1, _LEARNING_VALUES // X.shape[1]))

    def _sum_for_left(self, X: NDArray, right: NDArray, codes: Codes, c1: int) -> NDArray:
        """Return the sum of Z R2 B' over all rows."""
        right = right.astype(np.float64)

        def term(part: slice) -> NDArray:
            signs = unpack_signs(codes[part], c1 * len(right), np.float64).reshape(-1, c1, len(right))
            return (self._matrices(X[part]) @ right.T @ signs.transpose(0, 2, 1)).sum(axis=0)

        return sum_over_blocks(term, len(X), max(1, _LEARNING_VALUES // X.shape[1]))

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        shapes, (d1, d2) = self.shapes(n_features), sides(n_features)
        codes = n_train * max(code_bytes(c1 * c2) for c1, c2 in shapes)
        sums = 4 * (BLOCKS_AT_ONCE + 8) * max(max(c1 * d1, c2 * d2) for c1, c2 in shapes)
        learning = codes + sums + 16 * _LEARNING_VALUES * self.resources.n_threads
        return max(super().memory_bytes(n_features, n_train), learning)
