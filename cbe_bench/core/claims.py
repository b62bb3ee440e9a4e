"""Claims of the paper and verdicts on them.

A claim states what the paper says, where, and the rule that judges it; it is an object beside the experiment whose rows
decide it. Judging gives verdicts, one for each set of data the claim was measured on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cbe_bench.core.results import Results

REPRODUCED, NOT_REPRODUCED, VACUOUS, NOT_TESTED = "reproduced", "not reproduced", "vacuous", "not tested"
OUTCOMES = (REPRODUCED, NOT_REPRODUCED, VACUOUS, NOT_TESTED)
EVIDENCE = ("real", "user", "synthetic", "simulated", "machine", "")
"""What claims are measured on, in the order of weight."""


class Source(NamedTuple):
    """What a claim was judged on."""

    data: str
    kind: str
    """real, user, synthetic, simulated or machine."""
    experiment: str
    """The names of the experiments."""


class Estimate(NamedTuple):
    """A value and its interval."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a claim stands on one set of data: the outcome, the value that decided, and what was found."""

    claim: str
    statement: str
    outcome: str
    """reproduced, not reproduced, vacuous or not tested."""
    value: float
    low: float
    high: float
    measure: str
    """What the value is, with its unit."""
    found: str
    rule: str
    data: str
    kind: str
    """What it was measured on: real, user, synthetic, simulated or machine; empty where it was not."""
    experiment: str
    where: str
    """Where in the paper the claim stands."""


@dataclass(frozen=True)
class Part:
    """One of the statements that must hold for a claim: whether it does, None where it was not measured."""

    holds: bool | None
    found: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something the paper says and the rule that judges it."""

    id: str
    statement: str
    where: str
    rule: str
    """When it counts as reproduced, with all thresholds."""
    measure: str = ""
    """What the value of a verdict is, with its unit."""
    missing: str
    """Why it is not tested, where there are no rows for it."""
    judge: Callable[["Claim", Sequence[Results]], list[Verdict]]
    """Judge the claim by the results of some experiments of its kind: one verdict for each set of data."""
    order: float = 0.0
    """Its place in the list of claims, which follows the paper."""

    def verdict(
        self, outcome: str, estimate: Estimate, found: str, source: Source, *, statement: str = "", rule: str = ""
    ) -> Verdict:
        """Return a verdict; statement and rule are those of the claim unless only one side of it is judged.

        Parameters
        ----------
        outcome : str
            One of the outcomes of this module.
        estimate : Estimate
            The measured value and its interval.
        found : str
            The measurement in words.
        source : Source
            The data, its kind and the names of the experiments.
        statement, rule : str
            Given where they differ from those of the claim.

        Returns
        -------
        Verdict
        """
        return Verdict(
            claim=self.id,
            statement=statement or self.statement,
            outcome=outcome,
            **estimate._asdict(),
            measure=self.measure,
            found=found,
            rule=rule or self.rule,
            **source._asdict(),
            where=self.where,
        )

    def conclude(self, parts: Sequence[Part], source: Source, estimate: Estimate) -> Verdict:
        """Return the verdict of several parts: all must hold, and one that fails refutes the claim.

        Parameters
        ----------
        parts : sequence of Part
            What was found for each part; `holds` is None where it was not measured.
        source : Source
            The data, its kind and the names of the experiments.
        estimate : Estimate
            The measured value and its interval.

        Returns
        -------
        Verdict
            Not tested if no part fails and one was not measured, or if there are no parts.
        """
        holds = [part.holds for part in parts]
        outcome = NOT_REPRODUCED if False in holds else NOT_TESTED if None in holds or not holds else REPRODUCED
        marks = {True: "", False: "fails: ", None: "not measured: "}
        return self.verdict(outcome, estimate, "; ".join(marks[part.holds] + part.found for part in parts), source)

    def verdicts(self, results: Sequence[Results]) -> list[Verdict]:
        """Judge the claim: the verdicts in the order of the weight of their data, or that it was not tested."""
        found = self.judge(self, results)
        untested = self.verdict(NOT_TESTED, Estimate(), self.missing, Source("", "", ""))
        return sorted(found, key=lambda verdict: EVIDENCE.index(verdict.kind)) or [untested]


def outcome_of(inside: bool, outside: bool) -> str:
    """Return the outcome of intervals that lie within what is claimed, or of some that lie beyond it.

    Parameters
    ----------
    inside : bool
        Whether the intervals lie within what is claimed.
    outside : bool
        Whether some interval lies beyond it; not used if `inside`.

    Returns
    -------
    str
        Reproduced, not reproduced, or not tested if neither holds.
    """
    return REPRODUCED if inside else NOT_REPRODUCED if outside else NOT_TESTED
