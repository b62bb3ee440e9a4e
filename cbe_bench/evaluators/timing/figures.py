"""The figure of timing experiments, and their report."""

from typing import TYPE_CHECKING

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.style import drawing_style, line_styles
from cbe_bench.evaluators.timers import UNSTABLE
from cbe_bench.evaluators.timing.paper import COLUMN_NAMES, ENCODE_MS
from cbe_bench.evaluators.timing.rows import TimingRow
from cbe_bench.evaluators.timing.tables import table1, table2, times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_TIME = "encode_us_per_vector"


def timing_report(rows: list[TimingRow]) -> Report:
    """Return the tables and the figure of a timing experiment."""
    tables = (
        Table(
            "table2", table2(rows), "Milliseconds per vector and ratios to circulant; the paper's in brackets.", keys=2
        ),
        Table("table1", table1(rows), "Exponents of growth, fitted and (expected).", keys=2),
        Table("times", times(rows), "Every cell, with quartiles and what was needed beforehand.", folded=True),
    )
    caption = "Time and memory against dimension and code length; hollow marks: the paper's."
    return Report(
        tables=tuple(table for table in tables if len(table.frame)),
        figures=(Figure("growth", lambda: growth_figure(rows), caption, table="times"),),
        terminal=("table2", "table1"),
        notes=_stability(rows),
    )


def _stability(rows: list[TimingRow]) -> tuple[str, ...]:
    """Say once what unstable times mean, where there are any."""
    done = [row for row in rows if row.ok]
    unstable = sum(row.relative_iqr > UNSTABLE for row in done)
    if not unstable:
        return ()
    return (
        f"{unstable} of {len(done)} times are unstable (interquartile range above {UNSTABLE:.0%} of the median): "
        "something else used the machine. Ratios hold, for methods were interleaved; for steadier times close it, "
        "raise --budget and use --rerun all",
    )


def growth_figure(rows: list[TimingRow]) -> "Drawing | None":
    """Draw time and memory against the dimension (k = d), and time against code length at the largest d with several.

    The paper's times are hollow marks. None where there is nothing to draw.
    """
    from matplotlib.figure import Figure

    done = [row for row in rows if row.ok]
    square = [row for row in done if row.n_bits == row.n_features]
    largest = max((row.n_features for row in done), default=0)
    bits = {row.n_bits for row in done if row.n_features == largest}
    panels = [(square, "n_features", _TIME), (square, "n_features", "parameter_bytes")] if square else []
    if len(bits) > 1:
        panels.append(([row for row in done if row.n_features == largest], "n_bits", _TIME))
    if not panels:
        return None
    names = list(dict.fromkeys(row.encoder for row in done))
    with drawing_style():
        figure = Figure(figsize=(3.6 * len(panels), 3.2), layout="constrained")
        for axis, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_growth(axis, *panel, names, largest)
        figure.axes[0].legend()
        batch, threads = done[0].batch, done[0].threads
        how = f"batches of {batch} vectors" if batch > 1 else "one vector at a time"
        figure.suptitle(f"Encoding to packed bits: {how}, {threads} thread{'s' if threads > 1 else ''}", fontsize=10.5)
    return figure


def _draw_growth(axis: "Axes", rows: list[TimingRow], size: str, what: str, names: list[str], largest: int) -> None:
    styles = line_styles(names)
    sizes = {getattr(row, size) for row in rows}
    for name in names:
        mine = sorted((row for row in rows if row.encoder == name), key=lambda row: getattr(row, size))
        colour, dash = styles[name]
        unit = 1e-3 if what == _TIME else 1
        x, y = [getattr(row, size) for row in mine], [unit * getattr(row, what) for row in mine]
        axis.plot(x, y, dash, marker="o", ms=3, color=colour, label=COLUMN_NAMES.get(name, name))
        printed = [(d, values[name]) for d, values in ENCODE_MS.items() if name in values and d in sizes]
        if printed and (size, what) == ("n_features", _TIME):
            axis.plot(*zip(*printed, strict=True), "s", ms=5, mfc="none", color=colour)
    if (size, what) == ("n_features", _TIME) and sizes & set(ENCODE_MS):
        axis.plot([], [], "s", ms=5, mfc="none", color="0.3", label="paper")
    xlabel = "dimension d (code length k = d)" if size == "n_features" else f"code length k (bits), d = {largest:,}"
    ylabel = "encode time per vector (ms)" if what == _TIME else "parameters (bytes)"
    axis.set(yscale="log", xlabel=xlabel, ylabel=ylabel)
    axis.set_xscale("log", base=2)
