"""Angular quantisation: the corner of the cube {0, 1}^k at the smallest angle.

Of all non-zero b, the one with the largest b.v / |b|, for v = R' x, takes the s largest values of v for the s that
maximises (v_1 + .. + v_s) / sqrt(s). At the maximum every chosen value is above half the mean of the chosen ones and
every other below it: adding u to s values of sum S pays off if u > S (sqrt(1 + 1/s) - 1), keeping u if
u > S (1 - sqrt(1 - 1/s)), and S / 2s lies between. So the code is the sign of v less half that mean. (Where no value is
positive, the largest alone is taken.)

Learning raises sum_i (b_i / |b_i|).(R' x_i), over the codes and over R with R' R = I, alternately, each exactly:
R = polar(X' (b_i / |b_i|)). Meant for data without negative values, such as counts, compared by angle.

Codes depend on sums over whole vectors, so one rounding more or less can change every bit that follows: everything is
computed in double precision, where it does not happen.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.encoders.base import N_TRAIN, register
from cbe_bench.encoders.rotation import LearnedRotation
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.linalg.orthogonal import cross_products, polar, random_orthonormal
from cbe_bench.kernels.parallel import for_slices


def angular_margins(values: NDArray) -> NDArray:
    """Return real values that are >= 0 exactly at the ones of the best code of each row of `values`."""
    descending = -np.sort(-values, axis=1)
    sums = np.cumsum(descending, axis=1, dtype=np.float64)
    counts = np.arange(1, values.shape[1] + 1)
    best = np.argmax(sums / np.sqrt(counts), axis=1)
    half_means = sums[np.arange(len(values)), best] / (2 * counts[best])
    margins = values - half_means.astype(values.dtype)[:, None]
    for row in np.flatnonzero(descending[:, 0] < 0):
        largest = values[row].argmax()
        margins[row] = np.minimum(values[row] - values[row, largest], -np.finfo(np.float32).tiny)
        margins[row, largest] = 0
    return margins


@register("aqbc")
class AQBC(LearnedRotation):
    """Codes of smallest angle to rotated vectors; at most as many bits as features.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    n_iter : int
        Iterations; fewer if the codes no longer change.
    random_state : int, RandomState or None
        Decides where learning starts: random orthonormal columns.

    Attributes
    ----------
    components_ : float32 array of shape (n_bits, d)
        The columns of R.
    """

    good_for = "short codes of non-negative features, such as histograms; angles to the nearest code are small"

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        X = X.astype(np.float64, copy=False)
        self.components_ = random_orthonormal(rng, (self.n_bits_, X.shape[1]), X.dtype)
        codes = np.empty((0, 0), np.uint8)
        for _ in range(self.n_iter):
            before, codes = codes, self._encode(X)
            if np.array_equal(codes, before):
                break
            self.components_ = polar(cross_products(self._normalised(codes), X))
        self.components_ = self.components_.astype(np.float32)

    def _normalised(self, codes: Codes) -> NDArray[np.float64]:
        """Return the codes b as rows b / |b|."""
        out = np.empty((len(codes), self.n_bits_))

        def normalise(part: slice) -> None:
            ones = np.unpackbits(codes[part], axis=1, count=self.n_bits_, bitorder="little")
            out[part] = ones / np.sqrt(np.count_nonzero(ones, axis=1))[:, None]

        for_slices(normalise, len(codes), self._task_rows())
        return out

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        components = self.components_.astype(np.float64, copy=False)

        def project(part: slice) -> None:
            out[part] = angular_margins(X[part] @ components.T)

        for_slices(project, len(X), self._task_rows(), blas=True)
        return out

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        components = Field("f4", (self.bits(n_features), n_features))
        return super()._state_fields(n_features, shapes) | {"components_": components}

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        k = self.bits(n_features)
        return 8 * (4 * n_features * k + 4 * k * k) + 8 * n_train * (n_features + k) + (1 << 27)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector."""
        k = self.bits(n_features)
        return 2.0 * n_features * k + 10.0 * k * np.log2(k + 1)
