"""The figure of timing experiments, and their report."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Row
from cbe_bench.core.style import drawing_style, entitle, line_styles
from cbe_bench.evaluators.timers import UNSTABLE
from cbe_bench.evaluators.times.device import HOST
from cbe_bench.evaluators.times.rows import TimingRow, encode_rows, learning_rows
from cbe_bench.evaluators.timing.learning import learning_growth_table, learning_table
from cbe_bench.evaluators.timing.paper import COLUMN_NAMES, ENCODE_MS
from cbe_bench.evaluators.timing.tables import devices, table1, table2, times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_REFERENCE = "cbe-rand"
_TIME = "encode_us_per_vector"


def timing_report(all_rows: Sequence[Row]) -> Report:
    """Return the tables and the figures of a timing experiment."""
    rows, learning = encode_rows(all_rows), learning_rows(all_rows)
    host = [row for row in rows if row.device == HOST]
    tables = (
        Table(
            "table2", table2(host), "Milliseconds per vector and ratios to circulant; the paper's in brackets.", keys=2
        ),
        Table("table1", table1(host), "Exponents of growth, fitted and (expected).", keys=2),
        Table(
            "devices", devices(rows), "Milliseconds per vector on the processor and on another device; copying apart."
        ),
        Table(
            "learning-growth", learning_growth_table(learning), "Exponents of training time, relative to its formula."
        ),
        Table("learning", learning_table(learning), "Seconds of training, with the fastest and the slowest round."),
        Table("times", times(rows), "Every cell, with quartiles and what was needed beforehand.", folded=True),
    )
    caption = "Time and memory against dimension and code length; hollow marks: the paper's."
    ratios = "Times as long as circulant codes take, k = d; bars by the quartiles of both, hollow marks: the paper's."
    return Report(
        tables=tuple(table for table in tables if len(table.frame)),
        figures=(
            Figure("speedup", lambda: speedup_figure(host), ratios, table="table2"),
            Figure("growth", lambda: growth_figure(host), caption, table="times"),
        ),
        terminal=("table2", "table1", "learning-growth", "learning", "devices"),
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


def speedup_figure(rows: list[TimingRow]) -> "Drawing | None":
    """Draw how many times longer others take than circulant codes against the dimension, beside the paper's ratios.

    None where fewer than two dimensions were timed.
    """
    from matplotlib.figure import Figure

    square = {(row.method, row.n_features): row for row in rows if row.ok and row.n_bits == row.n_features}
    dims = sorted(d for name, d in square if name == _REFERENCE)
    rivals = [name for name in dict.fromkeys(name for name, _ in square) if name != _REFERENCE]
    if len(dims) < 2 or not rivals:
        return None
    with drawing_style():
        figure = Figure(figsize=(4.8, 3.9), layout="constrained")
        axis = figure.subplots()
        axis.axhline(1, color="0.35", linewidth=0.9)
        for name, (colour, dash) in line_styles(rivals).items():
            at = [d for d in dims if (name, d) in square]
            ratios = np.array([_ratio_with_ends(square[name, d], square[_REFERENCE, d]) for d in at]).reshape(-1, 3)
            bars = [ratios[:, 0] - ratios[:, 1], ratios[:, 2] - ratios[:, 0]]
            label = COLUMN_NAMES.get(name, name)
            style: Any = {"color": colour, "linestyle": dash, "marker": "o", "ms": 3.5, "capsize": 2}
            axis.errorbar(at, ratios[:, 0], bars, label=label, **style)
            printed = [(d, ENCODE_MS[d][name] / ENCODE_MS[d][_REFERENCE]) for d in at if name in ENCODE_MS.get(d, {})]
            if printed:
                axis.plot(*zip(*printed, strict=True), "s", ms=6, mfc="none", color=colour)
        axis.plot([], [], "s", ms=6, mfc="none", color="0.35", label="paper")
        axis.set_xscale("log", base=2)
        axis.set(yscale="log", xlabel="dimension d (code length k = d)", ylabel="encode time / circulant")
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        entitle(figure, _speed_finding(square, dims), _how(list(square.values())))
    return figure


def _ratio_with_ends(slow: TimingRow, fast: TimingRow) -> tuple[float, float, float]:
    (low, high), (least, most) = slow.encode_us_quartiles, fast.encode_us_quartiles
    return slow.encode_us_per_vector / fast.encode_us_per_vector, low / most, high / least


def _speed_finding(square: dict[tuple[str, int], TimingRow], dims: list[int]) -> str:
    """Say how far circulant codes are ahead of bilinear ones at the ends of the axis."""
    both = [d for d in dims if ("bilinear-rand", d) in square]
    if not both:
        return "Encode time relative to circulant codes"
    first, last = (_ratio_with_ends(square["bilinear-rand", d], square[_REFERENCE, d])[0] for d in (both[0], both[-1]))
    ends = [f"{ratio:.2g} times at d = {_power(d)}" for ratio, d in ((first, both[0]), (last, both[-1]))]
    return f"Circulant codes are faster than bilinear ones {ends[0]}, {ends[1]}"


def _power(d: int) -> str:
    """Write a dimension; a large power of two as such."""
    return f"2^{d.bit_length() - 1}" if d >= 1 << 15 and not d & (d - 1) else f"{d:,}"


def _how(rows: list[TimingRow]) -> str:
    """Say how times were taken."""
    batch, threads = rows[0].batch, rows[0].threads
    how = f"batches of {batch} vectors" if batch > 1 else "one vector at a time"
    return f"Encoding random unit vectors to packed bits: {how}, {threads} thread{'s' if threads > 1 else ''}"


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
    names = list(dict.fromkeys(row.method for row in done))
    with drawing_style():
        figure = Figure(figsize=(3.6 * len(panels), 3.2), layout="constrained")
        for axis, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_growth(axis, *panel, names, largest)
        figure.axes[0].legend()
        entitle(figure, _growth_finding(done), _how(done))
    return figure


def _growth_finding(done: list[TimingRow]) -> str:
    """Say how the time of circulant codes grows, where enough dimensions were timed to fit it."""
    lines = table1(done).to_dict("records")
    fitted = [line for line in lines if (line["encoder"], line["regime"]) == (_REFERENCE, "k = d")]
    if not fitted:
        return "Time and memory of encoding"
    return f"Circulant codes: time grows as d^{fitted[0]['time']:.2f}, memory as d^{fitted[0]['space']:.2f}"


def _draw_growth(axis: "Axes", rows: list[TimingRow], size: str, what: str, names: list[str], largest: int) -> None:
    styles = line_styles(names)
    sizes = {getattr(row, size) for row in rows}
    for name in names:
        mine = sorted((row for row in rows if row.method == name), key=lambda row: getattr(row, size))
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
