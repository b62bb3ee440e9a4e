"""The report of retrieval experiments, and recall figures: methods at equal time above, at equal code length below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Results, Row
from cbe_bench.core.style import BROAD, drawing_style, entitle, line_styles, plain
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes, rows_at_bits
from cbe_bench.evaluators.retrieval.frontier import (
    differences_figure,
    differences_table,
    frontier_figure,
    frontier_table,
)
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, recall_rows
from cbe_bench.evaluators.retrieval.sweep_figure import sweep_figure
from cbe_bench.evaluators.retrieval.tables import (
    data_label,
    equal_time_table,
    lengths_table,
    named_synthetic,
    objective_table,
    recall_curves,
    recall_table,
    sweep_table,
    times_table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_DIGITS = 6
_LEGEND_INCHES = 1.2
"""Width of one method in the legend."""
_TIMES = "Encode times in microseconds per vector; methods that encode by the same operations share a line."
_HOW = {"symmetric": "codes against codes", "asymmetric": "real query against codes"}
_DRAWN_DEPTHS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 40, 50, 60, *range(80, 10_000, 20))
"""Depths that make a line smooth: the others are in the table."""
Styles = dict[str, tuple[str, str]]


def retrieval_report(results: Results) -> Report:
    """Return the tables and figures of a retrieval experiment."""
    rows, config = results.rows, results.description.config
    sweep = config["sweep"]
    tables = (
        *(_sweep_tables(results) if sweep else ()),
        Table(
            "equal-time",
            equal_time_table(rows, config["time_reference"], config["n_bits"]),
            "Code lengths reached in the time of the reference, interpolated between those that were timed, and the "
            "recall there, interpolated between those that were run.",
            folded=True,
            digits=_DIGITS,
        ),
        Table("times", times_table(rows), _TIMES, folded=True, digits=_DIGITS),
        *(() if sweep else _comparisons(results)),
        Table("table", recall_table(rows), "Recall of each method and code length.", shown=False, digits=_DIGITS),
        Table("recall", recall_curves(rows), "Recall at every depth.", folded=True, shown=False, digits=_DIGITS),
    )
    figures = _sweep_figures(results) if sweep else _recall_figures(results)
    any_done = any(row.ok for row in recall_rows(rows))
    return Report(
        tables=tuple(table for table in tables if len(table.frame)),
        figures=figures if any_done else (),
        terminal=("sweep" if sweep else "lengths",),
    )


def _comparisons(results: Results) -> tuple[Table, ...]:
    rows, lengths = results.rows, results.description.config["n_bits"]
    depth = max((row.depths[-1] for row in recall_rows(rows) if row.ok and row.depths), default=0)
    caption = f"recall@{depth} by code length k (bits): mean ± standard deviation over seeds"
    return (
        Table("lengths", lengths_table(rows, lengths), caption, written=False),
        Table("frontier", frontier_table(rows), "Recall and encode time.", shown=False, digits=_DIGITS),
        Table("differences", differences_table(rows, lengths), "Recall less that of lsh.", shown=False, digits=_DIGITS),
    )


def _sweep_tables(results: Results) -> tuple[Table, ...]:
    caption = "Recall, and averaged AUC where it was measured, for each value."
    parameter = results.description.config["sweep"]
    table, objective = sweep_table(results.rows, parameter), objective_table(results.rows, parameter)
    return (
        Table("sweep", table, caption, digits=_DIGITS),
        Table("objective", objective, "The objective after each iteration.", folded=True, shown=False, digits=_DIGITS),
    )


def _sweep_figures(results: Results) -> tuple[Figure, ...]:
    caption = "What was measured against the parameter; bars are one standard deviation over seeds." + {
        "lam": " Bands: the 0.5 points that the paper allows, around λ = 1.",
        "mu": " Dotted: the paper's gain of 2 points over μ = 0.",
    }.get(results.description.config["sweep"], "")
    return (Figure("sweep", lambda: sweep_figure(results), caption),)


def _recall_figures(results: Results) -> tuple[Figure, ...]:
    frontier = Figure(
        "frontier",
        lambda: frontier_figure(results),
        "Recall against encode time, both axes logarithmic, recall in neighbours missed; points are code lengths, bars "
        "one standard deviation over seeds.",
    )
    beside_lsh = Figure(
        "differences",
        lambda: differences_figure(results),
        "Recall less that of lsh at the same code length, compared seed by seed; bars are 95% intervals, noise pooled "
        "over methods.",
    )
    as_in_the_paper = Figure(
        "recall",
        lambda: recall_figure(results, "symmetric"),
        "As in the paper: recall against the number of retrieved points, codes against codes (symmetric). Bands are "
        "one standard deviation over seeds.",
        folded=True,
        inline=all(row.data_kind != "synthetic" for row in results.rows),
    )
    asymmetric = Figure(
        "recall-asymmetric",
        lambda: recall_figure(results, "asymmetric"),
        "As in the paper, the real projection of the query against codes (asymmetric).",
        folded=True,
        table="recall",
        inline=False,
    )
    found = (
        (frontier, len(frontier_table(results.rows))),
        (beside_lsh, len(differences_table(results.rows, results.description.config["n_bits"]))),
        (as_in_the_paper, True),
        (asymmetric, True),
    )
    return tuple(figure for figure, there in found if there)


def recall_figure(results: Results, scoring: str) -> "Drawing":
    """Draw recall against the number of retrieved points: a column of panels for each code length.

    The lower row has all methods at that length; the upper row, where times were measured, has each at the length it
    reaches in the time of the reference, interpolated between those that were run. Either row may be missing. The band
    around a line is one standard deviation over seeds. Code lengths and times are in the tables of equal time.

    Parameters
    ----------
    results : Results
        One experiment.
    scoring : str
        Symmetric or asymmetric.

    Returns
    -------
    Figure
    """
    from matplotlib.figure import Figure as Drawing

    config = results.description.config
    lengths, times = sorted(config["n_bits"]), EncodeTimes(results.rows)
    curves = _scored(results.rows, scoring)
    panels = {
        "time": {k: _scored(_rows_in_time(results, times, k), scoring) for k in lengths},
        "bits": {k: curves[curves["n_bits"] == k] for k in lengths},
    }
    fixed = [name for name, found in panels.items() if any(map(len, found.values()))] or ["bits"]
    styles = line_styles(list(dict.fromkeys(curves["encoder"])))
    width = 2.35 * len(lengths) + 0.4
    with drawing_style():
        figure = Drawing(figsize=(width, 3.1 * len(fixed) + 0.5), layout="constrained")
        axes = figure.subplots(len(fixed), len(lengths), sharey=True, squeeze=False)
        for name, row in zip(fixed, axes, strict=True):
            for axis, n_bits in zip(row, lengths, strict=True):
                title = f"{n_bits:,} bits" if name == "bits" else _time_title(times, config["time_reference"], n_bits)
                _draw_panel(axis, panels[name][n_bits], styles)
                axis.set(xlim=(0, curves["depth"].max()), ylim=(0, 1), title=title)
                if name == fixed[-1]:
                    axis.set_xlabel("retrieved points R")
            row[0].set_ylabel("recall@R")
        columns = min(len(styles), int(width / _LEGEND_INCHES))
        figure.legend(*_handles(axes), loc="outside lower center", ncols=columns, frameon=False)
        rows = recall_rows(results.rows)
        what = " and ".join(f"at equal {name}" for name in fixed)
        title = f"{results.description.title}: recall {what}, {scoring} ({_HOW[scoring]})"
        entitle(figure, named_synthetic(title, rows), data_label(rows))
    return figure


def _handles(axes: Any) -> tuple[list[Any], list[str]]:
    """Return a line of each method that is drawn anywhere, and its name."""
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    return list(found.values()), list(found)


def _scored(rows: Sequence[Row], scoring: str) -> pd.DataFrame:
    """Return the recall curves of one way of scoring."""
    curves = recall_curves(rows)
    return curves[curves["scoring"] == scoring]


def _rows_in_time(results: Results, times: EncodeTimes, n_bits: int) -> list[RetrievalRow]:
    """Return the rows of all methods at the code lengths they reach in the time of the reference for one."""
    rows, reference = recall_rows(results.rows), results.description.config["time_reference"]
    labels = dict.fromkeys(row.label for row in rows)
    return [one for label in labels for one in rows_at_bits(rows, label, times.bits(reference, n_bits, label))]


def _time_title(times: EncodeTimes, reference: str, n_bits: int) -> str:
    timed = times.row(reference, n_bits)
    time_us = f"\n({timed.encode_us_per_vector:.3g} µs per vector)" if timed else ""
    return f"time of {plain(reference)} at {n_bits:,} bits{time_us}"


def _draw_panel(axis: "Axes", curves: pd.DataFrame, styles: Styles) -> None:
    """Draw a line for each method."""
    for encoder in styles:
        found = curves[curves["encoder"] == encoder]
        if len(found):
            _draw_line(axis, found, encoder, styles)


def _draw_line(axis: "Axes", found: pd.DataFrame, encoder: str, styles: Styles) -> None:
    colour, dash = styles[encoder]
    found = found[found["depth"].isin(_DRAWN_DEPTHS)]
    wide: Any = {"linewidth": BROAD[encoder], "zorder": 1} if encoder in BROAD else {}
    axis.plot(found["depth"], found["mean"], dash, color=colour, label=plain(encoder), **wide)
    low, high = found["mean"] - found["std"], found["mean"] + found["std"]
    axis.fill_between(found["depth"], low, high, color=colour, alpha=0.15, linewidth=0)
