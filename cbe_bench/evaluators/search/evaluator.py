"""Evaluates indexes on one split of the data: training, encoding, searching, re-ranking."""

import time
from typing import Any

import numpy as np

from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.data.ground_truth import exact_neighbours
from cbe_bench.data.view import DatasetView
from cbe_bench.evaluators.search.indexes import Index
from cbe_bench.evaluators.search.reranking import (
    PRECISIONS,
    is_neighbour,
    least_oversampling,
    recall_curve,
    reranked_curve,
    rescored,
    value_range,
)

_SEARCHES = 3
"""Searches of which the least time counts."""


class SearchEvaluator:
    """Measures what indexes find of the exact neighbours, on one split.

    Parameters
    ----------
    data : DatasetView
        The prepared features of a seed.
    n_neighbours : int
        Exact neighbours of a query.
    depth : int
        Candidates that are found.
    timed_depth : int
        Candidates that are found where a search is timed.
    progress : callable
        Takes the fraction of the search for the exact neighbours that is done.
    """

    def __init__(
        self, data: DatasetView, n_neighbours: int, depth: int, timed_depth: int, progress: Progress = no_progress
    ) -> None:
        self._data, self._depth, self._timed_depth = data, depth, timed_depth
        self._neighbours = exact_neighbours(data, n_neighbours, progress)
        self._queries = data.queries()
        within = value_range(data)
        self._rescored = {one: rescored(data, self._queries, one, within) for one in PRECISIONS[1:]}

    def evaluate(self, index: Index, progress: Progress = no_progress, n_train: int | None = None) -> dict[str, Any]:
        """Return the metrics of an index that is empty and not fitted.

        Parameters
        ----------
        index : Index
            The index.
        progress : callable
            Takes the fraction that is done.
        n_train : int or None
            Rows of the training set that it is trained on; None means all.
        """
        X_train = self._data.training_set(n_train) if index.data_dependent else self._queries
        start = time.perf_counter()
        index.fit(X_train)
        fit_s = time.perf_counter() - start
        del X_train
        encode_s = self._fill(index, lambda done: progress(0.5 + 0.3 * done))
        return {
            **self._recalls(index),
            "bytes_per_vector": index.bytes_per_vector,
            "fit_s": fit_s,
            "encode_us_per_vector": 1e6 * encode_s / len(self._data.split.database),
            "search_us_per_query": 1e6 * self._search_s(index) / len(self._queries),
        }

    def _fill(self, index: Index, progress: Progress) -> float:
        """Add the database to an index and return the seconds it took to encode."""
        seconds = 0.0
        for _, block in self._data.database_blocks(progress):
            start = time.perf_counter()
            index.add(block)
            seconds += time.perf_counter() - start
        return seconds

    def _recalls(self, index: Index) -> dict[str, Any]:
        k = self._neighbours.shape[1]
        candidates = index.search(self._queries, self._depth)
        hits = is_neighbour(candidates, self._neighbours, len(self._data.split.database))
        curves = {PRECISIONS[0]: recall_curve(hits, k)}
        for precision, scores in self._rescored.items():
            curves[precision] = reranked_curve(hits, np.take_along_axis(scores, candidates, axis=1), k)
        return {
            "oversampling": tuple(range(1, len(curves["float32"]) + 1)),
            "recall": curves["float32"],
            "recall_float16": curves["float16"],
            "recall_int8": curves["int8"],
            "oversampling_for_95": {name: least_oversampling(curve, 0.95) for name, curve in curves.items()},
            "oversampling_for_99": {name: least_oversampling(curve, 0.99) for name, curve in curves.items()},
        }

    def _search_s(self, index: Index) -> float:
        times = []
        for _ in range(_SEARCHES):
            start = time.perf_counter()
            index.search(self._queries, self._timed_depth)
            times.append(time.perf_counter() - start)
        return min(times)
