"""Paired differences of recall between two methods, in points (hundredths) at the greatest depth, seed by seed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cbe_bench.core.claims import Estimate, Evidence, Part, Source, outcome_of
from cbe_bench.core.results import Results
from cbe_bench.evaluators.retrieval.rows import EqualTimeRow, RetrievalRow, equal_time_rows, recall_rows
from cbe_bench.evaluators.retrieval.tables import data_label

FEWEST = 8
"""Codes are judged from d/8 bits on, the shortest of the paper's figures."""
LEVEL = 0.5
"""Points within which two methods are level."""


@dataclass(frozen=True)
class Difference:
    """How far one method is ahead of another, in points: mean, minimum and maximum over seeds."""

    mean: float
    low: float
    high: float
    ahead: str
    behind: str
    n_bits: int
    headroom: float
    """Points that the method behind has not found: no other can be further ahead."""

    def __str__(self) -> str:
        interval = f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"
        return f"{self.ahead} - {self.behind} {interval} at {self.n_bits:,} bits"

    @property
    def estimate(self) -> Estimate:
        """The mean with minimum and maximum."""
        return Estimate(self.mean, self.low, self.high)

    def evidence(self, least: float = -np.inf, most: float = np.inf, *, counts: bool = True) -> Evidence:
        """Return it as evidence of a claim that needs it within limits; one that does not count decides nothing.

        Parameters
        ----------
        least, most : float
            The limits, in points.
        counts : bool
            Whether it counts.

        Returns
        -------
        Evidence
            Without an outcome if it does not count.
        """
        subject = f"{self.ahead} - {self.behind.split(' with ')[0]}"
        outcome = outcome_of(least <= self.mean <= most, True) if counts else ""
        return Evidence(subject, self.n_bits, self.mean, self.low, self.high, outcome)


def experiments_on(results: Iterable[Results], sweep: str | None = None) -> list[Results]:
    """Return the experiments with recall that sweep over a parameter, or over none.

    Parameters
    ----------
    results : iterable of Results
        The experiments to choose from.
    sweep : str or None
        The parameter; None for experiments without a sweep.

    Returns
    -------
    list of Results
        Those with rows that are done.
    """
    return [one for one in results if one.description.config.get("sweep") == sweep and done_rows(one)]


def figures_1_to_3(results: Iterable[Results]) -> list[Results]:
    """Return the experiments at equal time and equal code length, as in Figures 1 to 3."""
    return [one for one in experiments_on(results) if "time" in one.description.config.get("fixed", ())]


def done_rows(results: Results) -> list[RetrievalRow]:
    """Return the cells with a recall."""
    return [row for row in recall_rows(results.rows) if row.ok and row.recall]


def times_of(results: Results, *, shorter: bool = False) -> list[EqualTimeRow]:
    """Return the rows of equal time, for code lengths as in the paper, or shorter ones.

    Parameters
    ----------
    results : Results
        One experiment.
    shorter : bool
        Whether to return those of code lengths shorter than in the paper.

    Returns
    -------
    list of EqualTimeRow
    """
    rows = [row for row in equal_time_rows(results.rows) if row.ok]
    return [row for row in rows if (row.target_bits < _fewest_bits(results)) == shorter]


def code_lengths(results: Results) -> list[int]:
    """Return the code lengths that all methods were to have, as far as the paper has such."""
    return sorted(k for k in results.description.config.get("n_bits", ()) if k >= _fewest_bits(results))


def _fewest_bits(results: Results) -> float:
    return max((row.n_features for row in done_rows(results)), default=0) / FEWEST


def points(rows: Iterable[RetrievalRow], label: str, n_bits: int, metric: str = "recall") -> dict[int, float]:
    """Return, by seed, a metric of a method in points: recall at the greatest depth, or the averaged AUC.

    Parameters
    ----------
    rows : iterable of RetrievalRow
        The rows of one experiment.
    label : str
        The method.
    n_bits : int
        The code length.
    metric : str
        "recall" or "averaged_auc".

    Returns
    -------
    dict of int to float
        In percent, by seed; without seeds that have no finite value.
    """
    mine = [(row.seed, np.ravel(getattr(row, metric))) for row in rows if (row.label, row.n_bits) == (label, n_bits)]
    return {seed: 100 * float(values[-1]) for seed, values in mine if len(values) and np.isfinite(values[-1])}


