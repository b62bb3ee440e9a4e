"""Recall at exactly the time of another method: interpolated in log bits between the code lengths that were run."""

from dataclasses import replace

import numpy as np

from cbe_bench.core.results import Results
from cbe_bench.evaluators.comparisons import (
    BySeed,
    Comparison,
    compared,
)
from cbe_bench.evaluators.retrieval.comparisons import (
    code_lengths,
    done_rows,
    query_points,
)
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes, between
from cbe_bench.evaluators.retrieval.rows import RetrievalRow


def compare_at_equal_time(results: Results, own: str, rival: str) -> list[Comparison]:
    """Compare a method at each of its code lengths with what another finds in its time.

    Parameters
    ----------
    results : Results
        One experiment.
    own, rival : str
        The labels of both.

    Returns
    -------
    list of Comparison
        At the code lengths of the first.
    """
    rows, found = done_rows(results), []
    for k in code_lengths(results):
        rounds = bits_in_equal_time(results, own, rival, k)
        mine, values = query_points(rows, own, k), [at_bits(rows, rival, n_bits) for n_bits in rounds]
        values = [one for one in values if one.keys() & mine.keys()]
        by_round = tuple(_mean_difference(mine, value) for value in values)
        subject = f"{own} - {rival} with {np.mean(rounds or [0]):,.0f} bits"
        found += [replace(one, by_round=by_round) for one in compared(mine, _mean(values), subject, k)]
    return found


def _mean_difference(own: BySeed, rival: BySeed) -> float:
    return float(np.mean([own[seed].mean() - rival[seed].mean() for seed in own.keys() & rival.keys()]))


def bits_in_equal_time(results: Results, own: str, rival: str, n_bits: int) -> list[float]:
    """Return the code length a method computes in the time another takes for one, by each round of timing.

    Parameters
    ----------
    results : Results
        One experiment.
    own : str
        The method whose time it is.
    rival : str
        The method whose code length is asked for.
    n_bits : int
        The code length of the first.

    Returns
    -------
    list of float
        Empty where it was not timed.
    """
    return EncodeTimes(results.rows).bits(own, n_bits, rival)


def at_bits(rows: list[RetrievalRow], label: str, n_bits: float) -> BySeed:
    """Return the values of a method at any code length, by seed.

    Parameters
    ----------
    rows : list of RetrievalRow
        The rows of one experiment.
    label : str
        The method.
    n_bits : float
        The code length.

    Returns
    -------
    dict of int to array
        Interpolated in log bits between the two neighbouring lengths that were run; beyond them those of the nearest.
    """
    lengths = {row.n_bits for row in rows if row.label == label}
    if not lengths:
        return {}
    low, high, weight = between(lengths, n_bits)
    shorter, longer = query_points(rows, label, low), query_points(rows, label, high)
    return {seed: (1 - weight) * shorter[seed] + weight * longer[seed] for seed in shorter.keys() & longer.keys()}


def _mean(rounds: list[BySeed]) -> BySeed:
    seeds = set.intersection(*map(set, rounds)) if rounds else set()
    return {seed: np.mean([one[seed] for one in rounds], axis=0) for seed in seeds}
