"""Recall on all rows of a file from samples of it.

Let r(k, s, n) be the recall of the k nearest of n rows among the first s k codes. In a random sample of n of N rows the
nearest k n / N rows and the first s k n / N codes are, up to chance, those of the k nearest rows and first s k codes of
all that were drawn. So r depends on k / n, the fraction of the rows that are neighbours, and on the counts themselves
only as far as these are small:

    r(m, s, n) = g(log(m / n)) + a / m

with a smooth g. Measured for many m on samples of several sizes, g and a follow by least squares, and with them
r(k, s, N). Where k n / N is less than one neighbour, g is extrapolated; otherwise it is only smoothed.

What is fitted is a polynomial near log(k / N), so the result is a weighted sum of what was measured of each query, and
its standard error that of a mean over queries. Several forms of the fit are made, one of them without extrapolating.
The interval holds those of all of them, each widened by its residuals: where they differ, as they do far from what was
measured, it is wide.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.statistics import LEVEL
from cbe_bench.evaluators.retrieval.metrics import Ranks

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_FORMS = ((2, 2.5), (1, 1.5), (2, 3.5))
"""Degree of g and the width in log(m / n) of what it is fitted to. The first is the estimate, all make the interval."""
_COUNTS_PER_OCTAVE = 2
_LARGEST_FRACTION = 0.5
"""Of the rows of a sample that may be candidates, for a point that is fitted."""


@dataclass(frozen=True)
class Estimate:
    """Recall with an interval: on the sample, and expected on all rows."""

    sample: float
    full: float
    low: float
    high: float


@dataclass(frozen=True)
class Points:
    """What was measured with one oversampling.

    Attributes
    ----------
    counts, sizes : int64 arrays of shape (n_points,)
        Neighbours m, and rows n of the sample.
    recall : float64 array of shape (n_points, n_queries)
        Recall of the m nearest among the first `oversample` times m codes of the sample.
    """

    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    recall: NDArray[np.float64]


def recall_of_queries(ranks: Ranks, k: int, candidates: int) -> NDArray[np.float64]:
    """Return, for each query, the expected fraction of its k nearest among the first codes, ties in random order."""
    nearer, equal = (counts[:, :k] for counts in ranks)
    fractions: NDArray[np.float64] = np.clip((candidates - nearer) / equal, 0.0, 1.0).mean(axis=1)
    return fractions


def measured_points(ranks: list[list[Ranks]], sizes: tuple[int, ...], oversample: int) -> Points:
    """Return the recall of geometrically growing numbers of neighbours in samples of several sizes.

    Parameters
    ----------
    ranks : list of lists of Ranks
        For each size, those of the neighbours in disjoint samples of so many rows.
    sizes : tuple of int
        Rows of a sample.
    oversample : int
        Candidates for each neighbour.
    """
    counts: list[int] = []
    rows: list[int] = []
    recalls: list[NDArray[np.float64]] = []
    for size, parts in zip(sizes, ranks, strict=True):
        most = min(parts[0][0].shape[1], int(_LARGEST_FRACTION * size / oversample))
        octaves = np.arange(0.0, np.log2(max(most, 1)) + 1e-9, 1 / _COUNTS_PER_OCTAVE)
        for m in np.unique(np.round(2**octaves).astype(np.int64)) if most else ():
            counts.append(int(m))
            rows.append(size)
            recalls.append(np.mean([recall_of_queries(part, m, m * oversample) for part in parts], axis=0))
    return Points(np.array(counts, np.int64), np.array(rows, np.int64), np.array(recalls))


def on_all_rows(points: Points, k: int, full_rows: int, on_sample: float) -> Estimate | None:
    """Estimate recall@k on all rows with a 95 % interval; None if too little was measured.

    Parameters
    ----------
    points : Points
        What was measured on samples.
    k : int
        The neighbours wanted of all rows.
    full_rows : int
        All rows.
    on_sample : float
        Recall@k on the largest sample, for the record.
    """
    forms = [(full_rows, *form) for form in _FORMS]
    reached = k * int(points.sizes.max(initial=0))
    if reached < full_rows:  # g may also stay as it is where it was measured last
        forms.append((reached, *_FORMS[0]))
    fits = [fit for form in forms if (fit := _fit(points, k, *form)) is not None]
    if not fits:
        return None
    low = min(value - margin for value, margin in fits)
    high = max(value + margin for value, margin in fits)
    full, low, high = np.clip((fits[0][0], low, high), 0.0, 1.0)
    return Estimate(on_sample, float(full), float(low), float(high))


def on_these_rows(recall: NDArray[np.float64]) -> Estimate:
    """Return the mean recall of queries on the rows that were searched, with a 95 % interval."""
    mean, margin = recall.mean(), _Z * _standard_error(recall)
    low, high = np.clip((mean - margin, mean + margin), 0.0, 1.0)
    return Estimate(float(mean), float(mean), float(low), float(high))


def _fit(points: Points, k: int, full_rows: int, degree: int, width: float) -> tuple[float, float] | None:
    """Return the recall by one form of the fit, and the margin of its interval; None if there are too few points."""
    if not len(points.counts):
        return None
    wanted = np.log(k / full_rows)
    places = np.log(points.counts / points.sizes) - wanted
    near = (places <= max(0.0, places.min()) + width) & (places >= -width)

    def terms(place: NDArray, count: NDArray) -> NDArray:
        return np.stack([place**power for power in range(degree + 1)] + [1 / count], axis=-1)

    design, measured = terms(places[near], points.counts[near]), points.recall[near]
    if len(design) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    solver = np.linalg.pinv(design)
    of_queries = terms(np.array(0.0), np.array(float(k))) @ solver @ measured
    means = measured.mean(axis=1)
    residual = means - design @ (solver @ means)
    free = len(design) - design.shape[1]
    return float(of_queries.mean()), _Z * float(np.sqrt(_standard_error(of_queries) ** 2 + residual @ residual / free))


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=min(1, len(values) - 1)) / np.sqrt(len(values)))
