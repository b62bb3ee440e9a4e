"""One sentence from many cells: the smallest codes that reach a recall, or the best recall within a number of bytes."""

from dataclasses import dataclass

from cbe_bench.core.errors import InputError
from cbe_bench.vectors.recommend.extrapolate import Estimate
from cbe_bench.vectors.recommend.measure import OVERSAMPLES, Cell

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

    With a recall: of all that reach it on all rows, as far as extrapolation shows, the fewest bytes, then the fewest
    candidates, then the fastest search. Else, or if none reaches it, the highest recall.

    Parameters
    ----------
    cells : list of Cell
        What was measured.
    target : Target
        The recall or the bytes wanted.

    Returns
    -------
    choice : Choice or None
        The answer.
    reached : bool
        Whether it reaches the target.
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
    """Return the fewest candidates for each neighbour with which a cell reaches a recall; None if none suffices.

    Parameters
    ----------
    cell : Cell
        A method at a code length.
    at : int
        The number of neighbours.
    recall : float
        The recall to reach on all rows.

    Returns
    -------
    int or None
    """
    tried = (more for more in OVERSAMPLES if (at, more) in cell.recall)
    return next((more for more in tried if cell.recall[at, more].full >= recall), None)


def sentence(choice: Choice, reached: bool, target: Target, sizes: tuple[int, ...], full_rows: int) -> str:
    """Return the answer as a sentence, with its interval and how sure it is.

    Parameters
    ----------
    choice : Choice
        The answer.
    reached : bool
        Whether it reaches the target.
    target : Target
        The recall or the bytes wanted.
    sizes : tuple of int
        Rows of the samples, the largest first.
    full_rows : int
        Rows of the whole file.

    Returns
    -------
    str
    """
    cell, estimate = choice.cell, choice.estimate(target.at)
    candidates = choice.oversample * target.at
    search = cell.search.replace("hamming", "Hamming")
    how = f"{search} search" + (f", re-rank {candidates:,}" if choice.oversample > 1 else ", no re-ranking")
    found = f"recall@{target.at} {estimate.full:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
    if len(sizes) > 1:
        sure = f"expected of all {full_rows:,} rows from samples of {sizes[-1]:,} to {sizes[0]:,}"
    else:
        sure = f"on all {sizes[0]:,} rows"
    short = "" if reached else f"nothing tried reaches {target.recall:g}; best: "
    return f"{short}{cell.method}, {cell.n_bits:,} bits, {how}: {found} at {cell.bytes_per_vector:,} bytes, {sure}"
