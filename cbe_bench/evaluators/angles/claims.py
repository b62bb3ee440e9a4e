"""What the paper says of the angle estimate, judged: mean, sign flips, fall of the variance, and the theorems."""

import math

import numpy as np
import pandas as pd
from scipy.stats import norm

from cbe_bench.core.results import Row
from cbe_bench.evaluators import theory
from cbe_bench.evaluators.intervals import log_variance_error, mean_interval, variance_interval
from cbe_bench.reports.angles.tables import chosen, data_of, simulations
from cbe_bench.reports.angles.theorems import corollary_verdicts, tail_verdicts, variance_verdicts
from cbe_bench.reports.verdicts import DATA_KINDS, Verdict, judged, level_of_each, verdict_table

LARGEST_MEAN_WIDTH = 0.02
SLOPES = (-1.1, -0.9)
RATIOS = (0.8, 1.25)
FAILS, HOLDS = 2.0, 1.5
"""Variance, relative to independent bits, above which an embedding fails and below which it holds."""
_WITHOUT = "cbe-rand without D"
_HARD = ("smooth", "periodic")
_SPAN = 4
"""Doublings of k, up to d, over which a slope is taken."""


def theory_verdicts(rows: list[Row]) -> pd.DataFrame:
    """Judge the claims of Sections 4 and 6.1, as far as there are rows for them."""
    return verdict_table(judge_theory(rows))


def judge_theory(rows: list[Row]) -> list[Verdict]:
    """Return the verdicts on the claims of Sections 4 and 6.1, as far as there are rows for them."""
    done = [row for row in rows if row["status"] == "ok"]
    cells, features = simulations(done), [row for row in done if row["part"] == "features"]
    return [
        *mean_verdicts(cells),
        *variance_verdicts(cells),
        *tail_verdicts(cells),
        *sign_verdicts(cells, features),
        *decay_verdicts(cells),
        *corollary_verdicts(features),
    ]


def mean_verdicts(cells: list[Row]) -> list[Verdict]:
    """Judge S4-mean: the estimate is right on average."""
    mine = chosen(cells, ["cbe-rand"])
    if not mine:
        return []
    level = level_of_each(sum(len(row["angles"]) for row in mine))
    points = []
    for row in mine:
        off = np.array(row["mean"]) - np.array(row["angles"]) / math.pi
        variance = np.array(row["variance"])[:, -1]
        points += list(zip(off, *mean_interval(off, variance, row["draws"], level), strict=True))
    off, low, high = np.array(points).T
    worst = int(np.argmax(np.abs(off)))
    holds = bool(np.all((low <= 0) & (high >= 0)))
    sharp = bool(np.all(high - low <= 2 * LARGEST_MEAN_WIDTH))
    found = (
        f"of {len(off)} means the one furthest off is off by {off[worst]:+.2g}; "
        f"{int(np.sum((low > 0) | (high < 0)))} intervals leave out 0; the widest is +-{(high - low).max() / 2:.2g}"
    )
    rule = "every 99% simultaneous interval of mean - angle / pi, at k = d, holds 0"
    return [
        Verdict(
            claim="S4-mean",
            statement="The mean share of differing bits of cbe-rand is angle / pi.",
            verdict=judged(holds and sharp, not holds),
            value=off[worst],
            low=low[worst],
            high=high[worst],
            found=found,
            rule=f"{rule} and is no wider than +-{LARGEST_MEAN_WIDTH}",
            data=data_of(mine),
        )
    ]


def _ratios(cells: list[Row], level: float) -> dict[tuple[int, str], tuple[float, float, float]]:
    """Return variance / that of independent bits at pi/3 and k = d, with its interval, for each d and kind of pair."""
    found = {}
    for row in cells:
        i = int(np.argmin(np.abs(np.array(row["angles"]) - math.pi / 3)))
        iid = theory.iid_variance(row["angles"][i], row["bits"][-1])
        value = row["variance"][i][-1]
        low, high = variance_interval(value, row["kurtosis"][i][-1], row["draws"], level)
        found[row["n_features"], row["pair"]] = value / iid, float(low) / iid, float(high) / iid
    return found


