"""Claims of the paper and verdicts on them.

A claim states what the paper says, where, and the rule that judges it; it is an object beside the experiment whose rows
decide it. Judging gives verdicts, one for each set of data the claim was measured on. An interval decides, not a mean:
one within the region that is claimed reproduces it, one outside does not, and one that straddles is inconclusive.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cbe_bench.core.results import Results

REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE = "reproduced", "not reproduced", "inconclusive"
DIRECTION, VACUOUS, NOT_TESTED = "direction only", "vacuous", "not tested"
OUTCOMES = (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, DIRECTION, VACUOUS, NOT_TESTED)
_DECIDES = (NOT_REPRODUCED, NOT_TESTED, INCONCLUSIVE, REPRODUCED)
"""Which outcome evidence has together: one failure is enough."""
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


class Evidence(NamedTuple):
    """One of the values a rule looked at: what was compared, at which code length."""

    subject: str
    n_bits: int
    value: float
    low: float
    high: float
    outcome: str
    """Reproduced, not reproduced or inconclusive; empty where it does not count, as where recall is saturated."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a claim stands on one set of data: the outcome, the value that decided, and what was found."""

    claim: str
    statement: str
    outcome: str
    """One of `OUTCOMES`."""
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
    least: float = math.nan
    """The value that the claim needs at least; NaN where the rule has no such bound on the value."""
    most: float = math.nan
    """The value that the claim needs at most; NaN where the rule has no such bound on the value."""
    evidence: tuple[Evidence, ...] = ()
    """Every value the rule looked at, where these make a table."""

    @property
    def near_threshold(self) -> bool:
        """Whether a bound lies within the interval of the value; a range that the value is an end of is none."""
        is_interval = self.low < self.value < self.high
        return is_interval and any(self.low < bound < self.high for bound in (self.least, self.most))

    @property
    def points_as_claimed(self) -> bool:
        """Whether the value, its interval aside, lies in the region that is claimed."""
        return not self.value < self.least and not self.value > self.most


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
    region: tuple[float, float] = (math.nan, math.nan)
    """The least and the largest value that agree with it; NaN where the rule does not bound the value on that side."""
    order: float = 0.0
    """Its place in the list of claims, which follows the paper."""
    exact: bool = False
    """Whether it is about exact quantities, which a small experiment decides as well as a large one."""

    def verdict(
        self,
        outcome: str,
        estimate: Estimate,
        found: str,
        source: Source,
        *,
        statement: str = "",
        rule: str = "",
        region: tuple[float, float] | None = None,
        evidence: Sequence[Evidence] = (),
    ) -> Verdict:
        """Return a verdict; statement, rule and region are those of the claim unless only one side of it is judged.

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
        region : pair of float, optional
            Given where it differs from that of the claim.
        evidence : sequence of Evidence
            What the verdict rests on.

        Returns
        -------
        Verdict
        """
        least, most = self.region if region is None else region
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
            least=least,
            most=most,
            evidence=tuple(evidence),
        )

    def decide(
        self,
        evidence: Sequence[Evidence],
        source: Source,
        found: str = "",
        region: tuple[float, float] | None = None,
    ) -> Verdict:
        """Return the verdict of all evidence that counts: one that fails refutes the claim, one that is open leaves it.

        Parameters
        ----------
        evidence : sequence of Evidence
            Every value the rule looked at. The value of the verdict is the one that decided: of those with its outcome
            the one with the least distance to a bound of the region, or the largest beyond it.
        source : Source
            The data, its kind and the names of the experiments.
        found : str
            More in words.
        region : pair of float, optional
            Given where it differs from that of the claim.

        Returns
        -------
        Verdict
            Not tested if nothing counts.
        """
        least, most = self.region if region is None else region
        counted = [one for one in evidence if one.outcome]
        outcome = next((name for name in _DECIDES if any(one.outcome == name for one in counted)), NOT_TESTED)
        deciding = min(
            (one for one in counted if one.outcome == outcome),
            key=lambda one: min(one.value - _or(least, -math.inf), _or(most, math.inf) - one.value),
            default=None,
        )
        if deciding is None:
            return self.verdict(NOT_TESTED, Estimate(), found or "nothing counts", source, evidence=evidence)
        at = f" at {deciding.n_bits:,} bits" if deciding.n_bits else ""
        estimate = Estimate(deciding.value, deciding.low, deciding.high)
        text = "; ".join(filter(None, [f"{deciding.subject}{at} decides", found]))
        return self.verdict(outcome, estimate, text, source, region=region, evidence=evidence)

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
        Reproduced, not reproduced, or inconclusive if neither holds.
    """
    return REPRODUCED if inside else NOT_REPRODUCED if outside else INCONCLUSIVE


def outcome_of_interval(estimate: Estimate, region: tuple[float, float]) -> str:
    """Return the outcome of one interval.

    Parameters
    ----------
    estimate : Estimate
        The value and its interval.
    region : pair of float
        The least and the largest value that are claimed, NaN where there is no bound.

    Returns
    -------
    str
        Reproduced if the interval lies in the region, not reproduced if it lies outside, inconclusive if it straddles a
        bound, not tested if there is no interval.
    """
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return NOT_TESTED
    least, most = _or(region[0], -math.inf), _or(region[1], math.inf)
    inside = least <= estimate.low and estimate.high <= most
    return outcome_of(inside, estimate.high < least or estimate.low > most)


def _or(value: float, default: float) -> float:
    """Return a bound, or another where there is none."""
    return default if math.isnan(value) else value
