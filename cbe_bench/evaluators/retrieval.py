"""Recall of the true neighbours by their rank among all codes.

Codes tie often, and where they do the order is arbitrary. Of a neighbour with `nearer` codes strictly before it
and `equal` codes at its own distance (itself included), a random order of ties puts it among the first R with
probability (R - nearer) / equal, kept within 0 and 1. The mean of that over neighbours and queries is the
expected recall@R, exactly, without drawing anything.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.ground_truth import true_neighbours
from cbe_bench.data.view import PreparedData, Tick
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.auc import averaged_auc
from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs, prefix
from cbe_bench.kernels.hamming import distance_counts, paired_distances
from cbe_bench.kernels.medians import add_median_counts, cut_codes, most_median, paired_medians
from cbe_bench.kernels.parallel import slices

Ranks = tuple[NDArray[np.int64], NDArray[np.int64]]
"""For each query and true neighbour: how many codes are nearer, and how many equally near."""

_QUERIES_AT_ONCE = 32
_CODES_AT_ONCE = 1 << 13


def expected_recall(ranks: Ranks, depths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the expected recall at each depth, averaged over queries."""
    nearer, equal = (counts[..., None] for counts in ranks)
    return np.clip((depths - nearer) / equal, 0.0, 1.0).mean(axis=(0, 1))


def symmetric_ranks(queries: Codes, database: Codes, neighbours: NDArray[np.int64], tick: Tick) -> Ranks:
    """Rank the neighbours by Hamming distance of codes."""
    nearer, equal = np.empty_like(neighbours), np.empty_like(neighbours)
    for part in slices(len(queries), 4 * _QUERIES_AT_ONCE):
        counts = distance_counts(queries[part], database)
        distances = paired_distances(queries[part, None], database[neighbours[part]])
        nearer[part], equal[part] = _ranks(counts, distances)
        tick(part.stop / len(queries))
    return nearer, equal


def median_ranks(
    queries: Codes, database: Codes, neighbours: NDArray[np.int64], blocks: list[slice], tick: Tick
) -> Ranks:
    """Rank the neighbours by the median over blocks of bits of the Hamming distance of codes."""
    cut = cut_codes(queries, blocks)
    own = cut_codes(database[neighbours.ravel()], blocks).reshape(*neighbours.shape, *cut.shape[1:])
    counts = np.zeros((len(queries), most_median(blocks) + 1), np.int64)
    for block in slices(len(database), _CODES_AT_ONCE):
        add_median_counts(cut, cut_codes(database[block], blocks), counts)
        tick(block.stop / len(database))
    return _ranks(counts, paired_medians(cut[:, None], own))


def _ranks(counts: NDArray[np.int64], distances: NDArray[np.int64]) -> Ranks:
    """Return how many codes are nearer and equally near, given how many there are at each distance."""
    before = np.cumsum(counts, axis=1) - counts
    return np.take_along_axis(before, distances, axis=1), np.take_along_axis(counts, distances, axis=1)


def asymmetric_ranks(projections: NDArray, database: Codes, neighbours: NDArray[np.int64], tick: Tick) -> Ranks:
    """Rank the neighbours by the inner product of the query's real values with the codes as -1 and +1, exactly.

    Scores are whole numbers (`kernels.asymmetric`): ranks do not depend on blocks, threads or processor.
    """
    queries = AsymmetricQueries(projections)
    own = queries.own_sums(database, neighbours)
    nearer, equal = np.zeros_like(neighbours), np.zeros_like(neighbours)
    for block in slices(len(database), _CODES_AT_ONCE):
        queries.count_before(database[block], own, nearer, equal)
        tick(block.stop / len(database))
    return nearer, equal