def sign_verdicts(cells: list[Row], features: list[Row]) -> list[Verdict]:
    """Judge S4-D: without sign flips some pairs fail; what happens to features is told."""
    without, flipped = chosen(cells, [_WITHOUT], _HARD), chosen(cells, ["cbe-rand"], _HARD)
    level = level_of_each(len(without) + len(flipped))
    fails, holds = _ratios(without, level), _ratios(flipped, level)
    fails = {key: value for key, value in fails.items() if key in holds}
    if not fails:
        return []
    worst = max(fails, key=lambda key: fails[key][0])
    needed = all(low > FAILS for _, low, _ in fails.values())
    helped = all(high < HOLDS for _, _, high in holds.values())
    refuted = any(high < FAILS for _, _, high in fails.values()) or any(low > HOLDS for _, low, _ in holds.values())
    value, low, high = fails[worst]
    found = (
        f"without D, the variance at pi/3 and k = d is {value:,.0f} times that of independent bits "
        f"({worst[1]} pair, d = {worst[0]:,}); with D {holds[worst][0]:.2f} times"
    )
    rule = (
        f"variance / (p (1 - p) / k) of smooth and periodic pairs, at pi/3 and k = d, is above {FAILS:g} without D "
        f"and below {HOLDS:g} with it, by 99% simultaneous intervals"
    )
    return [
        Verdict(
            claim="S4-D",
            statement="The sign flips D are needed: without them some pairs give bits that repeat.",
            verdict=judged(needed and helped, refuted),
            value=value,
            low=low,
            high=high,
            found=found + _where_else(cells, level) + _on_features(features),
            rule=rule,
            data=data_of([*without, *flipped]),
        )
    ]


def _where_else(cells: list[Row], level: float) -> str:
    """Say how cbe-rand does without D on dense pairs, and after a random Hadamard transform."""
    text = ""
    dense = _ratios(chosen(cells, [_WITHOUT], ["dense"]), level)
    if dense:
        text += f"; on dense pairs, without D, at most {max(dense.values())[0]:.2f} times"
    hadamard = _ratios(chosen(cells, ["cbe-rand without D after HD'"]), level)
    if hadamard:
        key = max(hadamard, key=lambda key: hadamard[key][0])
        text += f"; after a random Hadamard transform instead of D up to {hadamard[key][0]:,.0f} times ({key[1]} pair)"
    return text


def _on_features(rows: list[Row]) -> str:
    """Say how much further the angles of features are off without D."""
    with_d, without = (
        [row["mean_error"][-1] for row in rows if row["method"] == method] for method in ("cbe-rand", _WITHOUT)
    )
    if not with_d or not without:
        return ""
    ratios = np.array(without) / np.mean(with_d)
    data = f"{rows[0]['data']} ({DATA_KINDS[rows[0]['data_kind']]})"
    return (
        f"; on {data} angles are off by {ratios.min():.2f} to {ratios.max():.2f} times as much without D, on average "
        f"over pairs, in {len(ratios)} draws at k = d"
    )


def decay_verdicts(cells: list[Row]) -> list[Verdict]:
    """Judge S6-var: the variance falls as 1/k up to d."""
    mine = [row for row in chosen(cells, ["cbe-rand"], ["dense"]) if len(row["bits"]) > _SPAN]
    if not mine:
        return []
    slope, ratio = _slopes_and_ratios(mine)
    limits = ((slope, SLOPES), (ratio, RATIOS))
    inside = all(least <= values[1].min() and values[2].max() <= most for values, (least, most) in limits)
    outside = any(values[2].min() < least or values[1].max() > most for values, (least, most) in limits)
    value, low, high = slope[:, np.argmax(np.abs(slope[0] + 1))]
    found = (
        f"from k = d/{1 << _SPAN} to d the slope of log variance is {slope[0].min():.3f} to {slope[0].max():.3f}, over "
        f"d and angles; at k = d the variance is {ratio[0].min():.2f} to {ratio[0].max():.2f} times that of "
        "independent bits"
    )
    rule = (
        f"99% simultaneous intervals of all slopes within {SLOPES}, of all ratios at k = d within {RATIOS}; the value "
        "is the slope furthest from -1"
    )
    return [
        Verdict(
            claim="S6-var",
            statement="In simulation the variance of cbe-rand falls as 1/k for k up to about d.",
            verdict=judged(inside, outside),
            value=value,
            low=low,
            high=high,
            found=found,
            rule=rule,
            data=data_of(mine),
        )
    ]


def _slopes_and_ratios(cells: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes of log variance up to k = d, and variances at k = d over those of independent bits, with ends.

    Variances at different k from the same draws are hardly correlated, and what correlation there is narrows their
    quotient: taking them as independent errs on the wide side.
    """
    z = norm.ppf((1 + level_of_each(2 * sum(len(row["angles"]) for row in cells))) / 2)
    slopes, ratios = [], []
    for row in cells:
        variance = np.array(row["variance"])
        error = log_variance_error(row["kurtosis"], row["draws"])
        first = -1 - _SPAN
        length = math.log(row["bits"][-1] / row["bits"][first])
        slope = np.log(variance[:, -1] / variance[:, first]) / length
        half = z * np.hypot(error[:, -1], error[:, first]) / length
        slopes.append(np.array([slope, slope - half, slope + half]))
        ratio = variance[:, -1] / [theory.iid_variance(theta, row["bits"][-1]) for theta in row["angles"]]
        factor = np.exp(z * error[:, -1])
        ratios.append(np.array([ratio, ratio / factor, ratio * factor]))
    return np.hstack(slopes), np.hstack(ratios)
