"""Claims that are judged where their experiments are reported: on angles (Sections 4 and 6.1)."""

from collections.abc import Callable, Sequence
from functools import partial

from cbe_bench.core.results import Experiment, Row
from cbe_bench.reports.angles import judge_theory
from cbe_bench.reports.claims.claim import Claim, Finding, Source, Spread
from cbe_bench.reports.verdicts import Verdict

_JUDGES: dict[str, Callable[[list[Row]], list[Verdict]]] = {
    "angles": judge_theory,
}
"""Who judges an experiment, by its kind."""


def from_reports(kind: str, claim: str, experiments: Sequence[Experiment]) -> list[Finding]:
    """Return what the experiments of a kind found of a claim; pairs simulated for several of them count once."""
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


_on_angles = partial(_claim, "angles")

CLAIMS = (
    _on_angles(
        "S4-mean",
        "The mean share of differing bits of cbe-rand is angle / pi.",
        "Equation 7",
        "every simultaneous 99% interval of mean - angle / pi holds 0, and is narrow",
        "mean furthest off angle / pi",
    ),
    _on_angles(
        "S4-var",
        "The variance of cbe-rand is at most p (1 - p) / k + 32 rho.",
        "Theorem 1",
        "apart where the bound is trivially true (vacuous) and where it says something (variance / bound at most 1)",
        "largest variance / bound",
    ),
    _on_angles(
        "S4-tail",
        "Deviations beyond 4 log(k/delta) / sqrt(k) have a chance below delta.",
        "Theorem 2",
        "vacuous where no point meets the hypothesis with a deviation that can occur; else it is as rare as delta",
        "largest share of draws beyond",
    ),
    _on_angles(
        "S4-JL",
        "With 144 log(N)^2 / epsilon^2 bits the angles of N vectors are kept within epsilon pi.",
        "Corollary to Theorem 2",
        "vacuous where the bits asked for exceed d or no pair meets the hypothesis",
        "bits that were enough",
    ),
    _on_angles(
        "S4-D",
        "The sign flips D are needed.",
        "Section 4",
        "on smooth and periodic pairs the variance is far above that of independent bits without D, and not with it",
        "largest variance without D / that of independent bits",
    ),
    _on_angles(
        "S6-var",
        "In simulation the variance of cbe-rand falls as 1/k for k up to about d.",
        "Section 6.1",
        "slopes of log variance near -1, and variances at k = d near those of independent bits",
        "slope furthest from -1",
    ),
)
