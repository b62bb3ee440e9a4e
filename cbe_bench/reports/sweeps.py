"""What one parameter does: recall against it, and how learning went on."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.core.results import Row
from cbe_bench.reports.figures import drawing_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_MARKS = ["o", "s", "^", "D", "v", "P"]


def sweep_table(rows: list[Row], parameter: str) -> pd.DataFrame:
    """Return recall at the greatest depth, and the area under the curve where it was taken, for each value."""
    lines = [
        {
            "bits": row["n_bits"],
            "learn": row["n_learn"],
            parameter: row["params"][parameter],
            "recall": row["recall"][-1],
            "auc": row.get("auc", np.nan),
        }
        for row in rows
        if row["status"] == "ok" and parameter in row["params"]
    ]
    keys = ["bits", "learn", parameter]
    grouped = pd.DataFrame(lines, columns=[*keys, "recall", "auc"]).groupby(keys)
    table = pd.DataFrame({"recall": grouped["recall"].mean(), "recall_std": grouped["recall"].std()})
    table["auc"], table["auc_std"] = grouped["auc"].mean(), grouped["auc"].std()
    table["seeds"] = grouped["recall"].count()
    return table.drop(columns=["auc", "auc_std"] if table["auc"].isna().all() else []).reset_index()


def course_table(rows: list[Row]) -> pd.DataFrame:
    """Return the objective after each turn of learning, relative to that after the first.

    Where learning begins, at random, the objective is larger by orders of magnitude and says nothing.
    """
    lines = [
        (row["n_bits"], row["n_learn"], turn, value / row["objective"][1])
        for row in rows
        if row["status"] == "ok" and len(row.get("objective", ())) > 1
        for turn, value in enumerate(row["objective"])
        if turn > 0
    ]
    keys = ["bits", "learn", "turn"]
    frame = pd.DataFrame(lines, columns=[*keys, "objective"])
    return frame.groupby(keys)["objective"].agg(["mean", "min", "max"]).reset_index()


def sweep_figure(
    table: pd.DataFrame, course: pd.DataFrame, parameter: str, depth: int, title: str, label: str
) -> "Figure":
    """Draw what was measured against the parameter, a line for each number of bits and learning rows."""
    from matplotlib.figure import Figure

    panels = [name for name in ("recall", "auc") if name in table]
    if parameter == "max_iter" and len(course):
        panels.append("objective")
    with drawing_style():
        figure = Figure(figsize=(3.6 * len(panels) + 0.4, 3.2), layout="constrained")
        for axis, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            if name == "objective":
                _draw_course(axis, course)
            else:
                _draw_sweep(axis, table, parameter, name)
        axes = figure.axes
        axes[0].set_ylabel(f"recall of the true neighbours in {depth}")
        axes[0].legend(fontsize=6.5)
        figure.suptitle(title, fontsize=10.5, parse_math=False)
        figure.supxlabel(label, fontsize=7.5, color="0.35", parse_math=False)
    return figure


def _draw_sweep(axis: "Axes", table: pd.DataFrame, parameter: str, name: str) -> None:
    values = table[parameter].to_numpy(float)
    finite = values[np.isfinite(values)]
    far = 10 * finite.max() if len(finite) else 1.0
    logarithmic = len(finite) > 1 and finite[finite > 0].min() * 50 < finite.max()
    for i, ((bits, learn), line) in enumerate(table.groupby(["bits", "learn"])):
        at = np.where(np.isfinite(line[parameter]), line[parameter], far)
        style: dict[str, Any] = {"color": _COLOURS[i % 6], "marker": _MARKS[i % 6], "markersize": 3.5, "capsize": 2}
        axis.errorbar(at, line[name], line[f"{name}_std"], label=f"{bits:,} bits, {learn:,} rows", **style)
    if logarithmic:
        axis.set_xscale("symlog" if (finite == 0).any() else "log")
    if not np.isfinite(values).all():
        axis.set_xticks([*np.unique(finite), far], [*(f"{value:g}" for value in np.unique(finite)), "\u221e"])
        axis.minorticks_off()
    axis.set_xlabel(parameter)
    if name == "auc":
        axis.set_ylabel("averaged area under the curve")


def _draw_course(axis: "Axes", course: pd.DataFrame) -> None:
    for i, (_, line) in enumerate(course.groupby(["bits", "learn"])):
        axis.plot(line["turn"], line["mean"], color=_COLOURS[i % 6], marker=_MARKS[i % 6], markersize=3.5)
        axis.fill_between(line["turn"], line["min"], line["max"], color=_COLOURS[i % 6], alpha=0.15, linewidth=0)
    axis.set(xlabel="turns of learning", ylabel="objective, relative to that after one turn")
    axis.ticklabel_format(axis="y", useOffset=False)
