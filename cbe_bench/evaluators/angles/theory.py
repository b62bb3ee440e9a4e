"""What is proved about the angle estimate of random circulant codes, as formulas.

For a pair of vectors at angle theta, p = theta / pi is the probability that a bit of their codes differs, and the
fraction of differing bits among k estimates it. Bits that are independent give the variance p (1 - p) / k. For
circulant bits bounds are known through the flatness rho of the pair, the larger ||x||_inf / ||x||_2 of the two:

- The lemma on small products: for sign flips D, ||p|| = 1 and rho = ||q||_inf, the product of D p with a shift of D q
  is above gamma with a probability of at most exp(-gamma^2 / (8 rho^2)).
- Theorem 1: the variance is at most p (1 - p) / k + 32 rho.
- Theorem 2: if rho <= theta^2 / (16 k log(k / delta)), the estimate is off by more than 4 log(k / delta) / sqrt(k)
  with a probability below delta. A corollary extends this to all pairs of N vectors at k = 144 log(N)^2 / epsilon^2
  bits.

Some things are true of any bits: the variance of a mean of bits of probability p is at most p (1 - p), and the estimate
is off by at most max(p, 1 - p). A bound that is no smaller than these says nothing: it is *vacuous*. So is a theorem
whose hypothesis no vector meets: rho is at least 1 / sqrt(d) for every vector of d dimensions. The functions named
`..._least_dim` convert that to the dimension it takes.

Throughout, `theta` is an angle in radians, `n_bits` the code length k, `rho` the flatness of a pair, `delta` and
`epsilon` those of the theorems.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

DELTA = 0.05
"""The probability at which Theorem 2 is taken."""
VARIANCE_SLACK = 32.0
"""The factor of rho in Theorem 1."""
COROLLARY_FACTOR = 144.0
"""The factor of the code length in the corollary."""


def difference_probability(theta: float) -> float:
    """Return the probability p that a random hyperplane separates two vectors at this angle."""
    return theta / math.pi


def iid_variance(theta: float, n_bits: int) -> float:
    """Return the variance of the estimate from independent bits.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.
    """
    return largest_variance(theta) / n_bits


def largest_variance(theta: float) -> float:
    """Return the largest variance there can be, that of bits which are all the same."""
    p = difference_probability(theta)
    return p * (1 - p)


def largest_deviation(theta: float) -> float:
    """Return the largest deviation of the estimate there can be."""
    p = difference_probability(theta)
    return max(p, 1 - p)


@cache
def iid_tail(theta: float, n_bits: int, deviation: float) -> float:
    """Return the probability that the estimate from independent bits is off by more than `deviation`.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.
    deviation : float
        The error of the estimate of theta / pi.
    """
    counts = np.arange(n_bits + 1)
    p = difference_probability(theta)
    return float(binom.pmf(counts[np.abs(counts / n_bits - p) > deviation], n_bits, p).sum())


def small_product_bound(threshold: float) -> float:
    """Return the bound of the lemma on small products at gamma = `threshold` times rho."""
    return math.exp(-(threshold**2) / 8)


def variance_bound(theta: float, n_bits: int, rho: float) -> float:
    """Return the bound of Theorem 1.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.
    rho : float
        The flatness of the vectors.
    """
    return iid_variance(theta, n_bits) + VARIANCE_SLACK * rho


def variance_bound_is_vacuous(theta: float, n_bits: int, rho: float) -> bool:
    """Return whether the bound of Theorem 1 is no smaller than what is trivially true.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.
    rho : float
        The flatness of the vectors.
    """
    return variance_bound(theta, n_bits, rho) >= largest_variance(theta)


def variance_bound_least_dim(theta: float, n_bits: int) -> float:
    """Return the dimension above which Theorem 1 says something, and then of the flattest vectors only.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.

    Returns
    -------
    float
        Infinite for a single bit.
    """
    gain = largest_variance(theta) - iid_variance(theta, n_bits)
    return (VARIANCE_SLACK / gain) ** 2 if gain > 0 else math.inf


def tail_deviation(n_bits: int, delta: float) -> float:
    """Return the deviation that Theorem 2 allows with a probability of delta.

    Parameters
    ----------
    n_bits : int
        The code length.
    delta : float
        The probability.

    Returns
    -------
    float
        The deviation of the estimate of theta / pi.
    """
    return 4 * math.log(n_bits / delta) / math.sqrt(n_bits)


def tail_largest_flatness(theta: float, n_bits: int, delta: float) -> float:
    """Return the largest rho for which Theorem 2 is proved.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.
    delta : float
        The probability.
    """
    return theta**2 / (16 * n_bits * math.log(n_bits / delta))


def tail_bound_is_vacuous(theta: float, n_bits: int, delta: float) -> bool:
    """Return whether the deviation that Theorem 2 allows is one that never occurs.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_bits : int
        The code length.
    delta : float
        The probability.
    """
    return tail_deviation(n_bits, delta) >= largest_deviation(theta)


def tail_bound_least_bits(theta: float, delta: float) -> int:
    """Return the shortest code length from which on Theorem 2 allows less than what is trivially true.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    delta : float
        The probability.
    """
    low, high = 8, 16  # log(k / delta) / sqrt(k) falls for all k > 8
    while tail_bound_is_vacuous(theta, high, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail_bound_is_vacuous(theta, middle, delta) else (low, middle)
    return high


def tail_bound_least_dim(theta: float, delta: float, n_bits: int | None = None) -> float:
    """Return the dimension below which no vector meets the hypothesis of Theorem 2 at this code length.

    Without a code length, at the shortest for which the bound says anything: below that dimension, Theorem 2 is
    vacuous for every vector and every code length.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    delta : float
        The probability.
    n_bits : int, optional
        The code length.
    """
    k = tail_bound_least_bits(theta, delta) if n_bits is None else n_bits
    return tail_largest_flatness(theta, k, delta) ** -2


def corollary_bits(n_vectors: int, epsilon: float) -> int:
    """Return the code length with which, by the corollary, all angles of N vectors are within epsilon pi.

    Parameters
    ----------
    n_vectors : int
        The number N of vectors.
    epsilon : float
        The largest error of an angle, in units of pi.
    """
    return math.ceil(COROLLARY_FACTOR * math.log(n_vectors) ** 2 / epsilon**2)


def corollary_largest_flatness(theta: ArrayLike, n_bits: int, n_vectors: int) -> NDArray[np.float64]:
    """Return the rho below which the corollary holds of a pair at this angle, for each of an array of angles.

    Parameters
    ----------
    theta : array_like
        The angles, in radians.
    n_bits : int
        The code length.
    n_vectors : int
        The number N of vectors.

    Returns
    -------
    float64 array
        Of the shape of `theta`.
    """
    return np.asarray(theta, np.float64) ** 2 / (16 * n_bits * math.log(2 * n_bits * n_vectors**2))


def corollary_least_dim(theta: float, n_vectors: int, epsilon: float) -> float:
    """Return the dimension below which the corollary holds of no pair at this angle.

    Parameters
    ----------
    theta : float
        The angle, in radians.
    n_vectors : int
        The number N of vectors.
    epsilon : float
        The largest error of an angle, in units of pi.

    Returns
    -------
    float
        Infinite for an angle of zero.
    """
    limit = float(corollary_largest_flatness(theta, corollary_bits(n_vectors, epsilon), n_vectors))
    return limit**-2 if limit else math.inf
