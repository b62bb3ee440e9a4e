"""Rows of retrieval experiments: the recall of a method at a code length."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from cbe_bench.core.query_values import QueryValues
from cbe_bench.core.results import Row
from cbe_bench.evaluators.task import NeighboursSpec


@dataclass(frozen=True, kw_only=True)
class RetrievalSpec(NeighboursSpec):
    """One encoder at one code length under one seed, on one data set."""

    split_seed: int
    """The seed of the split; that of the method's own draws is `seed`."""
    auc: bool
    """Whether the averaged AUC is measured too."""


@dataclass(frozen=True, kw_only=True)
class RetrievalRow(RetrievalSpec, Row):
    """Expected recall of the exact neighbours at each depth, and what it costs."""

    type: ClassVar[str] = "retrieval"

    depths: tuple[int, ...] = ()
    recall: tuple[float, ...] = ()
    """By Hamming distance: codes against codes."""
    recall_asymmetric: tuple[float, ...] = ()
    """By the inner product of the query's projections with codes."""
    recall_median: tuple[float, ...] = ()
    """By the median of Hamming distances over blocks of bits; empty for methods without blocks."""
    query_recall: QueryValues = ""
    """The mean over depths of the recall of each query."""
    query_recall_asymmetric: QueryValues = ""
    query_recall_median: QueryValues = ""
    averaged_auc: float = math.nan
    query_auc: QueryValues = ""
    objective_history: tuple[float, ...] = ()
    """The objective before the first iteration of training and after each; empty without one."""
    flatness: tuple[float, ...] = ()
    """rho = max|x| / ||x|| of the queries as they are encoded, after any transform: smallest, median, largest."""
    fit_s: float = math.nan
    encode_us_per_vector: float = math.nan
    """Of codes of this length, on all threads of the run."""


def recall_rows(rows: Iterable[Row]) -> list[RetrievalRow]:
    """Return the rows that are about recall."""
    return [row for row in rows if isinstance(row, RetrievalRow)]
