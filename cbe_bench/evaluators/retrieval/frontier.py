"""Recall against encode time, and recall less that of lsh against code length: tables, figures, and what they show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.core.results import Results, Row
from cbe_bench.core.statistics import difference_error
from cbe_bench.core.style import drawing_style, entitle, line_styles, plain
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes
from cbe_bench.evaluators.retrieval.rows import recall_rows
from cbe_bench.evaluators.retrieval.tables import data_label, named_synthetic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

BASELINE = "lsh"
_CIRCULANT = "cbe-rand"
_TICKS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_LEAST_MISSED = 5e-4
"""Fraction of neighbours missed below which recall is drawn as if it were this: the top of the axis."""


def frontier_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return, for each method and code length that was timed, microseconds per vector and recall.

    Time is that of encoding in batches on one pinned thread, the median over rounds.
    """
    times, groups = EncodeTimes(rows), dict[tuple[str, int], list[float]]()
    for row in recall_rows(rows):
        if row.ok:
            groups.setdefault((row.label, row.n_bits), []).append(row.recall[-1])
    lines = []
    for label, k in sorted(groups, key=lambda one: one[1]):
        timed, mine = times.row(label, k), groups[label, k]
        if timed:
            lines.append(
                {
                    "encoder": label,
                    "n_bits": k,
                    "bytes": -(-k // 8),
                    "encode_us_per_vector": timed.encode_us_per_vector,
                    "recall": float(np.mean(mine)),
                    "recall_std": float(np.std(mine, ddof=1)) if len(mine) > 1 else np.nan,
                    "seeds": len(mine),
                }
            )
    return pd.DataFrame(lines)


def differences_table(rows: Sequence[Row], lengths: Sequence[int]) -> pd.DataFrame:
    """Return recall less that of lsh, in points, for each other method and code length, with paired 95% intervals.

    Methods are compared seed by seed; the noise is pooled over the methods at a code length.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one experiment.
    lengths : sequence of int
        The code lengths.

    Returns
    -------
    DataFrame
        Empty where lsh was not measured.
    """
    done = [row for row in recall_rows(rows) if row.ok and row.n_bits in set(lengths)]
    lines = []
    for k in sorted({row.n_bits for row in done}):
        found: dict[str, dict[int, float]] = {}
        for row in done:
            if row.n_bits == k:
                found.setdefault(row.label, {})[row.seed] = 100 * row.recall[-1]
        if BASELINE not in found or len(found) < 2:
            continue
        seeds = sorted(set.intersection(*(set(values) for values in found.values())))
        table = {label: np.array([values[seed] for seed in seeds]) for label, values in found.items()}
        if not seeds:
            continue
        half = difference_error(list(table.values()))
        for label in (label for label in table if label != BASELINE):
            mean = float((table[label] - table[BASELINE]).mean())
            ends = {"low": mean - half, "high": mean + half, "seeds": len(seeds)}
            lines.append({"encoder": label, "n_bits": k, "difference_points": mean, **ends})
    return pd.DataFrame(lines)


def frontier_finding(table: pd.DataFrame) -> str:
    """Say what methods find in the time of circulant codes."""
    own = table[table["encoder"] == _CIRCULANT]
    if not len(own):
        return "Recall against encode time"
    time_us = float(own["encode_us_per_vector"].median())
    within = table[table["encode_us_per_vector"] <= 1.1 * time_us]
    slowest = table.nlargest(1, "encode_us_per_vector").iloc[0]
    top, ratio = within.nlargest(1, "recall").iloc[0], slowest["encode_us_per_vector"] / time_us
    found, same = _percent(top["recall"]), _percent(slowest["recall"])
    return (
        f"In {time_us:.2g} µs per vector {top['encoder']} finds {found} of the neighbours; "
        f"{slowest['encoder']} takes {ratio:,.0f} times as long for {same}"
    )


def _percent(recall: float) -> str:
    return f"{recall:.1%}" if recall < 1 - _LEAST_MISSED else "over 99.9%"


def differences_finding(table: pd.DataFrame) -> str:
    """Say which method is furthest ahead of lsh, and how far cbe-rand is off it."""
    top = table.nlargest(1, "difference_points").iloc[0]
    own = table.loc[table["encoder"] == _CIRCULANT, "difference_points"]
    beside = f"; {_CIRCULANT} is within {own.abs().max():.1f} of it" if len(own) else ""
    return f"{top['encoder']} is up to {top['difference_points']:.1f} points of recall ahead of lsh{beside}"


def frontier_figure(results: Results) -> "Drawing | None":
    """Draw recall against encode time, both logarithmic: a line for each method over its code lengths."""
    from matplotlib.figure import Figure as Drawing

    table, rows = frontier_table(results.rows), recall_rows(results.rows)
    if not len(table):
        return None
    with drawing_style():
        figure = Drawing(figsize=(4.8, 4.2), layout="constrained")
        axis = figure.subplots()
        styles = line_styles(list(dict.fromkeys(table["encoder"])))
        for encoder, (colour, dash) in styles.items():
            _draw_frontier(axis, table[table["encoder"] == encoder], encoder, colour, dash)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_yscale("function", functions=(_stretched, _recall_of))
        shown = [tick for tick in _TICKS if table["recall"].min() * 0.9 < tick]
        axis.set_yticks([*shown, 1 - _LEAST_MISSED], [*(f"{tick:g}" for tick in shown), "1"])
        axis.minorticks_off()
        axis.set_ylim(max(table["recall"].min() - 0.08, 0.01), 1 - 0.7 * _LEAST_MISSED)
        depth = max(row.depths[-1] for row in rows if row.ok)
        axis.set(xlabel="encode time (µs per vector, one thread)", ylabel=f"recall@{depth}")
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        entitle(figure, named_synthetic(frontier_finding(table), rows), data_label(rows))
    return figure


def _draw_frontier(axis: "Axes", line: pd.DataFrame, encoder: str, colour: str, dash: str) -> None:
    style: Any = {"color": colour, "linestyle": dash, "marker": "o", "ms": 3.5, "label": plain(encoder), "capsize": 2}
    line = line.sort_values("n_bits")
    bars = line["recall_std"].fillna(0)
    shown = line["recall"].clip(upper=1 - _LEAST_MISSED)
    axis.errorbar(line["encode_us_per_vector"], shown, bars, elinewidth=0.8, **style)


def _stretched(recall: Any) -> Any:
    """Return how many tenfold reductions of missed neighbours a recall stands for."""
    return -np.log10(np.maximum(1 - np.asarray(recall, float), 0.5 * _LEAST_MISSED))


def _recall_of(stretched: Any) -> Any:
    return 1 - 10.0 ** -np.asarray(stretched, float)


def differences_figure(results: Results) -> "Drawing | None":
    """Draw recall less that of lsh against code length, with paired 95% intervals."""
    from matplotlib.figure import Figure as Drawing

    rows = recall_rows(results.rows)
    table = differences_table(rows, results.description.config["n_bits"])
    if not len(table):
        return None
    methods = list(dict.fromkeys(table["encoder"]))
    with drawing_style():
        figure = Drawing(figsize=(4.8, 3.9), layout="constrained")
        axis = figure.subplots()
        axis.axhline(0, color="0.35", linewidth=0.9)
        shifts = dict(zip(methods, np.linspace(-0.05, 0.05, len(methods)), strict=True))
        for encoder, (colour, dash) in line_styles(methods).items():
            line = table[table["encoder"] == encoder]
            half = (line["high"] - line["low"]).fillna(0) / 2
            style: Any = {"color": colour, "linestyle": dash, "marker": "o", "ms": 3.5, "capsize": 2}
            at = line["n_bits"] * 2.0 ** shifts[encoder]
            axis.errorbar(at, line["difference_points"], half, elinewidth=0.8, label=plain(encoder), **style)
        lengths = sorted(set(table["n_bits"]))
        axis.set_xscale("log", base=2)
        axis.set_xticks(lengths, [f"{k:,}" for k in lengths])
        axis.minorticks_off()
        axis.set(xlabel="code length k (bits)", ylabel="recall less that of lsh (points)")
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        entitle(figure, named_synthetic(differences_finding(table), rows), data_label(rows))
    return figure
