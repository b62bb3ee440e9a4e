"""Tables 1 and 2: times beside the paper's, and how time and memory grow."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cbe_bench.cache import whole_file
from cbe_bench.environment import human_bytes
from cbe_bench.reports.figures import drawing_style, line_styles, save_figure
from cbe_bench.reports.paper import COLUMN_NAMES, ENCODE_MS
from cbe_bench.results import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_REFERENCE = "cbe-rand"
_EXPECTED = {
    "lsh": ("d k", lambda d, k: d * k, "d k", lambda d, k: d * k),
    "bilinear-rand": (
        "max(d, k) sqrt(min(d, k))",
        lambda d, k: np.maximum(d, k) * np.minimum(d, k) ** 0.5,
        "max(k, sqrt(d k))",
        lambda d, k: np.maximum(k, (d * k) ** 0.5),
    ),
    "cbe-rand": (
        "max(d, k) log d",
        lambda d, k: np.maximum(d, k) * np.log(d),
        "max(d, k)",
        lambda d, k: np.maximum(d, k),
    ),
}
"""Table 1: how the time and the memory of a method grow with dimensions and bits."""


def write_timing(rows: list[Row], folder: Path) -> list[str]:
    """Write the tables and the figure of a timing experiment; return the names of the files."""
    written = []
    for name, frame in (("times", times(rows)), ("table2", table2(rows)), ("table1", table1(rows))):
        if len(frame):
            path = folder / f"{name}.csv"
            with whole_file(path) as temporary:
                frame.to_csv(temporary, index=False, float_format="%.5g")
            written.append(str(path))
    if any(row["status"] == "ok" for row in rows):
        written += save_figure(growth_figure(rows), folder / "growth")
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
    """Return one line a dimension (k = d): milliseconds, times as ratios to circulant, and the paper's of both."""
    lines = []
    rows = [row for row in rows if row["n_bits"] == row["n_features"]]
    for d in sorted({row["n_features"] for row in rows}):
        cells = {row["encoder"]: row for row in rows if row["n_features"] == d}
        line: dict[str, object] = {"d": d}
        for name, row in cells.items():
            column = COLUMN_NAMES.get(name, name)
            line[f"{column}_ms"] = _milliseconds(row)
            line[f"{column}_ms_paper"] = ENCODE_MS.get(d, {}).get(name)
        for name in (name for name in cells if name != _REFERENCE):
            line[f"{COLUMN_NAMES.get(name, name)}_ratio"] = _ratio(cells, name)
            line[f"{COLUMN_NAMES.get(name, name)}_ratio_paper"] = _paper_ratio(d, name)
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


def _paper_ratio(d: int, name: str) -> float | None:
    printed = ENCODE_MS.get(d, {})
    return printed[name] / printed[_REFERENCE] if name in printed and _REFERENCE in printed else None


def table1(rows: list[Row]) -> pd.DataFrame:
    """Return fitted exponents of growth beside the expected ones.

    For k = d against d; for k > d, at the largest d, against k. The expected exponent is the slope of the formula over
    the same points, so that its logarithm counts. Several models are joined for k > d, here as in the paper.
    """
    done = [row for row in rows if row["status"] == "ok"]
    lines = []
    for name in dict.fromkeys(row["encoder"] for row in done):
        mine = [row for row in done if row["encoder"] == name]
        lines.append(_growth(name, [row for row in mine if row["n_bits"] == row["n_features"]], "k = d", "d"))
        beyond = [row["n_features"] for row in mine if row["n_bits"] > row["n_features"]]
        if beyond:
            d = max(beyond)
            more = [row for row in mine if row["n_features"] == d and row["n_bits"] >= d]
            lines.append(_growth(name, more, f"k > d = {d:,}", "k"))
    return pd.DataFrame([line for line in lines if line])


def _growth(name: str, rows: list[Row], regime: str, variable: str) -> dict[str, object] | None:
    if len(rows) < 3:
        return None
    d, k = (np.array([row[key] for row in rows], float) for key in ("n_features", "n_bits"))
    size = {"d": d, "k": k}[variable]
    time_law, time_of, space_law, space_of = _EXPECTED.get(name, ("", None, "", None))
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
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def growth_figure(rows: list[Row]) -> "Figure":
    """Draw time and memory against dimensions on logarithmic axes, the paper's times as hollow marks."""
    from matplotlib.figure import Figure

    done = [row for row in rows if row["status"] == "ok" and row["n_bits"] == row["n_features"]]
    names = list(dict.fromkeys(row["encoder"] for row in done))
    styles = line_styles(names)
    with drawing_style():
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name in names:
            mine = sorted((row for row in done if row["encoder"] == name), key=lambda row: row["n_features"])
            colour, dash = styles[name]
            label = COLUMN_NAMES.get(name, name)
            d = [row["n_features"] for row in mine]
            left.plot(d, [1e3 * row["seconds"] for row in mine], dash, marker="o", ms=3, color=colour, label=label)
            right.plot(d, [row["parameter_bytes"] for row in mine], dash, marker="o", ms=3, color=colour, label=label)
            printed = [(d, values[name]) for d, values in ENCODE_MS.items() if name in values]
            if printed:
                left.plot(*zip(*printed, strict=True), "s", ms=5, mfc="none", color=colour)
        left.plot([], [], "s", ms=5, mfc="none", color="0.3", label="the paper's")
        for axis, title in ((left, "milliseconds a vector"), (right, "bytes of parameters")):
            axis.set(xscale="log", yscale="log", xlabel="dimensions d (k = d bits)", ylabel=title)
            axis.set_xscale("log", base=2)
        left.legend()
        batch, threads = done[0]["batch"], done[0]["threads"]
        how = f"batches of {batch} vectors" if batch > 1 else "one vector at a time"
        figure.suptitle(f"Encoding to packed bits: {how}, {threads} thread{'s' if threads > 1 else ''}", fontsize=10.5)
    return figure
