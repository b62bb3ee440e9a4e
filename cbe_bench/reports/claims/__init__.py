"""What the paper says, one claim at a time, and how each stands: pure functions of result rows."""

from collections.abc import Sequence

from cbe_bench.reports.claims import elsewhere, learning, retrieval, rivals, timing
from cbe_bench.reports.claims.claim import Claim
from cbe_bench.reports.claims.output import (
    CLAIMS_FILE,
    Change,
    changes,
    claims_markdown,
    claims_table,
    load_claims,
    measured,
    verdicts_json,
    write_claims,
)
from cbe_bench.reports.verdicts import NOT_TESTED, Verdict
from cbe_bench.results import Experiment

_ORDER = (
    ("T1-circ", "T1-bil", "T1-full", "T1-kgtd", "T2-ratio", "S3-kltd"),
    ("S4-mean", "S4-var", "S4-tail", "S4-JL", "S4-D", "S6-var"),
    ("S5-mono", "S5-cost", "S5-kheur", "S6-semi"),
    ("F-time", "F-bits-lsh", "F-bits-bil", "F-speed-lsh", "F-lambda", "F-std", "F4-low", "F5-fbe"),
    ("T3-class", "T3-asym", "S7-gpu"),
)
_KNOWN = {claim.id: claim for module in (timing, elsewhere, learning, retrieval, rivals) for claim in module.CLAIMS}
CLAIMS: tuple[Claim, ...] = tuple(_KNOWN[name] for group in _ORDER for name in group)
"""Every claim that is judged: cost, theory, learning, retrieval, classification."""
_KINDS = ("real", "user", "synthetic", "simulated", "machine")
"""What claims are measured on, in the order of weight."""


def judge(experiments: Sequence[Experiment]) -> list[Verdict]:
    """Judge every claim: one verdict for each set of data it was measured on, real data first."""
    return [verdict for claim in CLAIMS for verdict in _judge_one(claim, experiments)]


def _judge_one(claim: Claim, experiments: Sequence[Experiment]) -> list[Verdict]:
    texts = {"claim": claim.id, "where": claim.where, "measure": claim.measure}
    findings = sorted(claim.find(experiments), key=lambda found: _KINDS.index(found.kind))
    if not findings:
        nothing = {"value": float("nan"), "found": claim.missing, "data": ""}
        return [Verdict(**texts, statement=claim.statement, rule=claim.rule, verdict=NOT_TESTED, **nothing)]  # type: ignore[arg-type]
    return [
        Verdict(
            **texts,
            statement=found.statement or claim.statement,
            rule=found.rule or claim.rule,
            **{name: value for name, value in vars(found).items() if name not in ("statement", "rule")},
        )
        for found in findings
    ]


__all__ = [
    "CLAIMS",
    "CLAIMS_FILE",
    "Change",
    "Claim",
    "changes",
    "claims_markdown",
    "claims_table",
    "judge",
    "load_claims",
    "measured",
    "verdicts_json",
    "write_claims",
]
