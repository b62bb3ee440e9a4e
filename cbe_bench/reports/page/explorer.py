"""Numbers of the chart that a reader can walk through, and of the chooser: every method at every code length."""

import math
from typing import Any

from cbe_bench.core.results import Results
from cbe_bench.core.style import line_styles
from cbe_bench.evaluators.retrieval.frontier import BASELINE, differences_table, frontier_table
from cbe_bench.evaluators.retrieval.rows import recall_rows
from cbe_bench.evaluators.retrieval.tables import recall_table
from cbe_bench.evaluators.task import is_trained
from cbe_bench.reports.advice import choices

_DASHES = {"-": "", "--": "6 3", "-.": "7 3 1.5 3", ":": "1.5 3"}
_SHORT_DEPTH = 10


def explorer_data(results: Results) -> dict[str, Any] | None:
    """Return what the chart draws of a retrieval experiment; None where it has fewer than two code lengths."""
    found = choices(results)
    if len(found) < 2:
        return None
    bits = [choice.n_bits for choice in found]
    recalls = {(line["n_bits"], line["encoder"]): line for line in recall_table(results.rows).to_dict("records")}
    differences = _by_cell(differences_table(results.rows, bits))
    times = _by_cell(frontier_table(results.rows))
    trained = {row.label: is_trained(row) for row in recall_rows(results.rows)}
    methods = list(dict.fromkeys(one.method for choice in found for one in choice.standings))
    lines = []
    for method, (colour, dash) in line_styles(methods).items():
        cells = [(k, method) for k in bits]
        lines.append(
            {
                "name": method,
                "trained": trained[method],
                "colour": colour.lower().removeprefix("#"),
                "dash": _DASHES[dash],
                "points": [
                    _point(recalls.get(cell), times.get(cell), differences.get(cell), found[0].depth)
                    if cell in recalls
                    else None
                    for cell in cells
                ],
            }
        )
    return {
        "name": found[0].experiment,
        "title": results.description.title,
        "kind": found[0].data_kind,
        "d": found[0].n_features,
        "depth": found[0].depth,
        "baseline": BASELINE if differences else None,
        "bits": bits,
        "lines": lines,
    }


def _by_cell(table: Any) -> dict[tuple[int, str], dict[str, Any]]:
    return {(line["n_bits"], line["encoder"]): line for line in table.to_dict("records")}


def _point(recall: Any, time: Any, difference: Any, depth: int) -> dict[str, float | None]:
    """Return the values of a method at a code length; what was not measured is null."""
    half = (difference["high"] - difference["low"]) / 2 if difference else None
    values = {
        "deep": recall.get(f"recall@{depth}"),
        "deep_std": recall.get(f"recall@{depth}_std"),
        "short": recall.get(f"recall@{_SHORT_DEPTH}"),
        "short_std": recall.get(f"recall@{_SHORT_DEPTH}_std"),
        "us": time["encode_us_per_vector"] if time else None,
        "less": difference["difference_points"] if difference else None,
        "less_std": half,
    }
    return {name: _rounded(value) for name, value in values.items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(f"{value:.4g}")
