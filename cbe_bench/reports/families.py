"""Where claims hold: how each stands on every family of features it was measured on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbe_bench.core.claims import EVIDENCE, Verdict
from cbe_bench.core.results import Results
from cbe_bench.data.catalogue import buildable_sets
from cbe_bench.reports.claim_summary import ClaimSummary

_SYNTHETIC = "synthetic surrogates"
_ON_FEATURES = ("real", "user", "synthetic")
"""Kinds of evidence that are features."""


@dataclass(frozen=True)
class ClaimByFamily:
    """A claim and how it stands on each family of features."""

    claim: str
    statement: str
    by_family: Mapping[str, ClaimSummary]


@dataclass(frozen=True)
class FamilyTable:
    """The claims that were measured on features, by the families of these."""

    families: Sequence[str]
    """Real features first."""
    claims: Sequence[ClaimByFamily]


def families_table(verdicts: Iterable[Verdict], experiments: Iterable[Results]) -> FamilyTable | None:
    """Return how claims stand on families of features, of those measured on several; None where there are none.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Those on all claims.
    experiments : iterable of Results
        What they were drawn from.
    """
    family = {one.name: _family(one.description.config.get("data")) for one in experiments}
    found: dict[tuple[str, str], dict[str, list[Verdict]]] = {}
    kinds: dict[str, str] = {}
    for verdict in verdicts:
        name = _one_family(verdict, family)
        if name is not None:
            kinds.setdefault(name, verdict.kind)
            found.setdefault((verdict.claim, verdict.statement), {}).setdefault(name, []).append(verdict)
    claims = [
        ClaimByFamily(claim, statement, {name: ClaimSummary(some) for name, some in by_family.items()})
        for (claim, statement), by_family in found.items()
        if len(by_family) > 1
    ]
    compared = {name for claim in claims for name in claim.by_family}
    ordered = sorted((name for name in kinds if name in compared), key=lambda name: EVIDENCE.index(kinds[name]))
    return FamilyTable(ordered, claims) if claims else None


def _one_family(verdict: Verdict, family: Mapping[str, str | None]) -> str | None:
    """Return the family a verdict is about; None where it is about several, or about no features."""
    if verdict.kind not in _ON_FEATURES:
        return None
    names = (
        {_SYNTHETIC} if verdict.kind == "synthetic" else {family.get(name) for name in verdict.experiment.split(", ")}
    )
    return names.pop() if len(names) == 1 else None


def _family(data: Mapping[str, Any] | None) -> str | None:
    """Return the family of the features an experiment is configured for: that of a known set, else their name."""
    if data is None:
        return None
    known = buildable_sets().get(Path(data.get("file") or "").name)
    return known.family if known and known.family else data.get("name")
