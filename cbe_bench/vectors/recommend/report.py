"""What was measured as a table, the part of it that is worth choosing from, and a figure."""

from typing import TYPE_CHECKING, Any

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.vectors.recommend.answer import oversample_needed
from cbe_bench.vectors.recommend.measure import Cell
from cbe_bench.vectors.recommend.run import Recommendation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

_RERANKED = 10
"""The oversampling whose recall is shown beside that without re-ranking."""


def recommend_report(found: Recommendation) -> Report:
    """Return the tables and the figure of a recommendation."""
    frame = _frame(found)
    caption = "Recall expected on all rows, of all that was tried, against bytes and time."
    return Report(
        tables=(
            Table(
                "frontier",
                _frontier(frame, found),
                "Recall expected on all rows, of the answer and of codes that no others beat.",
                keys=3,
            ),
            Table("recommend", frame, "All methods and code lengths that were tried."),
        ),
        figures=(Figure("recommend", lambda: _figure(found), caption),),
        terminal=("frontier",),
    )


def _frame(found: Recommendation) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([_line(cell, found) for cell in found.cells])


def _line(cell: Cell, found: Recommendation) -> dict[str, Any]:
    at, wanted = found.target.at, found.target.recall
    line: dict[str, Any] = {
        "method": cell.method,
        "bits": cell.n_bits,
        "search": cell.search,
        "bytes_per_vector": cell.bytes_per_vector,
    }
    for k in dict.fromkeys((10, 100, at)):
        line[f"recall@{k}"] = cell.recall[k, 1].full
        if (k, _RERANKED) in cell.recall:
            line[f"recall@{k}_rerank_{_RERANKED * k}"] = cell.recall[k, _RERANKED].full
    estimate = cell.recall[at, 1]
    line |= {f"recall@{at}_low": estimate.low, f"recall@{at}_high": estimate.high}
    line[f"recall@{at}_on_sample"] = estimate.sample
    if wanted is not None:
        line[f"oversample_for_{wanted:g}"] = oversample_needed(cell, at, wanted)
    line["fit_s"] = cell.fit_s
    line["encode_us_per_vector"] = cell.encode_us_per_vector
    line["search_us_per_query_per_million"] = cell.search_us_per_query_per_million
    return line


def _frontier(frame: Any, found: Recommendation) -> "pd.DataFrame":
    """Return the answer and, of each kind of search, what nothing beats in bytes and recall, re-ranked or not."""
    at = found.target.at
    columns = [name for name in (f"recall@{at}", f"recall@{at}_rerank_{_RERANKED * at}") if name in frame]
    kept = set() if found.choice is None else {found.cells.index(found.choice.cell)}
    for search in frame["search"].unique():
        own = frame[frame["search"] == search]
        for column in columns:
            ordered = own.sort_values(["bytes_per_vector", column], ascending=[True, False])
            kept |= set(ordered.index[ordered[column] > ordered[column].cummax().shift(fill_value=-1.0)])
    shown = [name for name in frame if not name.endswith(("_low", "_high", "_on_sample", "fit_s"))]
    best: pd.DataFrame = frame.loc[sorted(kept), shown].sort_values(["bytes_per_vector", columns[0]])
    return best


def _figure(found: Recommendation) -> "Drawing | None":
    """Draw recall against bytes and against the time of a search, re-ranked and not."""
    from matplotlib.figure import Figure

    from cbe_bench.core.style import drawing_style, line_styles

    at = found.target.at
    names = list(dict.fromkeys(cell.method for cell in found.cells))
    if not names:
        return None
    with drawing_style():
        figure = Figure(figsize=(7.2, 5.4), layout="constrained")
        axes = figure.subplots(2, 2, sharey="row")
        panels = [(axes[0], "hamming"), (axes[1], "asymmetric")]
        labels = ("code length (bytes)", "search (µs per query and million codes)")
        for (left, right), search in panels:
            for name, (colour, _dash) in zip(names, line_styles(names).values(), strict=True):
                cells = [cell for cell in found.cells if (cell.method, cell.search) == (name, search)]
                for more, dash in ((1, "-"), (_RERANKED, ":")):
                    known = [cell for cell in cells if (at, more) in cell.recall]
                    recall = [cell.recall[at, more].full for cell in known]
                    style = {"color": colour, "linestyle": dash, "marker": ".", "label": name if more == 1 else None}
                    left.plot([cell.bytes_per_vector for cell in known], recall, **style)
                    right.plot([cell.search_us_per_query_per_million for cell in known], recall, **style)
            for panel, label in ((left, labels[0]), (right, labels[1])):
                panel.set(xscale="log", xlabel=label, title=f"{search} search; dotted: {_RERANKED * at:,} re-ranked")
            left.set_ylabel(f"recall@{at}")
        axes[0][0].legend()
    return figure
