"""The figure of classification experiments, and their report."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Results
from cbe_bench.core.style import BROAD, drawing_style, line_styles
from cbe_bench.evaluators.classification.rows import ORIGINAL
from cbe_bench.evaluators.classification.tables import accuracy_table, data_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_UNWRITTEN: dict[str, Any] = {"shown": False, "written": False, "keys": 2}
_OFFSET = 1.08
"""Methods are drawn this far apart, as a factor of bytes, so that none hides the error bar of another."""
_MARKERS = {"-": "o", "--": "s", "-.": "^", ":": "D"}
"""Methods of one colour have lines of different dashes; single points need markers."""
_PANELS = {
    "accuracy_percent": "asymmetric (trained on codes, tested on real projections)",
    "symmetric_accuracy_percent": "symmetric (trained and tested on codes)",
}


def classification_report(results: Results) -> Report:
    """Return the table and the figure of a classification experiment."""
    if not results.rows:
        return Report()
    table, label = accuracy_table(results.rows), data_label(results.rows)

    def draw() -> "Drawing | None":
        return accuracy_figure(table, results.description.title, label)

    return Report(
        tables=(
            Table("table", table, "Accuracy, and the paper's (ImageNet) in brackets where it prints one.", keys=2),
            Table("accuracy", _in_short(table), "Accuracy (%): mean ± standard deviation over seeds", **_UNWRITTEN),
        ),
        figures=(Figure("accuracy", draw, "Accuracy of a linear classifier on codes.", table="table"),),
        terminal=("accuracy",),
    )


def _in_short(table: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies alone, for a terminal."""
    names = ("accuracy_percent", "symmetric_accuracy_percent")
    return table[["encoder", "n_bits", "bytes_per_vector", *(n + end for n in names for end in ("", "_std"))]]


def accuracy_figure(table: pd.DataFrame, title: str, label: str) -> "Drawing | None":
    """Draw accuracy against the size of a vector, asymmetric and symmetric; bars are one standard deviation.

    Parameters
    ----------
    table : DataFrame
        As `accuracy_table` returns it.
    title, label : str
        What stands above and below.

    Returns
    -------
    Figure or None
        None where no accuracy was measured.
    """
    from matplotlib.figure import Figure

    if table["accuracy_percent"].isna().all():
        return None
    with drawing_style():
        figure = Figure(figsize=(7.4, 3.5), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (column, how) in zip(axes, _PANELS.items(), strict=True):
            _draw(axis, table, column)
            axis.set_title(how)
            axis.set(xscale="log", xlabel="size of a vector (bytes)")
            sizes = sorted({int(size) for size in table["bytes_per_vector"].dropna()})
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=7)
            axis.minorticks_off()
        axes[0].set_ylabel("test accuracy (%)")
        axes[1].legend(loc="lower right", bbox_to_anchor=(0.9, 0.0), framealpha=0.9, fontsize=7)
        figure.suptitle(title, fontsize=10.5, parse_math=False)
        figure.supxlabel(label, fontsize=7, color="0.35", parse_math=False)
    return figure


def _draw(axis: "Axes", table: pd.DataFrame, column: str) -> None:
    codes = table[table["encoder"] != ORIGINAL]
    styles = line_styles(list(dict.fromkeys(codes["encoder"])))
    for number, (encoder, (colour, dash)) in enumerate(styles.items()):
        offset = _OFFSET ** (number - (len(styles) - 1) / 2)
        line = codes[codes["encoder"] == encoder].dropna(subset=[column]).sort_values("bytes_per_vector")
        style: Any = {"fmt": dash, "color": colour, "label": encoder, "marker": _MARKERS[dash], "ms": 3.5, "capsize": 2}
        style |= {"linewidth": BROAD[encoder], "elinewidth": 1.4, "zorder": 1} if encoder in BROAD else {}
        axis.errorbar(line["bytes_per_vector"] * offset, line[column], line[f"{column}_std"].fillna(0), **style)
    original = table[table["encoder"] == ORIGINAL].dropna(subset=["accuracy_percent"])
    style = {"fmt": "s", "ms": 4, "color": "0.2", "capsize": 2, "label": "original, float32"}
    axis.errorbar(
        original["bytes_per_vector"], original["accuracy_percent"], original["accuracy_percent_std"].fillna(0), **style
    )
    for height in original["accuracy_percent"]:
        axis.axhline(height, color="0.2", linewidth=0.8, linestyle=(0, (1, 2)))
