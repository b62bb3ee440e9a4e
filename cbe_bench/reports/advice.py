"""What to use for data like these: for each code length the best method, what is level with it, what is fastest.

Methods of one seed use the same split, so they are compared seed by seed: one is level with the best where the 95%
interval of their mean difference over seeds reaches zero, or where there is one seed only and no interval. The noise
is pooled over the methods at a code length.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.results import Results
from cbe_bench.core.statistics import difference_error
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, recall_rows
from cbe_bench.evaluators.task import is_trained

NEAR = 0.01
"""Recall that a faster method may lose against the best and still be named: one point."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One method at one code length: recall at the greatest depth, and how far it is behind the best."""

    method: str
    recall: float
    std: float
    """Standard deviation over seeds; NaN for a single one."""
    trained: bool
    time: float | None
    """Encode time relative to the reference, interleaved with it; None where it was not measured."""
    behind: float
    behind_low: float
    behind_high: float

    @property
    def level(self) -> bool:
        """Whether noise over seeds may be all that sets it apart from the best."""
        return not self.behind_low > 0


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The methods of an experiment at one code length, the best first."""

    experiment: str
    data: str
    data_kind: str
    n_features: int
    n_bits: int
    depth: int
    seeds: int
    standings: list[Standing]

    @property
    def best(self) -> Standing:
        """The method of the highest mean recall."""
        return self.standings[0]

    @property
    def second(self) -> Standing | None:
        """The method after it."""
        return self.standings[1] if len(self.standings) > 1 else None

    @property
    def level(self) -> list[Standing]:
        """The others that are level with the best within noise."""
        return [one for one in self.standings[1:] if one.level]

    @property
    def fastest(self) -> Standing | None:
        """The fastest of those within a point of the best, among methods that were timed."""
        near = [one for one in self.standings if one.time is not None and one.behind <= NEAR]
        return min(near, key=lambda one: one.time or 0.0, default=None)

    @property
    def untrained(self) -> Standing | None:
        """The best of those that are not trained."""
        return next((one for one in self.standings if not one.trained), None)


def choices(results: Results) -> list[Choice]:
    """Return what to choose from at each code length that all methods of a retrieval experiment have in common."""
    config = results.description.config
    if results.kind != "retrieval" or config.get("sweep") or "bits" not in config.get("fixed", ["bits"]):
        return []
    done = [row for row in recall_rows(results.rows) if row.ok]
    times, reference = EncodeTimes(results.rows), config.get("time_reference", "")
    ratios = {(row.label, row.n_bits): times.ratio(row.label, reference, row.n_bits).value for row in done}
    found = (_choice(results.name, [row for row in done if row.n_bits == k], ratios) for k in config["n_bits"])
    return sorted((choice for choice in found if choice), key=lambda choice: choice.n_bits)


def _choice(name: str, rows: list[RetrievalRow], times: dict[tuple[str, int], float]) -> Choice | None:
    recalls: dict[str, dict[int, float]] = {}
    for row in rows:
        recalls.setdefault(row.label, {})[row.seed] = row.recall[-1]
    seeds = set.intersection(*(set(values) for values in recalls.values())) if recalls else set()
    if not seeds:
        return None
    values = {label: np.array([recalls[label][seed] for seed in sorted(seeds)]) for label in recalls}
    best = max(values, key=lambda label: float(values[label].mean()))
    first, trained = rows[0], {row.label: is_trained(row) for row in rows}
    error = difference_error(list(values.values()))
    standings = [
        _standing(label, values[label], values[best], error, trained[label], times.get((label, first.n_bits), math.nan))
        for label in values
    ]
    return Choice(
        experiment=name,
        data=first.data,
        data_kind=first.data_kind,
        n_features=first.n_features,
        n_bits=first.n_bits,
        depth=first.depths[-1],
        seeds=len(seeds),
        standings=sorted(standings, key=lambda one: -one.recall),
    )


def _standing(label: str, own: NDArray, best: NDArray, error: float, trained: bool, time: float) -> Standing:
    behind = float((best - own).mean())
    return Standing(
        method=label,
        recall=float(own.mean()),
        std=float(own.std(ddof=1)) if len(own) > 1 else math.nan,
        trained=trained,
        time=None if math.isnan(time) else time,
        behind=behind,
        behind_low=behind - error,
        behind_high=behind + error,
    )


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the choices of an experiment have in common: how often each method is the best, level or fastest."""

    experiment: str
    data: str
    data_kind: str
    n_features: int
    n_bits: list[int]
    seeds: int
    depth: int
    best: list[tuple[str, int]]
    """Methods that are the best or level with it, and at how many code lengths; of one seed only the best."""
    untrained: list[tuple[str, int]]
    """The same among untrained methods."""
    fastest: list[tuple[str, int]]
    """Methods that are the fastest within a point of the best."""


def summaries(results: Iterable[Results]) -> list[Summary]:
    """Return one line for each experiment there is a choice in."""
    return [_summary(found) for one in results if (found := choices(one))]


def _summary(found: list[Choice]) -> Summary:
    first = found[0]
    best = Counter(one.method for choice in found for one in (choice.best, *(choice.level if choice.seeds > 1 else ())))
    untrained = Counter(choice.untrained.method for choice in found if choice.untrained)
    fastest = Counter(choice.fastest.method for choice in found if choice.fastest)
    return Summary(
        experiment=first.experiment,
        data=first.data,
        data_kind=first.data_kind,
        n_features=first.n_features,
        n_bits=[choice.n_bits for choice in found],
        seeds=min(choice.seeds for choice in found),
        depth=first.depth,
        best=best.most_common(),
        untrained=untrained.most_common(),
        fastest=fastest.most_common(),
    )
