"""Rows of retrieval experiments: recall of a method, and the code length it reaches in a given time."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from cbe_bench.core.query_values import QueryValues
from cbe_bench.core.results import Row, Spec
from cbe_bench.evaluators.task import NeighboursSpec


@dataclass(frozen=True, kw_only=True)
class RetrievalSpec(NeighboursSpec):
    """One encoder at one code length under one seed, on one data set."""

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


@dataclass(frozen=True, kw_only=True)
class EqualTimeSpec(Spec):
    """One method beside the reference at one code length of the reference, on one machine."""

    encoder: str
    params: dict[str, Any]
    reference: str
    reference_params: dict[str, Any]
    n_features: int
    target_bits: int
    """The code length of the reference."""
    most_bits: int
    """The longest code of the method that is tried: memory may limit it."""
    batch: int
    budget_s: float
    """Seconds for which each comparison is sampled."""
    environment: str


@dataclass(frozen=True, kw_only=True)
class EqualTimeRow(EqualTimeSpec, Row):
    """The code length a method reaches in the time of the reference."""

    type: ClassVar[str] = "equal_time"

    n_bits: int = 0
    time_ratio: float = math.nan
    """Encode time at that length over that of the reference."""
    time_ratio_at_equal_bits: float = math.nan
    """Encode time at the length of the reference over that of the reference; NaN where memory does not suffice."""
    reference_us_per_vector: float = math.nan
    searched_at_bits: int = 0
    """The length of the reference for which `n_bits` was searched: a longer one may take the same time."""


def recall_rows(rows: Iterable[Row]) -> list[RetrievalRow]:
    """Return the rows that are about recall."""
    return [row for row in rows if isinstance(row, RetrievalRow)]


def equal_time_rows(rows: Iterable[Row]) -> list[EqualTimeRow]:
    """Return the rows that are about code lengths of equal time."""
    return [row for row in rows if isinstance(row, EqualTimeRow)]