def difference_of(
    own: dict[int, float], other: dict[int, float], ahead: str, behind: str, n_bits: int
) -> Difference | None:
    """Return how far the values of one method are above another's under the same seeds; None without such.

    Parameters
    ----------
    own, other : dict of int to float
        The values of both methods in percent, by seed.
    ahead, behind : str
        The labels of both methods.
    n_bits : int
        The code length.

    Returns
    -------
    Difference or None
        The mean, least and largest over common seeds.
    """
    seeds = sorted(own.keys() & other.keys())
    if not seeds:
        return None
    found = [own[seed] - other[seed] for seed in seeds]
    headroom = 100 - float(np.mean([other[seed] for seed in seeds]))
    return Difference(float(np.mean(found)), min(found), max(found), ahead, behind, n_bits, headroom)


def differences(
    rows: list[RetrievalRow], ahead: str, behind: str, lengths: Iterable[int], metric: str = "recall"
) -> list[Difference]:
    """Return how far a method is ahead of another at each code length that both have.

    Parameters
    ----------
    rows : list of RetrievalRow
        The rows of one experiment.
    ahead, behind : str
        The labels of both methods.
    lengths : iterable of int
        The code lengths.
    metric : str
        "recall" or "averaged_auc".

    Returns
    -------
    list of Difference
    """
    found = [
        difference_of(points(rows, ahead, k, metric), points(rows, behind, k, metric), ahead, behind, k)
        for k in lengths
    ]
    return [one for one in found if one]


def better(found: Sequence[Difference], names: str) -> Part:
    """Judge that a method is better: never behind by more than `LEVEL`, ahead by more at half the code lengths or more.

    Saturated code lengths, at which the other has found so much that none can be ahead by more, do not count.

    Parameters
    ----------
    found : sequence of Difference
        One for each code length.
    names : str
        What is compared, for the text where there are no rows.

    Returns
    -------
    Part
        `holds` is None where there are no rows, or all code lengths are saturated.
    """
    if not found:
        return Part(None, f"{names}: no rows of both")
    worst = min(found, key=lambda one: one.mean)
    unsaturated = [one for one in found if one.headroom > LEVEL]
    ahead = sum(one.mean > LEVEL for one in unsaturated)
    holds = worst.mean >= -LEVEL and 2 * ahead >= len(unsaturated) if unsaturated else None
    text = f"least {worst}; ahead at {ahead} of {len(unsaturated)}{_saturated(found, unsaturated)}"
    return Part(holds, text, tuple(one.evidence(-LEVEL, counts=one in unsaturated) for one in found))


def at_least(found: Sequence[Difference], margin: float, names: str) -> Part:
    """Judge that a method is ahead of another by some points at every code length with headroom for them.

    Parameters
    ----------
    found : sequence of Difference
        One for each code length.
    margin : float
        The points.
    names : str
        What is compared, for the text where there are no rows.

    Returns
    -------
    Part
        `holds` is None where there are no rows, or all code lengths are saturated.
    """
    if not found:
        return Part(None, f"{names}: no rows of both")
    unsaturated = [one for one in found if one.headroom > margin]
    worst = min(unsaturated or found, key=lambda one: one.mean)
    short = _lengths([one for one in unsaturated if one.mean < margin])
    text = f"least {worst}" + (f"; short of {margin:g} at {short} bits" if short else "")
    evidence = tuple(one.evidence(margin, counts=one in unsaturated) for one in found)
    return Part(not short if unsaturated else None, text + _saturated(found, unsaturated), evidence)


def _saturated(found: Sequence[Difference], unsaturated: Sequence[Difference]) -> str:
    """Say at which code lengths the method behind has found nearly everything."""
    lengths = _lengths([one for one in found if one not in unsaturated])
    return f"; saturated at {lengths} bits" if lengths else ""


def _lengths(found: Sequence[Difference]) -> str:
    return ", ".join(dict.fromkeys(f"{one.n_bits:,}" for one in found))


def least(found: Sequence[Difference], margin: float = 0.0) -> Estimate:
    """Return the smallest of some differences, of those with headroom for a margin where there are any.

    Parameters
    ----------
    found : sequence of Difference
        The differences.
    margin : float
        The points there must be headroom for.

    Returns
    -------
    Estimate
        Of NaN if there are no differences.
    """
    counted = [one for one in found if one.headroom > margin] or found
    return min(counted, key=lambda one: one.mean).estimate if counted else Estimate()


def source_of(results: Results) -> Source:
    """Return what an experiment on recall was run on."""
    rows = done_rows(results)
    return Source(data_label(rows), rows[0].data_kind, results.name)
