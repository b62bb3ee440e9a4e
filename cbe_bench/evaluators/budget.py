"""How many bits a method can make in a given time.

The time a code takes need not grow smoothly with its bits: transforms cost the same up to a power of two and twice
that beyond it. The search therefore only assumes that more bits never take less time, halves the range that is left,
and ends when the time is met closely enough or nothing is left between a number that fits and one that does not. That
is not always so: matrix products of some sizes are slow. In the end some longer codes are tried.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TOLERANCE = 0.05
"""Bits are found to within this share of the time, above and below."""
_LONGER = (1.1, 1.2, 1.35, 1.5)
"""How many times the bits are tried, of what was found, whether they take no more than the time."""


@dataclass(frozen=True)
class Found:
    """The largest number of bits found to fit, and the share of the time it takes."""

    n_bits: int
    share: float


def most_bits(share: Callable[[int], float], guess: float, lengths: Sequence[int]) -> Found:
    """Return the largest of some numbers of bits whose share of the allowed time is one to within the tolerance.

    `lengths` are the numbers to choose from, rising; `share` measures their shares. Where even the fewest bits take too
    long, these are returned with their share.
    """
    found = _search(share, guess, lengths)
    left = [*_LONGER] if found.share <= 1 + TOLERANCE else []
    while left:
        tried = lengths[_nearest(lengths, left.pop(0) * found.n_bits)]
        if tried > found.n_bits and (needed := share(tried)) <= 1:
            found, left = Found(tried, needed), [*_LONGER]
    return found


def _search(share: Callable[[int], float], guess: float, lengths: Sequence[int]) -> Found:
    """Return the largest number that fits, if more bits never take less time."""
    low, high = -1, len(lengths)
    fits: Found | None = None
    too_long: Found | None = None
    at = _nearest(lengths, guess)
    while True:
        found = Found(lengths[at], share(lengths[at]))
        if found.share <= 1 + TOLERANCE:
            low, fits = at, found
        else:
            high, too_long = at, found
        if fits is not None and fits.share >= 1 - TOLERANCE:
            return fits
        if high - low == 1:
            return fits or found
        at = min(max(_next(fits, too_long, lengths, low, high), low + 1), high - 1)


def _next(fits: Found | None, too_long: Found | None, lengths: Sequence[int], low: int, high: int) -> int:
    """Choose what to try next, from the shares on either side as far as they are known."""
    if fits is None:
        assert too_long is not None
        return _nearest(lengths, too_long.n_bits / min(too_long.share, 8))
    if too_long is None:
        return _nearest(lengths, fits.n_bits / max(fits.share, 0.25))
    growth = math.log(too_long.share / fits.share) / math.log(too_long.n_bits / fits.n_bits)
    at = _nearest(lengths, fits.n_bits * (1 / fits.share) ** (1 / growth))
    inner = (high - low) / 8
    return at if low + inner < at < high - inner else (low + high) // 2  # a step lies between, or a bend


def _nearest(lengths: Sequence[int], bits: float) -> int:
    """Return where the number nearest to `bits` stands."""
    at = min(bisect_left(lengths, bits), len(lengths) - 1)
    return at - 1 if at > 0 and bits - lengths[at - 1] < lengths[at] - bits else at
