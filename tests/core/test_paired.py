"""Intervals of paired differences: against scipy's bootstrap, and on simulations whose truth is known."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from cbe_bench.core.claims import NOT_REPRODUCED, REPRODUCED, Estimate, outcome_of_interval
from cbe_bench.core.statistics import LEVEL, paired_interval, simultaneous_level

QUERIES = 100


def simulated(rng, n_seeds, seed_std, truth=0.0):
    """Return differences as of skewed query values, whose mean varies from seed to seed."""
    queries = rng.exponential(1.0, (n_seeds, QUERIES)) - 1.0
    return list(truth + seed_std * rng.standard_normal((n_seeds, 1)) + queries)


def test_one_seed_has_the_bootstrap_interval_of_its_queries(rng):
    (values,) = simulated(rng, 1, 0.0)
    mean, low, high = paired_interval([values])
    expected = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=rng).confidence_interval
    error = 4 * values.std() / QUERIES**0.5 / 10_000**0.5 / 0.05  # of a quantile at 2.5 %, four standard errors
    assert mean == values.mean()
    assert (low, high) == pytest.approx(tuple(expected), abs=error)


def test_two_seeds_count_alike_whatever_their_number_of_queries(rng):
    mean, low, high = paired_interval([np.ones(10), np.zeros(1000)])
    assert mean == low == high == 0.5


def test_from_three_seeds_on_the_interval_is_students(rng):
    from scipy.stats import ttest_1samp

    values = simulated(rng, 4, 0.3)
    expected = ttest_1samp([one.mean() for one in values], 0).confidence_interval(0.99)
    assert paired_interval(values, 0.99)[1:] == pytest.approx(tuple(expected))


def test_no_differences_have_no_interval():
    assert np.isnan(paired_interval([])).all()


@pytest.mark.parametrize("n_seeds", [3, 5])
@pytest.mark.parametrize("seed_std", [0.0, 0.1, 1.0], ids=["queries", "both", "seeds"])
def test_intervals_cover_the_truth(rng, n_seeds, seed_std):
    """Whether noise comes from queries, from seeds or from both; the standard error of a coverage is 0.5 %."""
    covered = [low <= 0.3 <= high for _, low, high in _intervals(rng, n_seeds, seed_std, 2000)]
    assert 0.93 <= np.mean(covered) <= 0.97


def _intervals(rng, n_seeds, seed_std, n):
    return [paired_interval(simulated(rng, n_seeds, seed_std, truth=0.3)) for _ in range(n)]


@pytest.mark.parametrize("seed_std", [0.0, 0.1])
def test_false_verdicts_are_rare(rng, seed_std):
    """Where the truth is at the bound of a region, a verdict for either side is false; five code lengths at once."""
    level = simultaneous_level(5, LEVEL)
    wrong = 0
    for _ in range(400):
        found = [Estimate(*paired_interval(simulated(rng, 3, seed_std), level)) for _ in range(5)]
        outcomes = {outcome_of_interval(one, (0.0, np.nan)) for one in found}
        wrong += NOT_REPRODUCED in outcomes or outcomes == {REPRODUCED}
    assert wrong / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_resampling_three_seeds_covers_too_rarely(rng):
    """Why intervals are not those of a hierarchical bootstrap: seeds, then queries, drawn again from three seeds."""
    covered = 0
    for _ in range(300):
        values = np.array(simulated(rng, 3, 0.3))
        seeds = rng.integers(0, 3, (400, 3))
        queries = rng.integers(0, QUERIES, (400, 3, QUERIES))
        means = values[seeds[..., None], queries].mean(axis=(1, 2))
        low, high = np.quantile(means, [0.025, 0.975])
        covered += low <= 0 <= high
    assert covered / 300 < 0.9
