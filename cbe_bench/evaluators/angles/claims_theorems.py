"""The two theorems and the corollary on random circulant codes, judged against simulation and features."""

import math

import numpy as np
import pandas as pd

from cbe_bench.core.results import Row
from cbe_bench.evaluators import theory
from cbe_bench.evaluators.angles import DELTA
from cbe_bench.evaluators.intervals import share_interval, variance_interval
from cbe_bench.reports.angles.tables import chosen, data_of
from cbe_bench.reports.verdicts import (
    DATA_KINDS,
    NOT_REPRODUCED,
    REPRODUCED,
    VACUOUS,
    Verdict,
    judged,
    level_of_each,
)

EPSILON = 0.1
"""The error, in units of pi, at which the corollary is taken."""
_FLIPPED = ("cbe-rand", "cbe-rand after HD'")


def variance_verdicts(cells: list[Row]) -> list[Verdict]:
    """Judge S4-var, Theorem 1: apart where its bound is trivially true and where it says something."""
    mine = chosen(cells, _FLIPPED)
    if not mine:
        return []
    points = _theorem1_points(mine)
    says = ~points["trivial"]
    verdicts = []
    if not says.all():
        least = theory.variance_bound_least_dim(math.pi / 2, 1 << 40)
        found = (
            f"at {int(np.sum(~says)):,} of {len(points):,} points the bound is at least p (1 - p), which no mean of "
            f"bits exceeds; since rho >= 1 / sqrt(d), it says nothing of any vector up to d = {least:,.0f}"
        )
        rule = "vacuous where bound >= p (1 - p)"
        verdicts.append(_theorem1_verdict(points[~says], mine, "is no less than p (1 - p)", VACUOUS, found, rule))
    if says.any():
        some = points[says]
        found = (
            f"at {len(some)} points the bound is below p (1 - p), down to {some['bound'].min():.2f} of it; the "
            f"variance is at most {some['high'].max():.2g} of the bound; of the factor 32 no more than "
            f"{max(float(points['factor'].max()), 0.0):.2g} is shown to be needed at any of the {len(points):,} points"
        )
        verdict = judged(bool(some["high"].max() <= 1), bool(some["low"].max() > 1))
        rule = "every 99% simultaneous interval of variance / bound is at most 1"
        verdicts.append(_theorem1_verdict(some, mine, "says something", verdict, found, rule))
    return verdicts


def _theorem1_verdict(
    points: pd.DataFrame, cells: list[Row], where: str, verdict: str, found: str, rule: str
) -> Verdict:
    worst = points.iloc[int(points["high"].argmax())]
    return Verdict(
        claim="S4-var",
        statement=f"The variance of cbe-rand is at most p (1 - p) / k + 32 rho (Theorem 1): where that {where}.",
        verdict=verdict,
        value=worst["share"],
        low=worst["low"],
        high=worst["high"],
        found=found,
        rule=f"{rule}; the value is the largest variance / bound there",
        data=data_of(cells),
    )


def _theorem1_points(cells: list[Row]) -> pd.DataFrame:
    """Return for every cell, angle and k > 1: bound / p (1 - p), variance / bound with its ends, the factor it takes.

    The variance of a single bit is p (1 - p), whatever the bit; there is nothing to bound.
    """
    points = []
    level = level_of_each(sum(len(row["angles"]) * len(row["bits"]) for row in cells))
    for row in cells:
        lows, highs = variance_interval(row["variance"], row["kurtosis"], row["draws"], level)
        for i, theta in enumerate(row["angles"]):
            for j, k in enumerate(row["bits"]):
                if k > 1:
                    rho, value, low, high = row["spreads"][i], row["variance"][i][j], lows[i, j], highs[i, j]
                    bound = theory.variance_bound(theta, k, rho)
                    factor = (low - theory.iid_variance(theta, k)) / rho
                    trivial = theory.variance_bound_is_vacuous(theta, k, rho)
                    relative = bound / theory.largest_variance(theta)
                    points.append((trivial, relative, value / bound, low / bound, high / bound, factor))
    return pd.DataFrame(points, columns=["trivial", "bound", "share", "low", "high", "factor"])


