"""What the paper says, one claim at a time, and how each stands: pure functions of result rows."""

from collections.abc import Sequence
from dataclasses import replace

from cbe_bench.core.results import Experiment
from cbe_bench.reports.claims import elsewhere, learning, retrieval, rivals, timing
from cbe_bench.reports.claims.claim import Claim, Finding, Source, Spread
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

_ORDER = (
    ("T1-circ", "T1-bil", "T1-full", "T1-kgtd", "T2-ratio", "S3-kltd"),
    ("S4-mean", "S4-var", "S4-tail", "S4-JL", "S4-D", "S6-var"),
    ("S5-mono", "S5-cost", "S5-kheur", "S6-semi"),
    ("F-time", "F-bits-lsh", "F-bits-bil", "F-speed-lsh", "F-lambda", "F-std", "F4-low", "F5-fbe"),
    ("S7-gpu",),
)
_KNOWN = {claim.id: claim for module in (timing, elsewhere, learning, retrieval, rivals) for claim in module.CLAIMS}
CLAIMS: tuple[Claim, ...] = tuple(_KNOWN[name] for group in _ORDER for name in group)
"""Every claim that is judged: cost, theory, learning, retrieval, classification."""
_KINDS = ("real", "user", "synthetic", "simulated", "machine")
"""What claims are measured on, in the order of weight."""


def judge(experiments: Sequence[Experiment]) -> list[Verdict]:
    """Judge every claim: one verdict for each set of data it was measured on, real data first.

    Features at smoke scale have too few dimensions and queries to judge by; what they give is told, no more.
    """
    small = {one.name for one in experiments if one.about.scale == "smoke" and one.about.experiment != "angles"}
    return [verdict for claim in CLAIMS for verdict in _judge_one(claim, experiments, small)]


def _tried_out(found: Finding) -> Finding:
    return replace(found, verdict=NOT_TESTED, found=f"smoke scale is too small to judge by; {found.found}")


def _judge_one(claim: Claim, experiments: Sequence[Experiment], small: set[str]) -> list[Verdict]:
    nothing = Finding(verdict=NOT_TESTED, spread=Spread(), found=claim.missing, source=Source("", "", ""))
    findings = sorted(claim.find(experiments), key=lambda found: _KINDS.index(found.source.kind)) or [nothing]
    findings = [_tried_out(found) if found.source.experiment in small else found for found in findings]
    return [
        Verdict(
            claim=claim.id,
            statement=found.statement or claim.statement,
            where=claim.where,
            rule=found.rule or claim.rule,
            measure=claim.measure,
            verdict=found.verdict,
            found=found.found,
            **found.spread._asdict(),
            **found.source._asdict(),
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
