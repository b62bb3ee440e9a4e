"""The report of search experiments, and their figure: recall against bytes a vector and against search time."""

from itertools import cycle
from typing import TYPE_CHECKING, Any

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Results
from cbe_bench.core.style import drawing_style
from cbe_bench.evaluators.search.tables import DEEP, data_label, search_table, summary_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#6A3D9A", "#666666")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = {True: "--", False: "-"}
_PANELS = (
    ("bytes_per_vector", "bytes per vector"),
    ("search_us_per_query", "search time (µs per query, all queries at once)"),
)


def search_report(results: Results) -> Report:
    """Return the tables and the figure of a search experiment."""
    rows = results.rows
    if not any(row.ok for row in rows):
        return Report()
    k = next(row.n_neighbours for row in rows)
    what = f"neighbours by {rows[0].metric} among the first {k} / the first {DEEP * k}, %"
    tables = (
        Table("summary", summary_table(rows), f"Recall of the {k} {what}, with half the 95 % interval over seeds."),
        Table("table", search_table(rows), "Recall, bytes, re-ranking and times of every method.", folded=True),
    )
    caption = f"Recall of the {k} nearest neighbours among the first {k}; bars are 95 % intervals over seeds."
    figures = (Figure("tradeoff", lambda: tradeoff_figure(results), caption, table="table"),)
    return Report(tables=tables, figures=figures, terminal=("summary",))


def tradeoff_figure(results: Results) -> "Drawing":
    """Draw recall against the bytes of a vector, and against the time of a search: a line for each method."""
    from matplotlib.figure import Figure as Drawing

    table = search_table(results.rows)
    recall = next(name for name in map(str, table) if name.startswith("recall_percent@"))
    with drawing_style():
        figure = Drawing(figsize=(11, 5.2), layout="constrained")
        axes = figure.subplots(1, len(_PANELS), sharey=True)
        for axis, (column, label) in zip(axes, _PANELS, strict=True):
            _draw(axis, table, column, recall)
            axis.set_xscale("log")
            axis.set_xlabel(label)
        axes[0].set_ylabel(f"{recall.removeprefix('recall_percent@')} nearest neighbours found (%)")
        handles, labels = axes[0].get_legend_handles_labels()
        legend = figure.legend(
            handles, labels, loc="outside right upper", frameon=False, title=_in_lines(data_label(results.rows))
        )
        legend.get_title().set(color="0.35", fontsize=7.5, parse_math=False)
        figure.suptitle(results.description.title, fontsize=10.5, parse_math=False)
    return figure


def _draw(axis: "Axes", table: "pd.DataFrame", column: str, recall: str) -> None:
    styles = zip(cycle(_COLOURS), cycle(_MARKERS), strict=False)  # of coprime numbers: no pair twice
    for (label, line), (colour, marker) in zip(table.groupby("encoder", sort=False), styles, strict=False):
        style: Any = {"color": colour, "marker": marker, "markersize": 4, "capsize": 2, "linewidth": 1.1}
        dashes = _DASHES[str(label).startswith("faiss")]
        axis.errorbar(
            line[column], line[recall], line[f"{recall}_half_interval"], label=str(label), linestyle=dashes, **style
        )


def _in_lines(text: str) -> str:
    return text.replace("; ", "\n").replace(": ", ":\n")
