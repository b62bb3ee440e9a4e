"""One sentence from many cells: the smallest codes that reach a recall, or the best recall of so many bytes."""

from dataclasses import dataclass

from cbe_bench.core.errors import InputError
from cbe_bench.vectors.recommend.measure import OVERSAMPLES, Cell, Estimate

_MOST_OVERSAMPLE = 10
"""Candidates for each neighbour that an answer asks for, at most, where fewer bytes would need more."""


@dataclass(frozen=True)
class Target:
    """What is wanted: a recall at the fewest bytes, or the best recall within some bytes.

    Attributes
    ----------
    recall : float or None
        Recall@`at` of a search with re-ranking.
    at : int
        Neighbours of a query, k.
    most_bytes : int or None
        Bytes of a code, at most.
    """

    recall: float | None = 0.95
    at: int = 100
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.recall is not None and not 0 < self.recall < 1:
            raise InputError(f"recall {self.recall}: must be between 0 and 1")
        if self.at < 1 or (self.most_bytes is not None and self.most_bytes < 1):
            raise InputError("the number of neighbours and of bytes must be positive")


@dataclass(frozen=True)
class Choice:
    """A cell and the candidates that are re-ranked for each neighbour."""

    cell: Cell
    oversample: int

    def estimate(self, at: int) -> Estimate:
        """Return its recall@at."""
        return self.cell.recall[at, self.oversample]


def choose(cells: list[Cell], target: Target) -> tuple[Choice | None, bool]:
    """Return what answers the target best, None if there is nothing to choose from, and whether it reaches the target.

    With a recall: of all that reach it on all rows, as far as extrapolation can tell, the fewest bytes, then the fewest
    candidates, then the fastest search. Else, or if none reaches it, the highest recall.
    """
    fitting = [cell for cell in cells if target.most_bytes is None or cell.bytes_per_vector <= target.most_bytes]
    choices = [
        Choice(cell, more)
        for cell in fitting
        for more in OVERSAMPLES
        if more <= _MOST_OVERSAMPLE and (target.at, more) in cell.recall
    ]
    if target.recall is not None:
        wanted = target.recall
        enough = [one for one in choices if one.estimate(target.at).full >= wanted]
        if enough:
            cost = [(o.cell.bytes_per_vector, o.oversample, o.cell.search_us_per_query_per_million) for o in enough]
            return enough[cost.index(min(cost))], True
    best = max(choices, key=lambda one: (one.estimate(target.at).full, -one.oversample), default=None)
    return best, target.recall is None and best is not None


def oversample_needed(cell: Cell, at: int, recall: float) -> int | None:
    """Return the fewest candidates for each neighbour with which a cell reaches a recall; None if none suffices."""
    tried = (more for more in OVERSAMPLES if (at, more) in cell.recall)
    return next((more for more in tried if cell.recall[at, more].full >= recall), None)


def sentence(choice: Choice, reached: bool, target: Target, sizes: tuple[int, ...], full_rows: int) -> str:
    """Return the answer as a sentence, with its interval and how sure it is."""
    cell, estimate = choice.cell, choice.estimate(target.at)
    candidates = choice.oversample * target.at
    search = cell.search.replace("hamming", "Hamming")
    how = f"{search} search" + (f", re-rank {candidates:,}" if choice.oversample > 1 else ", no re-ranking")
    found = f"recall@{target.at} {estimate.full:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
    if len(sizes) > 1:
        rows = ", ".join(f"{size:,}" for size in reversed(sizes))
        sure = f"extrapolated to {full_rows:,} rows from {estimate.sample:.3f} on {sizes[0]:,} (samples of {rows})"
    elif sizes[0] < full_rows:
        sure = f"on a sample of {sizes[0]:,} rows, too few to extrapolate; expect less on all {full_rows:,}"
    else:
        sure = f"on all {sizes[0]:,} rows"
    short = "" if reached else f"nothing tried reaches {target.recall:g}; best: "
    return f"{short}{cell.method}, {cell.n_bits:,} bits, {how}: {found} at {cell.bytes_per_vector:,} bytes, {sure}"
