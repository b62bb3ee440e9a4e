"""What two runs of a retrieval experiment are compared by."""

import math
from collections.abc import Iterator

import numpy as np

from cbe_bench.core.claims import Estimate
from cbe_bench.core.results import Results
from cbe_bench.evaluators.base import Measurement
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, recall_rows

_SINGLE_SEED = 1.0
"""Points that a value of a single seed may be off."""
_TIME_FACTOR = 1.25
"""Factor that a ratio of times of too few rounds for an interval may be off."""


def retrieval_measurements(results: Results) -> Iterator[Measurement]:
    """Yield recall and averaged AUC in points, means over seeds with two standard errors, and ratios of times."""
    groups: dict[str, list[RetrievalRow]] = {}
    for row in recall_rows(results.rows):
        if row.ok:
            groups.setdefault(_subject(row), []).append(row)
    for subject, mine in groups.items():
        for name in ("recall", "recall_asymmetric", "recall_median", "averaged_auc"):
            values = [np.ravel(getattr(row, name)) for row in mine]
            if len(values[0]) and not math.isnan(values[0][-1]):
                points = [100 * float(value[-1]) for value in values]
                yield Measurement(subject, f"{name}, points", *_interval(points))
    yield from _time_ratios(results)


def _time_ratios(results: Results) -> Iterator[Measurement]:
    """Yield the time of each method over that of the reference, at each code length that both were run at."""
    times, reference = EncodeTimes(results.rows), results.description.config["time_reference"]
    cells = {(row.label, row.n_bits): row for row in recall_rows(results.rows) if row.ok}
    for (label, n_bits), row in cells.items():
        ratio, timed = times.ratio(label, reference, n_bits), times.row(label, n_bits)
        if timed and not math.isnan(ratio.value):
            if math.isnan(ratio.low):
                ratio = Estimate(ratio.value, ratio.value / _TIME_FACTOR, ratio.value * _TIME_FACTOR)
            subject = f"{_method(row)}, {n_bits:,} bits, batches of {timed.batch:,}"
            yield Measurement(subject, "time / reference", *ratio)


def _method(row: RetrievalRow) -> str:
    """Name the method of a row, its dimension and its parameters."""
    return ", ".join([row.label, f"d = {row.n_features:,}", *([str(row.params)] if row.params else [])])


def _subject(row: RetrievalRow) -> str:
    trained = [f"{row.n_train:,} training rows"] if row.n_train else []
    return ", ".join([_method(row), f"{row.n_bits:,} bits", *trained])


def _interval(values: list[float]) -> tuple[float, float, float]:
    mean = float(np.mean(values))
    half = 2 * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else _SINGLE_SEED
    return mean, mean - half, mean + half
