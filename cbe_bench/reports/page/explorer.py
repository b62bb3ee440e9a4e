"""Numbers of the chart that a reader can walk through: recall against bits, method by method."""

import math
from typing import Any

from cbe_bench.core.style import line_styles
from cbe_bench.reports.advice import Choice, Standing

_DASHES = {"-": "", "--": "6 3", "-.": "7 3 1.5 3", ":": "1.5 3"}


def explorer_data(choices: list[Choice]) -> list[dict[str, Any]]:
    """Return what the chart draws: one entry for each experiment with several code lengths."""
    by_name: dict[str, list[Choice]] = {}
    for choice in choices:
        by_name.setdefault(choice.experiment, []).append(choice)
    return [_entry(name, found) for name, found in by_name.items() if len(found) > 1]


def _entry(name: str, found: list[Choice]) -> dict[str, Any]:
    methods = list(dict.fromkeys(one.method for choice in found for one in choice.standings))
    lines = []
    for method, (colour, dash) in line_styles(methods).items():
        points = [next((one for one in choice.standings if one.method == method), None) for choice in found]
        lines.append(
            {"name": method, "colour": colour, "dash": _DASHES[dash], "points": [_point(point) for point in points]}
        )
    return {
        "name": name,
        "kind": found[0].data_kind,
        "depth": found[0].depth,
        "bits": [choice.n_bits for choice in found],
        "lines": lines,
    }


def _point(one: Standing | None) -> dict[str, float | None] | None:
    """Return recall, its standard deviation and the time of encoding; nothing where the method did not end."""
    if one is None:
        return None
    std = None if math.isnan(one.std) else round(one.std, 5)
    return {"recall": round(one.recall, 5), "std": std, "time": one.time and round(one.time, 4)}
