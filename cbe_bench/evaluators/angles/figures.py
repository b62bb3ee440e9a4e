"""Figures of experiments on angles, from their tables, and their report. Bands and bars are 95% intervals."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import DATA_KINDS, Results
from cbe_bench.core.style import BROAD, drawing_style, entitle, line_styles
from cbe_bench.evaluators.angles.claims_products import products_table
from cbe_bench.evaluators.angles.rows import features_rows, products_rows, select, simulations
from cbe_bench.evaluators.angles.tables import features_table, mean_table, tails_table, variance_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_SHOWN_ANGLES = {1 / 12: r"$\pi/12$", 1 / 6: r"$\pi/6$", 1 / 3: r"$\pi/3$", 1 / 2: r"$\pi/2$"}
_PLAIN = ("lsh", "cbe-rand", "cbe-orth", "hd3")
_VARIANTS = {
    "cbe-rand without D": ("#D55E00", "-"),
    "cbe-rand without D after HD'": ("#CC79A7", "-."),
    "cbe-rand after HD'": ("#009E73", ":"),
    "cbe-rand": ("#0072B2", "--"),
}
_PANELS = {
    "smooth": "smooth: constant, one cosine",
    "periodic": "periodic: repeats after 8",
    "two-coordinate": "two coordinates",
    "dense": "dense: Gaussian",
}
_GUIDE: dict[str, Any] = {"color": "0.25", "linewidth": 0.9}


def angles_report(results: Results) -> Report:
    """Return the tables and figures of an experiment on angles; tables without rows are left out."""
    cells = simulations(results.rows)
    tables = (
        Table("mean", mean_table(cells), "Mean fraction of differing bits at k = d.", shown=False),
        Table("variance", variance_table(select(cells, pairs=["dense"])), "Variance, dense pairs.", shown=False),
        Table("signs", variance_table(cells, angle_over_pi=1 / 3), "Variance at pi/3, all pairs.", shown=False),
        Table("tails", tails_table(cells), "Large deviations at k = d, and what Theorem 2 allows.", shown=False),
        Table(
            "products", products_table(products_rows(results.rows)), "Products of shifts, and their bound.", shown=False
        ),
        Table("features", features_table(features_rows(results.rows)), "Errors of angles between features.", True),
    )
    frames = {table.name: table.frame for table in tables if len(table.frame)}
    return Report(tables=tuple(table for table in tables if table.name in frames), figures=tuple(_figures(frames)))


def _figures(frames: dict[str, pd.DataFrame]) -> Iterator[Figure]:
    """Yield the figures of the tables there are."""
    captions = {
        "mean": "Mean fraction of differing bits against the angle, and its deviation from angle / pi.",
        "variance": "Variance of the fraction of differing bits, and relative to independent bits.",
        "signs": "Variance with and without random sign flips, for four kinds of pairs.",
        "features": "Error of angles between features, mean and worst pair.",
    }
    draw: dict[str, Callable[[pd.DataFrame], Drawing | None]] = {
        "mean": mean_figure,
        "variance": variance_figure,
        "signs": signs_figure,
        "features": features_figure,
    }
    for name, caption in captions.items():
        if name in frames:
            yield Figure(name, partial(draw[name], frames[name]), caption)


def _largest(table: pd.DataFrame, methods: Collection[str], pairs: Collection[str]) -> tuple[pd.DataFrame, int]:
    """Return the part of a table about some methods and pairs, at the largest d at which all of them are there."""
    part = table[table["method"].isin(methods) & table["pair"].isin(pairs)]
    both = part.groupby("d").agg({"method": "nunique", "pair": "nunique"})
    whole = both.index[(both["method"] == len(methods)) & (both["pair"] == len(pairs))]
    d = int(whole.max()) if len(whole) else 0
    return part[part["d"] == d], d


def _line(axis: "Axes", line: pd.DataFrame, value: str, low: str, high: str, **style: Any) -> None:
    """Draw a line with the band of its interval."""
    if style["label"] in BROAD:
        style |= {"linewidth": BROAD[style["label"]], "zorder": 1}
    axis.plot(line["n_bits"], line[value], **style)
    axis.fill_between(line["n_bits"], line[low], line[high], color=style["color"], alpha=0.2, linewidth=0)


def _bits_axis(axis: "Axes", label: str = "code length $k$ (bits)", yscale: str = "log") -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=4))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set(yscale=yscale, xlabel=label)


def variance_figure(variances: pd.DataFrame) -> "Drawing | None":
    """Draw the variance against the code length, a panel for each angle, and below it relative to independent bits.

    The pair is dense, d the largest at which all methods were simulated; the theory is drawn in black.
    """
    from matplotlib.figure import Figure

    dense, d = _largest(variances, _PLAIN, ["dense"])
    if not d:
        return None
    styles = line_styles(list(_PLAIN))
    relative = dense[["low", "high"]].div(dense["independent"], axis=0).add_prefix("ratio_")
    dense = dense.join(relative)
    with drawing_style():
        figure = Figure(figsize=(9.8, 4.9), layout="constrained")
        axes = figure.subplots(2, len(_SHOWN_ANGLES), sharex=True, sharey="row", height_ratios=[1.7, 1])
        for column, (angle, name) in enumerate(_SHOWN_ANGLES.items()):
            panel = dense[np.isclose(dense["angle_over_pi"], angle)]
            upper, lower = axes[:, column]
            for method in _PLAIN:
                line = panel[panel["method"] == method]
                colour, dash = styles[method]
                _line(upper, line, "variance", "low", "high", color=colour, linestyle=dash, label=method)
                _line(lower, line, "ratio", "ratio_low", "ratio_high", color=colour, linestyle=dash, label=method)
            _draw_theory(upper, panel[panel["method"] == "cbe-rand"], angle)
            lower.axhline(1, **_GUIDE)
            upper.set_title(rf"$\theta$ = {name}")
            _bits_axis(upper, label="")
            _bits_axis(lower, yscale="linear")
        axes[0, 0].set_ylabel("variance of the fraction of differing bits")
        axes[1, 0].set_ylabel("relative to\nindependent bits")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
        subtitle = f"Simulated: variance of the angle estimate, dense pair, d = {d:,}; bands are 95% intervals"
        entitle(figure, _variance_finding(dense), subtitle)
    return figure


def _draw_theory(axis: "Axes", line: pd.DataFrame, angle: float) -> None:
    axis.plot(line["n_bits"], line["independent"], **_GUIDE, label="independent bits, $p(1-p)/k$")
    axis.plot(line["n_bits"], line["theorem1_bound"], **_GUIDE, linestyle=":", label="Theorem 1's bound")
    axis.axhline(angle * (1 - angle), **_GUIDE, linestyle="--", label="largest possible, $p(1-p)$")


def signs_figure(variances: pd.DataFrame) -> "Drawing | None":
    """Draw the variance relative to independent bits with and without sign flips, a panel for each kind of pair.

    The table is that at one angle, pi/3.
    """
    from matplotlib.figure import Figure

    table, d = _largest(variances, _VARIANTS, _PANELS)
    if not d:
        return None
    bits = np.array(sorted(table["n_bits"].unique()))
    with drawing_style():
        figure = Figure(figsize=(9.8, 3.1), layout="constrained")
        axes = figure.subplots(1, len(_PANELS), sharex=True, sharey=True)
        for axis, (kind, title) in zip(axes, _PANELS.items(), strict=True):
            for method, (colour, dash) in _VARIANTS.items():
                line = table[(table["pair"] == kind) & (table["method"] == method)]
                axis.plot(line["n_bits"], line["ratio"], color=colour, linestyle=dash, label=method)
            axis.plot(bits, bits, **_GUIDE, linestyle="--", label="all bits the same")
            axis.set_title(title)
            _bits_axis(axis)
        axes[0].set_ylabel("variance relative to\nindependent bits")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        subtitle = f"Simulated: θ = π/3, d = {d:,}; HD' is a random Hadamard transform"
        entitle(figure, _signs_finding(table), subtitle)
    return figure


def mean_figure(means: pd.DataFrame) -> "Drawing | None":
    """Draw the mean fraction of differing bits against the angle, and its deviation from angle / pi."""
    from matplotlib.figure import Figure

    kinds = ("dense", "two-coordinate")
    table, d = _largest(means, _PLAIN, kinds)
    if not d:
        return None
    with drawing_style():
        figure = Figure(figsize=(9.8, 3.2), layout="constrained")
        whole, *others = figure.subplots(1, 3)
        _draw_means(whole, table[table["pair"] == "dense"])
        for axis, kind in zip(others, kinds, strict=True):
            _draw_deviations(axis, table[table["pair"] == kind])
            axis.set_title(_PANELS[kind])
        others[1].sharey(others[0])
        others[0].set_ylabel(r"mean $-\;\theta/\pi$")
        for axis in (whole, *others):
            axis.set_xlabel(r"angle $\theta/\pi$")
        subtitle = f"Simulated: mean fraction of differing bits, k = d = {d:,}; bars are 95% intervals"
        off = (table["mean"] - table["expected"])[table["method"] == "cbe-rand"].abs().max()
        entitle(figure, f"The mean fraction of differing bits of cbe-rand is off θ/π by {off:.2g} at most", subtitle)
    return figure


def _marks(method: str) -> dict[str, Any]:
    marker = "osD^"[_PLAIN.index(method)]
    colour = line_styles([method])[method][0]
    return {"color": colour, "marker": marker, "ms": 3.5, "linestyle": "none", "label": method}


def _draw_means(axis: "Axes", table: pd.DataFrame) -> None:
    axis.plot([0, 1], [0, 1], **_GUIDE)
    for method, line in table.groupby("method", sort=False):
        axis.plot(line["angle_over_pi"], line["mean"], **_marks(str(method)))
    axis.set(title=_PANELS["dense"], ylabel="mean fraction of differing bits")
    axis.legend()


def _draw_deviations(axis: "Axes", table: pd.DataFrame) -> None:
    """Draw the deviations from angle / pi, those of the methods side by side."""
    axis.axhline(0, **_GUIDE)
    axis.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2), useMathText=True)
    shifts = dict(zip(_PLAIN, np.linspace(-0.015, 0.015, len(_PLAIN)), strict=True))
    for method, line in table.groupby("method", sort=False):
        bars = [line["mean"] - line["low"], line["high"] - line["mean"]]
        off = line["mean"] - line["expected"]
        axis.errorbar(line["angle_over_pi"] + shifts[str(method)], off, bars, elinewidth=1, **_marks(str(method)))


def _variance_finding(dense: pd.DataFrame) -> str:
    """Say how the variance of circulant codes at the longest code compares with independent bits."""
    last = dense[(dense["method"] == "cbe-rand") & (dense["n_bits"] == dense["n_bits"].max())]["ratio"]
    return f"The variance of cbe-rand at k = d is {last.min():.2f} to {last.max():.2f} times that of independent bits"


def _signs_finding(table: pd.DataFrame) -> str:
    """Say what the sign flips are for: the largest variance without and with them."""
    last = table[table["n_bits"] == table["n_bits"].max()]
    without, with_flips = (
        last.loc[last["method"] == name, "ratio"].max() for name in ("cbe-rand without D", "cbe-rand")
    )
    return (
        f"Without the sign flips D the variance is up to {without:,.0f} times that of independent bits, "
        f"with them up to {with_flips:.2g}"
    )


def _features_finding(features: pd.DataFrame) -> str:
    """Say how large the errors of the first method are at the longest code."""
    last = features[features["n_bits"] == features["n_bits"].max()].iloc[0]
    mean, worst = (last[f"{name}_error_over_pi"] for name in ("mean", "worst"))
    return f"With {last['n_bits']:,} bits {last['method']} is off by {mean:.2g} π on average, {worst:.2g} π at worst"


def features_figure(features: pd.DataFrame) -> "Drawing | None":
    """Draw the mean and the worst error of the angles of features against the code length."""
    from matplotlib.figure import Figure

    if not features["worst_error_over_pi"].any():  # vectors that are all the same have no errors to draw
        return None
    methods = list(features["method"].unique())
    styles = line_styles(methods) | _VARIANTS
    bits = np.array(sorted(features["n_bits"].unique()))
    first = features.iloc[0]
    with drawing_style():
        figure = Figure(figsize=(7.4, 3.3), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        errors = {"mean_error_over_pi": "mean over pairs", "worst_error_over_pi": "worst pair"}
        for axis, (value, name) in zip(axes, errors.items(), strict=True):
            for method in methods:
                line = features[features["method"] == method]
                colour, dash = styles[method]
                _line(axis, line, value, f"{value}_low", f"{value}_high", color=colour, linestyle=dash, label=method)
            start = first[value] * np.sqrt(first["n_bits"])
            axis.plot(bits, start / np.sqrt(bits), **_GUIDE, linestyle=":", label=r"$\propto 1/\sqrt{k}$")
            axis.set_title(name)
            _bits_axis(axis)
        axes[0].set_ylabel(r"error of the angle, in units of $\pi$")
        axes[1].legend()
        data = f"{first['data']}, {DATA_KINDS[first['data_kind']]}, d = {first['d']:,}"
        label = f"{data}: all pairs of {first['n_vectors']:,} vectors; bands: 95% intervals over draws"
        synthetic = "Synthetic data: " if first["data_kind"] == "synthetic" else ""
        entitle(figure, synthetic + _features_finding(features), label)
    return figure
