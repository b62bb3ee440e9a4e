"""Two methods compared query by query, or test row by test row: differences in points, with intervals, as evidence.

A rival that is saturated is shown and not counted: nothing can be ahead of it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.claims import Claim, Estimate, Evidence, Source, Verdict, outcome_of_interval
from cbe_bench.core.results import Results
from cbe_bench.core.statistics import FEWEST_SEEDS, LEVEL, mean_interval, paired_interval, simultaneous_level

SATURATED = 95.0
"""Points above which a rival is saturated."""
NO_BOUND = math.nan

BySeed = dict[int, NDArray[np.float64]]
"""For each seed the values of its queries, or of its test rows, in points."""


@dataclass(frozen=True)
class Comparison:
    """How far one method is ahead of another at one code length."""

    subject: str
    n_bits: int
    differences: BySeed
    rival: float
    """The mean of the rival, in points."""
    by_round: tuple[float, ...] = ()
    """The mean difference by each round of timing, where code lengths follow from times."""

    @property
    def counts(self) -> bool:
        """Whether the rival leaves room for being better."""
        return self.rival <= SATURATED

    def estimate(self, level: float = LEVEL) -> Estimate:
        """Return the mean difference with its interval; the error of times, which is independent, adds to it."""
        mean, low, high = paired_interval(list(self.differences.values()), level)
        if len(self.by_round) > 1:
            half = np.diff(mean_interval(0.0, np.var(self.by_round, ddof=1), len(self.by_round), level))[0] / 2
            low, high = mean - math.hypot(mean - low, half), mean + math.hypot(high - mean, half)
        return Estimate(mean, low, high)

    def evidence(self, region: tuple[float, float], level: float = LEVEL, *, counts: bool = True) -> Evidence:
        """Return it as evidence.

        Parameters
        ----------
        region : pair of float
            The least and the largest difference that are claimed, NaN for no bound.
        level : float
            The confidence level of its interval.
        counts : bool
            Whether it decides, unless the rival is saturated.

        Returns
        -------
        Evidence
        """
        estimate = self.estimate(level)
        outcome = outcome_of_interval(estimate, region) if counts and self.counts else ""
        return Evidence(self.subject, self.n_bits, *estimate, outcome)


def compared(own: BySeed, rival: BySeed, subject: str, n_bits: int) -> list[Comparison]:
    """Compare two methods under the seeds that both have; nothing where there are none.

    Parameters
    ----------
    own, rival : dict of int to array
        The values of both, in points.
    subject : str
        What the difference is called.
    n_bits : int
        The code length.

    Returns
    -------
    list of Comparison
        One, or none.
    """
    seeds = sorted(own.keys() & rival.keys())
    differences = {seed: _paired(own[seed], rival[seed]) for seed in seeds}
    mean = float(np.mean([rival[seed].mean() for seed in seeds])) if seeds else math.nan
    return [Comparison(subject, n_bits, differences, mean)] if seeds else []


def _paired(own: NDArray[np.float64], rival: NDArray[np.float64]) -> NDArray[np.float64]:
    return own - rival if len(own) == len(rival) else np.array([own.mean() - rival.mean()])


def pooled(found: Sequence[Comparison], subject: str = "") -> list[Comparison]:
    """Return the mean over code lengths that count, query by query; nothing where none does.

    Parameters
    ----------
    found : sequence of Comparison
        Of the same methods at several code lengths.
    subject : str
        What the mean is called; default: that of the comparisons, overall.

    Returns
    -------
    list of Comparison
        One, or none.
    """
    counted = [one for one in found if one.counts]
    seeds = set.intersection(*(set(one.differences) for one in counted)) if counted else set()
    differences = {seed: _mean_over([one.differences[seed] for one in counted]) for seed in sorted(seeds)}
    name = subject or (f"{found[0].subject}, overall" if found else "")
    return [Comparison(name, 0, differences, 0.0)] if differences else []


def _mean_over(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    alike = len({len(one) for one in values}) == 1
    return np.mean(values, axis=0) if alike else np.array([np.mean([one.mean() for one in values])])


def every(
    claim: Claim, found: Sequence[Comparison], source: Source, also: Sequence[Comparison] = (), note: str = ""
) -> list[Verdict]:
    """Judge that all differences lie in the region of a claim: intervals hold at once (Bonferroni).

    Parameters
    ----------
    claim : Claim
        What is judged.
    found : sequence of Comparison
        Those that decide, unless the rival is saturated.
    source : Source
        What they were measured on.
    also : sequence of Comparison
        Others, shown beside them.
    note : str
        What else was found, in words.

    Returns
    -------
    list of Verdict
        One, or none where nothing was compared.
    """
    level = simultaneous_level(sum(one.counts for one in found), LEVEL)
    evidence = [one.evidence(claim.region, level) for one in found]
    evidence += [one.evidence(claim.region, counts=False) for one in also]
    return [claim.decide(evidence, source, "; ".join(filter(None, [note, _notes(found)])))] if found else []


def overall(
    claim: Claim, found: Sequence[Comparison], source: Source, also: Sequence[Comparison] = (), subject: str = ""
) -> list[Verdict]:
    """Judge the mean difference over code lengths, or over methods; each is shown.

    Parameters
    ----------
    claim : Claim
        What is judged.
    found : sequence of Comparison
        Of the same methods at several code lengths.
    source : Source
        What they were measured on.
    also : sequence of Comparison
        Others, shown beside them.
    subject : str
        What the mean is called; default: that of the comparisons, overall.

    Returns
    -------
    list of Verdict
        One, or none where nothing was compared.
    """
    evidence = [one.evidence(claim.region) for one in pooled(found, subject)]
    evidence += [one.evidence(claim.region, counts=False) for one in (*found, *also)]
    return [claim.decide(evidence, source, _notes(found))] if found else []


def _notes(found: Sequence[Comparison]) -> str:
    """Say what an interval does not cover, and what does not count."""
    seeds = min((len(one.differences) for one in found), default=0)
    notes = [f"{seeds} seed{'s' if seeds > 1 else ''}: the interval is over queries only"] * (seeds < FEWEST_SEEDS)
    saturated = dict.fromkeys(f"{one.n_bits:,}" for one in found if not one.counts)
    notes += [f"saturated at {', '.join(saturated)} bits"] * bool(saturated)
    return "; ".join(notes)


def judged_on(
    experiments: Callable[[Sequence[Results]], list[Results]], judge: Callable[[Claim, Results], list[Verdict]]
) -> Callable[[Claim, Sequence[Results]], list[Verdict]]:
    """Return the judge of a claim that each of some experiments is judged on by itself.

    Parameters
    ----------
    experiments : callable
        Chooses the experiments.
    judge : callable
        Returns the verdicts on one of them.

    Returns
    -------
    callable
        The `judge` of a `Claim`.
    """
    return lambda claim, results: [verdict for one in experiments(results) for verdict in judge(claim, one)]
