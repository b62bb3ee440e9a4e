"""What the results say in three sentences, each number of them drawn from rows."""

from collections.abc import Mapping, Sequence

import pandas as pd

from cbe_bench.core.claims import OUTCOMES
from cbe_bench.core.results import DATA_KINDS, Results
from cbe_bench.evaluators.retrieval.frontier import BASELINE, differences_table, frontier_table
from cbe_bench.evaluators.retrieval.rows import recall_rows

_OWN = "cbe-rand"


def leading(results: Sequence[Results]) -> Results | None:
    """Return the experiment that stands for all: timed retrieval, real data first, of most dimensions and rows."""
    timed = [one for one in results if one.kind == "retrieval" and len(frontier_table(one.rows))]
    return max(timed, key=_weight, default=None)


def _weight(results: Results) -> tuple[bool, int, int]:
    row = recall_rows(results.rows)[0]
    return row.data_kind != "synthetic", row.n_features, row.n_database


def findings(results: Results | None, counts: Mapping[str, int]) -> list[str]:
    """Return what was found: on speed, on recall, and on the claims of the paper.

    Parameters
    ----------
    results : Results or None
        The experiment on recall and speed; None if there is none.
    counts : mapping of str to int
        The number of claims of each outcome; none where they are not to be named.

    Returns
    -------
    list of str
        Sentences.
    """
    named = [name for name in OUTCOMES if counts.get(name)]
    verdicts = ", ".join(f"{counts[name]} {'is' if counts[name] == 1 else 'are'} {name}" for name in named)
    last = f"Of {sum(counts.values())} claims of the paper {verdicts}." if counts else ""
    if results is None:
        return [last] if last else []
    rows = recall_rows(results.rows)
    times, differences = frontier_table(results.rows), differences_table(rows, results.description.config["n_bits"])
    data = f"{results.description.title} ({DATA_KINDS[rows[0].data_kind]}, d = {rows[0].n_features:,})"
    found = [_speed(times, data), _recall(differences), last]
    return [sentence for sentence in found if sentence]


def _speed(times: pd.DataFrame, data: str) -> str:
    """Say how long circulant codes take, and how much longer or shorter the others."""
    own = times[times["encoder"] == _OWN]
    if not len(own):
        return ""
    reference = own.set_index("n_bits")["encode_us_per_vector"]
    ratios = times["encode_us_per_vector"] / times["n_bits"].map(reference)
    others = []
    for name in (BASELINE, "bilinear-rand", "hd3"):
        mine = ratios[times["encoder"] == name].dropna()
        if len(mine):
            others.append(f"{name} {_number(mine.min())} to {_number(mine.max())} times that")
    low, high = own["encode_us_per_vector"].min(), own["encode_us_per_vector"].max()
    return (
        f"On {data}, {_OWN} encodes a vector in {low:.0f} to {high:.0f} µs whatever the code length; "
        f"{', '.join(others) or 'nothing else was timed'}."
    )


def _recall(table: pd.DataFrame) -> str:
    """Say how far methods are from lsh at equal code length."""
    own = table.loc[table["encoder"] == _OWN, "difference_points"] if len(table) else ()
    if not len(own):
        return ""
    parts = []
    for name in ("cbe-opt", "cbe-orth", "hd3"):
        mine = table.loc[table["encoder"] == name, "difference_points"]
        if len(mine):
            parts.append(f"{name} {mine.min():+.1f} to {mine.max():+.1f}")
    return (
        f"At equal code length {_OWN} is within {max(map(abs, own)):.1f} points of the recall of {BASELINE}"
        f"{'; ' + ', '.join(parts) if parts else ''} points."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
