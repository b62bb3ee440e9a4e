"""Confidence intervals: of a mean, of paired differences, of a variance, of a proportion.

Differences are paired, by query within a seed. A seed decides the split and every random draw, so the means of the
seeds are independent samples of the same quantity, and from three on Student's interval of their mean covers it,
whatever part of the noise comes from queries and whatever from seeds. Resampling seeds, then queries (a hierarchical
bootstrap) does not: where the noise is between seeds, its 95 % intervals from three of them cover in three cases of
four. With fewer than three seeds there is no estimate of that noise: the interval is that of resampled queries, and
holds for these seeds only.

The interval of a variance rests on the kurtosis, the fourth central moment over the squared variance, so it holds for
any distribution, not only for Gaussian samples; it is made on a logarithmic scale, which keeps it positive and covers
better.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

LEVEL = 0.95
FEWEST_SEEDS = 3
"""Seeds from which on the noise between them is estimated."""
RESAMPLES = 10_000
_RESAMPLED_AT_ONCE = 1000

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


def mean_interval(mean: ArrayLike, variance: ArrayLike, n: int, level: float = LEVEL) -> Interval:
    """Return Student's interval of a mean, from the mean and the variance of n samples.

    Parameters
    ----------
    mean, variance : array_like
        Of the samples, of shapes that broadcast.
    n : int
        The number of samples.
    level : float
        The confidence level.

    Returns
    -------
    lower, upper : float64 arrays
        Of the broadcast shape.
    """
    half = t.ppf((1 + level) / 2, n - 1) * np.sqrt(np.asarray(variance) / n)
    return np.asarray(mean) - half, np.asarray(mean) + half


def paired_interval(differences: Sequence[NDArray[np.float64]], level: float = LEVEL) -> tuple[float, float, float]:
    """Return the mean of paired differences over seeds and queries, and its interval.

    Parameters
    ----------
    differences : sequence of float64 arrays of shape (n_queries,)
        One array for each seed: the value of one method less that of another, query by query.
    level : float
        The confidence level.

    Returns
    -------
    mean, low, high : float
        From `FEWEST_SEEDS` seeds on Student's interval over the means of the seeds, otherwise the bootstrap interval
        over the queries of each; NaN where there are no differences, or of single queries only.
    """
    if not differences:
        return (np.nan,) * 3
    means = np.array([np.mean(one) for one in differences])
    mean = float(means.mean())
    if len(means) >= FEWEST_SEEDS:
        low, high = mean_interval(mean, means.var(ddof=1), len(means), level)
        return mean, float(low), float(high)
    if min(map(len, differences)) < 2:
        return mean, np.nan, np.nan
    low, high = np.quantile(_resampled_means(differences), [(1 - level) / 2, (1 + level) / 2])
    return mean, float(low), float(high)


def _resampled_means(differences: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean over seeds of the means of resampled queries, many times over."""
    rng = np.random.default_rng(0)
    found = np.zeros(RESAMPLES)
    for one in differences:
        for start in range(0, RESAMPLES, _RESAMPLED_AT_ONCE):
            drawn = rng.integers(0, len(one), (_RESAMPLED_AT_ONCE, len(one)))
            found[start : start + _RESAMPLED_AT_ONCE] += one[drawn].mean(axis=1) / len(differences)
    return found


def difference_error(values: ArrayLike, level: float = LEVEL) -> float:
    """Return half the interval of the difference of two row means of a table: methods in rows, seeds in columns.

    A seed may shift all methods alike; the remaining variance is pooled over methods (randomised blocks), for
    two or three seeds give too poor an estimate for one pair. For two methods it is Student's paired interval.

    Parameters
    ----------
    values : array_like of shape (n_methods, n_seeds)
        The measured values.
    level : float
        The confidence level.

    Returns
    -------
    float
        NaN for a single method or a single seed.
    """
    table = np.asarray(values, float)
    n_methods, n_seeds = table.shape
    freedom = (n_methods - 1) * (n_seeds - 1)
    if not freedom:
        return float("nan")
    left = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    return float(t.ppf((1 + level) / 2, freedom) * np.sqrt(2 * np.sum(left**2) / freedom / n_seeds))


def log_variance_error(kurtosis: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the standard error of the logarithm of the sample variance.

    Parameters
    ----------
    kurtosis : array_like
        Of the samples, 3 for a normal distribution.
    n : int
        The number of samples.

    Returns
    -------
    float64 array
        Of the shape of `kurtosis`.
    """
    return np.sqrt(np.maximum(np.asarray(kurtosis) - (n - 3) / (n - 1), 0.0) / n)


def variance_interval(variance: ArrayLike, kurtosis: ArrayLike, n: int, level: float = LEVEL) -> Interval:
    """Return an interval of a variance, from the variance and the kurtosis of n samples.

    Samples of two values that are equally frequent have the largest variance there is, and any others less: only
    there, as for a single bit at a right angle, is the interval too narrow, by a part of the order of 1/n.

    Parameters
    ----------
    variance, kurtosis : array_like
        Of the samples, of shapes that broadcast.
    n : int
        The number of samples.
    level : float
        The confidence level.

    Returns
    -------
    lower, upper : float64 arrays
        Of the broadcast shape.
    """
    factor = np.exp(norm.ppf((1 + level) / 2) * log_variance_error(kurtosis, n))
    return np.asarray(variance) / factor, np.asarray(variance) * factor


def share_interval(count: ArrayLike, n: int, level: float = LEVEL) -> Interval:
    """Return Wilson's interval of a proportion, from how many of n samples belong to it.

    Parameters
    ----------
    count : array_like of int
        How many of the samples belong to it.
    n : int
        The number of samples.
    level : float
        The confidence level.

    Returns
    -------
    lower, upper : float64 arrays
        Of the shape of `count`.
    """
    z = norm.ppf((1 + level) / 2)
    proportion = np.asarray(count) / n
    middle = (proportion + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(proportion * (1 - proportion) / n + z**2 / (4 * n**2))
    return np.where(proportion == 0, 0.0, middle - half), np.where(proportion == 1, 1.0, middle + half)


TOGETHER = 0.99
"""Confidence of all intervals of a verdict on the theory at once: simulations are cheap."""


def simultaneous_level(n: int, together: float = TOGETHER) -> float:
    """Return the level of each of n intervals with which all of them hold at once (Bonferroni).

    Parameters
    ----------
    n : int
        The number of intervals.
    together : float
        The confidence of all of them.

    Returns
    -------
    float
    """
    return 1 - (1 - together) / max(n, 1)
