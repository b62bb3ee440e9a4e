"""Tables of the angle experiments, every estimate with its interval, and the files they make with their figures."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from cbe_bench.cache import whole_file
from cbe_bench.evaluators import theory
from cbe_bench.evaluators.angles import DELTA, SIGMAS
from cbe_bench.evaluators.intervals import mean_interval, share_interval, variance_interval
from cbe_bench.reports.angle_figures import features_figure, mean_figure, signs_figure, variance_figure
from cbe_bench.reports.angle_verdicts import theory_verdicts
from cbe_bench.reports.figures import save_figure
from cbe_bench.results import Row


def write_angles(rows: list[Row], folder: Path) -> tuple[list[str], pd.DataFrame]:
    """Write the tables, the figures and the verdicts; return the names of the files, and the verdicts."""
    done = [row for row in rows if row["status"] == "ok"]
    variances, features = variance_table(done), features_table(done)
    means, verdicts = mean_table(done), theory_verdicts(done)
    tables = {
        "mean": means,
        "variance": variances,
        "tails": tails_table(done),
        "features": features,
        "claims": verdicts,
    }
    written = []
    for name, frame in tables.items():
        path = folder / f"{name}.csv"
        with whole_file(path) as temporary:
            frame.to_csv(temporary, index=False, float_format="%.5g")
        written.append(str(path))
    for name, figure in (
        ("mean", mean_figure(means)),
        ("variance", variance_figure(variances)),
        ("signs", signs_figure(variances)),
        ("features", features_figure(features)),
    ):
        if figure:
            written += save_figure(figure, folder / name)
    return written, verdicts


def simulations(rows: list[Row]) -> list[Row]:
    """Return the rows of simulated pairs."""
    return [row for row in rows if row["part"] == "simulation"]


def _points(row: Row) -> list[tuple[int, int, float, int]]:
    """List the angles and numbers of bits of a row: their positions and values."""
    return [(i, j, theta, k) for i, theta in enumerate(row["angles"]) for j, k in enumerate(row["bits"])]


def _head(row: Row, theta: float, k: int) -> dict[str, object]:
    head = {"d": row["n_features"], "pair": row["pair"], "method": row["method"], "draws": row["draws"]}
    return {**head, "angle_over_pi": theta / math.pi, "bits": k}


def mean_table(rows: list[Row]) -> pd.DataFrame:
    """Return the mean share of differing bits among d, for every cell and angle, and angle / pi beside it."""
    lines = []
    for row in simulations(rows):
        for i, theta in enumerate(row["angles"]):
            mean = row["mean"][i][-1]
            low, high = mean_interval(mean, row["variance"][i][-1], row["draws"])
            line = {"mean": mean, "low": low, "high": high, "expected": theory.difference_chance(theta)}
            lines.append({**_head(row, theta, row["bits"][-1]), **line})
    return pd.DataFrame(lines)


def variance_table(rows: list[Row]) -> pd.DataFrame:
    """Return the variance at every angle and number of bits, that of independent bits, and Theorem 1's bound.

    The bound is proved for circulant bits with sign flips; after a random Hadamard transform, with the mean spread.
    """
    lines = []
    for row in simulations(rows):
        lows, highs = variance_interval(row["variance"], row["fourth_moment"], row["draws"])
        for i, j, theta, k in _points(row):
            iid, spread = theory.iid_variance(theta, k), row["spreads"][i]
            line = {
                "variance": row["variance"][i][j],
                "low": lows[i, j],
                "high": highs[i, j],
                "independent": iid,
                "ratio": row["variance"][i][j] / iid,
                "ratio_low": lows[i, j] / iid,
                "ratio_high": highs[i, j] / iid,
                "spread": spread,
                "theorem1": theory.variance_bound(theta, k, spread),
                "theorem1_vacuous": theory.variance_bound_is_vacuous(theta, k, spread),
                "theorem1_needs_d": theory.variance_bound_least_dim(theta, k),
            }
            lines.append({**_head(row, theta, k), **line})
    return pd.DataFrame(lines)


def tails_table(rows: list[Row]) -> pd.DataFrame:
    """Return how often the estimate is far off, beside independent bits and beside what Theorem 2 allows."""
    lines = []
    for row in simulations(rows):
        for i, j, theta, k in _points(row):
            line: dict[str, object] = {}
            for z in SIGMAS:
                name = f"beyond_{z:g}_sigma"
                count = row[name][i][j]
                line[name] = count / row["draws"]
                line[f"{name}_low"], line[f"{name}_high"] = share_interval(count, row["draws"])
                line[f"{name}_independent"] = theory.iid_tail(theta, k, z * math.sqrt(theory.iid_variance(theta, k)))
            count = row["beyond_theorem2"][i][j]
            line["theorem2_deviation"] = theory.tail_deviation(k, DELTA)
            line["beyond_theorem2"] = count / row["draws"]
            line["beyond_theorem2_low"], line["beyond_theorem2_high"] = share_interval(count, row["draws"])
            line["theorem2_hypothesis"] = row["spreads"][i] <= theory.tail_largest_spread(theta, k, DELTA)
            line["theorem2_vacuous"] = theory.tail_bound_is_vacuous(theta, k, DELTA)
            line["theorem2_needs_d"] = theory.tail_bound_least_dim(theta, DELTA, k)
            lines.append({**_head(row, theta, k), **line})
    return pd.DataFrame(lines)


def features_table(rows: list[Row]) -> pd.DataFrame:
    """Return the mean and the worst error over all pairs of features, with intervals over draws of the encoder."""
    cells = [row for row in rows if row["part"] == "features"]
    lines = []
    for method in dict.fromkeys(row["method"] for row in cells):
        mine = [row for row in cells if row["method"] == method]
        first = mine[0]
        for j, k in enumerate(first["bits"]):
            line = {name: first[name] for name in ("data", "data_kind", "n_vectors", "n_features", "pairs")}
            line |= {"method": method, "bits": k, "draws": len(mine)}
            for name in ("mean_error", "worst_error"):
                values = np.array([row[name][j] for row in mine])
                line[name] = values.mean()
                enough = len(values) > 1
                low_high = mean_interval(values.mean(), values.var(ddof=1), len(values)) if enough else (np.nan,) * 2
                line[f"{name}_low"], line[f"{name}_high"] = low_high
            line["share_with_hypothesis"] = first["share_with_hypothesis"][j]
            lines.append(line)
    return pd.DataFrame(lines)
