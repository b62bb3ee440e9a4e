"""One method at one code length on a sample: recall at every depth that matters, and what it costs."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import no_progress
from cbe_bench.core.statistics import LEVEL
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.retrieval.metrics import Ranks, asymmetric_ranks, symmetric_ranks
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs
from cbe_bench.kernels.nearest import AsymmetricSearch, HammingSearch
from cbe_bench.vectors.recommend.sample import Sample

OVERSAMPLES = (1, 2, 3, 5, 10, 20, 50)
"""Candidates for each neighbour wanted that are tried."""
_BOOTSTRAPS = 400
_TIMED_QUERIES = 64


@dataclass(frozen=True)
class Estimate:
    """Recall with an interval: on the sample, and expected on all rows."""

    sample: float
    full: float
    low: float
    high: float


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


def measure(encoder: Encoder, sample: Sample, depths: tuple[int, ...], n_train: int, seed: int) -> list[Cell]:
    """Return what was measured of an encoder: a cell for Hamming and one for asymmetric search.

    Parameters
    ----------
    encoder : Encoder
        Not fitted.
    sample : Sample
        What it is tried on.
    depths : tuple of int
        Recall@k is measured for these k.
    n_train : int
        Rows to train on.
    seed : int
        Decides the bootstrap.
    """
    start = time.perf_counter()
    encoder.fit(sample.training_set(n_train))
    fit_s = time.perf_counter() - start
    encoder.warm_up(sample.queries)
    start = time.perf_counter()
    codes = encoder.encode(sample.database)
    encode_us = 1e6 * (time.perf_counter() - start) / len(codes)
    projections = encoder.project(sample.queries)
    asked = pack_signs(projections)
    cells = []
    for search in ("hamming", "asymmetric"):
        ranks = [
            symmetric_ranks(asked, codes[:size], neighbours, no_progress)
            if search == "hamming"
            else asymmetric_ranks(projections, codes[:size], neighbours, no_progress)
            for size, neighbours in zip(sample.sizes, sample.neighbours, strict=True)
        ]
        recall = {
            (k, more): _estimate([_recall(own, k, more * k) for own in ranks], sample, seed)
            for k in depths
            for more in OVERSAMPLES
            if more * k <= sample.sizes[-1]
        }
        search_us = _search_us(asked if search == "hamming" else projections, codes)
        cells.append(Cell(encoder.name, encoder.n_bits_, search, recall, fit_s, encode_us, search_us))
    return cells


def _recall(ranks: Ranks, k: int, candidates: int) -> NDArray[np.float64]:
    """Return, for each query, the expected fraction of its k nearest among the first codes, ties in random order."""
    nearer, equal = (counts[:, :k] for counts in ranks)
    fractions: NDArray[np.float64] = np.clip((candidates - nearer) / equal, 0.0, 1.0).mean(axis=1)
    return fractions


def _estimate(recalls: list[NDArray[np.float64]], sample: Sample, seed: int) -> Estimate:
    """Return mean recall with an interval, given that of each query on nested samples, the largest first."""
    own, steps = recalls[0], np.log(sample.full_rows / sample.sizes[0])
    expected = [
        own + steps * (own - other) / np.log(sample.sizes[0] / size)
        for other, size in zip(recalls[1:], sample.sizes[1:], strict=True)
    ] or [own]
    drawn = np.random.default_rng(seed).integers(0, len(own), (_BOOTSTRAPS, len(own)))
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    ends = np.array([np.quantile(values[drawn].mean(axis=1), tails) for values in [own, *expected]]).clip(0.0, 1.0)
    full = float(np.mean([values.mean() for values in expected]).clip(0.0, 1.0))
    return Estimate(float(own.mean()), full, float(ends[:, 0].min()), float(ends[:, 1].max()))


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
