"""Intervals of what follows from times: ratios and exponents, over independent rounds.

A quantity is computed in every round from the times of that round; the rounds are independent, so Student's interval
of their mean is that of the quantity. Ratios are averaged as logarithms. Fewer than `FEWEST_ROUNDS` rounds give a value
without an interval, which decides nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.claims import Estimate
from cbe_bench.core.statistics import LEVEL, mean_interval
from cbe_bench.evaluators.times.rows import LearningRow, TimingRow

FEWEST_ROUNDS = 5
Timed = TimingRow | LearningRow


def round_times(rows: Sequence[Timed]) -> NDArray[np.float64]:
    """Return the times of rows, round by round.

    Parameters
    ----------
    rows : sequence of TimingRow or LearningRow
        All of one kind.

    Returns
    -------
    float64 array of shape (rounds, rows)
        As many rounds as all rows have.
    """
    times = [row.rounds_us if isinstance(row, TimingRow) else row.rounds_s for row in rows]
    fewest = min((len(one) for one in times), default=0)
    return np.array([one[:fewest] for one in times], float).reshape(len(rows), fewest).T


def over_rounds(values: Sequence[float] | NDArray[np.float64], level: float = LEVEL) -> Estimate:
    """Return the mean of a quantity over rounds, and its interval.

    Parameters
    ----------
    values : array_like of shape (rounds,)
        The quantity in each round.
    level : float
        The confidence level.

    Returns
    -------
    Estimate
        Without an interval for fewer than `FEWEST_ROUNDS` rounds.
    """
    found = np.asarray(values, float)
    if not len(found):
        return Estimate()
    mean = float(found.mean())
    if len(found) < FEWEST_ROUNDS:
        return Estimate(mean)
    low, high = mean_interval(mean, found.var(ddof=1), len(found), level)
    return Estimate(mean, float(low), float(high))


def ratio_over_rounds(slow: Timed, fast: Timed, level: float = LEVEL) -> Estimate:
    """Return the time of one row over that of another.

    Parameters
    ----------
    slow, fast : TimingRow or LearningRow
        The two rows.
    level : float
        The confidence level.

    Returns
    -------
    Estimate
        The geometric mean over rounds, and its interval.
    """
    times = np.log(round_times([slow, fast]))
    found = over_rounds(times[:, 0] - times[:, 1], level)
    return Estimate(*(math.exp(value) for value in found))


def exponent_over_rounds(rows: Sequence[TimingRow], law: Callable[..., Any], level: float = LEVEL) -> Estimate:
    """Return the exponent of time relative to a law: the slope of its logarithm over that of the law.

    Parameters
    ----------
    rows : sequence of TimingRow
        Cells of one method at several sizes.
    law : callable
        The law, of d and k.
    level : float
        The confidence level.

    Returns
    -------
    Estimate
        1 where time follows the law.
    """
    d, k = (np.array([getattr(row, name) for row in rows], float) for name in ("n_features", "n_bits"))
    x = np.log(law(d, k))
    x -= x.mean()
    return over_rounds(np.log(round_times(rows)) @ x / (x @ x), level)
