"""Table 3: accuracy of linear classifiers of codes beside that of the features, and against the bytes of a vector."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from cbe_bench.core.cache import whole_file
from cbe_bench.core.results import Row
from cbe_bench.reports.figures import BROAD, drawing_style, line_styles, save_figure
from cbe_bench.reports.paper import CLASSIFICATION_ACCURACY
from cbe_bench.reports.tables import save_table
from cbe_bench.reports.verdicts import DATA_KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORIGINAL = "original"
_ASIDE = 1.08
"""Methods stand this far apart in the figure, as a factor of bytes, so that none hides the spread of another."""
_MARKS = {"-": "o", "--": "s", "-.": "^", ":": "D"}
"""Methods of one colour have lines of different dashes; single points need marks."""
_PANELS = {
    "accuracy": "asymmetric (trained on codes, tested on real projections)",
    "symmetric": "symmetric (trained and tested on codes)",
}


def write_classification(rows: list[Row], title: str, folder: Path) -> list[str]:
    """Write the table, as CSV and Markdown, and the figure; return the names of the files."""
    table, label = accuracy_table(rows), data_label(rows)
    written = [save_table(table, folder / "table"), _save_markdown(table, title, label, folder / "table.md")]
    if table["accuracy"].notna().any():
        written += save_figure(accuracy_figure(table, title, label), folder / "accuracy")
    return written


def data_label(rows: list[Row]) -> str:
    """Say in one line which data the rows are about."""
    row, seeds = rows[0], len({row["seed"] for row in rows if row["status"] == "ok"})
    return (
        f"{row['data']}, {DATA_KINDS[row['data_kind']]}: {row['n_classes']} classes, of each {row['train']:,} rows for "
        f"training, {row['validation']:,} for validation, {row['test']:,} for the test; d = {row['n_features']:,}; "
        f"{seeds} seed{'s' if seeds > 1 else ''}"
    )


def accuracy_table(rows: list[Row]) -> pd.DataFrame:
    """Return a line for each method and number of bits: accuracy in percent, costs, and what the paper has.

    `accuracy` is that of the paper's protocol, asymmetric for codes; means and standard deviations are over seeds.
    """
    order = list(dict.fromkeys((row["n_bits"], row["label"]) for row in rows))
    cells = {pair: [row for row in rows if (row["n_bits"], row["label"]) == pair] for pair in order}
    return pd.DataFrame([_line(cells[pair]) for pair in sorted(order, key=lambda pair: -pair[0])])


def _line(cells: list[Row]) -> dict[str, Any]:
    first, done = cells[0], [row for row in cells if row["status"] == "ok"]
    square = first["n_bits"] == first["n_features"] or first["encoder"] == _ORIGINAL
    printed = CLASSIFICATION_ACCURACY.get(first["encoder"]) if square and not first["params"] else None
    line: dict[str, Any] = {
        "data": first["data"],
        "data_kind": first["data_kind"],
        "encoder": first["label"],
        "bits": first["n_bits"],
        "bytes": done[0]["bytes_per_vector"] if done else None,
        "seeds": len(done),
    }
    for column, name in (("accuracy", "accuracy"), ("symmetric", "accuracy_symmetric")):
        values = 100 * pd.Series([row[name] for row in done if name in row], dtype=float)
        line[column], line[f"{column}_std"] = values.mean(), values.std(ddof=1)
    line["encode_ms"] = pd.Series([row["encode_ms"] for row in done if "encode_ms" in row], dtype=float).median()
    line["accuracy_paper"], line["accuracy_paper_std"] = printed or (None, None)
    line["costs"] = " ".join(f"{row['cost']:g}" for row in done)
    line["not_ok"] = "; ".join(sorted({f"{r['status']}: {r['reason']}" for r in cells if r["status"] != "ok"}))
    return line


def _save_markdown(table: pd.DataFrame, title: str, label: str, target: Path) -> str:
    """Write the table for reading."""
    head = ["method", "bits", "bytes", "accuracy %", "symmetric %", "encode ms", "the paper's %"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for line in table.to_dict("records"):
        original = line["encoder"] == _ORIGINAL
        lines.append(
            [
                line["encoder"],
                "float32" if original else f"{line['bits']:,}",
                _number(line["bytes"], ",.0f"),
                _spread(line, "accuracy") or line["not_ok"].replace("|", "/"),
                _spread(line, "symmetric"),
                _number(line["encode_ms"], ".3g"),
                _spread(line, "accuracy_paper"),
            ]
        )
    text = [f"# {title}", "", f"{label}.", "", *(f"| {' | '.join(cells)} |" for cells in lines), "", *_NOTES]
    with whole_file(target) as temporary:
        temporary.write_text("\n".join(text) + "\n")
    return str(target)


_NOTES = [
    "Mean and standard deviation over seeds. Classifiers are trained on codes and tested on real projections; the",
    "column `symmetric` tests on codes. Time is that of one processor for one vector, in batches. The paper's features",
    "are of 100 classes of ImageNet and not public: its numbers stand beside ours to compare methods, not data.",
]


def _spread(line: Any, name: str) -> str:
    mean, std = _number(line[name], ".2f"), _number(line[f"{name}_std"], ".2f")
    return f"{mean} \u00b1 {std}" if std else mean


def _number(value: Any, form: str) -> str:
    return "" if value is None or value != value else format(value, form)


def accuracy_figure(table: pd.DataFrame, title: str, label: str) -> "Figure":
    """Draw accuracy against the bytes of a vector, asymmetric and symmetric; bars are one standard deviation."""
    from matplotlib.figure import Figure

    with drawing_style():
        figure = Figure(figsize=(7.4, 3.5), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (column, how) in zip(axes, _PANELS.items(), strict=True):
            _draw(axis, table, column)
            axis.set_title(how)
            axis.set(xscale="log", xlabel="bytes of a vector")
            sizes = sorted({int(size) for size in table["bytes"].dropna()})
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=7)
            axis.minorticks_off()
        axes[0].set_ylabel("accuracy on the test rows, %")
        axes[1].legend(loc="lower right", bbox_to_anchor=(0.9, 0.0), framealpha=0.9, fontsize=7)
        figure.suptitle(title, fontsize=10.5, parse_math=False)
        figure.supxlabel(label, fontsize=7, color="0.35", parse_math=False)
    return figure


def _draw(axis: "Axes", table: pd.DataFrame, column: str) -> None:
    codes = table[table["encoder"] != _ORIGINAL]
    styles = line_styles(list(dict.fromkeys(codes["encoder"])))
    for number, (encoder, (colour, dash)) in enumerate(styles.items()):
        aside = _ASIDE ** (number - (len(styles) - 1) / 2)
        line = codes[codes["encoder"] == encoder].dropna(subset=[column]).sort_values("bytes")
        style: Any = {"fmt": dash, "color": colour, "label": encoder, "marker": _MARKS[dash], "ms": 3.5, "capsize": 2}
        style |= {"linewidth": BROAD[encoder], "elinewidth": 1.4, "zorder": 1} if encoder in BROAD else {}
        axis.errorbar(line["bytes"] * aside, line[column], line[f"{column}_std"].fillna(0), **style)
    original = table[table["encoder"] == _ORIGINAL].dropna(subset=["accuracy"])
    style = {"fmt": "s", "ms": 4, "color": "0.2", "capsize": 2, "label": "original, float32"}
    axis.errorbar(original["bytes"], original["accuracy"], original["accuracy_std"].fillna(0), **style)
    for height in original["accuracy"]:
        axis.axhline(height, color="0.2", linewidth=0.8, linestyle=(0, (1, 2)))
