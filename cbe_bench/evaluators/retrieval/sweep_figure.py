"""The figure of a sweep: recall, averaged AUC and the objective against a parameter."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.core.results import Results
from cbe_bench.core.style import drawing_style, entitle
from cbe_bench.evaluators.retrieval.rows import recall_rows
from cbe_bench.evaluators.retrieval.tables import COUNTS, data_label, named_synthetic, objective_table, sweep_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_MARKS = ["o", "s", "^", "D", "v", "P"]
_COMPARED_WITH = {("lam", "recall"): 1, ("mu", "averaged_auc"): 0}
"""The value of the parameter that the paper compares a metric with."""
_LAMBDA_TOLERANCE = 0.5
"""Points of recall that the values of lambda differ by at most, as the paper has it."""
_PAPER_GAIN = 2.0
"""Points of averaged AUC that pairs of known similarity add in the paper."""
_WITH_OBJECTIVE = ("max_iter", "solver")
"""Parameters whose effect on the objective is drawn."""
_AXES = {"lam": "λ", "mu": "μ", **dict.fromkeys(COUNTS, "iterations"), "sign_flips": "sign flips D"}
"""What axes call parameters."""


def sweep_figure(results: Results) -> "Drawing | None":
    """Draw what was measured against the parameter, a line for each code length and training set."""
    from matplotlib.figure import Figure as Drawing

    rows, parameter = recall_rows(results.rows), str(results.description.config["sweep"])
    table, objective = sweep_table(rows, parameter), objective_table(rows, parameter)
    if not len(table):
        return None
    panels = [name for name in ("recall", "averaged_auc") if name in table]
    if parameter in _WITH_OBJECTIVE and len(objective):
        panels.append("objective")
    depth = max(row.depths[-1] for row in rows if row.ok)
    with drawing_style():
        figure = Drawing(figsize=(max(3.4 * len(panels) + 0.4, 5.6), 3.7), layout="constrained")
        for axis, name in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            if name == "objective":
                _draw_objective(axis, objective)
            else:
                _draw_sweep(axis, table, parameter, name)
                metric = f"recall@{depth}" if name == "recall" else "averaged AUC"
                base = _COMPARED_WITH.get((parameter, name))
                less = f" less that at {_AXES[parameter]} = {base} (points)" if base is not None else ""
                axis.set_ylabel(metric + less)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=7.5)
        entitle(figure, named_synthetic(_finding(table, parameter), rows), data_label(rows))
    return figure


def _finding(table: pd.DataFrame, parameter: str) -> str:
    """Say what the sweep shows: the largest range of recall over the parameter, or the gain of pairs."""
    groups = table.groupby(["n_bits", "n_train"])
    name = _AXES.get(parameter, parameter)
    if parameter == "mu" and "averaged_auc" in table:
        gains = pd.concat([_gain(line) for _, line in groups])
        return f"Pairs of known similarity change averaged AUC by {gains.min():+.2f} to {gains.max():+.2f} points"
    ranges = {bits: 100 * (line["recall"].max() - line["recall"].min()) for (bits, _), line in groups}
    widest = max(ranges, key=ranges.__getitem__)
    return f"Over {name}, recall differs by up to {ranges[widest]:.1f} points, at {widest:,} bits"


def _gain(line: pd.DataFrame) -> "pd.Series[float]":
    """Return the points of averaged AUC above that without pairs."""
    without = line.loc[line["mu"] == 0, "averaged_auc"]
    return 100 * (line.loc[line["mu"] > 0, "averaged_auc"] - (without.iloc[0] if len(without) else np.nan))


def _draw_sweep(axis: "Axes", table: pd.DataFrame, parameter: str, name: str) -> None:
    """Draw a metric against the parameter: as it is, or less that at the value the paper compares with, in points."""
    values = sorted(set(table[parameter]))
    base = _COMPARED_WITH.get((parameter, name))
    for i, ((n_bits, n_train), line) in enumerate(table.groupby(["n_bits", "n_train"])):
        at = [values.index(value) for value in line[parameter]] if parameter not in COUNTS else line[parameter]
        style: dict[str, Any] = {"color": _COLOURS[i % 6], "marker": _MARKS[i % 6], "markersize": 3.5, "capsize": 2}
        less = line.loc[line[parameter] == base, name]
        height = 100 * (line[name] - less.iloc[0]) if len(less) else line[name]
        bars = line[f"{name}_std"] * (100 if len(less) else 1)
        axis.errorbar(at, height, bars, label=_line_name(n_bits, n_train), **style)
    ticks = values if parameter in COUNTS else list(range(len(values)))
    axis.set_xticks(ticks, [_tick(value) for value in values])
    axis.set_xlabel(_AXES.get(parameter, parameter))
    if (parameter, name) == ("lam", "recall"):
        axis.axhspan(-_LAMBDA_TOLERANCE, _LAMBDA_TOLERANCE, color="#999999", alpha=0.25, linewidth=0)
    if (parameter, name) == ("mu", "averaged_auc"):
        axis.axhline(_PAPER_GAIN, color="0.35", linewidth=1, linestyle=(0, (1, 2)))


def _line_name(n_bits: Any, n_train: Any) -> str:
    return f"{n_bits:,} bits, {f'{n_train:,} training rows' if n_train else 'untrained'}"


def _tick(value: Any) -> str:
    """Return how an axis writes a value of the parameter."""
    if isinstance(value, bool | np.bool_):
        return "with" if value else "without"
    if isinstance(value, str):
        return value
    return "∞" if np.isinf(value) else f"{value:g}"


def _draw_objective(axis: "Axes", objective: pd.DataFrame) -> None:
    from matplotlib.ticker import MaxNLocator

    own = [name for name in objective if name not in ("iteration", "mean", "min", "max")]
    for i, (_, line) in enumerate(objective.groupby(own)):
        axis.plot(line["iteration"], line["mean"], color=_COLOURS[i % 6], marker=_MARKS[i % 6], markersize=3.5)
        axis.fill_between(line["iteration"], line["min"], line["max"], color=_COLOURS[i % 6], alpha=0.15, linewidth=0)
    axis.set(xlabel="iterations", ylabel="objective, relative to that after one iteration")
    axis.ticklabel_format(axis="y", useOffset=False)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
