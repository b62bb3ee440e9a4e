"""Rows of the angle experiments chosen, and as tables: every estimate with its 95% interval."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from cbe_bench.core.results import Row
from cbe_bench.evaluators import theory
from cbe_bench.evaluators.angles import DELTA, SIGMAS
from cbe_bench.evaluators.intervals import mean_interval, share_interval, variance_interval

Line = dict[str, Any]


def simulations(rows: list[Row]) -> list[Row]:
    """Return the rows of simulated pairs."""
    return [row for row in rows if row["part"] == "simulation"]


def chosen(cells: list[Row], methods: Iterable[str] | None = None, pairs: Iterable[str] | None = None) -> list[Row]:
    """Return the simulations of some methods and of some kinds of pairs."""
    names, kinds = (None if some is None else set(some) for some in (methods, pairs))
    return [
        row for row in cells if (names is None or row["method"] in names) and (kinds is None or row["pair"] in kinds)
    ]


def data_of(cells: list[Row]) -> str:
    """Say in one line what was simulated."""
    dims = ", ".join(f"{d:,}" for d in sorted({row["n_features"] for row in cells}))
    pairs = ", ".join(dict.fromkeys(row["pair"] for row in cells))
    draws = ", ".join(f"{n:,}" for n in sorted({row["draws"] for row in cells}))
    return f"simulated pairs: {pairs}; d = {dims}; {draws} draws"


def _lines(row: Row) -> Iterator[tuple[int, float, Line]]:
    """Yield the angles of a row: position, value, and how a line about it at k = d begins."""
    for i, theta in enumerate(row["angles"]):
        line = {"d": row["n_features"], "pair": row["pair"], "method": row["method"], "draws": row["draws"]}
        yield i, theta, {**line, "angle_over_pi": theta / math.pi, "bits": row["bits"][-1]}


def mean_table(cells: list[Row]) -> pd.DataFrame:
    """Return the mean share of differing bits among d, for every cell and angle, and angle / pi beside it."""
    lines: list[Line] = []
    for row in cells:
        lows, highs = mean_interval(row["mean"], np.array(row["variance"])[:, -1], row["draws"])
        for i, theta, line in _lines(row):
            values = {"mean": row["mean"][i], "low": lows[i], "high": highs[i]}
            lines.append({**line, **values, "expected": theory.difference_chance(theta)})
    return pd.DataFrame(lines)


def variance_table(cells: list[Row], angle_over_pi: float | None = None) -> pd.DataFrame:
    """Return the variance at every number of bits and angle, or at one, beside independent bits and Theorem 1's bound.

    The bound is proved for circulant bits with sign flips; after a random Hadamard transform, with the mean spread.
    """
    lines: list[Line] = []
    for row in cells:
        lows, highs = variance_interval(row["variance"], row["kurtosis"], row["draws"])
        for i, theta, line in _lines(row):
            if angle_over_pi is not None and not math.isclose(theta / math.pi, angle_over_pi):
                continue
            for j, k in enumerate(row["bits"]):
                value, iid = row["variance"][i][j], theory.iid_variance(theta, k)
                point = {
                    "bits": k,
                    "variance": value,
                    "low": lows[i, j],
                    "high": highs[i, j],
                    "independent": iid,
                    "ratio": value / iid,
                    "spread": row["spreads"][i],
                    "theorem1": theory.variance_bound(theta, k, row["spreads"][i]),
                }
                lines.append({**line, **point})
    return pd.DataFrame(lines)


def tails_table(cells: list[Row]) -> pd.DataFrame:
    """Return how often the estimate from d bits is far off, beside independent bits and what Theorem 2 allows."""
    lines: list[Line] = []
    for row in cells:
        counts = {f"beyond_{z:g}_sigma": np.array(row[f"beyond_{z:g}_sigma"]) for z in SIGMAS}
        counts["beyond_theorem2"] = np.array(row["beyond_theorem2"])[:, -1]
        ends = {name: share_interval(count, row["draws"]) for name, count in counts.items()}
        for i, theta, line in _lines(row):
            k = line["bits"]
            for name, count in counts.items():
                line[name] = count[i] / row["draws"]
                line[f"{name}_low"], line[f"{name}_high"] = (end[i] for end in ends[name])
            for z in SIGMAS:
                off = z * math.sqrt(theory.iid_variance(theta, k))
                line[f"beyond_{z:g}_sigma_independent"] = theory.iid_tail(theta, k, off)
            line["theorem2_deviation"] = theory.tail_deviation(k, DELTA)
            line["theorem2_vacuous"] = theory.tail_bound_is_vacuous(theta, k, DELTA)
            line["theorem2_hypothesis"] = row["spreads"][i] <= theory.tail_largest_spread(theta, k, DELTA)
            line["theorem2_needs_d"] = theory.tail_bound_least_dim(theta, DELTA, k)
            lines.append(line)
    return pd.DataFrame(lines)


def features_table(rows: list[Row]) -> pd.DataFrame:
    """Return the mean and the worst error over all pairs of features, with intervals over draws of the encoder."""
    cells = [row for row in rows if row["part"] == "features"]
    lines: list[Line] = []
    for method in dict.fromkeys(row["method"] for row in cells):
        mine = [row for row in cells if row["method"] == method]
        for j, k in enumerate(mine[0]["bits"]):
            line: Line = {name: mine[0][name] for name in ("data", "data_kind", "n_vectors", "n_features", "pairs")}
            line |= {"method": method, "bits": k, "draws": len(mine)}
            for name in ("mean_error", "worst_error"):
                values = np.array([row[name][j] for row in mine])
                variance = values.var(ddof=1) if len(values) > 1 else np.nan
                line[name] = values.mean()
                line[f"{name}_low"], line[f"{name}_high"] = mean_interval(values.mean(), variance, len(values))
            line["share_with_hypothesis"] = mine[0]["share_with_hypothesis"][j]
            lines.append(line)
    return pd.DataFrame(lines)
