"""Which code to use for a user's own vectors, in a sentence or two drawn from the rows of an experiment on them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cbe_bench.core.results import Results
from cbe_bench.evaluators.retrieval.rows import RetrievalRow
from cbe_bench.evaluators.search.rows import SearchRow
from cbe_bench.evaluators.task import is_trained

ENOUGH = 0.95
"""Recall that the shortest codes are asked for."""
_DEPTH = 100


@dataclass(frozen=True)
class _Code:
    """A method at a code length: what it finds and what it takes."""

    label: str
    n_bits: int
    n_bytes: int
    recall: float
    std: float
    trained: bool

    def __str__(self) -> str:
        spread = "" if np.isnan(self.std) else f" ± {self.std:.3f}"
        return f"{self.label} with {self.n_bits:,} bits ({self.n_bytes:,} bytes) finds {self.recall:.3f}{spread}"


def is_own(results: Results) -> bool:
    """Return whether an experiment is about a user's own file."""
    return bool((results.description.config.get("data") or {}).get("own"))


def answer(results: Results) -> str:
    """Say which codes to use for a user's own file.

    Parameters
    ----------
    results : Results
        An experiment on it.

    Returns
    -------
    str
        The shortest codes that find enough of the neighbours, or else those that find most, and the same of untrained
        methods; an empty string where the experiment is not about a user's own file or has found no neighbours.
    """
    rows = [row for row in results.rows if row.ok and isinstance(row, RetrievalRow | SearchRow)]
    if not is_own(results) or not rows:
        return ""
    codes, first = _codes(rows), rows[0]
    best, untrained = _best(codes), _best(code for code in codes if not code.trained)
    assert best is not None
    depth = max(first.depths) if isinstance(first, RetrievalRow) else _depth(rows)
    how = "the shortest codes that reach" if best.recall >= ENOUGH else "none reaches"
    found = (
        f"{first.data}: {best} of the {first.n_neighbours} nearest by {first.metric} among the first {depth} of "
        f"{first.n_database:,} rows; {how} {ENOUGH:g}."
    )
    if untrained is not None and untrained != best:
        found += f" Untrained, {untrained}."
    return found


def _depth(rows: list[RetrievalRow | SearchRow]) -> int:
    """Return how many candidates are counted: 100, or as many as all methods found."""
    fewest = min(len(row.recall) * row.n_neighbours for row in rows)
    return min(_DEPTH, fewest)


def _codes(rows: list[RetrievalRow | SearchRow]) -> list[_Code]:
    depth, groups = _depth(rows), dict[tuple[str, int], list[RetrievalRow | SearchRow]]()
    for row in rows:
        groups.setdefault((row.label, row.n_bits), []).append(row)
    found = []
    for (label, n_bits), cells in groups.items():
        first = cells[0]
        last = -1 if isinstance(first, RetrievalRow) else depth // first.n_neighbours - 1
        recalls = np.array([row.recall[last] for row in cells])
        n_bytes = -(-n_bits // 8) if isinstance(first, RetrievalRow) else round(first.bytes_per_vector)
        std = float(recalls.std(ddof=1)) if len(recalls) > 1 else np.nan
        found.append(_Code(label, n_bits, n_bytes, float(recalls.mean()), std, is_trained(first)))
    return found


def _best(codes: Iterable[_Code]) -> _Code | None:
    """Return the fewest bytes that find enough, then the most; the most where none does."""
    known = list(codes)
    enough = [code for code in known if code.recall >= ENOUGH]
    if enough:
        return min(enough, key=lambda code: (code.n_bytes, -code.recall))
    return max(known, key=lambda code: code.recall, default=None)
