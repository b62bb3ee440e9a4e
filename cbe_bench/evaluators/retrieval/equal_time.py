"""Code lengths of equal time, from encode times at a ladder of code lengths, and recall there.

A method computes, in the time of another, the code length at which its own time is the same: in each round of timing
log time is interpolated against log bits between neighbouring lengths of the ladder. Encode time need not grow with
code length everywhere: a length counts with the least time of any that is at least as long, since who has the time
for the longer code would take it. Beyond the ladder the length is that of its end.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cbe_bench.core.claims import Estimate
from cbe_bench.core.results import Row
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, recall_rows
from cbe_bench.evaluators.times.intervals import ratio_over_rounds
from cbe_bench.evaluators.times.methods import TimedMethod
from cbe_bench.evaluators.times.rows import TimingRow, encode_rows

Ladder = Mapping[int, Sequence[float]]
"""For each code length of a method the encode time of each round."""


def bits_in_time(lengths: ArrayLike, times: ArrayLike, time: float) -> float:
    """Return the longest code that a method computes in a time.

    Parameters
    ----------
    lengths : array_like of shape (n,)
        The code lengths of the ladder, ascending.
    times : array_like of shape (n,)
        The time of each.
    time : float
        The allowed time, in the same unit.

    Returns
    -------
    float
        Interpolated in log time and log bits; the shortest or the longest length where the ladder ends.
    """
    bits, cost = np.asarray(lengths, float), np.minimum.accumulate(np.asarray(times, float)[::-1])[::-1]
    at = int(np.searchsorted(cost, time, side="right"))
    if at in (0, len(bits)):
        return float(bits[max(at - 1, 0)])
    part = np.log(time / cost[at - 1]) / np.log(cost[at] / cost[at - 1])
    return float(bits[at - 1] * (bits[at] / bits[at - 1]) ** part)


def bits_by_round(own: Ladder, n_bits: int, rival: Ladder) -> list[float]:
    """Return the code length a method computes in the time another takes for one, by each round of timing.

    Parameters
    ----------
    own : Ladder
        The times of the method whose time it is.
    n_bits : int
        Its code length.
    rival : Ladder
        The times of the method whose code length is asked for.

    Returns
    -------
    list of float
        As many as there are rounds of both; empty where one was not timed.
    """
    if n_bits not in own or not rival:
        return []
    if own is rival:
        return [float(n_bits)] * len(own[n_bits])
    lengths = sorted(rival)
    rounds = min(len(own[n_bits]), *(len(rival[k]) for k in lengths))
    return [bits_in_time(lengths, [rival[k][i] for k in lengths], own[n_bits][i]) for i in range(rounds)]


class Between(NamedTuple):
    """Where a code length lies among those that were run."""

    shorter: int
    longer: int
    weight: float
    """Of the longer one, by the logarithm of bits."""


def between(lengths: Iterable[int], n_bits: float) -> Between:
    """Return the two neighbouring code lengths that bracket one; beyond them twice the nearest.

    Parameters
    ----------
    lengths : iterable of int
        The code lengths there are, at least one.
    n_bits : float
        Any code length.

    Returns
    -------
    Between
    """
    found = sorted(lengths)
    at = bisect_left(found, n_bits)
    if at == len(found) or at == 0 or found[at] == n_bits:
        nearest = found[min(at, len(found) - 1)]
        return Between(nearest, nearest, 0.0)
    low, high = found[at - 1], found[at]
    return Between(low, high, float(np.log(n_bits / low) / np.log(high / low)))


def brackets(lengths: Iterable[int], rounds: Iterable[float]) -> list[int]:
    """Return the lengths of a ladder that bracket the code length of each round.

    Parameters
    ----------
    lengths : iterable of int
        The ladder.
    rounds : iterable of float
        The code length of each round.

    Returns
    -------
    list of int
        Ascending.
    """
    ladder = list(lengths)
    found = (between(ladder, n_bits) for n_bits in rounds)
    return sorted({n_bits for one in found for n_bits in (one.shorter, one.longer)})


class EncodeTimes:
    """The encode times in the rows of an experiment, by what tables and figures call a method.

    Parameters
    ----------
    rows : iterable of Row
        The rows of one experiment: those of encode times, and those on recall, which say what other labels stand for.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        every = list(rows)
        self._rows: dict[str, dict[int, TimingRow]] = {}
        for row in encode_rows(every):
            if row.ok and row.rounds_us:
                self._rows.setdefault(TimedMethod(row.encoder, row.params).key, {})[row.n_bits] = row
        self._ladders = {
            key: {n_bits: row.rounds_us for n_bits, row in mine.items()} for key, mine in self._rows.items()
        }
        methods = {row.label: (row.encoder, row.params) for row in encode_rows(every)}
        methods |= {row.label: (row.encoder, row.params) for row in recall_rows(every)}
        self._keys = {label: TimedMethod.of(*method).key for label, method in methods.items()}

    def row(self, label: str, n_bits: int) -> TimingRow | None:
        """Return the time of a method at a code length; None where it was not measured.

        Parameters
        ----------
        label : str
            The method.
        n_bits : int
            The code length.

        Returns
        -------
        TimingRow or None
        """
        return self._rows.get(self._keys.get(label, ""), {}).get(n_bits)

    def ratio(self, label: str, reference: str, n_bits: int) -> Estimate:
        """Return the time of a method over that of another at the same code length.

        Parameters
        ----------
        label, reference : str
            The two methods.
        n_bits : int
            The code length.

        Returns
        -------
        Estimate
            The geometric mean over rounds with its interval; NaN where one was not timed.
        """
        own, other = self.row(label, n_bits), self.row(reference, n_bits)
        return Estimate() if own is None or other is None else ratio_over_rounds(own, other)

    def ladder(self, label: str) -> Ladder:
        """Return the times of a method at each code length; methods that encode alike have the same."""
        return self._ladders.get(self._keys.get(label, ""), {})

    def bits(self, own: str, n_bits: int, rival: str) -> list[float]:
        """Return the code length a method computes in the time another takes for one, by each round of timing.

        Parameters
        ----------
        own : str
            The method whose time it is.
        n_bits : int
            Its code length.
        rival : str
            The method whose code length is asked for.

        Returns
        -------
        list of float
            Empty where one was not timed.
        """
        return bits_by_round(self.ladder(own), n_bits, self.ladder(rival))


