"""Result rows as tables."""

from pathlib import Path

import pandas as pd

from cbe_bench.core.cache import whole_file
from cbe_bench.core.results import Row

_DEPTHS_SHOWN = (1, 10, 50, 100)
_CURVES = (
    ("recall", "", "symmetric"),
    ("recall_median", ", median", "symmetric"),
    ("recall_asymmetric", "", "asymmetric"),
)
"""Recalls of a row, what is added to the label of their line, and how they are scored."""


def save_table(table: pd.DataFrame, path: Path, digits: int = 5) -> str:
    """Write a table as CSV, numbers with so many digits; return the name of the file."""
    target = path.with_suffix(".csv")
    with whole_file(target) as temporary:
        table.to_csv(temporary, index=False, float_format=f"%.{digits}g")
    return str(target)


def data_label(rows: list[Row]) -> str:
    """Say in one line which data the rows are about."""
    row = rows[0]
    kind = {"synthetic": "synthetic stand-in", "real": "real data", "user": "user's file"}[row["data_kind"]]
    seeds = len({r["seed"] for r in rows if r["status"] == "ok"})
    return (
        f"{row['data']}, {kind}: {row['n_database']:,} database rows, {row['n_queries']:,} queries, "
        f"d = {row['n_features']:,}; {seeds} seed{'s' if seeds > 1 else ''}; protocol: {row['protocol']}"
    )


def recall_curves(rows: list[Row]) -> pd.DataFrame:
    """Return mean and standard deviation over seeds of recall at every depth, in long form.

    Where codes have a distance of their own, the median over blocks, it makes a further line of the encoder.
    """
    points = [
        (row["data"], row["data_kind"], row["label"] + line, row["n_bits"], scoring, depth, value)
        for row in rows
        if row["status"] == "ok"
        for name, line, scoring in _CURVES
        if name in row
        for depth, value in zip(row["depths"], row[name], strict=True)
    ]
    keys = ["data", "data_kind", "encoder", "bits", "scoring", "depth"]
    frame = pd.DataFrame(points, columns=[*keys, "recall"])
    grouped = frame.groupby(keys, sort=False)["recall"]
    return grouped.agg(mean="mean", std=lambda values: values.std(ddof=1), seeds="count").reset_index()


def recall_table(rows: list[Row]) -> pd.DataFrame:
    """Return one line per encoder and number of bits: recall at a few depths, cost, and how its cells ended.

    Cost is the median over seeds of the seconds to learn or draw the parameters, and of the microseconds to encode a
    row on all cores: of as many bits as were encoded at once, of which nested codes of fewer bits are the beginning.
    """
    order = list(dict.fromkeys((row["n_bits"], row["label"]) for row in rows))
    lines = []
    for n_bits, label in sorted(order, key=lambda pair: pair[0]):
        cells = [row for row in rows if (row["n_bits"], row["label"]) == (n_bits, label)]
        lines.append(_table_line(cells))
    return pd.DataFrame(lines)


def _table_line(cells: list[Row]) -> dict[str, object]:
    first, done = cells[0], [row for row in cells if row["status"] == "ok"]
    line: dict[str, object] = {
        "data": first["data"],
        "data_kind": first["data_kind"],
        "bits": first["n_bits"],
        "encoder": first["label"],
        "seeds": len(done),
    }
    for name, column in (("recall", "recall"), ("recall_asymmetric", "asymmetric"), ("recall_median", "median")):
        for depth in (depth for depth in _DEPTHS_SHOWN if done and name in done[0] and depth in done[0]["depths"]):
            values = pd.Series([row[name][row["depths"].index(depth)] for row in done])
            line[f"{column}@{depth}"], line[f"{column}@{depth}_std"] = values.mean(), values.std(ddof=1)
    timed = [row for row in done if "encode_seconds" in row]
    if timed:
        line["learn_s"] = pd.Series([row["fit_seconds"] for row in timed]).median()
        line["encode_us"] = pd.Series([1e6 * row["encode_seconds"] / row["n_database"] for row in timed]).median()
        line["encoded_bits"] = max(row["encoded_bits"] for row in timed)
    line["not_ok"] = "; ".join(sorted({f"{r['status']}: {r['reason']}" for r in cells if r["status"] != "ok"}))
    return line


def equal_time_table(rows: list[Row], reference: str) -> pd.DataFrame:
    """Return, for each number of bits of the reference, the bits each method makes in its time, and their recall."""
    found = [row for row in rows if row["experiment"] == "calibration" and row["status"] == "ok"]
    columns = ["target_bits", "encoder", "is_reference", "bits", "share", "share_at_equal_bits", "reference_seconds"]
    lines = []
    for row in sorted(found, key=lambda row: row["target_bits"]):
        line = {name: row.get(name) for name in columns} | {"encoder": row["label"], "bits": row["n_bits"]}
        line["is_reference"] = row["label"] == reference
        cells = [
            cell
            for cell in rows
            if cell["experiment"] == "retrieval" and (cell["label"], cell["n_bits"]) == (row["label"], row["n_bits"])
        ]
        lines.append(line | {k: v for k, v in _table_line(cells).items() if "@" in k} if cells else line)
    return pd.DataFrame(lines, columns=None if lines else columns)
