"""Recall figures: methods at equal time above, at equal bits below, as in Figures 1 to 3 of the paper."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from cbe_bench.reports.figures import BROAD, drawing_style, line_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND_INCHES = 1.2
"""Room for one method in the legend."""
_HOW = {"symmetric": "codes against codes", "asymmetric": "real query against codes"}


def recall_figure(
    curves: pd.DataFrame, times: pd.DataFrame, bits: list[int], scoring: str, title: str, label: str
) -> "Figure":
    """Draw recall against the number of retrieved points: a column of panels for each number of bits.

    The lower row has all methods at that many bits, and under it the time of each relative to the reference; the upper
    row, where times were measured, has each at the bits it makes in the time of the reference. Either row may be
    missing. The band around a line is one standard deviation over seeds. What is written under a panel says how many
    bits a method has there, or how long it takes.
    """
    from matplotlib.figure import Figure

    curves = curves[curves["scoring"] == scoring]
    rows = [kind for kind, there in (("time", len(times)), ("bits", curves["bits"].isin(bits).any())) if there]
    styles = line_styles(list(dict.fromkeys(curves["encoder"])))
    with drawing_style():
        width = 2.35 * len(bits) + 0.4
        figure = Figure(figsize=(width, 3.1 * len(rows) + 0.5), layout="constrained")
        axes = figure.subplots(len(rows), len(bits), sharey=True, squeeze=False)
        for kind, line_of_axes in zip(rows, axes, strict=True):
            for axis, n_bits in zip(line_of_axes, bits, strict=True):
                draw = _draw_equal_time if kind == "time" else _draw_equal_bits
                draw(axis, curves, times[times["target_bits"] == n_bits], n_bits, styles)
                axis.set(xlim=(0, curves["depth"].max()), ylim=(0, 1))
            line_of_axes[0].set_ylabel("recall of the true neighbours")
        columns = min(len(styles), int(width / _LEGEND_INCHES))
        legend = figure.legend(
            *_handles(axes), loc="outside lower center", ncols=columns, frameon=False, title=label, title_fontsize=7.5
        )
        legend.get_title().set(color="0.35", parse_math=False)
        what = " and ".join(f"fixed {kind}" for kind in rows)
        figure.suptitle(f"{title}, {what}, {scoring} ({_HOW[scoring]})", fontsize=10.5, parse_math=False)
    return figure


def _handles(axes: Any) -> tuple[list[Any], list[str]]:
    """Return a line of each method that is drawn anywhere, and its name."""
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    return list(found.values()), list(found)


def _draw_equal_bits(axis: "Axes", curves: pd.DataFrame, times: pd.DataFrame, n_bits: int, styles: Any) -> None:
    """Draw all methods at one number of bits, and write what time each takes."""
    for encoder in styles:
        found = curves[(curves["bits"] == n_bits) & (curves["encoder"] == encoder)]
        _draw_line(axis, found, encoder, styles)
    shown = [line for line in times.to_dict("records") if line["share_at_equal_bits"] == line["share_at_equal_bits"]]
    speeds = [f"{line['encoder']} {_times(line['share_at_equal_bits'])}" for line in shown if not line["is_reference"]]
    axis.set_title(f"{n_bits:,} bits")
    axis.set_xlabel("retrieved points")
    if speeds:
        reference = next(line["encoder"] for line in times.to_dict("records") if line["is_reference"])
        _write_below(axis, f"time / {reference}:", speeds, -29)


def _draw_equal_time(axis: "Axes", curves: pd.DataFrame, times: pd.DataFrame, n_bits: int, styles: Any) -> None:
    """Draw each method at the bits it makes in the time of the reference, and write how many."""
    bits = dict(zip(times["encoder"], times["bits"], strict=True))
    drawn = []
    for encoder in styles:
        own = bits.get(encoder.removesuffix(", median"))
        found = curves[(curves["bits"] == own) & (curves["encoder"] == encoder)]
        if len(found):
            _draw_line(axis, found, encoder, styles)
            drawn.append(f"{encoder} {own:,}")
    reference = times[times["is_reference"]].iloc[0]
    microseconds = 1e6 * reference["reference_seconds"]
    axis.set_title(f"time of {reference['encoder']} at {n_bits:,} bits\n({microseconds:.3g} \u00b5s a vector)")
    _write_below(axis, "bits:", drawn, -16)


def _write_below(axis: "Axes", heading: str, notes: list[str], points: float) -> None:
    """Write notes under a panel, two on a line, so many points from it."""
    lines = [heading, *(", ".join(notes[i : i + 2]) for i in range(0, len(notes), 2))]
    style: Any = {"ha": "center", "va": "top", "fontsize": 6.8, "color": "0.3", "parse_math": False}
    where: Any = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axis.annotate("\n".join(lines), (0.5, 0), (0, points), **where, **style)


def _draw_line(axis: "Axes", found: pd.DataFrame, encoder: str, styles: Any) -> None:
    colour, dash = styles[encoder]
    wide: Any = {"linewidth": BROAD[encoder], "zorder": 1} if encoder in BROAD else {}
    axis.plot(found["depth"], found["mean"], dash, color=colour, label=encoder, **wide)
    low, high = found["mean"] - found["std"], found["mean"] + found["std"]
    axis.fill_between(found["depth"], low, high, color=colour, alpha=0.15, linewidth=0)


def _times(share: float) -> str:
    return f"{share:.0f}x" if share >= 10 else f"{share:.2g}x"
