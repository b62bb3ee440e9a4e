"""The two theorems and the corollary on random circulant codes, judged by simulations and features.

A bound that is trivially true, or whose hypothesis nothing meets, is vacuous.
"""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import NamedTuple

import numpy as np
import pandas as pd

from cbe_bench.core.claims import NOT_REPRODUCED, REPRODUCED, VACUOUS, Claim, Estimate, Source, Verdict, outcome_of
from cbe_bench.core.results import DATA_KINDS, Results
from cbe_bench.core.statistics import share_interval, simultaneous_level, variance_interval
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.rows import FeaturesRow, ProductsRow, SimulationRow, features_rows, select, simulations

EPSILON = 0.1
"""The error, in units of pi, at which the corollary is taken."""
MISSING = "the experiment of configs/angles.yaml was not run"
_WITH_D = ("cbe-rand", "cbe-rand after HD'")

Judge = Callable[[Claim, Results], list[Verdict]]


def each_experiment(judge: Judge) -> Callable[[Claim, Sequence[Results]], list[Verdict]]:
    """Judge every experiment by itself; pairs that several of them simulated count once."""

    @wraps(judge)
    def judge_all(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
        found: dict[tuple[str, str], Verdict] = {}
        for one in results:
            for verdict in judge(claim, one):
                found.setdefault((verdict.statement, verdict.data), verdict)
        return list(found.values())

    return judge_all


def simulated(rows: Sequence[SimulationRow] | Sequence[ProductsRow], results: Results) -> Source:
    """Return the source of a verdict on simulations: what was simulated.

    Parameters
    ----------
    rows : sequence of SimulationRow or ProductsRow
        The simulations that were used.
    results : Results
        The experiment they are from.
    """
    dims = ", ".join(f"{d:,}" for d in sorted({row.n_features for row in rows}))
    pairs = ", ".join(dict.fromkeys(row.pair for row in rows))
    draws = ", ".join(f"{n:,}" for n in sorted({row.draws for row in rows}))
    return Source(f"simulated pairs: {pairs}; d = {dims}; {draws} draws", "simulated", results.name)


@each_experiment
def judge_variance_bound(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S4-var, Theorem 1: separately where its bound is trivially true and where it is not.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.
    """
    rows = select(simulations(results.rows), _WITH_D)
    points, source = _theorem1_points(rows), simulated(rows, results)
    statement = claim.statement.removesuffix(".")
    return [
        claim.verdict(
            side.outcome,
            _worst(side.points),
            side.found,
            source,
            statement=f"{statement}: where that {side.where}.",
            rule=side.rule,
        )
        for side in (_trivial_side(points), _meaningful_side(points))
        if len(side.points)
    ]


class _Side(NamedTuple):
    """A part of the points of Theorem 1, and its outcome."""

    points: pd.DataFrame
    where: str
    outcome: str
    found: str
    rule: str


def _trivial_side(points: pd.DataFrame) -> _Side:
    mine = points[points["trivial"]]
    least = theory.variance_bound_least_dim(math.pi / 2, 1 << 40)
    found = (
        f"at {len(mine):,} of {len(points):,} points the bound is at least p (1 - p), which no mean of bits exceeds; "
        f"since rho >= 1 / sqrt(d), it says nothing of any vector up to d = {least:,.0f}"
    )
    return _Side(mine, "is no less than p (1 - p)", VACUOUS, found, _TRIVIAL_BOUND)


def _meaningful_side(points: pd.DataFrame) -> _Side:
    mine = points[~points["trivial"]]
    largest = mine["high"].max()
    outcome = outcome_of(bool(largest <= 1), bool(mine["low"].max() > 1))
    found = (
        f"at {len(mine)} points the bound is below p (1 - p), down to {mine['relative_bound'].min():.2f} of it; the "
        f"variance is at most {largest:.2g} of the bound; of the factor 32 no more than "
        f"{max(float(points['factor'].max()), 0.0):.2g} is shown to be needed at any of the {len(points):,} points"
    )
    return _Side(mine, "says something", outcome, found, _MEANINGFUL_BOUND)


def _worst(points: pd.DataFrame) -> Estimate:
    """Return the point whose interval reaches highest."""
    worst = points.iloc[int(points["high"].argmax())]
    return Estimate(float(worst["value"]), float(worst["low"]), float(worst["high"]))


def _level(rows: Sequence[SimulationRow]) -> float:
    return simultaneous_level(sum(len(row.angles_rad) * len(row.n_bits) for row in rows))


def _theorem1_points(rows: Sequence[SimulationRow]) -> pd.DataFrame:
    """Return for every row, angle and k > 1 the bound / p (1 - p), variance / bound with its ends, the factor needed.

    The variance of a single bit is p (1 - p), whatever the bit; there is nothing to bound.
    """
    points = []
    for row in rows:
        lows, highs = variance_interval(row.variance, row.kurtosis, row.draws, _level(rows))
        for i, theta in enumerate(row.angles_rad):
            for j, k in enumerate(row.n_bits):
                if k > 1:
                    rho, value, low, high = row.flatness[i], row.variance[i][j], lows[i, j], highs[i, j]
                    bound = theory.variance_bound(theta, k, rho)
                    factor = (low - theory.iid_variance(theta, k)) / rho
                    trivial = theory.variance_bound_is_vacuous(theta, k, rho)
                    relative = bound / theory.largest_variance(theta)
                    points.append((trivial, relative, value / bound, low / bound, high / bound, factor))
    columns = ["trivial", "relative_bound", "value", "low", "high", "factor"]
    return pd.DataFrame(points, columns=columns).astype({"trivial": bool})


@each_experiment
def judge_tail_bound(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S4-tail, Theorem 2: whether its hypothesis is met where it says something, and the tails found.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.
    """
    rows = select(simulations(results.rows), _WITH_D)
    if not rows:
        return []
    points, delta = _theorem2_points(rows), rows[0].delta
    met = points[points["hypothesis"]]
    says = met[~met["trivial"]]
    outcome = VACUOUS
    if len(says):
        outcome = outcome_of(bool(says["high"].max() <= delta), bool(says["low"].max() > delta))
    least, theta = min((theory.tail_bound_least_dim(theta, delta), theta) for theta in rows[0].angles_rad)
    found = (
        f"the hypothesis on rho is met at {len(met)} of {len(points):,} points, at most with k = "
        f"{met['n_bits'].max() if len(met) else 0}; at {len(says)} of these the deviation allowed can occur at all, "
        f"which takes k >= {theory.tail_bound_least_bits(theta, delta):,} and d >= {least:.2g} at "
        f"{theta / math.pi:.3g} pi. Hypothesis aside, at most {points['value'].max():.2g} of the draws went beyond the "
        f"deviation; {_three_sigma(rows)}"
    )
    return [claim.verdict(outcome, _worst(points), found, simulated(rows, results))]


def _theorem2_points(rows: Sequence[SimulationRow]) -> pd.DataFrame:
    """Return for every row, angle and k the fraction of draws beyond Theorem 2's deviation, and whether it holds."""
    points = []
    for row in rows:
        counts = np.array(row.n_beyond_theorem2)
        lows, highs = share_interval(counts, row.draws, _level(rows))
        for i, theta in enumerate(row.angles_rad):
            for j, k in enumerate(row.n_bits):
                met = row.flatness[i] <= theory.tail_largest_flatness(theta, k, row.delta)
                trivial = theory.tail_bound_is_vacuous(theta, k, row.delta)
                points.append((k, counts[i, j] / row.draws, lows[i, j], highs[i, j], met, trivial))
    return pd.DataFrame(points, columns=["n_bits", "value", "low", "high", "hypothesis", "trivial"])


def _three_sigma(rows: Sequence[SimulationRow]) -> str:
    """Say how often dense pairs are beyond three standard deviations, beside independent bits."""
    dense = select(rows, ["cbe-rand"], ["dense"])
    if not dense:
        return "no dense pair was simulated"
    row = max(dense, key=lambda row: row.n_features)
    i, k = len(row.angles_rad) // 2, row.n_bits[-1]
    count, theta = row.n_beyond_3_sigma[i], row.angles_rad[i]
    low, high = share_interval(count, row.draws)
    independent = theory.iid_tail(theta, k, 3 * math.sqrt(theory.iid_variance(theta, k)))
    return (
        f"beyond 3 sigma at {theta / math.pi:.3g} pi and k = d = {k:,} were {count / row.draws:.2%} "
        f"[{low:.2%}, {high:.2%}] of the draws on the dense pair, {independent:.2%} for independent bits"
    )


@each_experiment
def judge_corollary(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S4-JL, the corollary to Theorem 2, on features.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.
    """
    rows = [row for row in features_rows(results.rows) if row.method == "cbe-rand"]
    if not rows:
        return []
    first = rows[0]
    n, d = first.n_vectors, first.n_features
    wanted, enough = theory.corollary_bits(n, EPSILON), _sufficient_bits(rows)
    met = max(first.fraction_with_hypothesis)
    least = theory.corollary_least_dim(first.angle_range_rad[1], n, EPSILON)
    holds = REPRODUCED if enough and enough <= wanted else NOT_REPRODUCED
    found = (
        f"the corollary asks for {wanted:,} bits for N = {n:,} vectors, and its hypothesis for d >= {least:.2g}; "
        f"{met:.0%} of {first.n_pairs:,} pairs meet that at some k; "
        f"{f'{enough:,}' if enough else f'not even {first.n_bits[-1]:,}'} bits were enough in all {len(rows)} draws"
    )
    data = f"{first.data}, {DATA_KINDS[first.data_kind]}: {n:,} vectors, d = {d:,}"
    outcome = VACUOUS if wanted > d or met == 0 else holds
    return [claim.verdict(outcome, Estimate(enough or math.nan), found, Source(data, first.data_kind, results.name))]


def _sufficient_bits(rows: Sequence[FeaturesRow]) -> int:
    """Return the shortest code length from which on no pair of any draw is off by epsilon; 0 where none suffices."""
    worst = np.array([row.worst_error_over_pi for row in rows])
    return next((k for j, k in enumerate(rows[0].n_bits) if worst[:, j:].max() < EPSILON), 0)


_TRIVIAL_BOUND = "vacuous where bound >= p (1 - p)"
_MEANINGFUL_BOUND = "where bound < p (1 - p), every 99% simultaneous interval of variance / bound is at most 1"

THEOREMS = (
    Claim(
        id="S4-var",
        order=21,
        statement="The variance of cbe-rand is at most p (1 - p) / k + 32 rho.",
        where="Theorem 1",
        rule=f"judged apart: {_TRIVIAL_BOUND}; {_MEANINGFUL_BOUND}",
        measure="largest variance / bound",
        region=(math.nan, 1.0),
        missing=MISSING,
        judge=judge_variance_bound,
    ),
    Claim(
        id="S4-tail",
        order=22,
        statement="The estimate of cbe-rand is off by more than 4 log(k/delta) / sqrt(k) with a probability below "
        "delta.",
        where="Theorem 2",
        rule="vacuous where no point meets the hypothesis with a deviation below max(p, 1 - p); else, where it is met, "
        f"every 99% simultaneous interval of the frequency is at most delta = {theory.DELTA}",
        measure="largest fraction of draws beyond, at any point",
        missing=MISSING,
        judge=judge_tail_bound,
    ),
    Claim(
        id="S4-JL",
        order=23,
        statement="With 144 log(N)^2 / epsilon^2 bits the angles of N vectors are preserved within epsilon pi.",
        where="Corollary to Theorem 2",
        rule="vacuous where the bits asked for exceed d or no pair meets the hypothesis; else the bits that were "
        f"enough for every pair, at epsilon = {EPSILON}, are at most those asked for",
        measure="bits that were enough for every pair",
        missing=MISSING,
        judge=judge_corollary,
    ),
)
