"""Table 3: accuracy of linear classifiers of codes beside that of the features and that of the paper."""

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from cbe_bench.core.results import DATA_KINDS
from cbe_bench.evaluators.classification.paper import ACCURACY_PERCENT, PAPER_PARAMS
from cbe_bench.evaluators.classification.rows import ORIGINAL, ClassificationRow


def grouped(rows: Iterable[ClassificationRow]) -> list[list[ClassificationRow]]:
    """Return the rows of each method and code length, one row for each seed; the longest codes come first."""
    cells: dict[tuple[int, str], list[ClassificationRow]] = {}
    for row in rows:
        cells.setdefault((row.n_bits, row.label), []).append(row)
    return [cells[pair] for pair in sorted(cells, key=lambda pair: -pair[0])]


def data_label(rows: list[ClassificationRow]) -> str:
    """Say in a line which data the rows are about."""
    row, seeds = rows[0], len({row.seed for row in rows if row.ok})
    return (
        f"{row.data}, {DATA_KINDS[row.data_kind]}: {row.n_classes} classes, of each {row.train_per_class:,} rows for "
        f"training, {row.validation_per_class:,} for validation, {row.test_per_class:,} for the test; "
        f"d = {row.n_features:,}; {seeds} seed{'' if seeds == 1 else 's'}"
    )


def accuracy_table(rows: list[ClassificationRow]) -> pd.DataFrame:
    """Return a line for each method and code length: accuracy in percent, costs, and the paper's accuracy.

    `accuracy_percent` is that of the paper's protocol, asymmetric for codes; means and standard deviations are over
    seeds, the encode time is a median.
    """
    return pd.DataFrame([_line(cells) for cells in grouped(rows)])


def _line(cells: list[ClassificationRow]) -> dict[str, Any]:
    first, done = cells[0], [row for row in cells if row.ok]
    square = first.n_bits == first.n_features or first.encoder == ORIGINAL
    printed = ACCURACY_PERCENT.get(first.encoder) if square and first.params.items() <= PAPER_PARAMS.items() else None
    accuracy, symmetric = (
        100 * pd.Series([getattr(row, name) for row in done], dtype=float)
        for name in ("accuracy", "accuracy_symmetric")
    )
    return {
        "data": first.data,
        "data_kind": first.data_kind,
        "encoder": first.label,
        "n_bits": first.n_bits,
        "bytes_per_vector": done[0].bytes_per_vector if done else math.nan,
        "n_seeds": len(done),
        "accuracy_percent": accuracy.mean(),
        "accuracy_percent_std": accuracy.std(ddof=1),
        "symmetric_accuracy_percent": symmetric.mean(),
        "symmetric_accuracy_percent_std": symmetric.std(ddof=1),
        "encode_cpu_us_per_vector": pd.Series([row.encode_cpu_us_per_vector for row in done], dtype=float).median(),
        "accuracy_percent_paper": printed[0] if printed else math.nan,
        "accuracy_percent_paper_std": printed[1] if printed else math.nan,
        "costs": " ".join(f"{row.cost:g}" for row in done),
        "not_ok": "; ".join(sorted({f"{row.status}: {row.reason}" for row in cells if not row.ok})),
    }