class RetrievalEvaluator:
    """Measures encoders on one split: how well their codes find the true neighbours.

    Codes of the last encoder are kept: an encoder with nested codes is asked for many lengths one after the other,
    and runs over the data once.
    """

    def __init__(self, data: PreparedData, neighbours: int, depth: int, tick: Tick, *, auc: bool = False) -> None:
        self._data = data
        self._labels = data.labels() if auc else None
        self._truth = true_neighbours(data, neighbours, tick)
        self._queries = data.queries()
        step = data.protocol.depth_step
        self._depths = np.arange(step, depth + 1, step)
        self._last: tuple[str, _Encoded] | None = None

    def evaluate(self, encoder: Encoder, n_bits: int, tick: Tick, learn_rows: int | None = None) -> dict[str, Any]:
        """Return recall and times of the codes of the first `n_bits` bits of an unfitted encoder.

        An encoder that learns sees `learn_rows` rows of the learning set, or all of them.
        """
        encoded = self._encoded(encoder, learn_rows, lambda share: tick(0.6 * share))
        database, projections = prefix(encoded.database, n_bits), encoded.projections[:, :n_bits]
        projections = np.ascontiguousarray(projections)
        queries = pack_signs(projections)
        symmetric = symmetric_ranks(queries, database, self._truth, lambda share: tick(0.6 + 0.1 * share))
        asymmetric = asymmetric_ranks(projections, database, self._truth, lambda share: tick(0.7 + 0.25 * share))
        ranks = {"recall": symmetric, "recall_asymmetric": asymmetric}
        if encoded.blocks:
            ranks["recall_median"] = median_ranks(
                queries, database, self._truth, encoded.blocks, lambda share: tick(0.95 + 0.05 * share)
            )
        auc = {} if self._labels is None else {"auc": averaged_auc(queries, database, *self._labels)}
        return {
            "depths": self._depths.tolist(),
            **auc,
            **encoded.course,
            **{name: expected_recall(found, self._depths).round(9).tolist() for name, found in ranks.items()},
            "fit_seconds": round(encoded.fit_seconds, 4),
            "encode_seconds": round(encoded.encode_seconds, 4),
            "encoded_bits": encoded.n_bits,
        }

    def _encoded(self, encoder: Encoder, learn_rows: int | None, tick: Tick) -> "_Encoded":
        identity = repr((encoder.name, sorted(encoder.get_params().items()), learn_rows))
        if self._last is None or self._last[0] != identity:
            self._last = None  # free the old codes before making new ones
            self._last = (identity, self._encode(encoder, learn_rows, tick))
        return self._last[1]

    def _encode(self, encoder: Encoder, learn_rows: int | None, tick: Tick) -> "_Encoded":
        learn = self._data.learn(learn_rows) if encoder.learns else self._queries[:1]
        labels = self._data.learn_labels(learn_rows) if encoder.learns else None
        start = time.perf_counter()
        encoder.fit(learn, labels)
        fit_seconds = time.perf_counter() - start
        del learn
        encoder.warm_up(self._queries)
        database = np.empty((len(self._data.split.database), code_bytes(encoder.n_bits_)), np.uint8)
        encode_seconds = 0.0
        for part, block in self._data.database_blocks(tick):
            start = time.perf_counter()
            database[part] = encoder.encode(block, check_input=False)
            encode_seconds += time.perf_counter() - start
        return _Encoded(
            n_bits=encoder.n_bits_,
            blocks=encoder.code_blocks(),
            course={"objective": encoder.objective_.tolist()} if hasattr(encoder, "objective_") else {},
            database=database,
            projections=encoder.project(self._queries),
            fit_seconds=fit_seconds,
            encode_seconds=encode_seconds,
        )


@dataclass(frozen=True)
class _Encoded:
    """The codes of a database and the projections of its queries, and what they cost."""

    n_bits: int
    blocks: list[slice] | None
    course: dict[str, list[float]]
    """How the objective of learning went, where there is one."""
    database: Codes
    projections: NDArray
    fit_seconds: float
    encode_seconds: float


def evaluation_bytes(n_database: int, n_queries: int, n_bits: int, n_threads: int) -> int:
    """Estimate the memory of an evaluation beside the data and the encoder."""
    codes = 2 * n_database * code_bytes(n_bits)
    projections = (4 + 8 + 3 * 4) * (n_queries + 32) * (n_bits + 32)
    counts = 3 * 8 * 4 * _QUERIES_AT_ONCE * n_bits
    return codes + projections + counts + n_threads * (1 << 19)


def evaluation_work(n_database: int, n_queries: int, n_bits: int) -> float:
    """Estimate the cost of an evaluation in operations of a matrix product."""
    return 3.0 * n_database * n_queries * n_bits