def tail_verdicts(cells: list[Row]) -> list[Verdict]:
    """Judge S4-tail, Theorem 2: whether its hypothesis is met where it says something, and the tails found."""
    mine = chosen(cells, _FLIPPED)
    if not mine:
        return []
    points = _theorem2_points(mine)
    met = points[points["hypothesis"]]
    says = met[~met["trivial"]]
    verdict, rule = VACUOUS, "vacuous where no point meets the hypothesis with a deviation below max(p, 1 - p)"
    if len(says):
        verdict = judged(bool(says["high"].max() <= DELTA), bool(says["low"].max() > DELTA))
        rule = f"where the hypothesis is met, every 99% simultaneous interval of the frequency is at most {DELTA}"
    least, theta = min((theory.tail_bound_least_dim(theta, DELTA), theta) for theta in mine[0]["angles"])
    found = (
        f"the hypothesis on rho is met at {len(met)} of {len(points):,} points, at most with k = "
        f"{met['bits'].max() if len(met) else 0}; at {len(says)} of these the deviation allowed can occur at all, "
        f"which takes k >= {theory.tail_bound_least_bits(theta, DELTA):,} and d >= {least:.2g} at "
        f"{theta / math.pi:.3g} pi. Hypothesis aside, at most {points['share'].max():.2g} of the draws went beyond the "
        f"deviation; {_sigmas(mine)}"
    )
    worst = points.iloc[int(points["high"].argmax())]
    return [
        Verdict(
            claim="S4-tail",
            statement="The estimate of cbe-rand is off by more than 4 log(k/delta) / sqrt(k) with a chance below "
            f"delta, here {DELTA} (Theorem 2).",
            verdict=verdict,
            value=worst["share"],
            low=worst["low"],
            high=worst["high"],
            found=found,
            rule=f"{rule}; the value is the largest share of draws that went beyond, at any point",
            data=data_of(mine),
        )
    ]


def _theorem2_points(cells: list[Row]) -> pd.DataFrame:
    """Return for every cell, angle and k: the share of draws beyond Theorem 2's deviation, and what it speaks of."""
    points = []
    level = level_of_each(sum(len(row["angles"]) * len(row["bits"]) for row in cells))
    for row in cells:
        counts = np.array(row["beyond_theorem2"])
        lows, highs = share_interval(counts, row["draws"], level)
        for i, theta in enumerate(row["angles"]):
            for j, k in enumerate(row["bits"]):
                met = row["spreads"][i] <= theory.tail_largest_spread(theta, k, DELTA)
                trivial = theory.tail_bound_is_vacuous(theta, k, DELTA)
                points.append((k, counts[i, j] / row["draws"], lows[i, j], highs[i, j], met, trivial))
    return pd.DataFrame(points, columns=["bits", "share", "low", "high", "hypothesis", "trivial"])


def _sigmas(cells: list[Row]) -> str:
    """Say how often dense pairs are beyond three standard deviations, beside independent bits."""
    dense = chosen(cells, ["cbe-rand"], ["dense"])
    if not dense:
        return "no dense pair was simulated"
    row = max(dense, key=lambda row: row["n_features"])
    i, k = len(row["angles"]) // 2, row["bits"][-1]
    count, theta = row["beyond_3_sigma"][i], row["angles"][i]
    low, high = share_interval(count, row["draws"])
    iid = theory.iid_tail(theta, k, 3 * math.sqrt(theory.iid_variance(theta, k)))
    return (
        f"beyond 3 sigma at {theta / math.pi:.3g} pi and k = d = {k:,} were {count / row['draws']:.2%} "
        f"[{low:.2%}, {high:.2%}] of the draws on the dense pair, {iid:.2%} for independent bits"
    )


def corollary_verdicts(rows: list[Row]) -> list[Verdict]:
    """Judge S4-JL, the corollary to Theorem 2, on features."""
    mine = [row for row in rows if row["method"] == "cbe-rand"]
    if not mine:
        return []
    first = mine[0]
    n, d, bits = first["n_vectors"], first["n_features"], first["bits"]
    wanted = theory.corollary_bits(n, EPSILON)
    worst = np.array([row["worst_error"] for row in mine])
    enough = next((k for j, k in enumerate(bits) if worst[:, j:].max() < EPSILON), None)
    met = max(first["share_with_hypothesis"])
    vacuous = wanted > d or met == 0
    found = (
        f"the corollary asks for {wanted:,} bits for N = {n:,} vectors, and its hypothesis for d >= "
        f"{theory.corollary_least_dim(first['angle_range'][1], n, EPSILON):.2g}; {met:.0%} of {first['pairs']:,} pairs "
        f"meet that at some k; {f'{enough:,}' if enough else f'not even {bits[-1]:,}'} bits were enough in all "
        f"{len(mine)} draws"
    )
    return [
        Verdict(
            claim="S4-JL",
            statement="With 144 log(N)^2 / epsilon^2 bits the angles of N vectors are kept within epsilon pi, here "
            f"{EPSILON} pi (corollary).",
            verdict=VACUOUS if vacuous else REPRODUCED if enough and enough <= wanted else NOT_REPRODUCED,
            value=enough or math.nan,
            found=found,
            rule="vacuous where the bits asked for exceed d or no pair meets the hypothesis; the value is the bits "
            "that were enough for every pair",
            data=f"{first['data']}, {DATA_KINDS[first['data_kind']]}: {n:,} vectors, d = {d:,}",
        )
    ]
