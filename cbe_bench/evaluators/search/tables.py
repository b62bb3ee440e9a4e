"""Tables of search experiments: recall of every method and code length with its bytes and times."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from cbe_bench.core.results import DATA_KINDS
from cbe_bench.core.statistics import mean_interval
from cbe_bench.evaluators.base import Measurement
from cbe_bench.evaluators.search.reranking import PRECISIONS
from cbe_bench.evaluators.search.rows import SearchRow

DEEP = 10
"""The oversampling factor of the second recall that is shown: 10 neighbours among the first 100."""
_SINGLE_SEED = 1.0
"""Points that a value of a single seed may be off."""


def data_label(rows: Sequence[SearchRow]) -> str:
    """Say in one line which data the rows are about."""
    row = rows[0]
    seeds = len({one.seed for one in rows if one.ok})
    return (
        f"{row.data}, {DATA_KINDS[row.data_kind]}: {row.n_database:,} database rows, {row.n_queries:,} queries, "
        f"d = {row.n_features:,}; {seeds} seed{'s' if seeds > 1 else ''}; {row.n_neighbours} neighbours by {row.metric}"
    )


def grouped(rows: Iterable[SearchRow]) -> dict[tuple[str, int], list[SearchRow]]:
    """Return the rows of each method and code length, in the order of the configuration."""
    groups: dict[tuple[str, int], list[SearchRow]] = {}
    for row in rows:
        groups.setdefault((row.label, row.n_bits), []).append(row)
    return groups


def recall_at(rows: Sequence[SearchRow], factor: int) -> tuple[float, float]:
    """Return the mean recall in percent at an oversampling factor, and half its 95 % interval over seeds."""
    values = 100 * np.array([row.recall[factor - 1] for row in rows if row.ok and len(row.recall) >= factor])
    if not len(values):
        return float("nan"), float("nan")
    mean = float(values.mean())
    if len(values) == 1:
        return mean, float("nan")
    return mean, float(mean_interval(mean, values.var(ddof=1), len(values))[1]) - mean


def search_table(rows: Sequence[SearchRow]) -> pd.DataFrame:
    """Return one line per method and code length: bytes, recall in percent, re-ranking, times, how its cells ended."""
    return pd.DataFrame([_line(cells) for cells in grouped(rows).values()])


def _line(cells: list[SearchRow]) -> dict[str, object]:
    first, done = cells[0], [row for row in cells if row.ok]
    k = first.n_neighbours
    line: dict[str, object] = {
        "data": first.data,
        "data_kind": first.data_kind,
        "metric": first.metric,
        "encoder": first.label,
        "n_bits": first.n_bits,
        "bytes_per_vector": _median(row.bytes_per_vector for row in done),
        "seeds": len(done),
    }
    for factor in (1, DEEP):
        name = f"recall_percent@{factor * k}"
        line[name], line[f"{name}_half_interval"] = recall_at(done, factor)
    for precision in PRECISIONS:
        for percent in (95, 99):
            found = [(getattr(row, f"oversampling_for_{percent}") or {}).get(precision) for row in done]
            every = found and all(value is not None for value in found)
            line[f"oversampling_for_{percent}_{precision}"] = _median(found) if every else float("nan")
    for name in ("fit_s", "encode_us_per_vector", "search_us_per_query"):
        line[name] = _median(getattr(row, name) for row in done)
    line["not_ok"] = "; ".join(sorted({f"{row.status}: {row.reason}" for row in cells if not row.ok}))
    return line


def _median(values: Iterable[float | None]) -> float:
    return float(pd.Series(list(values), dtype=float).median())


def summary_table(rows: Sequence[SearchRow]) -> pd.DataFrame:
    """Return recall in percent, methods in rows and code lengths in columns: among the first k / the first 10 k.

    Half the 95 % interval over seeds stands behind the first, where there are several.
    """
    groups = grouped(row for row in rows if row.ok)
    lengths = sorted({n_bits for _, n_bits in groups})
    labels = list(dict.fromkeys(label for label, _ in groups))
    lines = [{"method": one} | {f"{n:,} bits": _recalls(groups.get((one, n), [])) for n in lengths} for one in labels]
    return pd.DataFrame(lines)


def _recalls(cells: list[SearchRow]) -> str:
    near, half = recall_at(cells, 1)
    if np.isnan(near):
        return ""
    interval = "" if np.isnan(half) else f" ±{half:.1f}"
    deep = recall_at(cells, DEEP)[0]
    return f"{near:.1f}{interval}" + ("" if np.isnan(deep) else f" / {deep:.1f}")


def search_measurements(rows: Sequence[SearchRow]) -> Iterator[Measurement]:
    """Yield recall in percent among the first candidates: means over seeds with their intervals."""
    for (label, n_bits), cells in grouped(row for row in rows if row.ok).items():
        first = cells[0]
        words = [label, f"d = {first.n_features:,}", *([str(first.params)] if first.params else [])]
        subject = ", ".join([*words, f"{n_bits:,} bits", f"{first.n_train:,} training rows", first.metric])
        for factor in (1, DEEP):
            mean, half = recall_at(cells, factor)
            half = _SINGLE_SEED if np.isnan(half) else half
            if not np.isnan(mean):
                name = f"recall@{factor * first.n_neighbours}, points"
                yield Measurement(subject, name, mean, mean - half, mean + half)
