"""Table 1's column for learning: how training time grows with training rows and dimensions."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from cbe_bench.core.claims import Claim, Estimate, Evidence, Source, Verdict, outcome_of_interval
from cbe_bench.core.results import Results
from cbe_bench.core.statistics import LEVEL, simultaneous_level
from cbe_bench.evaluators.times.intervals import over_rounds, round_times
from cbe_bench.evaluators.times.rows import LearningRow, learning_rows
from cbe_bench.evaluators.timing.claims_growth import EXPONENTS, ROUNDS
from cbe_bench.evaluators.timing.learning import LEARNING_LAWS, Exponents, learning_exponents

_ROWS_FACTOR, _DIMS_FACTOR = 4, 16
"""What training rows and dimensions must span."""


def training_growth(method: str, claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge T1-learn: the exponents of training time in N and in d, relative to the law.

    Parameters
    ----------
    method : str
        The trained method of that line of Table 1.
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for one in results:
        rows = [row for row in learning_rows(one.rows) if row.label == method]
        if rows and _spans(rows, "n_train", _ROWS_FACTOR) and _spans(rows, "n_features", _DIMS_FACTOR):
            verdicts.append(claim.decide(_evidence(rows, method), _source(rows, one.name), _listed(rows)))
    return verdicts


def _spans(rows: Sequence[LearningRow], size: str, factor: int) -> bool:
    values = [getattr(row, size) for row in rows]
    return max(values) >= factor * min(values)


def _evidence(rows: list[LearningRow], method: str) -> list[Evidence]:
    """Return the two exponents, computed in each round, with simultaneous intervals."""
    law = LEARNING_LAWS[method]
    fitted = [learning_exponents(rows, seconds, law.of) for seconds in round_times(rows).tolist()]
    level = simultaneous_level(len(Exponents._fields), LEVEL)
    evidence = []
    for name, values in zip(("N", "d"), np.array(fitted).reshape(-1, 2).T, strict=True):
        estimate: Estimate = over_rounds(values, level)
        subject = f"exponent of training time against {law.words} in {name}"
        evidence.append(Evidence(subject, 0, *estimate, outcome_of_interval(estimate, EXPONENTS)))
    return evidence


def _source(rows: Sequence[LearningRow], name: str) -> Source:
    threads = " and ".join(str(n) for n in sorted({row.threads for row in rows}))
    rounds = min(len(row.rounds_s) for row in rows)
    data = f"training times on this machine: {threads} thread{'' if threads == '1' else 's'}, {rounds} rounds"
    return Source(data, "machine", name)


def _listed(rows: Sequence[LearningRow]) -> str:
    ends = [min(rows, key=_size), max(rows, key=_size)]
    return " to ".join(f"{row.fit_s:.3g} s at {row.n_train:,} x {row.n_features:,}" for row in ends)


def _size(row: LearningRow) -> int:
    return row.n_train * row.n_features


def _line(order: float, name: str, method: str, words: str, paper: str) -> Claim:
    law = LEARNING_LAWS[method].words
    config = "learning-cost-full" if method == "itq" else "learning-cost"
    return Claim(
        id=f"T1-learn-{name}",
        order=order,
        statement=f"{words} are learned in {paper} time.",
        where="Table 1; Section 5.1" if name == "circ" else "Table 1",
        rule=f"the exponents of the training time of {method}, for a fixed number of iterations, relative to {law}, in "
        f"N over a factor of {_ROWS_FACTOR} and in d over one of {_DIMS_FACTOR} or more, are within {EXPONENTS} by 95% "
        f"simultaneous intervals over {ROUNDS}",
        measure=f"exponent of training time relative to {law}",
        region=EXPONENTS,
        missing=f"no training was timed over such sizes (configs/{config}.yaml)",
        judge=partial(training_growth, method),
    )


LEARNING_CLAIMS = (
    _line(12.5, "circ", "cbe-opt", "Circulant codes", "O(N d log d)"),
    _line(12.6, "bil", "bilinear-opt", "Bilinear codes", "O(N d sqrt(k))"),
    _line(12.7, "full", "itq", "Full projections", "O(N d^2 + d^3), within the O(N d^2 k) of Table 1,"),
)
