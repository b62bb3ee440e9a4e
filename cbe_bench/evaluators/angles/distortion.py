"""How far a code's angles are from the true ones, over all pairs of some vectors: the worst and on average.

The estimate of an angle, in units of pi, is the share of differing bits. All pairs are compared, for every number
of bits that a nested code holds, by products of its signs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.evaluators.theory import corollary_largest_spread, spread


@dataclass(frozen=True)
class TrueAngles:
    """The angles of all pairs i < j of some vectors, and what a theorem wants to know of them."""

    n_vectors: int
    angles: NDArray[np.float64]
    spreads: NDArray[np.float64]

    def share_with_hypothesis(self, n_bits: int) -> float:
        """Return the share of pairs of which the corollary to Theorem 2 speaks at this many bits."""
        return float(np.mean(self.spreads < corollary_largest_spread(self.angles, n_bits, self.n_vectors)))


def true_angles(X: NDArray) -> TrueAngles:
    """Compute the angle and the spread of every pair of rows."""
    unit = np.asarray(X, np.float64)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    i, j = np.triu_indices(len(unit), 1)
    angles = np.arccos(np.clip(unit @ unit.T, -1.0, 1.0))[i, j]
    own = spread(unit)
    return TrueAngles(len(unit), angles, np.maximum(own[i], own[j]))


def angle_errors(signs: NDArray[np.int8], truth: TrueAngles, bits: list[int]) -> tuple[list[float], list[float]]:
    """Return the mean and the worst error over pairs, in units of pi, for each k of the rising `bits`.

    Parameters
    ----------
    signs : array of shape (n, at least the most bits)
        Codes as -1 and +1, of which the first k are the code of k bits.
    """
    i, j = np.triu_indices(len(signs), 1)
    products = np.zeros((len(signs), len(signs)))
    means, worst = [], []
    first = 0
    for k in bits:
        some = signs[:, first:k].astype(np.float32)  # sums of signs are exact up to 2^24 bits at once
        products += some @ some.T
        first = k
        errors = np.abs((1 - products[i, j] / k) / 2 - truth.angles / np.pi)
        means.append(float(errors.mean()))
        worst.append(float(errors.max()))
    return means, worst
