"""Sections 4 and 6.1 of the paper: the mean of the angle estimate, the sign flips, and how its variance falls.

The theorems are in `claims_theorems`. Where many estimates decide together, their intervals are simultaneous.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from cbe_bench.core.claims import Claim, Estimate, Verdict, outcome_of
from cbe_bench.core.results import DATA_KINDS, Results
from cbe_bench.core.statistics import log_variance_error, mean_interval, simultaneous_level, variance_interval
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.claims_products import SMALL_PRODUCTS
from cbe_bench.evaluators.angles.claims_theorems import MISSING, THEOREMS, each_experiment, simulated
from cbe_bench.evaluators.angles.rows import FeaturesRow, SimulationRow, features_rows, select, simulations

LARGEST_HALF_WIDTH = 0.02
"""Half-width of an interval of a mean above which it decides nothing."""
SLOPES = (-1.1, -0.9)
RATIOS = (0.8, 1.25)
FAILS, HOLDS = 2.0, 1.5
"""Variance, relative to independent bits, above which an embedding fails and below which it holds."""
_WITHOUT_D = "cbe-rand without D"
_HARD_PAIRS = ("smooth", "periodic")
_DOUBLINGS = 4
"""Doublings of k, up to d, over which a slope is taken."""


@each_experiment
def judge_mean(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S4-mean: the estimate is right on average.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.

    Returns
    -------
    list of Verdict
        Empty if the rows do not measure it.
    """
    mine = select(simulations(results.rows), ["cbe-rand"])
    if not mine:
        return []
    level = simultaneous_level(sum(len(row.angles_rad) for row in mine))
    points: list[tuple[float, float, float]] = []
    for row in mine:
        deviation = np.array(row.mean) - np.array(row.angles_rad) / math.pi
        variance = np.array(row.variance)[:, -1]
        points += list(zip(deviation, *mean_interval(deviation, variance, row.draws, level), strict=True))
    deviation, low, high = np.array(points).T
    worst = int(np.argmax(np.abs(deviation)))
    holds = bool(np.all((low <= 0) & (high >= 0)))
    sharp = bool(np.all(high - low <= 2 * LARGEST_HALF_WIDTH))
    found = (
        f"of {len(deviation)} means the one furthest off is off by {deviation[worst]:+.2g}; "
        f"{int(np.sum((low > 0) | (high < 0)))} intervals leave out 0; the widest is +-{(high - low).max() / 2:.2g}"
    )
    estimate = Estimate(*(float(values[worst]) for values in (deviation, low, high)))
    return [claim.verdict(outcome_of(holds and sharp, not holds), estimate, found, simulated(mine, results))]


Ratios = dict[tuple[int, str], Estimate]
"""Variance relative to independent bits, for each d and kind of pair."""


def _ratios(rows: Sequence[SimulationRow], level: float) -> Ratios:
    """Return the ratios at pi/3 and k = d with their intervals."""
    found = {}
    for row in rows:
        i = int(np.argmin(np.abs(np.array(row.angles_rad) - math.pi / 3)))
        independent = theory.iid_variance(row.angles_rad[i], row.n_bits[-1])
        value = row.variance[i][-1]
        ends = variance_interval(value, row.kurtosis[i][-1], row.draws, level)
        found[row.n_features, row.pair] = Estimate(*(float(one) / independent for one in (value, *ends)))
    return found


def _largest(ratios: Ratios) -> tuple[int, str]:
    return max(ratios, key=lambda key: ratios[key].value)


