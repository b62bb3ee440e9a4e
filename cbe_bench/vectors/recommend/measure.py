"""One method at one code length on a sample: recall at every depth that matters, and what it costs."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import no_progress
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.retrieval.metrics import Ranks, asymmetric_ranks, symmetric_ranks
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs
from cbe_bench.kernels.nearest import AsymmetricSearch, HammingSearch
from cbe_bench.vectors.recommend.extrapolate import (
    Estimate,
    measured_points,
    on_all_rows,
    on_these_rows,
    recall_of_queries,
)
from cbe_bench.vectors.recommend.sample import Sample

OVERSAMPLES = (1, 2, 3, 5, 10, 20, 50)
"""Candidates for each neighbour wanted that are tried."""
_TIMED_QUERIES = 64


@dataclass(frozen=True)
class Cell:
    """What was measured of a method at a code length with one way to search.

    Attributes
    ----------
    search : str
        "hamming" or "asymmetric".
    recall : dict of (k, oversample) to Estimate
        Recall@k after re-ranking oversample * k candidates; with oversample 1 there is none.
    encode_us_per_vector, search_us_per_query_per_million : float
        Time on all cores.
    """

    method: str
    n_bits: int
    search: str
    recall: dict[tuple[int, int], Estimate]
    fit_s: float
    encode_us_per_vector: float
    search_us_per_query_per_million: float

    @property
    def bytes_per_vector(self) -> int:
        """Bytes of a code."""
        return code_bytes(self.n_bits)


def measure(encoder: Encoder, sample: Sample, depths: tuple[int, ...]) -> list[Cell]:
    """Return what was measured of an encoder: a cell for Hamming and one for asymmetric search.

    Parameters
    ----------
    encoder : Encoder
        Not fitted.
    sample : Sample
        What it is trained and tried on.
    depths : tuple of int
        Recall@k is measured for these k.
    """
    start = time.perf_counter()
    encoder.fit(sample.training_set)
    fit_s = time.perf_counter() - start
    encoder.warm_up(sample.queries)
    start = time.perf_counter()
    codes = encoder.encode(sample.database)
    encode_us = 1e6 * (time.perf_counter() - start) / len(codes)
    projections = encoder.project(sample.queries)
    asked = pack_signs(projections)
    cells = []
    for search in ("hamming", "asymmetric"):
        queries, rank = (asked, symmetric_ranks) if search == "hamming" else (projections, asymmetric_ranks)
        ranks = [
            [rank(queries, codes[part], nearest, no_progress) for part, nearest in zip(parts, neighbours, strict=True)]
            for parts, neighbours in zip(sample.parts, sample.neighbours, strict=True)
        ]
        recall = _recall(ranks, sample, depths)
        cells.append(Cell(encoder.name, encoder.n_bits_, search, recall, fit_s, encode_us, _search_us(queries, codes)))
    return cells


def _recall(ranks: list[list[Ranks]], sample: Sample, depths: tuple[int, ...]) -> dict[tuple[int, int], Estimate]:
    """Return recall@k for all k and all oversamplings that leave most rows out."""
    found: dict[tuple[int, int], Estimate] = {}
    for more in OVERSAMPLES:
        points = None if sample.is_whole else measured_points(ranks, sample.sizes, more)
        for k in depths:
            if k * more > sample.full_rows:
                continue
            on_sample = recall_of_queries(ranks[0][0], k, k * more)
            if points is None:
                found[k, more] = on_these_rows(on_sample)
            elif (estimate := on_all_rows(points, k, sample.full_rows, float(on_sample.mean()))) is not None:
                found[k, more] = estimate
    return found


def _search_us(queries: NDArray, codes: Codes) -> float:
    """Return microseconds per query and million codes of a search for 100 neighbours, on all cores."""
    some, k = queries[:_TIMED_QUERIES], min(100, len(codes))
    elapsed = []
    for _ in range(2):
        start = time.perf_counter()
        search = HammingSearch(some, k) if queries.dtype == np.uint8 else AsymmetricSearch(some, k)
        search.add(codes)
        search.nearest()
        elapsed.append(time.perf_counter() - start)
    return 1e12 * min(elapsed) / (len(some) * len(codes))
