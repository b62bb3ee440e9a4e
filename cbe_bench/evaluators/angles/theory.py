"""What is proved about the angle estimate of random circulant codes, as formulas.

For a pair of vectors at angle theta, p = theta / pi is the chance that a bit of their codes differs, and the share of
differing bits among k estimates it. Bits that are independent give the variance p (1 - p) / k. For circulant bits two
bounds are known, both through the spread rho of the pair, the larger ||x||_inf / ||x||_2 of the two:

- Theorem 1: the variance is at most p (1 - p) / k + 32 rho.
- Theorem 2: if rho <= theta^2 / (16 k log(k / delta)), the estimate is off by more than 4 log(k / delta) / sqrt(k)
  with a chance below delta. A corollary takes this to all pairs of N vectors at k = 144 log(N)^2 / epsilon^2 bits.

Some things are true of any bits: the variance of a mean of bits of chance p is at most p (1 - p), and the estimate is
off by at most max(p, 1 - p). A bound that is no smaller than these says nothing: it is *vacuous*. So is a theorem
whose hypothesis no vector meets: rho is at least 1 / sqrt(d) for every vector of d dimensions. The functions named
`..._least_dim` turn that into the number of dimensions it takes.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

VARIANCE_SLACK = 32.0
"""What Theorem 1 multiplies rho by."""
COROLLARY_FACTOR = 144.0
"""What the corollary's number of bits is multiplied by."""


def difference_chance(theta: float) -> float:
    """Return the chance p that a random hyperplane separates two vectors at this angle."""
    return theta / math.pi


def iid_variance(theta: float, n_bits: int) -> float:
    """Return the variance of the estimate from independent bits."""
    return largest_variance(theta) / n_bits


def largest_variance(theta: float) -> float:
    """Return what the variance can never exceed: all bits the same."""
    p = difference_chance(theta)
    return p * (1 - p)


def largest_deviation(theta: float) -> float:
    """Return what the estimate can never be off by more than."""
    p = difference_chance(theta)
    return max(p, 1 - p)


@cache
def iid_tail(theta: float, n_bits: int, deviation: float) -> float:
    """Return the chance that the estimate from independent bits is off by more than `deviation`."""
    counts = np.arange(n_bits + 1)
    p = difference_chance(theta)
    return float(binom.pmf(counts[np.abs(counts / n_bits - p) > deviation], n_bits, p).sum())


def spread(x: ArrayLike) -> NDArray[np.float64]:
    """Return ||x||_inf / ||x||_2 of a vector, or of each row of a matrix: from 1 / sqrt(d), all alike, to 1."""
    values = np.asarray(x, np.float64)
    return np.abs(values).max(axis=-1) / np.linalg.norm(values, axis=-1)


def variance_bound(theta: float, n_bits: int, rho: float) -> float:
    """Return the bound of Theorem 1."""
    return iid_variance(theta, n_bits) + VARIANCE_SLACK * rho


def variance_bound_is_vacuous(theta: float, n_bits: int, rho: float) -> bool:
    """Tell whether the bound of Theorem 1 is no smaller than what is trivially true."""
    return variance_bound(theta, n_bits, rho) >= largest_variance(theta)


def variance_bound_least_dim(theta: float, n_bits: int) -> float:
    """Return the dimensions above which Theorem 1 says something, and then of the flattest vectors only."""
    gain = largest_variance(theta) - iid_variance(theta, n_bits)
    return (VARIANCE_SLACK / gain) ** 2 if gain > 0 else math.inf


def tail_deviation(n_bits: int, delta: float) -> float:
    """Return the deviation that Theorem 2 allows with a chance of delta."""
    return 4 * math.log(n_bits / delta) / math.sqrt(n_bits)


def tail_largest_spread(theta: float, n_bits: int, delta: float) -> float:
    """Return the largest rho for which Theorem 2 is proved."""
    return theta**2 / (16 * n_bits * math.log(n_bits / delta))


def tail_bound_is_vacuous(theta: float, n_bits: int, delta: float) -> bool:
    """Tell whether the deviation that Theorem 2 allows is one that never occurs."""
    return tail_deviation(n_bits, delta) >= largest_deviation(theta)


def tail_bound_least_bits(theta: float, delta: float) -> int:
    """Return the fewest bits from which on Theorem 2 allows less than what is trivially true."""
    low, high = 8, 16  # log(k / delta) / sqrt(k) falls for all k > 8
    while tail_bound_is_vacuous(theta, high, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail_bound_is_vacuous(theta, middle, delta) else (low, middle)
    return high


def tail_bound_least_dim(theta: float, delta: float, n_bits: int | None = None) -> float:
    """Return the dimensions below which no vector meets the hypothesis of Theorem 2 at this many bits.

    Without a number of bits, at the fewest for which the bound says anything: below that, Theorem 2 is vacuous
    for every vector and every number of bits.
    """
    k = tail_bound_least_bits(theta, delta) if n_bits is None else n_bits
    return tail_largest_spread(theta, k, delta) ** -2


def corollary_bits(n_vectors: int, epsilon: float) -> int:
    """Return the bits with which, by the corollary, all angles of N vectors are within epsilon (in units of pi)."""
    return math.ceil(COROLLARY_FACTOR * math.log(n_vectors) ** 2 / epsilon**2)


def corollary_largest_spread(theta: ArrayLike, n_bits: int, n_vectors: int) -> NDArray[np.float64]:
    """Return the rho below which the corollary speaks of a pair at this angle."""
    return np.asarray(theta, np.float64) ** 2 / (16 * n_bits * math.log(2 * n_bits * n_vectors**2))


def corollary_least_dim(theta: float, n_vectors: int, epsilon: float) -> float:
    """Return the dimensions below which the corollary speaks of no pair at this angle."""
    limit = float(corollary_largest_spread(theta, corollary_bits(n_vectors, epsilon), n_vectors))
    return limit**-2 if limit else math.inf
