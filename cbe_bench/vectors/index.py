"""A file of codes as an index: exact search in constant memory, and hand-over to libraries of approximate search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.resources import Resources
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats import open_features
from cbe_bench.encoders import Encoder
from cbe_bench.kernels.bits import Codes, pack_signs
from cbe_bench.kernels.nearest import AsymmetricSearch, HammingSearch, merge
from cbe_bench.kernels.parallel import threads
from cbe_bench.vectors.blocks import Run, run_here
from cbe_bench.vectors.code_file import CodeFile
from cbe_bench.vectors.rescoring import rescored
from cbe_bench.vectors.rows import prepare

_FAISS = ("IndexBinaryFlat", "IndexBinaryHNSW", "IndexBinaryIVF")
_HNSW_LINKS = 32
_QUERY_BYTES = 1 << 28
"""Projections of queries that are searched for at once, in bytes."""

RowsDone = Callable[[int, int, int], None]


class Found(NamedTuple):
    """What a search returns: values and ids of shape (n_queries, k), the best first.

    Values are Hamming distances (int32), asymmetric scores (float64, larger is better) or, after re-ranking, exact
    distances by the metric (float64, smaller is better; negated inner products for "ip").
    """

    values: NDArray
    ids: NDArray


@dataclass(frozen=True)
class SearchTask:
    """Search blocks of a file of codes, for all queries."""

    path: str
    queries: NDArray
    """Packed codes, or projections of shape (n_queries, n_bits)."""
    k: int

    def read(self, number: int) -> tuple[slice, Codes]:
        """Return the rows and codes of a block."""
        file = _opened(self.path)
        return file.parts()[number], file.read(number)

    def compute(self, number: int, content: tuple[slice, Codes]) -> tuple[NDArray, NDArray[np.int64]]:
        """Return keys, smaller is better, and rows of the nearest codes of a block."""
        part, codes = content
        k = min(self.k, len(codes))
        if self.queries.dtype == np.uint8:
            search: HammingSearch | AsymmetricSearch = HammingSearch(self.queries, k)
        else:
            search = AsymmetricSearch(self.queries, k)
        search.add(codes, part.start)
        values, rows = search.nearest()
        return values if self.queries.dtype == np.uint8 else -values, rows
