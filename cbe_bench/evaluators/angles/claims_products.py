"""The lemma on small products: how often a vector and a shift of another have a large product under sign flips."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from cbe_bench.core.claims import Claim, Estimate, Verdict, outcome_of
from cbe_bench.core.results import Results
from cbe_bench.core.statistics import LEVEL, share_interval, simultaneous_level
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.claims_theorems import MISSING, each_experiment, simulated
from cbe_bench.evaluators.angles.products import SECONDS
from cbe_bench.evaluators.angles.rows import ProductsRow, products_rows


def products_table(rows: Sequence[ProductsRow], level: float = LEVEL) -> pd.DataFrame:
    """Return the fraction of products above each threshold, beside the lemma's bound.

    Parameters
    ----------
    rows : sequence of ProductsRow
        The simulations.
    level : float
        The confidence level of the intervals.

    Returns
    -------
    DataFrame
        A line for each simulation, second vector, shift and threshold.
    """
    return pd.DataFrame([line for row in rows for line in _lines(row, level)])


def _lines(row: ProductsRow, level: float) -> Iterator[dict[str, object]]:
    cases = [(second, shift) for second in SECONDS for shift in row.shifts]
    for (second, shift), above, beyond in zip(cases, row.n_above, row.n_beyond, strict=True):
        lows, highs = share_interval(np.array(above), row.draws, level)
        for i, threshold in enumerate(row.thresholds):
            yield {
                "d": row.n_features,
                "pair": row.pair,
                "q": second,
                "shift": shift,
                "draws": row.draws,
                "flatness": row.flatness[SECONDS.index(second)],
                "gamma_over_rho": threshold,
                "above": above[i] / row.draws,
                "low": lows[i],
                "high": highs[i],
                "bound": theory.small_product_bound(threshold),
                "beyond_either_side": beyond[i] / row.draws,
            }


@each_experiment
def judge_small_products(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S4-product: the fraction of large products, over the lemma's bound.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.

    Returns
    -------
    list of Verdict
        Empty if the rows do not measure it.
    """
    rows = products_rows(results.rows)
    if not rows:
        return []
    n_points = sum(len(row.n_above) * len(row.thresholds) for row in rows)
    points = products_table(rows, simultaneous_level(n_points))
    ratios = points[["above", "low", "high"]].div(points["bound"], axis=0)
    worst = int(ratios["high"].argmax())
    largest = points.iloc[int(ratios["above"].argmax())]
    inside, outside = bool((ratios["high"] <= 1).all()), bool((ratios["low"] > 1).any())
    found = (
        f"at {n_points:,} points the frequency is at most {ratios['above'].max():.2f} of the bound ({largest['pair']} "
        f"pair, d = {largest['d']:,}, shift {largest['shift']:,}, gamma = {largest['gamma_over_rho']:g} rho)"
    )
    estimate = Estimate(*(float(ratios[name].iloc[worst]) for name in ("above", "low", "high")))
    return [claim.verdict(outcome_of(inside, outside), estimate, found, simulated(rows, results))]


SMALL_PRODUCTS = Claim(
    id="S4-product",
    order=20.5,
    statement="Under random sign flips a vector and a shift of another have a product above gamma with a probability "
    "of at most exp(-gamma^2 / (8 rho^2)).",
    where="Section 4, lemma on small products",
    rule="every 99% simultaneous interval of frequency / bound is at most 1, over all pairs, shifts and gamma; the "
    "value is that of the interval that reaches highest",
    measure="frequency / bound where the interval reaches highest",
    region=(math.nan, 1.0),
    missing=MISSING,
    judge=judge_small_products,
)
