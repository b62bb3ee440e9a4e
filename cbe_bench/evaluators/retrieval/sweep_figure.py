"""The figure of a sweep: recall, averaged AUC and the objective against a parameter."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.core.results import Results
from cbe_bench.core.style import drawing_style
from cbe_bench.evaluators.retrieval.rows import recall_rows
from cbe_bench.evaluators.retrieval.tables import data_label, objective_table, sweep_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_MARKS = ["o", "s", "^", "D", "v", "P"]
_ITERATIONS = "max_iter"
_AXES = {"lam": "λ", "mu": "μ", _ITERATIONS: "iterations", "n_iter": "iterations"}
"""What axes call parameters."""


def sweep_figure(results: Results) -> "Drawing | None":
    """Draw what was measured against the parameter, a line for each code length and training set."""
    from matplotlib.figure import Figure as Drawing

    rows, parameter = recall_rows(results.rows), str(results.description.config["sweep"])
    table, objective = sweep_table(rows, parameter), objective_table(rows)
    if not len(table):
        return None
    panels = [name for name in ("recall", "averaged_auc") if name in table]
    if parameter == _ITERATIONS and len(objective):
        panels.append("objective")
    depth = max(row.depths[-1] for row in rows if row.ok)
    with drawing_style():
        figure = Drawing(figsize=(3.6 * len(panels) + 0.4, 3.2), layout="constrained")
        for axis, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            if name == "objective":
                _draw_objective(axis, objective)
            else:
                _draw_sweep(axis, table, parameter, name)
                axis.set_ylabel(f"recall@{depth}" if name == "recall" else "averaged AUC")
        figure.axes[0].legend(fontsize=6.5)
        figure.suptitle(results.description.title, fontsize=10.5, parse_math=False)
        figure.supxlabel(data_label(rows), fontsize=7.5, color="0.35", parse_math=False)
    return figure


def _draw_sweep(axis: "Axes", table: pd.DataFrame, parameter: str, name: str) -> None:
    values = table[parameter].to_numpy(float)
    finite = values[np.isfinite(values)]
    far = 10 * finite.max() if len(finite) else 1.0
    logarithmic = len(finite) > 1 and finite[finite > 0].min() * 50 < finite.max()
    for i, ((n_bits, n_train), line) in enumerate(table.groupby(["n_bits", "n_train"])):
        at = np.where(np.isfinite(line[parameter]), line[parameter], far)
        style: dict[str, Any] = {"color": _COLOURS[i % 6], "marker": _MARKS[i % 6], "markersize": 3.5, "capsize": 2}
        axis.errorbar(at, line[name], line[f"{name}_std"], label=f"{n_bits:,} bits, {n_train:,} training rows", **style)
    if logarithmic:
        axis.set_xscale("symlog" if (finite == 0).any() else "log")
    if not np.isfinite(values).all():
        axis.set_xticks([*np.unique(finite), far], [*(f"{value:g}" for value in np.unique(finite)), "∞"])
        axis.minorticks_off()
    axis.set_xlabel(_AXES.get(parameter, parameter))


def _draw_objective(axis: "Axes", objective: pd.DataFrame) -> None:
    for i, (_, line) in enumerate(objective.groupby(["n_bits", "n_train"])):
        axis.plot(line["iteration"], line["mean"], color=_COLOURS[i % 6], marker=_MARKS[i % 6], markersize=3.5)
        axis.fill_between(line["iteration"], line["min"], line["max"], color=_COLOURS[i % 6], alpha=0.15, linewidth=0)
    axis.set(xlabel="iterations", ylabel="objective, relative to that after one iteration")
    axis.ticklabel_format(axis="y", useOffset=False)
