"""What retrieval experiments are compared by: the mean over depths of the recall of each query, in points."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.claims import Source
from cbe_bench.core.query_values import unpack_queries
from cbe_bench.core.results import Results
from cbe_bench.evaluators.comparisons import BySeed, Comparison, compared
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, recall_rows
from cbe_bench.evaluators.retrieval.tables import data_label

FEWEST = 8
"""Codes are judged from d/8 bits on, the shortest of the paper's figures."""


def done_rows(results: Results) -> list[RetrievalRow]:
    """Return the cells with a recall."""
    return [row for row in recall_rows(results.rows) if row.ok and row.recall]


def experiments_on(results: Iterable[Results], sweep: str | None = None) -> list[Results]:
    """Return the experiments with recall that sweep over a parameter, or over none.

    Parameters
    ----------
    results : iterable of Results
        The experiments to choose from.
    sweep : str or None
        The parameter; None for experiments without a sweep.

    Returns
    -------
    list of Results
        Those with rows that are done.
    """
    return [one for one in results if one.description.config.get("sweep") == sweep and done_rows(one)]


def figures_1_to_3(results: Iterable[Results]) -> list[Results]:
    """Return the experiments at equal time and equal code length, as in Figures 1 to 3."""
    return [one for one in experiments_on(results) if "time" in one.description.config.get("fixed", ())]


def code_lengths(results: Results) -> list[int]:
    """Return the code lengths that all methods were to have, as far as the paper has such."""
    fewest = max((row.n_features for row in done_rows(results)), default=0) / FEWEST
    return sorted(k for k in results.description.config.get("n_bits", ()) if k >= fewest)


def query_points(rows: Iterable[RetrievalRow], label: str, n_bits: int, metric: str = "recall") -> BySeed:
    """Return the values of a method, in points, by seed.

    Parameters
    ----------
    rows : iterable of RetrievalRow
        The rows of one experiment.
    label : str
        The method.
    n_bits : int
        The code length.
    metric : str
        "recall" or "recall_median", means over depths, or "auc".

    Returns
    -------
    dict of int to float64 array of shape (n_queries,)
        Of one value, the mean over queries, where those of queries were not stored.
    """
    found = {}
    for row in rows:
        if (row.label, row.n_bits) == (label, n_bits):
            stored = unpack_queries(getattr(row, f"query_{metric}"))
            values = stored if len(stored) else _mean(row, metric)
            values = values[np.isfinite(values)]
            if len(values):
                found[row.seed] = 100 * values
    return found


def _mean(row: RetrievalRow, metric: str) -> NDArray[np.float64]:
    curve = np.ravel(row.averaged_auc if metric == "auc" else getattr(row, metric))
    return np.array([curve.mean()]) if len(curve) else np.empty(0)


def compare(
    rows: Sequence[RetrievalRow], own: str, rival: str, lengths: Iterable[int], metric: str = "recall"
) -> list[Comparison]:
    """Compare two methods at each code length that both have.

    Parameters
    ----------
    rows : sequence of RetrievalRow
        The rows of one experiment.
    own, rival : str
        The labels of both.
    lengths : iterable of int
        The code lengths.
    metric : str
        As for `query_points`.

    Returns
    -------
    list of Comparison
    """
    return [
        one
        for k in lengths
        for one in compared(
            query_points(rows, own, k, metric), query_points(rows, rival, k, metric), f"{own} - {rival}", k
        )
    ]


def source_of(results: Results) -> Source:
    """Return what an experiment on recall was run on."""
    rows = done_rows(results)
    return Source(data_label(rows), rows[0].data_kind, results.name)
