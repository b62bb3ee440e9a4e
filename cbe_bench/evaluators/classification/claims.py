"""What the paper says of classification (Table 3, Section 7.3): codes of k = d bits, compared test row by test row."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from cbe_bench.core.claims import Claim, Evidence, Source, Verdict, outcome_of
from cbe_bench.core.query_values import unpack_queries
from cbe_bench.core.results import DATA_KINDS, Results
from cbe_bench.evaluators.classification.rows import ORIGINAL, ClassificationRow
from cbe_bench.evaluators.comparisons import NO_BOUND, SATURATED, BySeed, Comparison, compared, every, overall

LARGEST_LOSS = 0.5
"""Points of accuracy that count as no loss."""
RIVALS = {"lsh": "lsh", "bilinear-opt": "bil-opt"}
"""The methods that cbe-opt is compared with, and how claims abbreviate them."""
_COMPRESSION = 32.0
"""Bytes of float32 features over those of codes of k = d bits."""
_DECIDES = f"rivals above {SATURATED:g} points are saturated and do not count"
_MISSING = "no classification experiment with codes of k = d bits was run (cbe-bench run classification)"

Rows = list[ClassificationRow]


def _judged(
    decide: Callable[[Claim, Rows, Source], list[Verdict]],
) -> Callable[[Claim, Sequence[Results]], list[Verdict]]:
    """Return a judge of each experiment that has codes of k = d bits; experiments on the same data count once."""

    def judge(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
        found: dict[str, list[Verdict]] = {}
        for one in results:
            rows = [row for row in one.rows if row.ok]
            if square := _square(rows):
                source = Source(_data(square), square[0].data_kind, one.name)
                found.setdefault(source.data, decide(claim, rows, source))
        return [verdict for verdicts in found.values() for verdict in verdicts]

    return judge


def _no_loss(rival: str) -> Claim:
    """Return the claim that cbe-opt shows no degradation against another method."""

    def decide(claim: Claim, rows: Rows, source: Source) -> list[Verdict]:
        own, other = (_points(_square(rows), name, "accuracy") for name in ("cbe-opt", rival))
        return every(claim, compared(own, other, f"cbe-opt - {rival}", rows[0].n_features), source)

    return Claim(
        id=f"T3-class-{RIVALS[rival]}",
        order=50 + list(RIVALS).index(rival) / 10,
        statement=f"A linear classifier on codes of cbe-opt shows no degradation against {rival}.",
        where="Table 3; Section 7.3",
        rule=f"cbe-opt - {rival} > -{LARGEST_LOSS:g} points of accuracy, paired by test row; {_DECIDES}",
        measure=f"cbe-opt - {rival}, points of accuracy",
        region=(-LARGEST_LOSS, NO_BOUND),
        missing=_MISSING,
        judge=_judged(decide),
    )


def _asymmetric_gain(claim: Claim, rows: Rows, source: Source) -> list[Verdict]:
    """Judge T3-asym by the mean over methods at k = d; that of each, and of shorter codes, is shown."""
    found = [one for name in _names(_square(rows)) for one in _gain(_square(rows), name)]
    lengths = sorted({row.n_bits for row in rows if row.encoder != ORIGINAL and row.n_bits != row.n_features})
    shorter = [[row for row in rows if row.n_bits == k] for k in lengths]
    also = [one for mine in shorter for name in _names(mine) for one in _gain(mine, name)]
    return overall(claim, found, source, also, "asymmetric - symmetric, mean over methods")


def _gain(rows: Rows, name: str) -> list[Comparison]:
    own, other = (_points(rows, name, metric) for metric in ("accuracy", "accuracy_symmetric"))
    return compared(own, other, f"{name}, asymmetric - symmetric", rows[0].n_bits)


def _space(claim: Claim, rows: Rows, source: Source) -> list[Verdict]:
    """Judge T3-space: bytes of the features over those of a code."""
    originals = [row for row in rows if row.encoder == ORIGINAL]
    ratios = {row.encoder: originals[0].bytes_per_vector / row.bytes_per_vector for row in _square(rows) if originals}
    evidence = [
        Evidence(name, rows[0].n_features, ratio, ratio, ratio, outcome_of(ratio == _COMPRESSION, True))
        for name, ratio in ratios.items()
    ]
    return [claim.decide(evidence, source)] if evidence else []


def _square(rows: Rows) -> Rows:
    """Return the rows of codes of k = d bits."""
    return [row for row in rows if row.n_bits == row.n_features]


def _names(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row.label for row in rows))


def _points(rows: Rows, label: str, metric: str) -> BySeed:
    """Return, by seed, 100 for each test row that is classified right and 0 for others, or their mean if not stored."""
    found = {}
    for row in rows:
        mean = getattr(row, metric)
        if row.label == label and not math.isnan(mean):
            stored = unpack_queries(getattr(row, f"query_{metric}"))
            found[row.seed] = 100 * (stored if len(stored) else np.array([mean]))
    return found


def _data(rows: Rows) -> str:
    row, seeds = rows[0], {row.seed for row in rows}
    return (
        f"{row.data} ({DATA_KINDS[row.data_kind]}), {row.n_classes} classes, {row.train_per_class:,} training and "
        f"{row.test_per_class:,} test rows of each, k = d = {row.n_features:,}, {len(seeds)} seeds"
    )


CLAIMS = (
    *(_no_loss(rival) for rival in RIVALS),
    Claim(
        id="T3-asym",
        order=51,
        statement="Training on codes and testing on real projections (asymmetric) beats testing on codes (symmetric).",
        where="Section 7.3",
        rule=f"the gain, mean over methods at k = d, > 0, paired by test row; {_DECIDES}",
        measure="gain, points of accuracy",
        region=(0.0, NO_BOUND),
        missing=_MISSING,
        judge=_judged(_asymmetric_gain),
    ),
    Claim(
        id="T3-space",
        order=52,
        statement="Codes are 32 times smaller than the features.",
        where="Table 3; Section 7.3",
        rule=f"bytes of a vector of features over those of its code of k = d bits are {_COMPRESSION:g}",
        measure="bytes of features / bytes of code",
        region=(_COMPRESSION, _COMPRESSION),
        exact=True,
        missing=_MISSING,
        judge=_judged(_space),
    ),
)
