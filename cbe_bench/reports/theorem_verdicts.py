"""The two theorems and the corollary on random circulant codes, judged against simulation and features."""

import math

import numpy as np

from cbe_bench.evaluators import theory
from cbe_bench.evaluators.angles import DELTA
from cbe_bench.evaluators.intervals import share_interval, variance_interval
from cbe_bench.reports.verdicts import (
    DATA_KINDS,
    NOT_REPRODUCED,
    REPRODUCED,
    VACUOUS,
    Verdict,
    chosen,
    data_of,
    judged,
    level_of_each,
)
from cbe_bench.results import Row

EPSILON = 0.1
"""The error, in units of pi, at which the corollary is taken."""
_FLIPPED = ("cbe-rand", "cbe-rand after HD'")


def variance_verdicts(cells: list[Row]) -> list[Verdict]:
    """Judge S4-var, Theorem 1: apart where its bound is trivially true and where it says something."""
    mine = chosen(cells, _FLIPPED)
    if not mine:
        return []
    bound, share, low, high, needed = _theorem1_points(mine).T
    says = bound < 1
    claim = "The variance of cbe-rand is at most p (1 - p) / k + 32 rho (Theorem 1)"
    verdicts = []
    if not says.all():
        least = theory.variance_bound_least_dim(math.pi / 2, 1 << 40)
        found = (
            f"at {int(np.sum(~says)):,} of {len(bound):,} points the bound is at least p (1 - p), which no mean of "
            f"bits exceeds; since rho >= 1 / sqrt(d), it says nothing of any vector up to d = {least:,.0f}"
        )
        verdicts.append(
            Verdict(
                claim="S4-var",
                statement=f"{claim}: where that is no less than p (1 - p).",
                verdict=VACUOUS,
                value=float(np.mean(~says)),
                found=found,
                rule="vacuous where bound >= p (1 - p); the value is the share of such points",
                data=data_of(mine),
            )
        )
    if says.any():
        worst = int(np.argmax(np.where(says, high, -1)))
        found = (
            f"at {int(says.sum())} points the bound is below p (1 - p), down to {bound[says].min():.2f} of it; the "
            f"variance is at most {high[worst]:.2g} of the bound; of the factor 32 no more than "
            f"{max(float(needed.max()), 0.0):.2g} is shown to be needed at any of the {len(bound):,} points"
        )
        verdicts.append(
            Verdict(
                claim="S4-var",
                statement=f"{claim}: where that says something.",
                verdict=judged(bool(high[says].max() <= 1), bool(low[says].max() > 1)),
                value=float(share[worst]),
                low=float(low[worst]),
                high=float(high[worst]),
                found=found,
                rule="every 99% simultaneous interval of variance / bound is at most 1; the value is the largest",
                data=data_of(mine),
            )
        )
    return verdicts


def _theorem1_points(cells: list[Row]) -> np.ndarray:
    """Return for every cell, angle and k > 1: bound / p (1 - p), variance / bound with its ends, the factor needed.

    The variance of a single bit is p (1 - p), whatever the bit; there is nothing to bound.
    """
    points = []
    level = level_of_each(sum(len(row["angles"]) * len(row["bits"]) for row in cells))
    for row in cells:
        lows, highs = variance_interval(row["variance"], row["fourth_moment"], row["draws"], level)
        for i, theta in enumerate(row["angles"]):
            for j, k in enumerate(row["bits"]):
                if k > 1:
                    rho, value, low, high = row["spreads"][i], row["variance"][i][j], lows[i, j], highs[i, j]
                    bound = theory.variance_bound(theta, k, rho)
                    needed = (low - theory.iid_variance(theta, k)) / rho
                    trivial = theory.largest_variance(theta)
                    points.append((bound / trivial, value / bound, low / bound, high / bound, needed))
    return np.array(points)


def tail_verdicts(cells: list[Row]) -> list[Verdict]:
    """Judge S4-tail, Theorem 2: whether its hypothesis is met where it says something, and the tails found."""
    mine = chosen(cells, _FLIPPED)
    if not mine:
        return []
    points = [(row, i, j) for row in mine for i in range(len(row["angles"])) for j in range(len(row["bits"]))]
    met = [point for point in points if _hypothesis(*point)]
    says = [point for point in met if not theory.tail_bound_is_vacuous(*_angle_and_bits(*point), DELTA)]
    least, theta = min((theory.tail_bound_least_dim(theta, DELTA), theta) for theta in mine[0]["angles"])
    beyond = max(row["beyond_theorem2"][i][j] / row["draws"] for row, i, j in points)
    verdict, rule = VACUOUS, "vacuous where no point meets the hypothesis with a deviation below max(p, 1 - p)"
    if says:
        level = level_of_each(len(says))
        lows = [share_interval(row["beyond_theorem2"][i][j], row["draws"], level)[0] for row, i, j in says]
        verdict = REPRODUCED if max(map(float, lows)) < DELTA else NOT_REPRODUCED
        rule = f"where the hypothesis is met, no 99% simultaneous interval of the frequency lies above {DELTA}"
    found = (
        f"the hypothesis on rho is met at {len(met)} of {len(points):,} points, at most with k = "
        f"{max((_angle_and_bits(*point)[1] for point in met), default=0)}; at {len(says)} of these the deviation "
        f"allowed can occur at all, which takes k >= {theory.tail_bound_least_bits(theta, DELTA):,} and d >= "
        f"{least:.2g} at {theta / math.pi:.3g} pi. Hypothesis aside, at most {beyond:.2g} of the draws went beyond the "
        f"deviation; {_sigmas(mine)}"
    )
    return [
        Verdict(
            claim="S4-tail",
            statement="The estimate of cbe-rand is off by more than 4 log(k/delta) / sqrt(k) with a chance below "
            f"delta, here {DELTA} (Theorem 2).",
            verdict=verdict,
            value=least,
            found=found,
            rule=f"{rule}; the value is the least d at which it could speak, over the angles",
            data=data_of(mine),
        )
    ]


def _angle_and_bits(row: Row, i: int, j: int) -> tuple[float, int]:
    return row["angles"][i], row["bits"][j]


def _hypothesis(row: Row, i: int, j: int) -> bool:
    return bool(row["spreads"][i] <= theory.tail_largest_spread(*_angle_and_bits(row, i, j), DELTA))


def _sigmas(cells: list[Row]) -> str:
    """Say how often dense pairs are beyond three standard deviations, beside independent bits."""
    dense = chosen(cells, ["cbe-rand"], ["dense"])
    if not dense:
        return "no dense pair was simulated"
    row = max(dense, key=lambda row: row["n_features"])
    i, k = len(row["angles"]) // 2, row["bits"][-1]
    count, theta = row["beyond_3_sigma"][i][-1], row["angles"][i]
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
