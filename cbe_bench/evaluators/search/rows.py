"""Rows of search experiments: what a method finds, and what it costs."""

import math
from dataclasses import dataclass
from typing import ClassVar

from cbe_bench.core.results import Row
from cbe_bench.evaluators.task import NeighboursSpec


@dataclass(frozen=True, kw_only=True)
class SearchSpec(NeighboursSpec):
    """One index at one code length under one seed, on one data set.

    `encoder` is an encoder, rabitq, or an index of another library; `n_bits` does not count numbers beside the code.
    """

    timed_depth: int
    """Search time is that of finding this many."""


@dataclass(frozen=True, kw_only=True)
class SearchRow(SearchSpec, Row):
    """Recall of the exact neighbours among the first candidates, and after re-ranking these; bytes and time.

    Recall is given for each oversampling factor c: of the n_neighbours exact neighbours, how many are among the first
    c * n_neighbours candidates. Re-ranked by the original vectors in float32 these are the first n_neighbours, so it is
    also the recall after such re-ranking.
    """

    type: ClassVar[str] = "search"

    bytes_per_vector: float = math.nan
    """All that is stored for a vector: its code and the numbers beside it."""
    oversampling: tuple[int, ...] = ()
    recall: tuple[float, ...] = ()
    """Among the first c * n_neighbours; re-ranked in float32."""
    recall_float16: tuple[float, ...] = ()
    """Among the first n_neighbours after the first c * n_neighbours are re-ranked by float16 vectors."""
    recall_int8: tuple[float, ...] = ()
    """The same, by int8 vectors: 255 equal steps over the range of each dimension."""
    oversampling_for_95: dict[str, int | None] | None = None
    """The least c with a recall of 95 % after re-ranking, by precision; None where no c up to the depth suffices."""
    oversampling_for_99: dict[str, int | None] | None = None
    fit_s: float = math.nan
    encode_us_per_vector: float = math.nan
    search_us_per_query: float = math.nan
    """To find `timed_depth` candidates, all queries at once on all threads of the run; the least of three runs."""
