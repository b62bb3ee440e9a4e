"""Tables 1 and 2: times beside the paper's, and how time and memory grow."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.results import Row
from cbe_bench.reports.figures import drawing_style, line_styles, save_figure
from cbe_bench.reports.paper import COLUMN_NAMES, ENCODE_MS
from cbe_bench.reports.tables import save_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REFERENCE = "cbe-rand"
_NEARLY_LINEAR = (
    "max(d, k) log d",
    lambda d, k: np.maximum(d, k) * np.log(d),
    "max(d, k)",
    lambda d, k: np.maximum(d, k),
)
EXPECTED = {
    "lsh": ("d k", lambda d, k: d * k, "d k", lambda d, k: d * k),
    "bilinear-rand": (
        "max(d, k) sqrt(min(d, k))",
        lambda d, k: np.maximum(d, k) * np.minimum(d, k) ** 0.5,
        "max(k, sqrt(d k))",
        lambda d, k: np.maximum(k, (d * k) ** 0.5),
    ),
    **dict.fromkeys(("cbe-rand", "cbe-orth", "hd3"), _NEARLY_LINEAR),
}
"""Table 1: how the time and the memory of a method grow with dimensions and bits."""


def write_timing(rows: list[Row], folder: Path) -> list[str]:
    """Write the tables and the figure of a timing experiment; return the names of the files."""
    written = []
    for name, frame in (("times", times(rows)), ("table2", table2(rows)), ("table1", table1(rows))):
        if len(frame):
            written.append(save_table(frame, folder / name))
    figure = growth_figure(rows)
    if figure:
        written += save_figure(figure, folder / "growth")
    return written


def times(rows: list[Row]) -> pd.DataFrame:
    """Return every cell as one line: milliseconds a vector with quartiles, and what was needed beforehand."""
    return pd.DataFrame([_line(row) for row in rows])


def _line(row: Row) -> dict[str, object]:
    done = row["status"] == "ok"
    low, high = row["seconds_quartiles"] if done else (np.nan, np.nan)
    return {
        "d": row["n_features"],
        "bits": row["n_bits"],
        "encoder": row["encoder"],
        "batch": row["batch"],
        "threads": row["threads"],
        "ms": 1e3 * row["seconds"] if done else np.nan,
        "ms_lower_quartile": 1e3 * low,
        "ms_upper_quartile": 1e3 * high,
        "samples": len(row["samples"]) if done else 0,
        "draw_parameters_s": row.get("fit_seconds", np.nan),
        "tables_and_plans_s": row.get("prepare_seconds", np.nan),
        "parameter_bytes": row.get("parameter_bytes", np.nan),
        "status": row["status"],
        "reason": row["reason"],
    }


def table2(rows: list[Row]) -> pd.DataFrame:
    """Return one line for each d and k: milliseconds, times as ratios to circulant, and the paper's of both."""
    lines = []
    for d, k in sorted({(row["n_features"], row["n_bits"]) for row in rows}):
        cells = {row["encoder"]: row for row in rows if (row["n_features"], row["n_bits"]) == (d, k)}
        printed = ENCODE_MS.get(d, {}) if k == d else {}
        line: dict[str, object] = {"d": d, "bits": k}
        for name, row in cells.items():
            column = COLUMN_NAMES.get(name, name)
            line[f"{column}_ms"], line[f"{column}_ms_paper"] = _milliseconds(row), printed.get(name)
        for name in (name for name in cells if name != _REFERENCE and _REFERENCE in cells):
            column = COLUMN_NAMES.get(name, name)
            both = name in printed and _REFERENCE in printed
            line[f"{column}_ratio"] = _ratio(cells, name)
            line[f"{column}_ratio_paper"] = printed[name] / printed[_REFERENCE] if both else None
        lines.append(line)
    return pd.DataFrame(lines)


def _milliseconds(row: Row) -> float | str:
    if row["status"] == "ok":
        return float(f"{1e3 * row['seconds']:.4g}")
    return f"- ({human_bytes(row['needed_bytes'])})" if "needed_bytes" in row else row["status"]


def _ratio(cells: dict[str, Row], name: str) -> float | None:
    pair = [cells.get(key) for key in (name, _REFERENCE)]
    if not all(row and row["status"] == "ok" for row in pair):
        return None
    return float(pair[0]["seconds"] / pair[1]["seconds"])  # type: ignore[index]


