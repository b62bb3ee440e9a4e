"""Claims as the page shows them: failing ones first, the interval of each value against the region that is claimed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cbe_bench.core.claims import INCONCLUSIVE, NOT_REPRODUCED, REPRODUCED, Verdict
from cbe_bench.reports.claim_summary import FAILING_FIRST, ClaimSummary
from cbe_bench.reports.page.grid import dimensions, number

_SAYS = {"good": "as claimed", "bad": "not as claimed", "open": "inconclusive", "out": "does not count"}
_WIDTH, _HEIGHT, _PAD = 120.0, 16.0, 6.0


@dataclass(frozen=True)
class EvidenceCell:
    """A value of the evidence: what it says and whether it is as claimed (good, bad, open, or not counted)."""

    text: str
    title: str
    outcome: str


@dataclass(frozen=True)
class Card:
    """A claim on the page."""

    summary: ClaimSummary

    @property
    def one(self) -> Verdict:
        """The verdict that decides."""
        return self.summary.deciding

    @property
    def value(self) -> str:
        """The value that decided."""
        return "" if math.isnan(self.one.value) else number(self.one.value)

    @property
    def what(self) -> str:
        """What that value is."""
        return "" if math.isnan(self.one.value) else self.one.measure

    @cached_property
    def real(self) -> Sequence[Verdict]:
        """Its verdicts on anything but synthetic data; where there are none, all of them."""
        return [one for one in self.summary.verdicts if one.kind != "synthetic"] or self.summary.verdicts

    @cached_property
    def synthetic(self) -> Sequence[Verdict]:
        """Its verdicts on synthetic data beside others."""
        return [one for one in self.summary.verdicts if one not in self.real]


def cards(claims: Sequence[ClaimSummary]) -> list[Card]:
    """Return the claims, those that fail first."""
    return [Card(claim) for claim in sorted(claims, key=lambda claim: FAILING_FIRST.index(claim.outcome))]


def interval_bar(verdict: Verdict) -> str:
    """Return a drawing of the interval of a verdict against its region, as SVG; nothing where it has no region."""
    bounds = [bound for bound in (verdict.least, verdict.most) if not math.isnan(bound)]
    if not bounds or math.isnan(verdict.value):
        return ""
    ends = [end for end in (verdict.low, verdict.high) if math.isfinite(end)]
    low, high = min(bounds + ends + [verdict.value]), max(bounds + ends + [verdict.value])
    room = 0.15 * (high - low) or 1.0
    low, high = low - room, high + room

    def at(value: float) -> float:
        return _PAD + (_WIDTH - 2 * _PAD) * (value - low) / (high - low)

    start = at(verdict.least) if not math.isnan(verdict.least) else 0.0
    end = at(verdict.most) if not math.isnan(verdict.most) else _WIDTH
    middle = _HEIGHT / 2
    parts = [f'<rect class="region" x="{start:.1f}" y="1" width="{end - start:.1f}" height="{_HEIGHT - 2:g}" rx="3"/>']
    if len(ends) == 2:
        parts.append(f'<line x1="{at(ends[0]):.1f}" x2="{at(ends[1]):.1f}" y1="{middle:g}" y2="{middle:g}"/>')
    parts.append(f'<circle cx="{at(verdict.value):.1f}" cy="{middle:g}" r="3.2"/>')
    return f'<svg class="bar" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" aria-hidden="true">{"".join(parts)}</svg>'


def evidence_grid(verdict: Verdict) -> tuple[list[str], list[tuple[str, list[EvidenceCell | None]]]]:
    """Return the evidence of a verdict as a table: its sizes, and for each comparison its cells."""
    sizes = sorted({one.n_bits for one in verdict.evidence})
    lines: dict[str, dict[int, EvidenceCell]] = {}
    for one in verdict.evidence:
        outcome = {REPRODUCED: "good", NOT_REPRODUCED: "bad", INCONCLUSIVE: "open"}.get(one.outcome, "out")
        interval = f" [{number(one.low)}, {number(one.high)}]" if one.low != one.high else ""
        says = _SAYS[outcome]
        cell = EvidenceCell(number(one.value), f"{number(one.value)}{interval}: {says}", outcome)
        lines.setdefault(one.subject, {})[one.n_bits] = cell
    return [dimensions(size) for size in sizes], [
        (name, [found.get(k) for k in sizes]) for name, found in lines.items()
    ]
