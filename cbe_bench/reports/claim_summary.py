"""Claims with all their verdicts: one claim, all the data it was measured on."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cbe_bench.core.claims import (
    DIRECTION,
    INCONCLUSIVE,
    NOT_REPRODUCED,
    NOT_TESTED,
    OUTCOMES,
    REPRODUCED,
    VACUOUS,
    Verdict,
)

FAILING_FIRST = (NOT_REPRODUCED, INCONCLUSIVE, DIRECTION, NOT_TESTED, VACUOUS, REPRODUCED)
"""The order in which claims are shown."""
_DECIDES = (NOT_REPRODUCED, REPRODUCED, INCONCLUSIVE, DIRECTION, VACUOUS, NOT_TESTED)
"""Which outcome a claim has where it has several on data of equal weight: one failure is enough."""


@dataclass(frozen=True)
class ClaimSummary:
    """A claim and its verdicts, those on the weightiest data first."""

    verdicts: Sequence[Verdict]

    @property
    def first(self) -> Verdict:
        """The verdict that says what all of them have in common."""
        return self.verdicts[0]

    @property
    def outcome(self) -> str:
        """How the claim stands on all data of the kind that weighs most: real before synthetic."""
        found = {one.outcome for one in self.verdicts if one.kind == self.first.kind}
        return next(name for name in _DECIDES if name in found)

    @property
    def deciding(self) -> Verdict:
        """The first of its verdicts that says so."""
        return next(one for one in self.verdicts if one.kind == self.first.kind and one.outcome == self.outcome)

    @property
    def rules(self) -> list[str]:
        """By which rules it was judged, mostly one."""
        return list(dict.fromkeys(one.rule for one in self.verdicts if one.rule))


def summarise(verdicts: Iterable[Verdict]) -> list[ClaimSummary]:
    """Put the verdicts on each claim together, in their order."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.claim, verdict.statement), []).append(verdict)
    return [ClaimSummary(group) for group in found.values()]


def counts(claims: Iterable[ClaimSummary]) -> dict[str, int]:
    """Count how the claims stand."""
    found = Counter(claim.outcome for claim in claims)
    return {name: found[name] for name in OUTCOMES}
