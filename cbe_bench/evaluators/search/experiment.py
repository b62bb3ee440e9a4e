"""Search experiments: one method at one code length under one seed is a cell.

Cells of a seed have in common its split, its exact neighbours and the scores that candidates are re-ranked by.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from cbe_bench.core.code_version import code_version
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.results import Results
from cbe_bench.core.runner import BASE_BYTES, OPERATIONS_PER_SECOND, Cell, Metrics
from cbe_bench.data.splits import Split
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.registry import encoder_class, encoder_classes
from cbe_bench.evaluators.base import Experiment, Measurement, register
from cbe_bench.evaluators.configs import EncoderConfig
from cbe_bench.evaluators.feature_rows import cached_bytes
from cbe_bench.evaluators.search.config import SearchConfig
from cbe_bench.evaluators.search.evaluator import SearchEvaluator
from cbe_bench.evaluators.search.figures import search_report
from cbe_bench.evaluators.search.indexes import Index
from cbe_bench.evaluators.search.making import make_index
from cbe_bench.evaluators.search.rows import SearchRow, SearchSpec
from cbe_bench.evaluators.search.tables import data_label, search_measurements
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.evaluators.task import Task, warn_of_mean

_SCORES_AT_ONCE = 16 * 128
"""Bytes of scores for each row of the database while a search runs."""


@register
class SearchExperiment(Experiment):
    """How well compressed vectors are searched, by bytes and by time, and what re-ranking adds."""

    kind = "search"
    config_class = SearchConfig
    row_classes = (SearchRow,)
    timed_stages = ("cells",)
    config: SearchConfig

    @cached_property
    def task(self) -> Task:
        """What is searched for in what."""
        return self.config.task(self.features, self.config.n_train)

    @cached_property
    def _first_split(self) -> Split:
        """A split, of which the sizes are those of every seed."""
        return self.task.split(self.config.seeds[0])

    @property
    def headline(self) -> str:
        """Say in a line what is to be run, and what cannot be."""
        config, split = self.config, self._first_split
        reasons: dict[str, list[str]] = {}
        for entry in config.encoders:
            if reason := config.skipped(entry):
                reasons.setdefault(reason, []).append(entry.label)
        skipped = "".join(f"; skipped: {', '.join(labels)}: {reason}" for reason, labels in reasons.items())
        return (
            f"{self.features.name} ({self.features.kind}): {len(split.database):,} database rows, "
            f"{len(split.queries):,} queries, d = {config.n_features:,}{', centred' * config.center}, "
            f"neighbours by {config.metric}; "
            f"{', '.join(entry.label for entry in config.present)}{skipped}"
        )

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List, seed by seed, every method at every code length that it can have."""
        lengths = {entry.label: self.config.lengths(entry) for entry in self.config.present}
        data_hash = self.features.content_hash()
        return [
            self._cell(entry, n_bits, seed, data_hash)
            for seed in self.config.seeds
            for entry in self.config.present
            if seed in self.config.seeds_of(entry)
            for n_bits in lengths[entry.label]
        ]

    def _cell(self, entry: EncoderConfig, n_bits: int, seed: int, data_hash: str) -> Cell:
        config, split = self.config, self._first_split
        pool = len(split.train_positions)
        spec = SearchSpec(
            encoder=entry.name,
            params=config.params_of(entry),
            n_bits=n_bits,
            seed=seed,
            n_train=min(entry.n_train or pool, pool),
            n_train_pool=pool,
            timed_depth=config.timed_depth,
            **self.task.spec_fields(split, data_hash),
        )
        index = self._index(spec)
        modules = [SearchEvaluator.__module__, make_index.__module__]
        modules += [encoder_class(entry.name).__module__] if entry.name in encoder_classes() else []
        return Cell(
            spec=spec,
            row_class=SearchRow,
            code=code_version(modules),
            label=entry.label,
            title=f"{entry.label}, {n_bits:,} bits, seed {seed}",
            memory_bytes=self._memory_bytes(index, n_bits),
            seconds=self._operations(index, n_bits) / (OPERATIONS_PER_SECOND * self.resources.n_threads),
            group=seed,
        )

    def _index(self, spec: SearchSpec) -> Index:
        return make_index(
            spec.encoder,
            spec.params,
            n_bits=spec.n_bits,
            n_features=spec.n_features,
            metric=spec.metric,
            seed=derive_seed(spec.seed, "encoder", spec.encoder),
            resources=self.resources,
        )

    def _is_linear(self, entry: EncoderConfig) -> bool:
        """Whether a method is an encoder that compares linear projections with zero."""
        if entry.name not in encoder_classes():
            return False
        params = {name: value for name, value in entry.params.items() if name != "scoring"}
        return make_encoder(entry.name, **params).linear

    def _memory_bytes(self, index: Index, n_bits: int) -> int:
        """Estimate the memory of a cell: data, scores to re-rank by, training, codes, scores of a search."""
        d, split = self.config.n_features, self._first_split
        n_database, n_train = len(split.database), len(split.train_positions)
        scores = n_database * (2 * 4 * len(split.queries) + _SCORES_AT_ONCE)
        return BASE_BYTES + self._cache_bytes + scores + n_database * n_bits // 4 + index.memory_bytes(d, n_train)

    def _operations(self, index: Index, n_bits: int) -> float:
        """Estimate the operations of a cell: encoding, and four searches."""
        split = self._first_split
        pairs = len(split.database) * len(split.queries)
        return len(split.database) * index.cost_estimate(self.config.n_features) + 4 * 3.0 * pairs * n_bits

    @property
    def _cache_bytes(self) -> int:
        split = self._first_split
        sizes = len(split.database), len(split.train_positions)
        return cached_bytes(self.resources.memory_limit, self.config.n_features, *sizes)

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> SearchEvaluator:
        """Return the evaluator of a seed, with its exact neighbours."""
        config, spec = self.config, cells[0].spec
        assert isinstance(spec, SearchSpec)
        operations = 8.0 * spec.n_features * spec.n_database * spec.n_queries
        seconds = operations / (OPERATIONS_PER_SECOND * self.resources.n_threads)
        reporter.step(f"exact neighbours, seed {spec.seed}", seconds)
        data = self.task.view(spec.seed, self._cache_bytes)
        warn_of_mean(data.queries(), [entry.label for entry in config.present if self._is_linear(entry)])
        return SearchEvaluator(data, config.n_neighbours, config.depth, config.timed_depth, reporter.advance)

    def evaluate(self, cell: Cell, context: SearchEvaluator, progress: Progress) -> Metrics:
        """Return what a method finds and what it costs."""
        assert isinstance(cell.spec, SearchSpec)
        return context.evaluate(self._index(cell.spec), progress, cell.spec.n_train)

    def summarise(self, row: SearchRow) -> str:
        """Say what a method finds, and in how many bytes."""
        deep = min(10, len(row.recall))
        return (
            f"recall {row.recall[0]:.3f} among the first {row.n_neighbours}, {row.recall[deep - 1]:.3f} among "
            f"{deep * row.n_neighbours}; {row.bytes_per_vector:g} bytes a vector ({row.wall_s:.1f} s)"
        )

    @classmethod
    def report(cls, results: Results) -> Report:
        """Return the tables, and the figure of recall against bytes and against time."""
        return search_report(results)

    @classmethod
    def describe_data(cls, results: Results) -> str:
        """Say in a line which data the results are about."""
        return data_label(results.rows) if results.rows else ""

    @classmethod
    def measurements(cls, results: Results) -> Iterator[Measurement]:
        """Yield recall in points: means over seeds with their intervals."""
        return search_measurements(results.rows)
