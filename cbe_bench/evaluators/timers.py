"""Times that can be trusted: warmed up, calibrated, candidates interleaved, every sample stored.

On a shared machine speed wanders by the second. Interleaved candidates see the same noise, so their ratios hold even
where their times do not.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress
from cbe_bench.core.resources import Resources
from cbe_bench.encoders import Encoder
from cbe_bench.kernels import parallel

TIMED_PARAMS: dict[str, dict[str, Any]] = {
    "lsh": {"store": True},  # drawing the matrix for every batch would be timed otherwise
    "bilinear-rand": {"permute": False},  # the permutation helps recall and is no part of the method's cost
}
"""Parameters that methods are timed with."""
UNSTABLE = 0.15
"""Interquartile range, relative to the median, from which on a time is called unstable."""
_SHORTEST_SAMPLE_S = 2e-3
"""A sample lasts at least this long: fast calls are repeated within one."""
_MOST_SAMPLES = 40
_SLOW_CALL_S = 10.0
"""A first call that takes longer is slow in itself: what it had to build is little beside that."""


@dataclass
class Candidate:
    """Something to be timed: a call that handles some vectors."""

    name: str
    call: Callable[[], object]
    vectors: int = 1
    first_s: float = 0.0
    """Seconds of the first call, which may have built tables and plans."""
    calls: int = 1
    """Calls that make one sample."""
    wanted: int = 1
    """Samples to take."""
    samples: list[float] = field(default_factory=list)
    """Seconds per vector."""
    clock: Callable[[], float] = field(default=lambda: time.perf_counter())
    """What gives the time."""

    def quartiles(self) -> tuple[float, float, float]:
        """Return the lower quartile, the median and the upper quartile of the seconds per vector."""
        low, middle, high = np.quantile(self.samples, [0.25, 0.5, 0.75])
        return float(low), float(middle), float(high)

    def sample(self) -> float:
        """Return the seconds of one call, averaged over the calls of a sample."""
        start = self.clock()
        for _ in range(self.calls):
            self.call()
        return (self.clock() - start) / self.calls


def unit_vectors(n: int, d: int) -> NDArray[np.float32]:
    """Return random vectors of unit norm to time with.

    Parameters
    ----------
    n : int
        The number of vectors.
    d : int
        The dimension.

    Returns
    -------
    float32 array of shape (n, d)
        Always the same.
    """
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def fit_for_timing(encoder: Encoder, X: NDArray, threads: int) -> Encoder:
    """Fit an encoder whose codes are timed, not used: trained methods run a single iteration.

    Parameters
    ----------
    encoder : Encoder
        Changed in place.
    X : array of shape (n, d)
        The training set.
    threads : int
        The number of threads it is timed on.

    Returns
    -------
    Encoder
        The same, fitted.
    """
    single = {name: 1 for name in ("n_iter", "max_iter") if name in encoder.get_params()}
    return encoder.set_params(**single).set_resources(Resources(threads)).fit(X)


@contextmanager
def pinned_threads(count: int) -> Iterator[None]:
    """Run a block of code with this many threads of kernels and BLAS, pinned to as many cores."""
    with parallel.threads(count), parallel.pinned(count), parallel.blas_threads(count):
        yield


def interleaved(
    candidates: list[Candidate], budget_s: float, progress: Progress, least_samples: int = 3
) -> Iterator[Candidate]:
    """Time candidates interleaved, each for about `budget_s` seconds; yield each when it has all its samples.

    Slow ones get `least_samples` even if these take longer. Every candidate is warmed up first, unless it was called
    before. A first call that is slow in itself is not repeated: it is the sample.

    Parameters
    ----------
    candidates : list of Candidate
        What is timed; samples are added to each, in seconds per vector.
    budget_s : float
        Seconds for each candidate.
    progress : Progress
        Called with the progress, from 0 to 1.
    least_samples : int
        The fewest samples of a candidate.

    Yields
    ------
    Candidate
        In the order in which they are completed.
    """
    for number, candidate in enumerate(candidates):
        _calibrate(candidate, budget_s, least_samples)
        progress(0.1 * (number + 1) / len(candidates))
        if len(candidate.samples) == candidate.wanted:
            yield candidate
    rounds = max((candidate.wanted for candidate in candidates), default=0)
    for number in range(rounds):
        for candidate in candidates:
            if len(candidate.samples) < -(-(number + 1) * candidate.wanted // rounds):
                candidate.samples.append(candidate.sample() / candidate.vectors)
                if len(candidate.samples) == candidate.wanted:
                    yield candidate
        progress(0.1 + 0.9 * (number + 1) / rounds)


def _calibrate(candidate: Candidate, budget_s: float, least_samples: int) -> None:
    """Choose how many calls make a sample, by making ever more of them, and how many samples are taken."""
    if not candidate.first_s:
        candidate.first_s = candidate.sample()
    seconds = candidate.first_s
    if seconds > max(budget_s, _SLOW_CALL_S):
        candidate.samples = [seconds / candidate.vectors]
        return
    least = max(_SHORTEST_SAMPLE_S, budget_s / _MOST_SAMPLES)
    seconds = candidate.sample()
    while seconds * candidate.calls < least:
        candidate.calls = min(math.ceil(least / max(seconds, 1e-9)), 10 * candidate.calls)
        seconds = candidate.sample()
    candidate.wanted = int(np.clip(budget_s / (seconds * candidate.calls), least_samples, _MOST_SAMPLES))
