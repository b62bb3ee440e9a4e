"""What the paper says of classification (Table 3, Section 7.3).

Under each seed all methods see the same rows, so differences of accuracies are taken seed by seed, with Student's
interval of their mean.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cbe_bench.core.claims import VACUOUS, Claim, Estimate, Source, Verdict, outcome_of
from cbe_bench.core.results import DATA_KINDS, Results
from cbe_bench.core.statistics import LEVEL, mean_interval
from cbe_bench.evaluators.classification.rows import ORIGINAL, ClassificationRow

LARGEST_LOSS = 1.0
"""Points of accuracy that count as no loss: three standard deviations of the paper's own accuracies."""
SATURATED = 0.98
"""Accuracy from which on no difference can show: where all methods reach it, verdicts are vacuous."""
RIVALS = ("lsh", "bilinear-opt")
_COMPRESSION = 32.0
"""Bytes of float32 features over those of codes of k = d bits."""

Rows = list[ClassificationRow]


def _judge(decide: Callable[[Claim, Rows, Source], Verdict], claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge each experiment that has codes of k = d bits; experiments on the same data count once."""
    found: dict[str, Verdict] = {}
    for one in results:
        rows = [row for row in one.rows if row.ok]
        if square := _square(rows):
            source = Source(_data(square), square[0].data_kind, one.name)
            found.setdefault(source.data, decide(claim, rows, source))
    return list(found.values())


def no_loss(claim: Claim, rows: Rows, source: Source) -> Verdict:
    """Judge T3-class by the rival that cbe-opt compares worst with.

    Parameters
    ----------
    claim : Claim
        What is judged.
    rows : sequence of ClassificationRow
        The rows of one experiment that are done.
    source : Source
        What they were measured on.

    Returns
    -------
    Verdict
    """
    codes, originals = _square(rows), [row for row in rows if row.encoder == ORIGINAL]
    estimates = {rival: _estimate(_differences(codes, "cbe-opt", rival)) for rival in RIVALS}
    worst = min(estimates.values(), key=lambda estimate: np.nan_to_num(estimate.value, nan=-np.inf))
    ratios = {originals[0].bytes_per_vector / row.bytes_per_vector for row in codes} if originals else set()
    texts = [f"cbe-opt - {rival}: {_points(estimate)}" for rival, estimate in estimates.items()]
    texts += [f"a code is {ratio:g} times smaller than the features" for ratio in sorted(ratios)]
    inside = all(estimate.low >= -LARGEST_LOSS for estimate in estimates.values()) and ratios == {_COMPRESSION}
    outside = any(estimate.high < -LARGEST_LOSS for estimate in estimates.values()) or bool(ratios - {_COMPRESSION})
    return claim.verdict(_unless_saturated(outcome_of(inside, outside), codes), worst, "; ".join(texts), source)


def asymmetric_gain(claim: Claim, rows: Rows, source: Source) -> Verdict:
    """Judge T3-asym by the gain averaged over all methods; the gain of shorter codes is reported.

    Parameters
    ----------
    claim : Claim
        What is judged.
    rows : sequence of ClassificationRow
        The rows of one experiment that are done.
    source : Source
        What they were measured on.

    Returns
    -------
    Verdict
    """
    codes = _square(rows)
    shorter = [row for row in rows if row.n_bits != row.n_features and row.encoder != ORIGINAL]
    estimate = _estimate(_gains(codes))
    texts = [f"{name} {np.mean(_gains([row for row in codes if row.encoder == name])):+.2f}" for name in _names(codes)]
    for n_bits in sorted({row.n_bits for row in shorter}):
        gains = _gains([row for row in shorter if row.n_bits == n_bits])
        texts.append(f"all at {n_bits:,} bits {np.mean(gains):+.2f}")
    outcome = _unless_saturated(outcome_of(estimate.low > 0, estimate.high < 0), codes)
    found = f"all methods at k = d gain {_points(estimate)}; {', '.join(texts)}"
    return claim.verdict(outcome, estimate, found, source)


def _square(rows: Rows) -> Rows:
    """Return the rows of codes of k = d bits."""
    return [row for row in rows if row.n_bits == row.n_features]


def _names(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row.encoder for row in rows))


def _gains(rows: Rows) -> list[float]:
    """Return how many points asymmetric testing gains under each seed, averaged over the methods."""
    gains: dict[int, list[float]] = {}
    for row in rows:
        gains.setdefault(row.seed, []).append(100 * (row.accuracy - row.accuracy_symmetric))
    return [float(np.mean(of_seed)) for of_seed in gains.values()]


def _unless_saturated(outcome: str, codes: Rows) -> str:
    least = min(np.mean([row.accuracy for row in codes if row.encoder == name]) for name in _names(codes))
    return VACUOUS if least >= SATURATED else outcome


def _differences(codes: Rows, method: str, rival: str) -> list[float]:
    """Return by how many points a method is better than another, for each seed that has both."""
    ours, theirs = (
        {row.seed: row.accuracy for row in codes if row.encoder == name and not row.params} for name in (method, rival)
    )
    return [100 * (ours[seed] - theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())]


def _estimate(values: list[float]) -> Estimate:
    """Return the mean and its interval, which fewer than two values do not have."""
    if len(values) < 2:
        return Estimate(*values)
    low, high = mean_interval(np.mean(values), np.var(values, ddof=1), len(values))
    return Estimate(float(np.mean(values)), float(low), float(high))


def _points(estimate: Estimate) -> str:
    value, low, high = (round(number, 2) + 0.0 for number in estimate)  # no minus before zero
    if np.isnan(value):
        return "not run"
    return f"{value:+.2f} points (one seed)" if np.isnan(low) else f"{value:+.2f} points ({low:+.2f} to {high:+.2f})"


def _data(rows: Rows) -> str:
    row, seeds = rows[0], {row.seed for row in rows}
    return (
        f"{row.data} ({DATA_KINDS[row.data_kind]}), {row.n_classes} classes, {row.train_per_class:,} training and "
        f"{row.test_per_class:,} test rows of each, k = d = {row.n_features:,}, {len(seeds)} seeds"
    )


_VACUOUS_RULE = f"vacuous where the accuracy of every method is at least {SATURATED:.0%}"
_MISSING = "no classification experiment with codes of k = d bits was run (cbe-bench run classification)"

CLAIMS = (
    Claim(
        id="T3-class",
        order=50,
        statement="A linear classifier on codes of cbe-opt loses nothing to LSH and bilinear-opt; codes are 32 times "
        "smaller.",
        where="Table 3; Section 7.3",
        rule=f"the {LEVEL:.0%} intervals of both differences, seed by seed, lie above -{LARGEST_LOSS:g} point and "
        f"codes are {_COMPRESSION:g} times smaller; not reproduced if an interval lies below; else not tested; "
        f"{_VACUOUS_RULE}",
        measure="cbe-opt less the rival it compares worst with, points of accuracy",
        region=(-LARGEST_LOSS, math.nan),
        missing=_MISSING,
        judge=partial(_judge, no_loss),
    ),
    Claim(
        id="T3-asym",
        order=51,
        statement="Training on codes and testing on real projections (asymmetric) beats testing on codes (symmetric).",
        where="Section 7.3",
        rule=f"the {LEVEL:.0%} interval of the gain, averaged over methods seed by seed, lies above 0; not reproduced "
        f"if it lies below; else not tested; {_VACUOUS_RULE}",
        measure="gain, points of accuracy",
        region=(0.0, math.nan),
        missing=_MISSING,
        judge=partial(_judge, asymmetric_gain),
    ),
)
