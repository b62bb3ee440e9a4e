"""Iterative quantisation: principal components, rotated so that they lie close to the corners of a cube.

V holds the centred training set along its k principal directions. The error ||B - V R||^2 of replacing V R by its
signs B is lowered alternately, by B = sign(V R) and by R = polar(B' V)', each exact for the other fixed. With more
bits than directions in which the training set varies, R is a wide matrix with orthonormal rows. Learning is in double
precision: a sign that rounding flips would change all that follows.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.base import N_TRAIN, child_rng, register
from cbe_bench.encoders.rotation import LearnedRotation
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs, unpack_signs
from cbe_bench.kernels.linalg.orthogonal import cross_products, polar, random_orthonormal
from cbe_bench.kernels.linalg.principal import centred_products, principal_directions
from cbe_bench.kernels.parallel import for_slices


@register("itq")
class ITQ(LearnedRotation):
    """Signs of rotated principal components; at most as many bits as features.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    n_iter : int
        Iterations; fewer if the codes no longer change.
    pca_rows : int or None
        Principal directions are those of this many rows of the training set, or of as many as there are bits if these
        are more; None means all.
    random_state : int, RandomState or None
        Decides the rotation that learning starts from, and the rows whose principal directions are taken.

    Attributes
    ----------
    mean_ : float64 array of shape (d,)
        The mean of the training set.
    components_ : float32 array of shape (n_bits, d)
        The rotated principal directions.
    """

    good_for = "short codes, up to the dimension, where training and encoding by a matrix are affordable"

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        n_iter: int = 50,
        pca_rows: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_iter=n_iter, random_state=random_state)
        self.pca_rows = pca_rows

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        if self.pca_rows is not None:
            self._check_count("pca_rows")

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        mean, directions = self._directions(X, rng)
        if not len(directions):
            raise InputError(f"{self.name}: no two rows of the training set differ (n_samples = {len(X)})")
        if len(directions) < self.n_bits_:
            warnings.warn(
                f"{self.name}: the training set varies in {len(directions)} directions only, {self.n_bits_} bits are "
                "made of them",
                stacklevel=3,
            )
        V = centred_products(X.astype(np.float64, copy=False), mean, directions)
        start = random_orthonormal(rng, (len(directions), self.n_bits_), V.dtype)
        rotation = self._rotate(V, start)
        self.components_ = cross_products(rotation, directions).astype(np.float32)
        self.mean_ = mean

    def _directions(self, X: NDArray, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
        """Return the mean of the training set, and the principal directions of those rows of it that are asked for."""
        count = len(X) if self.pca_rows is None else max(self.pca_rows, self.n_bits_)
        if count >= len(X):
            return principal_directions(X, self.n_bits_)
        rows = np.sort(child_rng(rng, 0).choice(len(X), count, replace=False))
        return X.mean(axis=0, dtype=np.float64), principal_directions(X[rows], self.n_bits_)[1]

    def _rotate(self, V: NDArray, rotation: NDArray) -> NDArray:
        """Improve the rotation of the components V."""
        codes = np.empty((0, 0), np.uint8)
        for _ in range(self.n_iter):
            before, codes = codes, self._quantised(V, rotation)
            if np.array_equal(codes, before):
                break
            rotation = polar(cross_products(unpack_signs(codes, self.n_bits_, V.dtype.type), V)).T
        return rotation

    def _quantised(self, V: NDArray, rotation: NDArray) -> Codes:
        """Return the signs of V R."""
        codes = np.empty((len(V), code_bytes(self.n_bits_)), np.uint8)
        columns = np.ascontiguousarray(rotation.T)

        def quantise(part: slice) -> None:
            codes[part] = pack_signs(V[part] @ columns.T)

        for_slices(quantise, len(V), self._task_rows(), blas=True)
        return codes

    def _project(self, X: NDArray) -> NDArray:
        return centred_products(X, self.mean_, self.components_)

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        fields = {"mean_": Field("f8", (n_features,)), "components_": Field("f4", (self.bits(n_features), n_features))}
        return super()._state_fields(n_features, shapes) | fields

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        side, k = min(n_features, n_train), self.bits(n_features)
        decompositions = 8 * max(2 * side * side, side * k + 2 * n_features * k, 8 * k * k)
        return decompositions + 8 * n_train * (n_features + 2 * k) + (1 << 28)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        return 2.0 * n_features * self.bits(n_features)