_CURVES = ("recall", "recall_asymmetric", "recall_median")


def rows_at_bits(rows: Iterable[RetrievalRow], label: str, rounds: Sequence[float]) -> list[RetrievalRow]:
    """Return what rows of a method would be at the code lengths of several rounds of timing.

    Parameters
    ----------
    rows : iterable of RetrievalRow
        The rows of one experiment.
    label : str
        The method.
    rounds : sequence of float
        The code length of each round.

    Returns
    -------
    list of RetrievalRow
        One for each seed: recall is interpolated in log bits between the two neighbouring lengths that were run, and
        is the mean over rounds; `n_bits` is the rounded mean. Other metrics are those of one of the lengths.
    """
    by_seed: dict[int, dict[int, RetrievalRow]] = {}
    for row in rows:
        if row.ok and row.label == label and row.recall:
            by_seed.setdefault(row.seed, {})[row.n_bits] = row
    found = []
    for runs in by_seed.values() if rounds else ():
        curves: dict[str, Any] = {name: tuple(_interpolated(runs, name, rounds)) for name in _CURVES}
        found.append(replace(next(iter(runs.values())), n_bits=round(float(np.mean(rounds))), **curves))
    return found


def _interpolated(runs: Mapping[int, RetrievalRow], name: str, rounds: Sequence[float]) -> NDArray[np.float64]:
    """Return a curve at the code lengths of rounds, the mean over these."""
    values = []
    for n_bits in rounds:
        at = between(runs, n_bits)
        shorter, longer = (np.array(getattr(runs[k], name), float) for k in (at.shorter, at.longer))
        values.append((1 - at.weight) * shorter + at.weight * longer if len(shorter) == len(longer) else shorter)
    return np.mean(values, axis=0)
