"""Figures of the angle experiments, from their tables. Bands and bars are 95% intervals."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.reports.figures import drawing_style, line_styles
from cbe_bench.reports.verdicts import DATA_KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN_ANGLES = {1 / 12: r"$\pi/12$", 1 / 6: r"$\pi/6$", 1 / 3: r"$\pi/3$", 1 / 2: r"$\pi/2$"}
_PLAIN = ("lsh", "cbe-rand", "cbe-orth", "hd3")
_VARIANTS = {
    "cbe-rand without D": ("#D55E00", "-"),
    "cbe-rand without D after HD'": ("#CC79A7", "-."),
    "cbe-rand after HD'": ("#009E73", ":"),
    "cbe-rand": ("#0072B2", "--"),
}
_PANELS = {
    "smooth": "smooth: ones, slow wave",
    "periodic": "periodic: repeats after 8",
    "two-coordinate": "two coordinates",
    "dense": "dense: Gaussian",
}
_GUIDE: dict[str, Any] = {"color": "0.25", "linewidth": 0.9}


def _at(table: pd.DataFrame, angle_over_pi: float) -> pd.DataFrame:
    return table[np.isclose(table["angle_over_pi"], angle_over_pi)]


def _largest(table: pd.DataFrame, methods: Collection[str], pairs: Collection[str]) -> tuple[pd.DataFrame, int]:
    """Return the part of a table about some methods and pairs, at the largest d at which all of them are there."""
    if not len(table):
        return table, 0
    part = table[table["method"].isin(methods) & table["pair"].isin(pairs)]
    both = part.groupby("d").agg({"method": "nunique", "pair": "nunique"})
    whole = both.index[(both["method"] == len(methods)) & (both["pair"] == len(pairs))]
    d = int(whole.max()) if len(whole) else 0
    return part[part["d"] == d], d


def _line(axis: "Axes", line: pd.DataFrame, value: str, ends: tuple[str, str], **style: Any) -> None:
    """Draw a line with the band of its interval."""
    colour = style["color"]
    axis.plot(line["bits"], line[value], **style)
    axis.fill_between(line["bits"], line[ends[0]], line[ends[1]], color=colour, alpha=0.2, linewidth=0)


def _bits_axis(axis: "Axes", label: str = "bits $k$") -> None:
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel(label)


def variance_figure(variances: pd.DataFrame) -> "Figure | None":
    """Draw the variance against the number of bits, a panel for each angle, and below it relative to independent bits.

    The pair is dense, d the largest at which all methods were simulated; the theory is drawn in black.
    """
    from matplotlib.figure import Figure

    dense = (
        variances[(variances["pair"] == "dense") & variances["method"].isin(_PLAIN)] if len(variances) else variances
    )
    if not len(dense):
        return None
    d = dense["d"].max()
    dense = dense[dense["d"] == d]
    styles = line_styles(list(_PLAIN))
    with drawing_style():
        figure = Figure(figsize=(9.8, 4.9), layout="constrained")
        axes = figure.subplots(2, len(_SHOWN_ANGLES), sharex=True, sharey="row", height_ratios=[1.7, 1])
        for column, (angle, name) in enumerate(_SHOWN_ANGLES.items()):
            panel = _at(dense, angle)
            upper, lower = axes[:, column]
            for method in (method for method in _PLAIN if method in set(panel["method"])):
                line = panel[panel["method"] == method]
                colour, dash = styles[method]
                width = 3.5 if method == "lsh" else 1.4
                style = {"color": colour, "linestyle": dash, "linewidth": width, "label": method}
                _line(upper, line, "variance", ("low", "high"), **style)
                _line(lower, line, "ratio", ("ratio_low", "ratio_high"), **style)
            _draw_theory(upper, panel[panel["method"] == "cbe-rand"], angle)
            lower.axhline(1, **_GUIDE, linestyle="-")
            upper.set_title(rf"$\theta$ = {name}")
            _bits_axis(upper, "")
            _bits_axis(lower)
            lower.set_yscale("linear")
        axes[0, 0].set_ylabel("variance of the share of differing bits")
        axes[1, 0].set_ylabel("relative to\nindependent bits")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
        figure.suptitle(f"Variance of the angle estimate: dense pair, d = {d:,} (bands: 95% intervals)", fontsize=10.5)
    return figure


def _draw_theory(axis: "Axes", line: pd.DataFrame, angle: float) -> None:
    axis.plot(line["bits"], line["independent"], **_GUIDE, linestyle="-", label="independent bits, $p(1-p)/k$")
    axis.plot(line["bits"], line["theorem1"], **_GUIDE, linestyle=":", label="Theorem 1")
    axis.axhline(angle * (1 - angle), **_GUIDE, linestyle="--", label="largest possible, $p(1-p)$")


def signs_figure(variances: pd.DataFrame) -> "Figure | None":
    """Draw the variance relative to independent bits with and without sign flips, a panel for each kind of pair."""
    from matplotlib.figure import Figure

    table = (
        variances[variances["method"].isin(_VARIANTS) & variances["pair"].isin(_PANELS)]
        if len(variances)
        else variances
    )
    table = (
        table[table["method"].eq("cbe-rand without D").groupby(table["d"]).transform("any")] if len(table) else table
    )
    if not len(table):
        return None
    d = table["d"].max()
    table = _at(table[table["d"] == d], 1 / 3)
    with drawing_style():
        figure = Figure(figsize=(9.8, 3.1), layout="constrained")
        axes = figure.subplots(1, len(_PANELS), sharex=True, sharey=True)
        for axis, (kind, title) in zip(axes, _PANELS.items(), strict=True):
            for method, (colour, dash) in _VARIANTS.items():
                line = table[(table["pair"] == kind) & (table["method"] == method)]
                style = {"color": colour, "linestyle": dash, "label": method}
                _line(axis, line, "ratio", ("ratio_low", "ratio_high"), **style)
            bits = np.array(sorted(table["bits"].unique()))
            axis.plot(bits, bits, **_GUIDE, linestyle="--", label="all bits the same")
            axis.set_title(title)
            _bits_axis(axis)
        axes[0].set_ylabel("variance relative to\nindependent bits")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        figure.suptitle(rf"What the sign flips are for: $\theta = \pi/3$, d = {d:,}", fontsize=10.5)
    return figure


def mean_figure(means: pd.DataFrame) -> "Figure | None":
    """Draw the mean share of differing bits against the angle, and how far it is from angle / pi."""
    from matplotlib.figure import Figure

    table, d = _largest(means, _PLAIN, ["dense", "two-coordinate"])
    if not len(table):
        return None
    with drawing_style():
        figure = Figure(figsize=(9.8, 3.2), layout="constrained")
        axes = figure.subplots(1, 3)
        axes[0].plot([0, 1], [0, 1], **_GUIDE)
        shifts = dict(zip(_PLAIN, np.linspace(-0.015, 0.015, len(_PLAIN)), strict=True))
        for axis, kind in zip(axes[1:], ("dense", "two-coordinate"), strict=True):
            _draw_means(axes[0] if kind == "dense" else None, axis, table, kind, shifts)
            axis.set_title(f"{_PANELS[kind]}")
        axes[0].set(title=_PANELS["dense"], ylabel="mean share of differing bits")
        axes[1].set_ylabel(r"mean $-\;\theta/\pi$")
        for axis in axes:
            axis.set_xlabel(r"angle $\theta/\pi$")
        axes[0].legend()
        figure.suptitle(f"Mean of the angle estimate at k = d = {d:,} (bars: 95% intervals)", fontsize=10.5)
    return figure


def _draw_means(whole: "Axes | None", axis: "Axes", table: pd.DataFrame, kind: str, shifts: dict[str, float]) -> None:
    """Draw the deviations from angle / pi, side by side; and the means themselves, where there is an axis for them."""
    styles = line_styles(list(_PLAIN))
    axis.axhline(0, **_GUIDE)
    axis.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2), useMathText=True)
    for number, method in enumerate(_PLAIN):
        pair = "dense" if method == "lsh" else kind  # all pairs are alike to lsh
        line = table[(table["method"] == method) & (table["pair"] == pair)].sort_values("angle_over_pi")
        colour = styles[method][0]
        bars = [line["mean"] - line["low"], line["high"] - line["mean"]]
        marks: dict[str, Any] = {
            "color": colour,
            "marker": "osD^"[number],
            "ms": 3.5,
            "linestyle": "none",
            "label": method,
        }
        off = line["mean"] - line["expected"]
        axis.errorbar(line["angle_over_pi"] + shifts[method], off, bars, elinewidth=1, **marks)
        if whole is not None:
            whole.plot(line["angle_over_pi"], line["mean"], **marks)


def features_figure(features: pd.DataFrame) -> "Figure | None":
    """Draw the mean and the worst error of the angles of features against the number of bits."""
    from matplotlib.figure import Figure

    if not len(features) or not features["worst_error"].any():  # vectors that are all the same have no errors to draw
        return None
    methods = list(features["method"].unique())
    styles = line_styles(methods) | _VARIANTS
    first = features.iloc[0]
    with drawing_style():
        figure = Figure(figsize=(7.4, 3.3), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for axis, value, title in zip(
            axes, ("mean_error", "worst_error"), ("mean over pairs", "worst pair"), strict=True
        ):
            for method in methods:
                line = features[features["method"] == method]
                colour, dash = styles[method]
                wide = {"linewidth": 3.5, "zorder": 1} if method == "lsh" else {}
                style = {"color": colour, "linestyle": dash, "label": method, **wide}
                _line(axis, line, value, (f"{value}_low", f"{value}_high"), **style)
            start = features[value].iloc[0] * np.sqrt(features["bits"].iloc[0])
            bits = np.array(sorted(features["bits"].unique()))
            axis.plot(bits, start / np.sqrt(bits), **_GUIDE, linestyle=":", label=r"$\propto 1/\sqrt{k}$")
            axis.set_title(title)
            _bits_axis(axis)
        axes[0].set_ylabel(r"error of the angle, in units of $\pi$")
        axes[1].legend()
        data = f"{first['data']}, {DATA_KINDS[first['data_kind']]}, d = {first['n_features']:,}"
        label = f"{data}: all pairs of {first['n_vectors']:,} vectors; bands: 95% intervals over draws"
        figure.suptitle("Angles between features from their codes", fontsize=10.5)
        figure.supxlabel(label, fontsize=7.5, color="0.35", parse_math=False)
    return figure
