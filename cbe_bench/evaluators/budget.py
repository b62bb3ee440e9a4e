"""How many bits a method can make in a given time.

The time a code takes need not grow smoothly with its bits: transforms cost the same up to a power of two and twice
that beyond it. The search therefore only assumes that more bits never take less time, halves the range that is left,
and ends when the time is met closely enough or nothing is left between a number that fits and one that does not.
"""

import math
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
    too_long: Found | None = None
    bits = _whole(guess, fewest, most)
    while True:
        found = Found(bits, share(bits))
        if found.share <= 1 + TOLERANCE:
            fits = found
        else:
            too_long = found
        if fits is None and bits == fewest:
            return found
        if fits is not None and (fits.share >= 1 - TOLERANCE or fits.n_bits == most):
            return fits
        if fits is not None and too_long is not None and too_long.n_bits - fits.n_bits <= _STEP:
            return fits
        bits = _next(fits, too_long, fewest, most)


def _next(fits: Found | None, too_long: Found | None, fewest: int, most: int) -> int:
    """Choose what to try next, from the shares on either side as far as they are known."""
    if fits is None:
        assert too_long is not None
        likely = too_long.n_bits / min(too_long.share, 8)
        return _whole(likely, fewest, too_long.n_bits - _STEP)
    if too_long is None:
        return _whole(fits.n_bits / max(fits.share, 0.25), fits.n_bits + _STEP, most)
    gap = too_long.n_bits - fits.n_bits
    growth = math.log(too_long.share / fits.share) / math.log(too_long.n_bits / fits.n_bits)
    likely = fits.n_bits * (1 / fits.share) ** (1 / growth)
    if not gap / 8 < likely - fits.n_bits < gap * 7 / 8:  # a step lies between, or a bend
        likely = fits.n_bits + gap / 2
    return _whole(likely, fits.n_bits + _STEP, too_long.n_bits - _STEP)


def _whole(bits: float, least: int, most: int) -> int:
    """Return the nearest number of whole bytes, within limits."""
    return max(least, min(most, round(bits / _STEP) * _STEP))
