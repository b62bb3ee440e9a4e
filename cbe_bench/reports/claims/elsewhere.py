"""Claims that are judged where their experiments are reported: on classifiers."""

from collections.abc import Callable, Sequence
from functools import partial

from cbe_bench.core.results import Experiment, Row
from cbe_bench.reports.claims.claim import Claim, Finding, Source, Spread
from cbe_bench.reports.claims.classification import classification_verdicts
from cbe_bench.reports.verdicts import Verdict

_JUDGES: dict[str, Callable[[list[Row]], list[Verdict]]] = {
    "classification": classification_verdicts,
}
"""Who judges an experiment, by its kind."""


def from_reports(kind: str, claim: str, experiments: Sequence[Experiment]) -> list[Finding]:
    """Return what the experiments of a kind found of a claim."""
    found: dict[tuple[str, str], Finding] = {}
    for one in experiments:
        for verdict in _JUDGES[kind](one.rows) if one.about.experiment == kind else ():
            if verdict.claim == claim:
                found.setdefault((verdict.statement, verdict.data), _taken_over(verdict, one))
    return list(found.values())


def _taken_over(verdict: Verdict, experiment: Experiment) -> Finding:
    return Finding(
        verdict=verdict.verdict,
        spread=Spread(verdict.value, verdict.low, verdict.high),
        found=verdict.found,
        source=Source(verdict.data, verdict.kind or _kind_of_data(experiment, verdict), experiment.name),
        statement=verdict.statement,
        rule=verdict.rule,
    )


def _kind_of_data(experiment: Experiment, verdict: Verdict) -> str:
    """Return the kind of the rows whose data the verdict names, or simulated."""
    named = {row["data_kind"] for row in experiment.rows if row.get("data") and verdict.data.startswith(row["data"])}
    return min(named, default="simulated")


def _claim(kind: str, name: str, statement: str, where: str, rule: str, measure: str) -> Claim:
    return Claim(
        id=name,
        statement=statement,
        where=where,
        rule=rule,
        measure=measure,
        missing=f"the experiment of configs/{kind}.yaml was not run",
        find=partial(from_reports, kind, name),
    )


_on_classifiers = partial(_claim, "classification")

CLAIMS = (
    _on_classifiers(
        "T3-class",
        "A linear classifier on codes of cbe-opt loses nothing to LSH and bilinear-opt; codes are 32 times smaller.",
        "Table 3; Section 7.3",
        "the intervals of the differences, seed by seed, lie above a loss of one point, and codes are 32 times smaller",
        "cbe-opt less the rival it compares worst with, points of accuracy",
    ),
    _on_classifiers(
        "T3-asym",
        "Training on codes and testing on real projections beats testing on codes.",
        "Section 7.3",
        "the interval of the gain, averaged over methods seed by seed, lies above 0",
        "gain, points of accuracy",
    ),
)
