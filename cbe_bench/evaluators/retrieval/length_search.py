"""The longest code whose encode time fits a given one.

Encode time need not grow smoothly with code length: transforms cost the same up to a power of two and twice that beyond
it. The search therefore only assumes that longer codes never take less time, halves the range that is left, and ends
when the time is met closely enough or no length is left between one that fits and one that does not. The assumption
does not always hold: matrix products of some sizes are slow. So at the end some longer codes are tried.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

TOLERANCE = 0.05
"""Times are met to within this fraction, above and below."""
_LONGER = (1.1, 1.2, 1.35, 1.5)
"""How many times the length that was found is tried, in case a longer code takes no more than the time."""


class Timed(NamedTuple):
    """A code length and its encode time relative to the allowed time."""

    n_bits: int
    ratio: float


def longest_in_time(ratio: Callable[[int], float], guess: float, lengths: Sequence[int]) -> Timed:
    """Return the longest code whose time is the allowed one to within the tolerance.

    Parameters
    ----------
    ratio : callable
        Measures the encode time of a code length relative to the allowed time.
    guess : float
        Where the search begins.
    lengths : sequence of int
        The code lengths to choose from, ascending.

    Returns
    -------
    Timed
        Where even the shortest code takes too long, that code with its ratio.
    """
    found = _search(ratio, guess, lengths)
    factors = [*_LONGER] if found.ratio <= 1 + TOLERANCE else []
    while factors:
        tried = lengths[_nearest(lengths, factors.pop(0) * found.n_bits)]
        if tried > found.n_bits and (needed := ratio(tried)) <= 1:
            found, factors = Timed(tried, needed), [*_LONGER]
    return found


def _search(ratio: Callable[[int], float], guess: float, lengths: Sequence[int]) -> Timed:
    """Return the longest code that fits, if longer codes never take less time."""
    low, high = -1, len(lengths)
    fits: Timed | None = None
    too_slow: Timed | None = None
    at = _nearest(lengths, guess)
    while True:
        found = Timed(lengths[at], ratio(lengths[at]))
        if found.ratio <= 1 + TOLERANCE:
            low, fits = at, found
        else:
            high, too_slow = at, found
        if fits is not None and fits.ratio >= 1 - TOLERANCE:
            return fits
        if high - low == 1:
            return fits or found
        at = min(max(_next(fits, too_slow, lengths, low, high), low + 1), high - 1)


def _next(fits: Timed | None, too_slow: Timed | None, lengths: Sequence[int], low: int, high: int) -> int:
    """Choose the position to try next, from the ratios on either side as far as they are known."""
    if fits is None:
        assert too_slow is not None
        return _nearest(lengths, too_slow.n_bits / min(too_slow.ratio, 8))
    if too_slow is None:
        return _nearest(lengths, fits.n_bits / max(fits.ratio, 0.25))
    growth = math.log(too_slow.ratio / fits.ratio) / math.log(too_slow.n_bits / fits.n_bits)
    at = _nearest(lengths, fits.n_bits * (1 / fits.ratio) ** (1 / growth))
    inner = (high - low) / 8
    return at if low + inner < at < high - inner else (low + high) // 2  # a step lies between, or a bend


def _nearest(lengths: Sequence[int], n_bits: float) -> int:
    """Return the position of the length nearest to `n_bits`."""
    at = min(bisect_left(lengths, n_bits), len(lengths) - 1)
    return at - 1 if at > 0 and n_bits - lengths[at - 1] < lengths[at] - n_bits else at
