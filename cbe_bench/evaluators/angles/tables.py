"""Tables of experiments on angles: every estimate with its 95% interval."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cbe_bench.core.statistics import mean_interval, share_interval, variance_interval
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.rows import FeaturesRow, SimulationRow
from cbe_bench.evaluators.angles.simulation import SIGMAS

Line = dict[str, Any]


def _lines(row: SimulationRow) -> Iterator[tuple[int, float, Line]]:
    """Yield the angles of a row: position, value, and how a line about it at k = d begins."""
    for i, theta in enumerate(row.angles_rad):
        line = {"d": row.n_features, "pair": row.pair, "method": row.method, "draws": row.draws}
        yield i, theta, {**line, "angle_over_pi": theta / math.pi, "n_bits": row.n_bits[-1]}


def mean_table(rows: Sequence[SimulationRow]) -> pd.DataFrame:
    """Return the mean fraction of differing bits among d, for every row and angle, and angle / pi beside it."""
    lines: list[Line] = []
    for row in rows:
        lows, highs = mean_interval(row.mean, np.array(row.variance)[:, -1], row.draws)
        for i, theta, line in _lines(row):
            values = {"mean": row.mean[i], "low": lows[i], "high": highs[i]}
            lines.append({**line, **values, "expected": theory.difference_probability(theta)})
    return pd.DataFrame(lines)


def variance_table(rows: Sequence[SimulationRow], angle_over_pi: float | None = None) -> pd.DataFrame:
    """Return the variance at every code length and angle, or at one, beside independent bits and Theorem 1's bound.

    The bound is proved for circulant bits with sign flips; after a random Hadamard transform, with the mean flatness.

    Parameters
    ----------
    rows : sequence of SimulationRow
        The simulations.
    angle_over_pi : float or None
        The only angle to list, in units of pi; None lists all.

    Returns
    -------
    DataFrame
        A line for each simulation, angle and code length.
    """
    lines: list[Line] = []
    for row in rows:
        lows, highs = variance_interval(row.variance, row.kurtosis, row.draws)
        for i, theta, line in _lines(row):
            if angle_over_pi is not None and not math.isclose(theta / math.pi, angle_over_pi):
                continue
            for j, k in enumerate(row.n_bits):
                value, independent = row.variance[i][j], theory.iid_variance(theta, k)
                point = {
                    "n_bits": k,
                    "variance": value,
                    "low": lows[i, j],
                    "high": highs[i, j],
                    "independent": independent,
                    "ratio": value / independent,
                    "flatness": row.flatness[i],
                    "theorem1_bound": theory.variance_bound(theta, k, row.flatness[i]),
                }
                lines.append({**line, **point})
    return pd.DataFrame(lines)


def tails_table(rows: Sequence[SimulationRow]) -> pd.DataFrame:
    """Return the fraction of draws that are far off at k = d, beside independent bits and what Theorem 2 allows."""
    lines: list[Line] = []
    for row in rows:
        counts = {f"beyond_{z}_sigma": np.array(getattr(row, f"n_beyond_{z}_sigma")) for z in SIGMAS}
        counts["beyond_theorem2"] = np.array(row.n_beyond_theorem2)[:, -1]
        ends = {name: share_interval(count, row.draws) for name, count in counts.items()}
        for i, theta, line in _lines(row):
            for name, count in counts.items():
                line[name] = count[i] / row.draws
                line[f"{name}_low"], line[f"{name}_high"] = (end[i] for end in ends[name])
            lines.append({**line, **_tail_theory(row, i, theta)})
    return pd.DataFrame(lines)


def _tail_theory(row: SimulationRow, i: int, theta: float) -> Line:
    """Return what is known of the tails at k = d: of independent bits, and by Theorem 2."""
    k, delta = row.n_bits[-1], row.delta
    sigma = math.sqrt(theory.iid_variance(theta, k))
    return {
        **{f"beyond_{z}_sigma_independent": theory.iid_tail(theta, k, z * sigma) for z in SIGMAS},
        "theorem2_deviation": theory.tail_deviation(k, delta),
        "theorem2_vacuous": theory.tail_bound_is_vacuous(theta, k, delta),
        "theorem2_hypothesis": row.flatness[i] <= theory.tail_largest_flatness(theta, k, delta),
        "theorem2_least_d": theory.tail_bound_least_dim(theta, delta, k),
    }


def features_table(rows: Sequence[FeaturesRow]) -> pd.DataFrame:
    """Return the mean and the worst error over all pairs of features, with intervals over draws of the encoder."""
    lines: list[Line] = []
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        first = mine[0]
        for j, k in enumerate(first.n_bits):
            line: Line = {
                "data": first.data,
                "data_kind": first.data_kind,
                "n_vectors": first.n_vectors,
                "d": first.n_features,
                "n_pairs": first.n_pairs,
                "method": method,
                "n_bits": k,
                "draws": len(mine),
            }
            for name in ("mean_error_over_pi", "worst_error_over_pi"):
                values = np.array([getattr(row, name)[j] for row in mine])
                variance = values.var(ddof=1) if len(values) > 1 else np.nan
                line[name] = values.mean()
                line[f"{name}_low"], line[f"{name}_high"] = mean_interval(values.mean(), variance, len(values))
            line["fraction_with_hypothesis"] = first.fraction_with_hypothesis[j]
            lines.append(line)
    return pd.DataFrame(lines)
