"""Confidence intervals: of a mean, of a difference, of a variance, of a proportion.

The interval of a variance rests on the kurtosis, the fourth central moment over the squared variance, so it holds for
any distribution, not only for Gaussian samples; it is made on a logarithmic scale, which keeps it positive and covers
better.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, t

LEVEL = 0.95

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
"""Confidence of all intervals of a verdict at once."""


def simultaneous_level(n: int) -> float:
    """Return the level of each of n intervals with which all of them hold at once (Bonferroni)."""
    return 1 - (1 - TOGETHER) / max(n, 1)
