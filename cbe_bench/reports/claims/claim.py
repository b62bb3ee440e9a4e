"""What a claim of the paper is, and how parts that hold or fail make a verdict."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cbe_bench.core.results import Experiment
from cbe_bench.reports.verdicts import NOT_REPRODUCED, NOT_TESTED, REPRODUCED


class Source(NamedTuple):
    """What a claim was judged on."""

    data: str
    kind: str
    """real, user, synthetic, simulated or machine."""
    experiment: str
    """The folders of the results."""


class Spread(NamedTuple):
    """A value and how far it may be off, one way and the other."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Finding:
    """How a claim stands on one set of data: the verdict, a value with its spread, and what was found in words."""

    verdict: str
    spread: Spread
    found: str
    source: Source
    statement: str = ""
    """What is claimed, where a claim has several sides that are judged apart."""
    rule: str = ""
    """By what it is judged, where that depends on the data."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something the paper says: its words in ours, where it stands, and the rule it is judged by."""

    id: str
    statement: str
    where: str
    rule: str
    """When it counts as reproduced, with all thresholds."""
    measure: str
    """What the value of a verdict is, with its unit."""
    missing: str
    """Why it is not tested, where there are no rows for it."""
    find: Callable[[Sequence[Experiment]], list[Finding]]
    """Judge the rows of some experiments: one finding for each set of data."""


@dataclass(frozen=True)
class Part:
    """One of the things that must hold for a claim: whether it does, None where it was not measured, and in words."""

    holds: bool | None
    found: str


def finding(parts: Sequence[Part], source: Source, spread: Spread) -> Finding:
    """Return what the parts of a claim say together: all must hold, and one that fails is enough to refute it."""
    return Finding(verdict=_verdict(parts), spread=spread, found=_in_words(parts), source=source)


def _verdict(parts: Sequence[Part]) -> str:
    holds = [part.holds for part in parts]
    if False in holds:
        return NOT_REPRODUCED
    return NOT_TESTED if None in holds or not holds else REPRODUCED


def _in_words(parts: Sequence[Part]) -> str:
    """Say what was found of each part; one that fails, or was not measured, says so."""
    marks = {True: "", False: "fails: ", None: "not measured: "}
    return "; ".join(marks[part.holds] + part.found for part in parts)
