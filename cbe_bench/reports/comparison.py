"""Two folders of results compared: what changed beyond noise, and what is only in one.

Every kind of experiment says what its runs can be compared by, as measurements with an interval of noise. Two
measurements differ beyond noise where their intervals do not meet.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from cbe_bench.core.results import Results
from cbe_bench.evaluators.base import Measurement, experiment_class

_RAW_TIMES = "us per vector"
"""How the names of metrics end that are times rather than ratios of times."""
_Key = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A measurement that differs beyond noise."""

    experiment: str
    subject: str
    metric: str
    before: Measurement
    after: Measurement


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How two folders of results differ."""

    changed: list[Difference]
    compared: int
    """Measurements that both have."""
    only_first: list[str]
    only_second: list[str]


def compare(first: Sequence[Results], second: Sequence[Results], metric: str | None = None) -> Comparison:
    """Match measurements by experiment and subject, and return which differ beyond noise, the largest changes first.

    Parameters
    ----------
    first, second : sequence of Results
        The experiments of two folders.
    metric : str, optional
        Only metrics with this in their name are compared: "all" for every one, None for all but raw times, which differ
        from machine to machine.

    Returns
    -------
    Comparison
        What changed, how much was compared, and what only one of them has.
    """
    if len(first) == len(second) == 1:  # two single experiments are compared whatever they are called
        before, after = (_measurements(side, metric, "") for side in (first, second))
    else:
        before, after = (_measurements(side, metric) for side in (first, second))
    both = [key for key in before if key in after]
    changed = [
        Difference(experiment=key[0], subject=key[1], metric=key[2], before=before[key], after=after[key])
        for key in both
        if _apart(before[key], after[key])
    ]
    return Comparison(
        changed=sorted(changed, key=_size, reverse=True),
        compared=len(both),
        only_first=_names(key for key in before if key not in after),
        only_second=_names(key for key in after if key not in before),
    )


def comparison_json(found: Comparison) -> str:
    """Return a comparison as JSON."""
    return json.dumps({**asdict(found), "changed": [_plain(one) for one in found.changed]}, indent=1)


def _plain(one: Difference) -> dict[str, object]:
    sides = {name: side._asdict() for name, side in (("before", one.before), ("after", one.after))}
    values = {name: {key: side[key] for key in ("value", "low", "high")} for name, side in sides.items()}
    return {"experiment": one.experiment, "subject": one.subject, "metric": one.metric, **values}


def _names(keys: Iterable[_Key]) -> list[str]:
    """Name what is only in one: whole subjects, not every metric of them."""
    return list(dict.fromkeys(f"{experiment}: {subject}".removeprefix(": ") for experiment, subject, _ in keys))


def _apart(one: Measurement, other: Measurement) -> bool:
    return one.high < other.low or other.high < one.low


def _size(one: Difference) -> float:
    """Return how large a change is beside the noise of both sides."""
    noise = one.before.high - one.before.low + one.after.high - one.after.low
    return abs(one.after.value - one.before.value) / noise if noise else float("inf")


def _asked_for(name: str, metric: str | None) -> bool:
    return not name.endswith(_RAW_TIMES) if metric is None else metric == "all" or metric in name


def _measurements(results: Iterable[Results], metric: str | None, name: str | None = None) -> dict[_Key, Measurement]:
    return {
        (one.name if name is None else name, found.subject, found.metric): found
        for one in results
        for found in experiment_class(one.kind).measurements(one)
        if _asked_for(found.metric, metric)
    }
