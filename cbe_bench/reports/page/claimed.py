"""Verdicts gathered by what is claimed: one claim, all the data it was measured on."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cbe_bench.reports.verdicts import NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VACUOUS, VERDICTS, Verdict

_DECIDES = (NOT_REPRODUCED, REPRODUCED, VACUOUS, NOT_TESTED)
"""Which verdict a claim has where it has several on data of equal weight: one failure is enough."""


@dataclass(frozen=True)
class Claimed:
    """A claim and its verdicts, those on the weightiest data first."""

    verdicts: Sequence[Verdict]

    @property
    def first(self) -> Verdict:
        """The verdict that says what all of them have in common."""
        return self.verdicts[0]

    @property
    def verdict(self) -> str:
        """How the claim stands on all data of the kind that weighs most: real before synthetic."""
        found = {one.verdict for one in self.verdicts if one.kind == self.first.kind}
        return next(name for name in _DECIDES if name in found)

    @property
    def deciding(self) -> Verdict:
        """The first of its verdicts that says so."""
        return next(one for one in self.verdicts if one.kind == self.first.kind and one.verdict == self.verdict)

    @property
    def rules(self) -> list[str]:
        """By which rules it was judged, mostly one."""
        return list(dict.fromkeys(one.rule for one in self.verdicts if one.rule))


def gathered(verdicts: Iterable[Verdict]) -> list[Claimed]:
    """Gather verdicts by what is claimed, in their order."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.claim, verdict.statement), []).append(verdict)
    return [Claimed(group) for group in found.values()]


def counts(claims: Iterable[Claimed]) -> dict[str, int]:
    """Count how the claims stand."""
    found = Counter(claim.verdict for claim in claims)
    return {name: found[name] for name in VERDICTS}
