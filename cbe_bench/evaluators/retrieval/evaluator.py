"""Evaluates encoders on one split of the data: training, encoding, recall of the exact neighbours.

The seed of an encoder is decided here, from what a row's spec says.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.core.query_values import pack_queries
from cbe_bench.core.runner import Cell
from cbe_bench.data.ground_truth import exact_neighbours
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.encoders.diagnostics import flatness
from cbe_bench.encoders.wrapper import Wrapper
from cbe_bench.evaluators.retrieval.metrics import (
    Ranks,
    asymmetric_ranks,
    expected_recall,
    median_ranks,
    query_auc,
    symmetric_ranks,
)
from cbe_bench.evaluators.retrieval.rows import RetrievalSpec
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs, prefix

_SAMPLES, _SAMPLE_S = 3, 0.2
"""Nested codes of fewer bits are timed this often, unless it takes longer than this; the fastest counts."""


def encoder_of(spec: RetrievalSpec, encoded_bits: int) -> Encoder:
    """Return the encoder of a cell, not fitted, with codes as long as those it is encoded with.

    Parameters
    ----------
    spec : RetrievalSpec
        The method, its parameters and the seed.
    encoded_bits : int
        The code length it encodes with, of which the cell may use a part.

    Returns
    -------
    Encoder
    """
    seed = derive_seed(spec.seed, "encoder", spec.encoder)
    return make_encoder(spec.encoder, n_bits=encoded_bits, random_state=seed, **spec.params)


def encoded_bits(cells: Sequence[Cell]) -> dict[str, int]:
    """Return the code length each cell is encoded with, by key: nested codes with the longest of their method."""
    longest: dict[str, int] = {}
    for cell in cells:
        spec: Any = cell.spec
        name = _shared_codes(spec)
        longest[name] = max(longest.get(name, 0), spec.n_bits)
    return {cell.key: longest[_shared_codes(cell.spec)] for cell in cells}


def _shared_codes(spec: Any) -> str:
    """Name the codes that those of a cell are a prefix of."""
    nested = make_encoder(spec.encoder, **spec.params).nested
    return repr((spec.encoder, sorted(spec.params.items()), spec.n_train, None if nested else spec.n_bits))


class RetrievalEvaluator:
    """Measures how well the codes of encoders find the exact neighbours, on one split.

    The codes of the last encoder are cached: nested codes of many lengths, the longest first, take one pass over the
    data.

    Parameters
    ----------
    data : DatasetView
        The dataset view of a seed.
    n_neighbours : int
        Exact neighbours of a query.
    depth : int
        Recall is measured up to this many retrieved rows.
    progress : callable
        Takes the fraction of the search for the exact neighbours that is done.
    auc : bool
        Whether the averaged AUC is measured too.
    """

    def __init__(
        self, data: DatasetView, n_neighbours: int, depth: int, progress: Progress = no_progress, *, auc: bool = False
    ) -> None:
        self._data = data
        self._labels = data.labels() if auc else None
        self._neighbours = exact_neighbours(data, n_neighbours, progress)
        self._queries = data.queries()
        step = data.protocol.depth_step
        self._depths = np.arange(step, depth + 1, step)
        self._last: tuple[str, _Encoded] | None = None

    def evaluate(
        self, encoder: Encoder, n_bits: int, progress: Progress = no_progress, n_train: int | None = None
    ) -> dict[str, Any]:
        """Return the metrics of the first `n_bits` bits of the codes of an encoder.

        Parameters
        ----------
        encoder : Encoder
            Not fitted; its codes may be longer than `n_bits` if they are nested.
        n_bits : int
            The code length.
        progress : callable
            Takes the fraction that is done.
        n_train : int or None
            Rows of the training set that a data-dependent encoder is trained on; None means all.
        """
        encoded = self._encoded(encoder, n_train, lambda done: progress(0.6 * done))
        database = prefix(encoded.database, n_bits)
        projections = np.ascontiguousarray(encoded.projections[:, :n_bits])
        queries, neighbours = pack_signs(projections), self._neighbours
        symmetric = symmetric_ranks(queries, database, neighbours, lambda done: progress(0.6 + 0.1 * done))
        asymmetric = asymmetric_ranks(projections, database, neighbours, lambda done: progress(0.7 + 0.25 * done))
        metrics: dict[str, Any] = {
            "depths": tuple(self._depths.tolist()),
            **self._recall("recall", symmetric),
            **self._recall("recall_asymmetric", asymmetric),
            **encoded.cost,
        }
        if n_bits < encoder.bits(self._queries.shape[1]):
            metrics["encode_us_per_vector"] = 1e6 * self._encode_s(encoder, n_bits)
        if encoded.blocks:
            ranks = median_ranks(
                queries, database, neighbours, encoded.blocks, lambda done: progress(0.95 + 0.05 * done)
            )
            metrics |= self._recall("recall_median", ranks)
        if self._labels is not None:
            areas = query_auc(queries, database, *self._labels)
            metrics |= {"averaged_auc": float(np.nanmean(areas)), "query_auc": pack_queries(areas)}
        return metrics

    def _recall(self, name: str, ranks: Ranks) -> dict[str, Any]:
        """Return the recall at each depth, and of each query the mean over depths."""
        found = expected_recall(ranks, self._depths)
        return {
            name: tuple(found.mean(axis=0).round(9).tolist()),
            f"query_{name}": pack_queries(found.mean(axis=1)),
        }

    def _encode_s(self, encoder: Encoder, n_bits: int) -> float:
        """Return the seconds that codes of fewer bits take, for each vector: those of nested codes, of the queries."""
        shorter = clone(encoder).set_params(n_bits=n_bits).set_resources(encoder.resources)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about codes: the longest were fitted on the training set
            shorter.fit(self._queries)
        shorter.warm_up(self._queries)
        times: list[float] = []
        while len(times) < _SAMPLES and sum(times) < _SAMPLE_S:
            start = time.perf_counter()
            shorter.encode(self._queries, check_input=False)
            times.append(time.perf_counter() - start)
        return min(times) / len(self._queries)

    def _encoded(self, encoder: Encoder, n_train: int | None, progress: Progress) -> "_Encoded":
        identity = repr((encoder.name, sorted(encoder.get_params().items()), n_train))
        if self._last is None or self._last[0] != identity:
            self._last = None  # free the old codes before new ones are computed
            self._last = (identity, self._encode(encoder, n_train, progress))
        return self._last[1]

    def _encode(self, encoder: Encoder, n_train: int | None, progress: Progress) -> "_Encoded":
        X_train = self._data.training_set(n_train) if encoder.data_dependent else self._queries[:1]
        labels = self._data.training_labels(n_train) if encoder.data_dependent else None
        start = time.perf_counter()
        encoder.fit(X_train, labels)
        fit_s = time.perf_counter() - start
        del X_train
        encoder.warm_up(self._queries)
        database = np.empty((len(self._data.split.database), code_bytes(encoder.n_bits_)), np.uint8)
        encode_s = 0.0
        for part, block in self._data.database_blocks(progress):
            start = time.perf_counter()
            database[part] = encoder.encode(block, check_input=False)
            encode_s += time.perf_counter() - start
        return _Encoded(
            database=database,
            projections=encoder.project(self._queries),
            blocks=encoder.code_blocks(),
            cost={
                "objective_history": tuple(np.ravel(getattr(encoder, "objective_", ())).tolist()),
                "flatness": _flatness(encoder, self._queries),
                "fit_s": fit_s,
                "encode_us_per_vector": 1e6 * encode_s / len(database),
            },
        )


def _flatness(encoder: Encoder, X: NDArray) -> tuple[float, ...]:
    """Return the smallest, the median and the largest flatness of the rows of X as a fitted method encodes them."""
    while isinstance(encoder, Wrapper):
        X, encoder = encoder.transformed(X), encoder.encoder_
    return tuple(float(f"{rho:.6g}") for rho in np.quantile(flatness(X), [0, 0.5, 1]))


@dataclass(frozen=True)
class _Encoded:
    """The codes of a database and the projections of its queries."""

    database: Codes
    projections: NDArray
    blocks: list[slice] | None
    cost: dict[str, Any]
    """What was encoded, and what training and encoding took: fields of the row."""
