"""The figure of classification experiments, and their report."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Results
from cbe_bench.core.statistics import difference_error
from cbe_bench.core.style import drawing_style, entitle, line_styles, plain
from cbe_bench.evaluators.classification.rows import ORIGINAL, ClassificationRow
from cbe_bench.evaluators.classification.tables import accuracy_table, data_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_UNWRITTEN: dict[str, Any] = {"shown": False, "written": False, "keys": 2}
_CAPTION = "Test accuracy of linear SVMs trained on codes; bars are 95% intervals over seeds, dotted: the features."
_PANELS = {
    "accuracy_percent": ("asymmetric: tested on real projections", "accuracy"),
    "symmetric_accuracy_percent": ("symmetric: tested on codes", "accuracy_symmetric"),
}


def classification_report(results: Results) -> Report:
    """Return the table and the figure of a classification experiment."""
    if not results.rows:
        return Report()
    table, label = accuracy_table(results.rows), data_label(results.rows)

    def draw() -> "Drawing | None":
        return accuracy_figure(table, results.rows, label)

    return Report(
        tables=(
            Table("table", table, "Accuracy, and the paper's (ImageNet) in brackets where it prints one.", keys=2),
            Table("accuracy", _in_short(table), "Accuracy (%): mean ± standard deviation over seeds", **_UNWRITTEN),
        ),
        figures=(Figure("accuracy", draw, _CAPTION, table="table"),),
        terminal=("accuracy",),
    )


def _in_short(table: pd.DataFrame) -> pd.DataFrame:
    """Return only the accuracies, for a terminal."""
    names = ("accuracy_percent", "symmetric_accuracy_percent")
    return table[["encoder", "n_bits", "bytes_per_vector", *(n + end for n in names for end in ("", "_std"))]]


def accuracy_figure(table: pd.DataFrame, rows: list[ClassificationRow], label: str) -> "Drawing | None":
    """Draw the accuracy of every method as a dot with its 95% interval, asymmetric and symmetric.

    The noise is that over seeds, pooled over methods after the shift that a seed gives all of them.

    Parameters
    ----------
    table : DataFrame
        As `accuracy_table` returns it.
    rows : list of ClassificationRow
        The rows it was made from.
    label : str
        Which data, and their size.

    Returns
    -------
    Figure or None
        None where no accuracy was measured.
    """
    from matplotlib.figure import Figure

    shown = table.dropna(subset=["accuracy_percent"]).iloc[::-1]
    if not len(shown):
        return None
    names = [_name(line) for line in shown.to_dict("records")]
    with drawing_style():
        figure = Figure(figsize=(7.4, 1.6 + 0.2 * len(shown)), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True, sharex=True)
        for axis, (column, (how, field)) in zip(axes, _PANELS.items(), strict=True):
            half = _half_interval(rows, field)
            styles = line_styles(list(shown["encoder"]))
            for at, (encoder, value) in enumerate(zip(shown["encoder"], shown[column], strict=True)):
                colour = "0.2" if encoder == ORIGINAL else styles[encoder][0]
                axis.errorbar(value, at, xerr=half, fmt="o", ms=4, color=colour, capsize=2, elinewidth=1)
            axis.set_title(how, fontsize=8.5)
            axis.set_xlabel("test accuracy (%)")
            axis.set_yticks(range(len(names)), names)
            original = shown.loc[shown["encoder"] == ORIGINAL, "accuracy_percent"]
            for value in original:
                axis.axvline(value, color="0.35", linewidth=0.8, linestyle=(0, (1, 2)))
        synthetic = "Synthetic data: " if rows[0].data_kind == "synthetic" else ""
        entitle(figure, synthetic + _finding(shown), label)
    return figure


def _name(line: dict[Any, Any]) -> str:
    if line["encoder"] == ORIGINAL:
        return f"original, {line['bytes_per_vector']:,.0f} bytes"
    return f"{plain(line['encoder'])}, {line['n_bits']:,} bits"


def _finding(shown: pd.DataFrame) -> str:
    """Say how the best code compares with the features it encodes."""
    is_original = shown["encoder"] == ORIGINAL
    codes, original = shown[~is_original], shown[is_original]
    if not len(codes) or not len(original):
        return "Accuracy of a linear classifier on codes"
    best, whole = codes.nlargest(1, "accuracy_percent").iloc[0], original.iloc[0]
    smaller = whole["bytes_per_vector"] / best["bytes_per_vector"]
    change = best["accuracy_percent"] - whole["accuracy_percent"]
    return (
        f"Codes {smaller:.0f} times smaller than the features change accuracy by {change:+.1f} points at best "
        f"({best['encoder']})"
    )


def _half_interval(rows: list[ClassificationRow], field: str) -> float:
    """Return half the 95% interval of a mean over seeds, noise pooled over methods; zero where it is not known."""
    cells: dict[tuple[str, int], dict[int, float]] = {}
    for row in rows:
        if row.ok and np.isfinite(getattr(row, field)):
            cells.setdefault((row.label, row.n_bits), {})[row.seed] = 100 * getattr(row, field)
    seeds = set.intersection(*(set(values) for values in cells.values())) if cells else set()
    if not seeds:
        return 0.0
    half = difference_error([[values[seed] for seed in sorted(seeds)] for values in cells.values()]) / np.sqrt(2)
    return 0.0 if np.isnan(half) else float(half)
