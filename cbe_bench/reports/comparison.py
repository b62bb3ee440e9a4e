"""Two folders of results set against each other: what changed beyond noise, and what is only in one.

Every measurement is an interval: the mean over seeds or draws and two standard errors either way, the quartiles of a
time, the error of a simulated variance. Two measurements differ beyond noise where their intervals do not meet.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from cbe_bench.core.results import Experiment, Row
from cbe_bench.evaluators.intervals import log_variance_error

_POINTS = ("recall", "recall_asymmetric", "recall_median", "auc", "accuracy", "accuracy_symmetric")
"""Shares that rows tell for each seed; of a course, the last value."""
_ALONE = 1.0
"""Points that a share from a single seed may be off."""
_CALIBRATION = 1.25
"""Factor that a ratio of times may be off."""
_SUBJECT = {
    "n_features": "d = {:,}",
    "n_bits": "{:,} bits",
    "target_bits": "in the time of {:,} bits",
    "params": "{}",
    "n_learn": "{:,} rows to learn from",
    "batch": "batches of {:,}",
    "pair": "{} pair",
    "draws": "{:,} draws",
}
"""What tells the measurements of a method apart, and in what words."""


@dataclass(frozen=True)
class Interval:
    """A measurement and how far it may be off."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A measurement that is not the same in both."""

    experiment: str
    subject: str
    metric: str
    before: Interval
    after: Interval


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How two folders of results differ."""

    changed: list[Difference]
    compared: int
    """Measurements that both have."""
    only_first: list[str]
    only_second: list[str]


def compare(first: Sequence[Experiment], second: Sequence[Experiment]) -> Comparison:
    """Match measurements by experiment, method, bits and parameters, and tell which differ beyond noise."""
    if len(first) == len(second) == 1:  # two single experiments are meant for each other, whatever they are called
        before, after = _measurements(first, ""), _measurements(second, "")
    else:
        before, after = _measurements(first), _measurements(second)
    both = [key for key in before if key in after]
    changed = [
        Difference(experiment=key[0], subject=key[1], metric=key[2], before=before[key], after=after[key])
        for key in both
        if _apart(before[key], after[key])
    ]
    return Comparison(
        changed=changed,
        compared=len(both),
        only_first=_names(key for key in before if key not in after),
        only_second=_names(key for key in after if key not in before),
    )


def comparison_table(changed: Iterable[Difference]) -> pd.DataFrame:
    """Return differences as a table, one line each."""
    lines = [
        {"experiment": one.experiment, "subject": one.subject, "metric": one.metric}
        | {f"{side}_{name}": value for side in ("before", "after") for name, value in vars(getattr(one, side)).items()}
        for one in changed
    ]
    return pd.DataFrame(lines)


def comparison_json(found: Comparison) -> str:
    """Return a comparison as JSON."""
    return json.dumps(asdict(found), indent=1)


_Key = tuple[str, str, str]


def _names(keys: Iterable[_Key]) -> list[str]:
    """Name what is only in one: whole subjects, not every metric of them."""
    return list(dict.fromkeys(f"{experiment}: {subject}".removeprefix(": ") for experiment, subject, _ in keys))


def _apart(one: Interval, other: Interval) -> bool:
    return one.high < other.low or other.high < one.low


def _measurements(experiments: Iterable[Experiment], name: str | None = None) -> dict[_Key, Interval]:
    found: dict[_Key, Interval] = {}
    for experiment in experiments:
        groups: dict[str, list[Row]] = {}
        for row in experiment.rows:
            if row["status"] == "ok":
                groups.setdefault(_subject(row), []).append(row)
        for subject, rows in groups.items():
            for metric, interval in _metrics(rows):
                found[experiment.name if name is None else name, subject, metric] = interval
    return found


def _subject(row: Row) -> str:
    """Name in words what a row measures, seeds and draws of features aside."""
    said = {key: row[key] for key in _SUBJECT if row.get(key)}
    if "target_bits" in said:
        del said["n_bits"]  # it was measured
    return ", ".join([str(row["label"]), *(_SUBJECT[key].format(value) for key, value in said.items())])


def _metrics(rows: list[Row]) -> Iterator[tuple[str, Interval]]:
    """Yield what rows of one subject measure."""
    first = rows[0]
    for name in _POINTS:
        if first.get(name) is not None:
            yield f"{name}, points", _of_samples([100 * float(np.ravel(row[name])[-1]) for row in rows], _ALONE)
    if first.get("mean_error"):
        yield "angles off by, pi", _of_samples([row["mean_error"][-1] for row in rows], np.inf)
    for needed, metric, make in _SINGLE:
        if first.get(needed):
            yield metric, make(first)


def _of_samples(values: list[float], alone: float) -> Interval:
    mean = float(np.mean(values))
    half = 2 * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else alone
    return Interval(mean, mean - half, mean + half)


def _of_times(row: Row) -> Interval:
    low, high = row["seconds_quartiles"]
    return Interval(1e3 * row["seconds"], 1e3 * low, 1e3 * high)


def _of_ratio(row: Row) -> Interval:
    ratio = float(row["share_at_equal_bits"])
    return Interval(ratio, ratio / _CALIBRATION, ratio * _CALIBRATION)


def _of_variance(row: Row) -> Interval:
    """Take the variance at the most bits and the angle in the middle."""
    middle = len(row["angles"]) // 2
    value = float(row["variance"][middle][-1])
    factor = float(np.exp(2 * log_variance_error(row["kurtosis"], row["draws"])[middle][-1]))
    return Interval(value, value / factor, value * factor)


_SINGLE: tuple[tuple[str, str, Callable[[Row], Interval]], ...] = (
    ("seconds_quartiles", "milliseconds a vector", _of_times),
    ("share_at_equal_bits", "time / that of the reference", _of_ratio),
    ("kurtosis", "variance of the estimate", _of_variance),
)
"""Measurements that a row has by itself."""
