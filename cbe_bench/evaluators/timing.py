"""Times that can be trusted: warmed up, calibrated, several candidates taking turns, every sample kept.

On a shared machine speed wanders by the second. Candidates that take turns meet the same weather, so their ratios
hold even where their times do not.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.view import Tick
from cbe_bench.encoders import Encoder

_SHORTEST_SAMPLE = 2e-3
"""Seconds a sample lasts at least: fast calls are repeated within one."""
_MOST_SAMPLES = 40
_SLOW_CALL = 10.0
"""Seconds from which on a first call counts as slow in itself: what it had to build is little beside that."""
UNSTABLE = 0.15
"""Spread between the quartiles, relative to the median, from which on a time is called unstable."""


@dataclass
class Candidate:
    """Something to be timed: a call that treats some vectors."""

    name: str
    call: Callable[[], object]
    vectors: int = 1
    first_seconds: float = 0.0
    """What the first call took, which may have built tables and plans."""
    calls: int = 1
    """Calls that make one sample."""
    wanted: int = 1
    """Samples to take."""
    samples: list[float] = field(default_factory=list)
    """Seconds a vector."""
    clock: Callable[[], float] = field(default=lambda: time.perf_counter())
    """What tells the time."""

    def quartiles(self) -> tuple[float, float, float]:
        """Return lower quartile, median and upper quartile of the seconds a vector."""
        low, middle, high = np.quantile(self.samples, [0.25, 0.5, 0.75])
        return float(low), float(middle), float(high)

    def once(self) -> float:
        """Take one sample: the seconds of one call."""
        start = self.clock()
        for _ in range(self.calls):
            self.call()
        return (self.clock() - start) / self.calls


def unit_vectors(n: int, d: int) -> NDArray[np.float32]:
    """Return vectors to time with."""
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def fitted_to_time(encoder: Encoder, X: NDArray) -> Encoder:
    """Fit an encoder whose codes are timed, not used: methods that learn in turns take a single one."""
    turns = {name: 1 for name in ("n_iter", "max_iter") if name in encoder.get_params()}
    return encoder.set_params(**turns).fit(X)


def in_turns(candidates: list[Candidate], budget: float, tick: Tick, least_samples: int = 3) -> Iterator[Candidate]:
    """Time the candidates in turns, each for about `budget` seconds; yield each when it has all its samples.

    Slow ones have `least_samples` though these take longer. Every candidate is warmed up first, unless it was called
    before. A first call that is slow in itself is not repeated: it is the sample.
    """
    for number, candidate in enumerate(candidates):
        _calibrate(candidate, budget, least_samples)
        tick(0.1 * (number + 1) / len(candidates))
        if len(candidate.samples) == candidate.wanted:
            yield candidate
    rounds = max((candidate.wanted for candidate in candidates), default=0)
    for turn in range(rounds):
        for candidate in candidates:
            if len(candidate.samples) < -(-(turn + 1) * candidate.wanted // rounds):
                candidate.samples.append(candidate.once() / candidate.vectors)
                if len(candidate.samples) == candidate.wanted:
                    yield candidate
        tick(0.1 + 0.9 * (turn + 1) / rounds)


def _calibrate(candidate: Candidate, budget: float, least_samples: int) -> None:
    """Choose how many calls make a sample, by making ever more of them, and how many samples are taken."""
    if not candidate.first_seconds:
        candidate.first_seconds = candidate.once()
    seconds = candidate.first_seconds
    if seconds > max(budget, _SLOW_CALL):
        candidate.samples = [seconds / candidate.vectors]
        return
    least = max(_SHORTEST_SAMPLE, budget / _MOST_SAMPLES)
    seconds = candidate.once()
    while seconds * candidate.calls < least:
        candidate.calls = min(math.ceil(least / max(seconds, 1e-9)), 10 * candidate.calls)
        seconds = candidate.once()
    candidate.wanted = int(np.clip(budget / (seconds * candidate.calls), least_samples, _MOST_SAMPLES))
