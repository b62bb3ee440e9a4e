"""Recall of two methods set against each other, in points (hundredths) at the greatest depth, seed by seed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cbe_bench.core.results import Experiment, Row
from cbe_bench.reports.claims.claim import Part, Source, Spread
from cbe_bench.reports.tables import data_label

FEWEST = 8
"""Codes are judged from d/8 bits on, the fewest in the paper's figures."""
LEVEL = 0.5
"""Points within which two methods are level."""


@dataclass(frozen=True)
class Gap:
    """How far one method is ahead of another, in points: the mean over seeds, the least and the greatest of them."""

    mean: float
    low: float
    high: float
    ahead: str
    behind: str
    n_bits: int
    room: float
    """Points that the method behind has not found: no other can be further ahead."""

    def __str__(self) -> str:
        spread = f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"
        return f"{self.ahead} - {self.behind} {spread} at {self.n_bits:,} bits"

    @property
    def spread(self) -> Spread:
        """The value and its ends."""
        return Spread(self.mean, self.low, self.high)


def retrieval(experiments: Iterable[Experiment], sweep: str | None = None) -> list[Experiment]:
    """Return the experiments on recall that sweep over a parameter, or over none."""
    found = [one for one in experiments if one.about.experiment == "retrieval" and recall_rows(one)]
    return [one for one in found if one.about.config.get("sweep") == sweep]


def figures_1_to_3(experiments: Iterable[Experiment]) -> list[Experiment]:
    """Return the experiments at equal time and equal bits, as in Figures 1 to 3."""
    return [one for one in retrieval(experiments) if "time" in one.about.config.get("fixed", ())]


def recall_rows(experiment: Experiment) -> list[Row]:
    """Return the cells with a recall that ended well."""
    return [row for row in experiment.rows if row["status"] == "ok" and row.get("recall") and "n_bits" in row]


def times_of(experiment: Experiment, *, fewer: bool = False) -> list[Row]:
    """Return what was measured to give methods equal time, for numbers of bits as in the paper, or for fewer."""
    rows = [row for row in experiment.rows if row["status"] == "ok" and "target_bits" in row]
    return [row for row in rows if (row["target_bits"] < _fewest_bits(experiment)) == fewer]


def numbers_of_bits(experiment: Experiment) -> list[int]:
    """Return the numbers of bits that all methods were to have, as far as the paper has such."""
    return sorted(k for k in experiment.about.config.get("bits", ()) if k >= _fewest_bits(experiment))


def _fewest_bits(experiment: Experiment) -> float:
    return max((row["n_features"] for row in recall_rows(experiment)), default=0) / FEWEST


def points(rows: Iterable[Row], label: str, n_bits: int, metric: str = "recall") -> dict[int, float]:
    """Return, by seed, a recall at the greatest depth in points, or another share in hundredths."""
    mine = [row for row in rows if (row["label"], row["n_bits"]) == (label, n_bits) and row.get(metric) is not None]
    return {row["seed"]: 100 * float(np.ravel(row[metric])[-1]) for row in mine}


def gap_of(own: dict[int, float], other: dict[int, float], ahead: str, behind: str, n_bits: int) -> Gap | None:
    """Return how far the values of one method are above another's under the same seeds; None without such."""
    seeds = sorted(own.keys() & other.keys())
    if not seeds:
        return None
    found = [own[seed] - other[seed] for seed in seeds]
    room = 100 - float(np.mean([other[seed] for seed in seeds]))
    return Gap(float(np.mean(found)), min(found), max(found), ahead, behind, n_bits, room)


def gaps(rows: list[Row], ahead: str, behind: str, bits: Iterable[int], metric: str = "recall") -> list[Gap]:
    """Return how far a method is ahead of another at each number of bits that both have."""
    found = [gap_of(points(rows, ahead, k, metric), points(rows, behind, k, metric), ahead, behind, k) for k in bits]
    return [gap for gap in found if gap]


def better(found: Sequence[Gap], names: str) -> Part:
    """Judge that a method is better: never behind by more than `LEVEL`, ahead by more at half the bits or more.

    Where the other has found so much that none can be ahead by more, bits do not count.
    """
    if not found:
        return Part(None, f"{names}: no rows of both")
    worst = min(found, key=lambda gap: gap.mean)
    open_ = [gap for gap in found if gap.room > LEVEL]
    ahead = sum(gap.mean > LEVEL for gap in open_)
    holds = worst.mean >= -LEVEL and 2 * ahead >= len(open_) if open_ else None
    return Part(holds, f"least {worst}; ahead at {ahead} of {len(open_)}{_closed(found, open_)}")


def at_least(found: Sequence[Gap], margin: float, names: str) -> Part:
    """Judge that a method is ahead of another by some points at every number of bits that leaves room for them."""
    if not found:
        return Part(None, f"{names}: no rows of both")
    open_ = [gap for gap in found if gap.room > margin]
    worst = min(open_ or found, key=lambda gap: gap.mean)
    short = _bits([gap for gap in open_ if gap.mean < margin])
    text = f"least {worst}" + (f"; short of {margin:g} at {short} bits" if short else "")
    return Part(not short if open_ else None, text + _closed(found, open_))


def _closed(found: Sequence[Gap], open_: Sequence[Gap]) -> str:
    """Say at which numbers of bits the method behind has found nearly everything."""
    closed = _bits([gap for gap in found if gap not in open_])
    return f"; no room to be ahead at {closed} bits" if closed else ""


def _bits(found: Sequence[Gap]) -> str:
    return ", ".join(dict.fromkeys(f"{gap.n_bits:,}" for gap in found))


def least(found: Sequence[Gap], margin: float = 0.0) -> Spread:
    """Return the smallest of some gaps with its spread, of those that leave room for a margin where there are any."""
    counted = [gap for gap in found if gap.room > margin] or found
    return min(counted, key=lambda gap: gap.mean).spread if counted else Spread()


def source_of(experiment: Experiment) -> Source:
    """Return what an experiment on recall was run on."""
    rows = recall_rows(experiment)
    return Source(data_label(rows), rows[0]["data_kind"], experiment.name)
