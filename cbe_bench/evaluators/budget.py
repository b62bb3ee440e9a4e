"""How many bits a method can make in a given time.

The time a code takes need not grow smoothly with its bits: transforms cost the same up to a power of two and twice
that beyond it. The search therefore only assumes that more bits never take less time, halves the range that is left,
and ends when the time is met closely enough or nothing is left between a number that fits and one that does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

TOLERANCE = 0.05
"""Bits are found to within this share of the time, above and below."""
_STEP = 8
"""Bits come in whole bytes."""


@dataclass(frozen=True)
class Found:
    """The largest number of bits found to fit, and the share of the time it takes."""

    n_bits: int
    share: float


def most_bits(share: Callable[[int], float], guess: int, most: int) -> Found:
    """Return the largest number of bits, up to `most`, whose share of the allowed time is one to within the tolerance.

    `share` measures that share; where even the fewest bits take too long, these are returned with their share.
    """
    fewest = min(_STEP, most)
    fits: Found | None = None
    too_long: int | None = None
    bits = _whole(guess, fewest, most)
    while True:
        found = Found(bits, share(bits))
        if found.share <= 1 + TOLERANCE:
            fits = found
        else:
            too_long = bits
        if fits is None and bits == fewest:
            return found
        if fits is not None and (fits.share >= 1 - TOLERANCE or fits.n_bits == most):
            return fits
        if fits is not None and too_long is not None and too_long - fits.n_bits <= _STEP:
            return fits
        bits = _next(fits, too_long, found, fewest, most)


def _next(fits: Found | None, too_long: int | None, last: Found, fewest: int, most: int) -> int:
    """Choose what to try next: what the last share makes likely or, where that is out of the range, its middle."""
    likely = int(last.n_bits / max(last.share, 1e-3))
    if fits is None:
        assert too_long is not None
        return _whole(max(likely, too_long // 8), fewest, too_long - _STEP)
    if too_long is None:
        return _whole(min(max(likely, fits.n_bits + _STEP), 4 * fits.n_bits), fewest, most)
    if not fits.n_bits < likely < too_long:  # a step lies between
        likely = (fits.n_bits + too_long) // 2
    return _whole(likely, fits.n_bits + _STEP, too_long - _STEP)


def _whole(bits: int, least: int, most: int) -> int:
    """Return the nearest number of whole bytes, within limits."""
    return max(least, min(most, round(bits / _STEP) * _STEP))
