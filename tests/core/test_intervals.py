"""Intervals cover what they should."""

import numpy as np
import pytest

from cbe_bench.core.statistics import mean_interval, share_interval, variance_interval


def covered(interval, truth):
    low, high = interval
    return np.mean((low <= truth) & (truth <= high))


def test_intervals_cover_what_they_should(rng):
    samples = rng.binomial(20, 0.1, (2000, 500)) / 20
    mean, variance = samples.mean(axis=1), samples.var(axis=1, ddof=1)
    kurtosis = np.mean((samples - mean[:, None]) ** 4, axis=1) / variance**2
    assert 0.935 < covered(mean_interval(mean, variance, 500), 0.1) < 0.965
    assert 0.93 < covered(variance_interval(variance, kurtosis, 500), 0.1 * 0.9 / 20) < 0.965
    assert 0.935 < covered(share_interval(rng.binomial(500, 0.03, 4000), 500), 0.03) < 0.97


def test_intervals_of_samples_that_are_all_the_same():
    assert [float(end) for end in variance_interval(0.0, 1.0, 100)] == [0, 0]
    low, high = share_interval(0, 100)
    assert (float(low), float(high)) == (0, pytest.approx(0.037, abs=1e-3))
