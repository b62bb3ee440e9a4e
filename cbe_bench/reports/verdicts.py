"""Verdicts: what is claimed, what was found, and by which rule it is judged.

Where many estimates decide together, their intervals are simultaneous: all of them hold at once with 99 percent
(Bonferroni). A verdict is "not tested" where the draws are too few to tell.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import pandas as pd

REPRODUCED, NOT_REPRODUCED, VACUOUS, NOT_TESTED = "reproduced", "not reproduced", "vacuous", "not tested"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, VACUOUS, NOT_TESTED)
TOGETHER = 0.99
"""Confidence of all intervals of a verdict at once."""
DATA_KINDS = {"synthetic": "synthetic stand-in", "real": "real data", "user": "user's file"}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim and how it stands: a value, its interval where it has one, and the rule with its thresholds."""

    claim: str
    statement: str
    verdict: str
    value: float
    low: float = math.nan
    high: float = math.nan
    found: str
    rule: str
    data: str
    where: str = ""
    """Where in the paper the claim stands."""
    measure: str = ""
    """What the value is, with its unit."""
    kind: str = ""
    """What it was measured on: real, user, synthetic, simulated or machine; nothing where it was not."""
    experiment: str = ""
    """The folders of the results it rests on."""


def level_of_each(n: int) -> float:
    """Return the level of each of n intervals that makes all of them hold together."""
    return 1 - (1 - TOGETHER) / max(n, 1)


def judged(inside: bool, outside: bool) -> str:
    """Return the verdict of intervals that lie within what is claimed, or of some that lie beyond it."""
    return REPRODUCED if inside else NOT_REPRODUCED if outside else NOT_TESTED


def verdict_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return verdicts as a table, one line each."""
    return pd.DataFrame([asdict(verdict) for verdict in verdicts], columns=[field.name for field in fields(Verdict)])