def table1(rows: list[Row]) -> pd.DataFrame:
    """Return fitted exponents of growth beside the expected ones.

    For k = d against d; for fewer and for more bits, at the largest d, against k. The expected exponent is the slope of
    the formula over the same points, so that its logarithm counts. Several models are joined for k > d.
    """
    done = [row for row in rows if row["status"] == "ok"]
    lines = []
    for name in dict.fromkeys(row["encoder"] for row in done):
        mine = [row for row in done if row["encoder"] == name]
        lines.append(_growth(name, [row for row in mine if row["n_bits"] == row["n_features"]], "k = d", "d"))
        d = max(row["n_features"] for row in mine)
        at_d = [row for row in mine if row["n_features"] == d]
        lines.append(_growth(name, [row for row in at_d if row["n_bits"] <= d], f"k <= d = {d:,}", "k"))
        lines.append(_growth(name, [row for row in at_d if row["n_bits"] >= d], f"k > d = {d:,}", "k"))
    return pd.DataFrame([line for line in lines if line])


def _growth(name: str, rows: list[Row], regime: str, variable: str) -> dict[str, object] | None:
    if len(rows) < 3:
        return None
    d, k = (np.array([row[key] for row in rows], float) for key in ("n_features", "n_bits"))
    size = {"d": d, "k": k}[variable]
    time_law, time_of, space_law, space_of = EXPECTED.get(name, ("", None, "", None))
    return {
        "encoder": name,
        "regime": regime,
        "points": len(rows),
        "time_law": time_law,
        "time": _slope(size, np.array([row["seconds"] for row in rows])),
        "time_expected": _slope(size, time_of(d, k)) if time_of else None,
        "space_law": space_law,
        "space": _slope(size, np.array([row["parameter_bytes"] for row in rows], float)),
        "space_expected": _slope(size, space_of(d, k)) if space_of else None,
    }


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 3) + 0.0


def growth_figure(rows: list[Row]) -> "Figure | None":
    """Draw time and memory against dimensions (k = d), and time against bits at the largest d with several.

    The paper's times are hollow marks. None where there is nothing to draw.
    """
    from matplotlib.figure import Figure

    done = [row for row in rows if row["status"] == "ok"]
    square = [row for row in done if row["n_bits"] == row["n_features"]]
    largest = max((row["n_features"] for row in done), default=0)
    bits = {row["n_bits"] for row in done if row["n_features"] == largest}
    panels = [(square, "n_features", "seconds"), (square, "n_features", "parameter_bytes")] if square else []
    if len(bits) > 1:
        panels.append(([row for row in done if row["n_features"] == largest], "n_bits", "seconds"))
    if not panels:
        return None
    names = list(dict.fromkeys(row["encoder"] for row in done))
    with drawing_style():
        figure = Figure(figsize=(3.6 * len(panels), 3.2), layout="constrained")
        for axis, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_growth(axis, *panel, names, largest)
        figure.axes[0].legend()
        batch, threads = done[0]["batch"], done[0]["threads"]
        how = f"batches of {batch} vectors" if batch > 1 else "one vector at a time"
        figure.suptitle(f"Encoding to packed bits: {how}, {threads} thread{'s' if threads > 1 else ''}", fontsize=10.5)
    return figure


def _draw_growth(axis: "Axes", rows: list[Row], size: str, what: str, names: list[str], largest: int) -> None:
    styles = line_styles(names)
    sizes = {row[size] for row in rows}
    for name in names:
        mine = sorted((row for row in rows if row["encoder"] == name), key=lambda row: row[size])
        colour, dash = styles[name]
        x, y = [row[size] for row in mine], [row[what] * (1e3 if what == "seconds" else 1) for row in mine]
        axis.plot(x, y, dash, marker="o", ms=3, color=colour, label=COLUMN_NAMES.get(name, name))
        printed = [(d, values[name]) for d, values in ENCODE_MS.items() if name in values and d in sizes]
        if printed and (size, what) == ("n_features", "seconds"):
            axis.plot(*zip(*printed, strict=True), "s", ms=5, mfc="none", color=colour)
    if (size, what) == ("n_features", "seconds") and sizes & set(ENCODE_MS):
        axis.plot([], [], "s", ms=5, mfc="none", color="0.3", label="the paper's")
    xlabel = "dimensions d (k = d bits)" if size == "n_features" else f"bits k (d = {largest:,})"
    ylabel = "milliseconds a vector" if what == "seconds" else "bytes of parameters"
    axis.set(yscale="log", xlabel=xlabel, ylabel=ylabel)
    axis.set_xscale("log", base=2)
