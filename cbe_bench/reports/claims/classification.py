"""What the paper says of classification (Table 3, Section 7.3), judged.

Methods meet the same rows under each seed, so what counts is the difference of their accuracies seed by seed, and
Student's interval of its mean.
"""

import numpy as np

from cbe_bench.core.results import Row
from cbe_bench.evaluators.intervals import LEVEL, mean_interval
from cbe_bench.reports.verdicts import DATA_KINDS, VACUOUS, Verdict, judged

LARGEST_LOSS = 1.0
"""Points of accuracy that count as no loss: three standard deviations of the paper's own accuracies."""
SATURATED = 0.98
"""Accuracy from which on no difference can show: where all methods reach it, verdicts are vacuous."""
RIVALS = ("lsh", "bilinear-opt")


_VACUOUS_RULE = f"vacuous where every method is right on {SATURATED:.0%} of the rows"


def classification_verdicts(rows: list[Row]) -> list[Verdict]:
    """Judge T3-class and T3-asym at k = d, for each data set that there are rows of."""
    done = [row for row in rows if row["experiment"] == "classification" and row["status"] == "ok"]
    verdicts = []
    for data in dict.fromkeys((row["data"], row["data_kind"]) for row in done):
        mine = [row for row in done if (row["data"], row["data_kind"]) == data]
        square = [row for row in mine if row["n_bits"] == row["n_features"]]
        originals = [row for row in mine if row["encoder"] == "original"]
        if square:
            shorter = [row for row in mine if row not in square and row not in originals]
            verdicts += [_no_loss(square, originals), _asymmetric(square, shorter)]
    return verdicts


def _no_loss(codes: list[Row], originals: list[Row]) -> Verdict:
    """Judge T3-class by the rival that cbe-opt compares worst with."""
    found = {rival: _differences(codes, "cbe-opt", rival) for rival in RIVALS}
    estimates = [_estimate(values) for values in found.values()]
    value, low, high = min(estimates, key=lambda estimate: np.nan_to_num(estimate[0], nan=-np.inf))
    sizes = {originals[0]["bytes_per_vector"] / row["bytes_per_vector"] for row in codes} if originals else set()
    told = [f"cbe-opt - {rival}: {_told(each)}" for rival, each in zip(found, estimates, strict=True)]
    told += [f"a code is {size:g} times smaller than the features" for size in sorted(sizes)]
    inside = all(each[1] >= -LARGEST_LOSS for each in estimates) and sizes == {32.0}
    outside = any(each[2] < -LARGEST_LOSS for each in estimates) or bool(sizes - {32.0})
    return Verdict(
        claim="T3-class",
        statement="CBE-opt loses nothing against LSH and bilinear-opt; codes are 32 times smaller",
        verdict=_unless_saturated(judged(inside, outside), codes),
        value=value,
        low=low,
        high=high,
        found="; ".join(told),
        rule=(
            f"the {LEVEL:.0%} intervals of both differences, seed by seed, lie above -{LARGEST_LOSS:g} point and codes "
            f"are 32 times smaller; not reproduced if an interval lies below; else not tested; {_VACUOUS_RULE}"
        ),
        data=_data(codes),
    )


def _asymmetric(codes: list[Row], shorter: list[Row]) -> Verdict:
    """Judge T3-asym by the gain averaged over all methods; what shorter codes gain is told."""
    value, low, high = _estimate(_gains(codes))
    told = [f"{name} {np.mean(_gains([r for r in codes if r['encoder'] == name])):+.2f}" for name in _names(codes)]
    for n_bits in sorted({row["n_bits"] for row in shorter}):
        gains = _gains([row for row in shorter if row["n_bits"] == n_bits])
        told.append(f"all at {n_bits:,} bits {np.mean(gains):+.2f}")
    return Verdict(
        claim="T3-asym",
        statement="testing on real projections (asymmetric) beats testing on codes (symmetric)",
        verdict=_unless_saturated(judged(low > 0, high < 0), codes),
        value=value,
        low=low,
        high=high,
        found=f"all methods at k = d gain {_told((value, low, high))}; {', '.join(told)}",
        rule=(
            f"the {LEVEL:.0%} interval of the gain, averaged over methods seed by seed, lies above 0; not reproduced "
            f"if it lies below; else not tested; {_VACUOUS_RULE}"
        ),
        data=_data(codes),
    )


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["encoder"] for row in rows))


def _gains(rows: list[Row]) -> list[float]:
    """Return how many points asymmetric testing gains under each seed, averaged over the methods."""
    gains: dict[int, list[float]] = {}
    for row in rows:
        gains.setdefault(row["seed"], []).append(100 * (row["accuracy"] - row["accuracy_symmetric"]))
    return [float(np.mean(of_seed)) for of_seed in gains.values()]


def _unless_saturated(verdict: str, codes: list[Row]) -> str:
    least = min(np.mean([row["accuracy"] for row in codes if row["encoder"] == name]) for name in _names(codes))
    return VACUOUS if least >= SATURATED else verdict


def _differences(codes: list[Row], method: str, rival: str) -> list[float]:
    """Return by how many points a method is better than another, for each seed that has both."""
    ours, theirs = (
        {row["seed"]: row["accuracy"] for row in codes if row["encoder"] == name and not row["params"]}
        for name in (method, rival)
    )
    return [100 * (ours[seed] - theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())]


def _estimate(values: list[float]) -> tuple[float, float, float]:
    """Return the mean and its interval, which fewer than two values do not have."""
    if len(values) < 2:
        return (values[0] if values else np.nan), np.nan, np.nan
    low, high = mean_interval(np.mean(values), np.var(values, ddof=1), len(values))
    return float(np.mean(values)), float(low), float(high)


def _told(estimate: tuple[float, float, float]) -> str:
    value, low, high = (round(number, 2) + 0.0 for number in estimate)  # no minus before zero
    if value != value:
        return "not run"
    return f"{value:+.2f} points ({low:+.2f} to {high:+.2f})" if low == low else f"{value:+.2f} points (one seed)"


def _data(rows: list[Row]) -> str:
    row, seeds = rows[0], {row["seed"] for row in rows}
    return (
        f"{row['data']} ({DATA_KINDS[row['data_kind']]}), {row['n_classes']} classes, {row['train']:,} training and "
        f"{row['test']:,} test rows of each, k = d = {row['n_features']:,}, {len(seeds)} seeds"
    )
