"""Tables 1 and 2: times beside the paper's, and how time and memory grow."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.results import SKIPPED
from cbe_bench.evaluators.times.rows import TimingRow
from cbe_bench.evaluators.timing.claims_device import device_pairs, device_ratio
from cbe_bench.evaluators.timing.paper import COLUMN_NAMES, ENCODE_MS

_REFERENCE = "cbe-rand"
_NEARLY_LINEAR = (
    "max(d, k) log d",
    lambda d, k: np.maximum(d, k) * np.log(d),
    "max(d, k)",
    lambda d, k: np.maximum(d, k),
)
EXPECTED: dict[str, Any] = {
    "lsh": ("d k", lambda d, k: d * k, "d k", lambda d, k: d * k),
    "bilinear-rand": (
        "max(d, k) sqrt(min(d, k))",
        lambda d, k: np.maximum(d, k) * np.minimum(d, k) ** 0.5,
        "max(k, sqrt(d k))",
        lambda d, k: np.maximum(k, (d * k) ** 0.5),
    ),
    **dict.fromkeys(("cbe-rand", "cbe-orth", "hd3"), _NEARLY_LINEAR),
}
"""Table 1: how the time and the memory of a method grow with dimension and code length, in words and as functions."""


def times(rows: list[TimingRow]) -> pd.DataFrame:
    """Return every cell as one line: milliseconds per vector with quartiles, and what was needed beforehand."""
    return pd.DataFrame([_line(row) for row in rows])


def _line(row: TimingRow) -> dict[str, object]:
    low, high = row.encode_us_quartiles
    return {
        "d": row.n_features,
        "n_bits": row.n_bits,
        "encoder": row.method,
        "batch": row.batch,
        "threads": row.threads,
        "device": row.device,
        "encode_ms": 1e-3 * row.encode_us_per_vector,
        "encode_ms_lower_quartile": 1e-3 * low,
        "encode_ms_upper_quartile": 1e-3 * high,
        "samples": len(row.samples_us),
        "fit_s": row.fit_s,
        "plan_s": row.plan_s,
        "transfer_ms": 1e-3 * row.transfer_us_per_vector,
        "parameter_bytes": row.parameter_bytes or np.nan,
        "status": row.status,
        "reason": row.reason,
    }


def devices(rows: list[TimingRow]) -> pd.DataFrame:
    """Return one line for each cell of a device that the processor was timed for too; copying is timed apart."""
    lines = []
    for host, device in device_pairs(rows):
        ratio = device_ratio(host, device)
        lines.append(
            {
                "d": device.n_features,
                "n_bits": device.n_bits,
                "encoder": device.method,
                "batch": device.batch,
                "threads": device.threads,
                "device": device.device,
                "model": device.device_model,
                "processor_ms": 1e-3 * host.encode_us_per_vector,
                "device_ms": 1e-3 * device.encode_us_per_vector,
                "transfer_ms": 1e-3 * device.transfer_us_per_vector,
                "speed_up": ratio.value,
                "speed_up_lower": ratio.low,
                "speed_up_upper": ratio.high,
            }
        )
    return pd.DataFrame(lines)


def table2(rows: list[TimingRow]) -> pd.DataFrame:
    """Return one line for each d and k: milliseconds per vector, ratios to circulant, and the paper's of both."""
    lines = []
    for d, k in sorted({(row.n_features, row.n_bits) for row in rows}):
        cells = {row.method: row for row in rows if (row.n_features, row.n_bits) == (d, k)}
        printed = ENCODE_MS.get(d, {}) if k == d else {}
        line: dict[str, object] = {"d": d, "n_bits": k}
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


def _milliseconds(row: TimingRow) -> float | str:
    if row.ok:
        return float(f"{1e-3 * row.encode_us_per_vector:.4g}")
    return f"- ({human_bytes(row.memory_estimate_bytes)})" if row.status == SKIPPED else row.status


def _ratio(cells: dict[str, TimingRow], name: str) -> float | None:
    own, reference = cells[name], cells[_REFERENCE]
    return own.encode_us_per_vector / reference.encode_us_per_vector if own.ok and reference.ok else None


def table1(rows: list[TimingRow]) -> pd.DataFrame:
    """Return fitted exponents of growth beside the expected ones.

    For k = d against d; for shorter and for longer codes, at the largest d, against k. The expected exponent is the
    slope of the formula over the same points, so that its logarithm counts. Several models are joined for k > d.
    """
    done = [row for row in rows if row.ok]
    lines = []
    for name in dict.fromkeys(row.method for row in done):
        mine = [row for row in done if row.method == name]
        lines.append(_growth(name, [row for row in mine if row.n_bits == row.n_features], "k = d", "d"))
        d = max(row.n_features for row in mine)
        at_d = [row for row in mine if row.n_features == d]
        lines.append(_growth(name, [row for row in at_d if row.n_bits <= d], f"k <= d = {d:,}", "k"))
        lines.append(_growth(name, [row for row in at_d if row.n_bits >= d], f"k > d = {d:,}", "k"))
    return pd.DataFrame([line for line in lines if line])


def _growth(name: str, rows: list[TimingRow], regime: str, variable: str) -> dict[str, object] | None:
    if len(rows) < 3:
        return None
    d = np.array([row.n_features for row in rows], float)
    k = np.array([row.n_bits for row in rows], float)
    size = {"d": d, "k": k}[variable]
    time_law, time_of, space_law, space_of = EXPECTED.get(name, ("", None, "", None))
    return {
        "encoder": name,
        "regime": regime,
        "points": len(rows),
        "time_law": time_law,
        "time": _slope(size, np.array([row.encode_us_per_vector for row in rows])),
        "time_expected": _slope(size, time_of(d, k)) if time_of else None,
        "space_law": space_law,
        "space": _slope(size, np.array([row.parameter_bytes for row in rows], float)),
        "space_expected": _slope(size, space_of(d, k)) if space_of else None,
    }


def _slope(x: NDArray, y: NDArray) -> float:
    return round(float(np.polyfit(np.log(x), np.log(y), 1)[0]), 3) + 0.0