@each_experiment
def judge_sign_flips(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S4-D: without sign flips some pairs fail; what happens on features is reported.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.

    Returns
    -------
    list of Verdict
        Empty if the rows do not measure it.
    """
    cells = simulations(results.rows)
    without, flipped = select(cells, [_WITHOUT_D], _HARD_PAIRS), select(cells, ["cbe-rand"], _HARD_PAIRS)
    level = simultaneous_level(len(without) + len(flipped))
    holds = _ratios(flipped, level)
    fails = {key: ratio for key, ratio in _ratios(without, level).items() if key in holds}
    if not fails:
        return []
    worst = _largest(fails)
    needed = all(ratio.low > FAILS for ratio in fails.values())
    helped = all(ratio.high < HOLDS for ratio in holds.values())
    refuted = any(ratio.high < FAILS for ratio in fails.values()) or any(ratio.low > HOLDS for ratio in holds.values())
    found = (
        f"without D, the variance at pi/3 and k = d is {fails[worst].value:,.0f} times that of independent bits "
        f"({worst[1]} pair, d = {worst[0]:,}); with D {holds[worst].value:.2f} times"
    )
    found += _on_other_pairs(cells, level) + _on_features(features_rows(results.rows))
    source = simulated([*without, *flipped], results)
    return [claim.verdict(outcome_of(needed and helped, refuted), fails[worst], found, source)]


def _on_other_pairs(cells: list[SimulationRow], level: float) -> str:
    """Say how cbe-rand does without D on dense pairs, and after a random Hadamard transform."""
    text = ""
    dense = _ratios(select(cells, [_WITHOUT_D], ["dense"]), level)
    if dense:
        text += f"; on dense pairs, without D, at most {dense[_largest(dense)].value:.2f} times"
    hadamard = _ratios(select(cells, [f"{_WITHOUT_D} after HD'"]), level)
    if hadamard:
        key = _largest(hadamard)
        text += (
            f"; after a random Hadamard transform instead of D up to {hadamard[key].value:,.0f} times ({key[1]} pair)"
        )
    return text


def _on_features(rows: list[FeaturesRow]) -> str:
    """Say how much larger the errors of angles between features are without D."""
    with_d, without = (
        [row.mean_error_over_pi[-1] for row in rows if row.method == method] for method in ("cbe-rand", _WITHOUT_D)
    )
    if not with_d or not without:
        return ""
    ratios = np.array(without) / np.mean(with_d)
    return (
        f"; on {rows[0].data} ({DATA_KINDS[rows[0].data_kind]}) the mean error of angles at k = d is "
        f"{ratios.min():.2f} to {ratios.max():.2f} times as large without D, in {len(ratios)} draws"
    )


@each_experiment
def judge_decay(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S6-var: the variance falls as 1/k up to d.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.

    Returns
    -------
    list of Verdict
        Empty if the rows do not measure it.
    """
    dense = select(simulations(results.rows), ["cbe-rand"], ["dense"])
    mine = [row for row in dense if len(row.n_bits) > _DOUBLINGS]
    if not mine:
        return []
    slope, ratio = _slopes_and_ratios(mine)
    limits = ((slope, SLOPES), (ratio, RATIOS))
    inside = all(least <= low.min() and high.max() <= most for (_, low, high), (least, most) in limits)
    outside = any(high.min() < least or low.max() > most for (_, low, high), (least, most) in limits)
    found = (
        f"from k = d/{1 << _DOUBLINGS} to d the slope of log variance is {slope[0].min():.3f} to {slope[0].max():.3f}, "
        f"over d and angles; at k = d the variance is {ratio[0].min():.2f} to {ratio[0].max():.2f} times that of "
        "independent bits"
    )
    estimate = Estimate(*map(float, slope[:, np.argmax(np.abs(slope[0] + 1))]))
    return [claim.verdict(outcome_of(inside, outside), estimate, found, simulated(mine, results))]


def _slopes_and_ratios(rows: Sequence[SimulationRow]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return slopes of log variance up to k = d, and variances at k = d relative to independent bits.

    Variances at different k from the same draws are hardly correlated, and what correlation there is narrows their
    quotient: taking them as independent errs on the wide side.

    Returns
    -------
    slopes, ratios : array of shape (3, all angles of all rows)
        Value, lower and upper end.
    """
    z = norm.ppf((1 + simultaneous_level(2 * sum(len(row.angles_rad) for row in rows))) / 2)
    slopes, ratios = [], []
    for row in rows:
        variance = np.array(row.variance)
        error = log_variance_error(row.kurtosis, row.draws)
        first = -1 - _DOUBLINGS
        length = math.log(row.n_bits[-1] / row.n_bits[first])
        slope = np.log(variance[:, -1] / variance[:, first]) / length
        half = z * np.hypot(error[:, -1], error[:, first]) / length
        slopes.append(np.array([slope, slope - half, slope + half]))
        ratio = variance[:, -1] / [theory.iid_variance(theta, row.n_bits[-1]) for theta in row.angles_rad]
        factor = np.exp(z * error[:, -1])
        ratios.append(np.array([ratio, ratio / factor, ratio * factor]))
    return np.hstack(slopes), np.hstack(ratios)


CLAIMS = (
    Claim(
        id="S4-mean",
        order=20,
        statement="The mean fraction of differing bits of cbe-rand is angle / pi.",
        where="Equation 7",
        rule="every 99% simultaneous interval of mean - angle / pi, at k = d, holds 0 and is no wider than "
        f"+-{LARGEST_HALF_WIDTH}",
        measure="mean furthest off angle / pi",
        missing=MISSING,
        judge=judge_mean,
    ),
    SMALL_PRODUCTS,
    *THEOREMS,
    Claim(
        id="S4-D",
        order=24,
        statement="The sign flips D are needed: without them some pairs give bits that repeat.",
        where="Section 4",
        rule="variance / (p (1 - p) / k) of smooth and periodic pairs, at pi/3 and k = d, is above "
        f"{FAILS:g} without D and below {HOLDS:g} with it, by 99% simultaneous intervals",
        measure="largest variance without D / that of independent bits",
        region=(FAILS, math.nan),
        missing=MISSING,
        judge=judge_sign_flips,
    ),
    Claim(
        id="S6-var",
        order=25,
        statement="In simulation the variance of cbe-rand falls as 1/k for k up to about d.",
        where="Section 6.1",
        rule=f"99% simultaneous intervals of all slopes of log variance within {SLOPES}, of all ratios to independent "
        f"bits at k = d within {RATIOS}; the value is the slope furthest from -1",
        measure="slope furthest from -1",
        region=SLOPES,
        missing=MISSING,
        judge=judge_decay,
    ),
)
