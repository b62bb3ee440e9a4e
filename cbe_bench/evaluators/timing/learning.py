"""How training time grows: Table 1's column for learning, as formulas, exponents fitted to them, and their table.

A cell is one method with N training rows of d dimensions and k = d bits. The exponent in d is the slope of log time
over the logarithm of the formula for the same N, that in N the slope for the same d: 1 where the formula holds.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cbe_bench.evaluators.times.rows import LearningRow

Law = Callable[[Any, Any, Any], Any]


class LearningLaw(NamedTuple):
    """How training time grows with N, d and k: in words and as a function."""

    words: str
    of: Law


LEARNING_LAWS: dict[str, LearningLaw] = {
    "cbe-opt": LearningLaw("N d log d", lambda n, d, k: n * d * np.log(d)),
    "bilinear-opt": LearningLaw("N d sqrt(k)", lambda n, d, k: n * d * k**0.5),
    "itq": LearningLaw("N d^2 + d^3", lambda n, d, k: n * d**2 + d**3),
}
"""Of a full matrix, that of iterative quantisation: products of the rows with d x d matrices, and decompositions of
these. Table 1 states O(N d^2 k), which it is within."""


class Exponents(NamedTuple):
    """Slopes of log time over the logarithm of a law."""

    in_rows: float
    in_dims: float


def learning_exponents(rows: Sequence[LearningRow], seconds: Sequence[float], law: Law) -> Exponents:
    """Fit exponents of training time in N and in d, relative to a law.

    Parameters
    ----------
    rows : sequence of LearningRow
        Cells of one method, for several N and several d.
    seconds : sequence of float
        The time of each.
    law : callable
        The law, of N, d and k.

    Returns
    -------
    Exponents
        1 where time follows the law; NaN where one of the sizes was not varied.
    """
    n, d, k = (np.array([getattr(row, name) for row in rows], float) for name in ("n_train", "n_features", "n_bits"))
    x, y = np.log(law(n, d, k)), np.log(seconds)
    return Exponents(_slope_within(x, y, d), _slope_within(x, y, n))


def _slope_within(x: NDArray, y: NDArray, same: NDArray) -> float:
    """Return the slope of y over x among points with the same value, pooled over values."""
    dx, dy = x.copy(), y.copy()
    for value in np.unique(same):
        mine = same == value
        dx[mine] -= x[mine].mean()
        dy[mine] -= y[mine].mean()
    square = float(dx @ dx)
    return float(dx @ dy) / square if square > 1e-12 else float("nan")


def learning_table(rows: Sequence[LearningRow]) -> pd.DataFrame:
    """Return one line for each cell: seconds of training, and those of the fastest and the slowest round."""
    lines = [
        {
            "d": row.n_features,
            "n_bits": row.n_bits,
            "n_train": row.n_train,
            "encoder": row.label,
            "threads": row.threads,
            "fit_s": row.fit_s,
            "fit_s_fastest_round": min(row.rounds_s),
            "fit_s_slowest_round": max(row.rounds_s),
            "rounds": len(row.rounds_s),
        }
        for row in rows
    ]
    return pd.DataFrame(lines)


def learning_growth_table(rows: Sequence[LearningRow]) -> pd.DataFrame:
    """Return one line for each method with a law: fitted exponents relative to it, which are 1 where it holds."""
    lines = []
    for name in dict.fromkeys(row.encoder for row in rows if row.encoder in LEARNING_LAWS):
        mine = [row for row in rows if row.encoder == name]
        law = LEARNING_LAWS[name]
        found = learning_exponents(mine, [row.fit_s for row in mine], law.of)
        if not np.isnan(found).all():
            line = {"encoder": name, "law": law.words, "cells": len(mine)}
            lines.append(line | {"exponent_in_rows": found.in_rows, "exponent_in_dims": found.in_dims})
    return pd.DataFrame(lines)
