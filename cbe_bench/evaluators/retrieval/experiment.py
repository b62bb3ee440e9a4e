"""Retrieval experiments: one method at one code length under one seed is a cell.

Where methods are compared at equal time, a first stage measures encode times at a ladder of code lengths; then each
method is also run at the lengths of the ladder that bracket what it computes in the time of the reference. Cells of a
split share its exact neighbours, and cells of a method with nested codes share one pass over the data, the
longest code first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cbe_bench.core.code_version import code_version
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.results import Results
from cbe_bench.core.runner import OPERATIONS_PER_SECOND, Cell, Metrics
from cbe_bench.data.splits import Split
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.base import Experiment, Measurement, register
from cbe_bench.evaluators.configs import EncoderConfig
from cbe_bench.evaluators.feature_rows import cached_bytes, check_rows
from cbe_bench.evaluators.retrieval.claims import CLAIMS
from cbe_bench.evaluators.retrieval.config import RetrievalConfig
from cbe_bench.evaluators.retrieval.estimates import cell_bytes, evaluation_operations, ground_truth_operations
from cbe_bench.evaluators.retrieval.evaluator import RetrievalEvaluator, encoded_bits, encoder_of
from cbe_bench.evaluators.retrieval.figures import retrieval_report
from cbe_bench.evaluators.retrieval.ladder import TimeLadder
from cbe_bench.evaluators.retrieval.measurements import retrieval_measurements
from cbe_bench.evaluators.retrieval.rows import RetrievalRow, RetrievalSpec, recall_rows
from cbe_bench.evaluators.retrieval.tables import data_label
from cbe_bench.evaluators.task import Task, warn_of_mean
from cbe_bench.evaluators.times.cached import CachedTimes
from cbe_bench.evaluators.times.cells import summary_of
from cbe_bench.evaluators.times.rows import TimingRow, encode_rows

TIMES, RECALL = "times", "recall"


@dataclass(frozen=True)
class _Group:
    """What the cells of a split have in common."""

    evaluator: RetrievalEvaluator
    encoded_bits: Mapping[str, int]
    """By the key of a cell: the length of the codes it is a prefix of."""


@register
class RetrievalExperiment(Experiment):
    """How well codes find exact neighbours, at equal code length and at equal encode time."""

    kind = "retrieval"
    config_class = RetrievalConfig
    row_classes = (RetrievalRow, TimingRow)
    claims = CLAIMS
    stages = (TIMES, RECALL)
    timed_stages = (TIMES,)
    config: RetrievalConfig

    _checked = False
    """Whether the rows of all seeds were checked."""
    _known_splits: frozenset[int] = frozenset()
    """Seeds of splits that have results, whose rows are known to be good."""
    _measured: frozenset[str] = frozenset()
    """Keys of encode times that there are."""

    @cached_property
    def task(self) -> Task:
        """What is retrieved from what; no training set is drawn where no method is trained."""
        config = self.config
        trained = any(self._encoder(entry).data_dependent for entry in config.encoders)
        return config.task(self.features, config.n_train if trained else 0)

    def _encoder(self, entry: EncoderConfig, n_bits: int | None = None) -> Encoder:
        """Return the encoder of an entry, not fitted."""
        return make_encoder(entry.name, n_bits=n_bits, **self.config.params_of(entry)).set_resources(self.resources)

    @cached_property
    def _first_split(self) -> Split:
        """A split, of which the sizes are those of every seed."""
        return self.task.split(self.config.seed_of_split(self.config.seeds[0]))

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        split, names = self._first_split, ", ".join(entry.label for entry in self.config.encoders)
        used, there = len(split.database), self.features.n_rows - (self.features.own_queries or len(split.queries))
        of_all = f" of {there:,}" if used < there else ""
        return (
            f"{self.features.name} ({self.features.kind}): {used:,}{of_all} database rows, "
            f"{len(split.queries):,} queries, d = {self.config.n_features:,}{', centred' * self.config.center}; {names}"
            f"{self.config.lengths_left_out}"
        )

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage; which code lengths recall is measured at follows from encode times."""
        self._measured = frozenset(row.key for row in encode_rows(rows) if row.ok)
        mine = (row for row in recall_rows(rows) if row.ok and row.data_hash == self._data_hash)
        self._known_splits = frozenset(row.split_seed for row in mine)
        if stage == TIMES:
            return [replace(cell, group=(TIMES, cell.group)) for cell in self._ladder.cells]
        lengths = {entry.label: set(self._common_lengths(entry)) for entry in self.config.encoders}
        for label, found in self._ladder.lengths(rows).items():
            lengths[label].update(found)
        return [
            self._recall_cell(entry, n_bits, seed, longest=n_bits == max(lengths[entry.label]))
            for seed in self.config.seeds
            for entry in self.config.encoders
            if seed in self.config.seeds_of(entry)
            for n_bits in sorted(lengths[entry.label], reverse=True)
        ]

    def expected_cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage; code lengths that follow from times not measured yet are foreseen.

        Parameters
        ----------
        stage : str
            One of `stages`.
        rows : sequence of Row
            The rows on disk now.

        Returns
        -------
        list of Cell
        """
        cells = self.cells(stage, rows)
        if stage == TIMES:
            return cells
        known = {(cell.label, cell.spec.n_bits) for cell in cells}  # type: ignore[attr-defined]
        lengths = self._ladder.lengths(rows, foreseen=True)
        return cells + [
            replace(
                self._recall_cell(entry, n_bits, seed, longest=True),
                title=f"{entry.label}, {n_bits:,} bits (about the time of {self.config.time_reference}), seed {seed}",
            )
            for seed in self.config.seeds
            for entry in self.config.encoders
            if seed in self.config.seeds_of(entry)
            for n_bits in lengths.get(entry.label, ())
            if (entry.label, n_bits) not in known
        ]

    def _common_lengths(self, entry: EncoderConfig) -> list[int]:
        return self.config.lengths(entry) if "bits" in self.config.fixed else []

    @cached_property
    def _data_hash(self) -> str:
        return self.features.content_hash()

    @cached_property
    def _ladder(self) -> TimeLadder:
        return TimeLadder(self.config, self.resources)

    def _recall_cell(self, entry: EncoderConfig, n_bits: int, seed: int, *, longest: bool) -> Cell:
        config, split, params = self.config, self._first_split, self.config.params_of(entry)
        n_database, n_queries = len(split.database), len(split.queries)
        encoder = self._encoder(entry, n_bits)
        pool = len(split.train_positions) if encoder.data_dependent else 0
        encodes = longest or not encoder.nested
        operations = (n_database + n_queries) * encoder.cost_estimate(config.n_features) if encodes else 0.0
        operations += evaluation_operations(n_database, n_queries, n_bits)
        threads, limit = self.resources.n_threads, self.resources.memory_limit
        spec = RetrievalSpec(
            encoder=entry.name,
            params=params,
            n_bits=n_bits,
            seed=seed,
            n_train=min(entry.n_train or pool, pool),
            n_train_pool=pool,
            split_seed=config.seed_of_split(seed),
            auc=config.auc,
            **self.task.spec_fields(split, self._data_hash),
        )
        return Cell(
            spec=spec,
            row_class=RetrievalRow,
            code=code_version([encoder_class(entry.name).__module__, RetrievalEvaluator.__module__]),
            label=entry.label,
            title=f"{entry.label}, {n_bits:,} bits, seed {seed}",
            memory_bytes=cell_bytes(self.task, encoder, n_database, threads, limit),
            seconds=operations / (OPERATIONS_PER_SECOND * threads),
            group=spec.split_seed,
        )

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> CachedTimes | _Group:
        """Return what times the cells of a group, or the evaluator of a split with its exact neighbours."""
        config, seed = self.config, cells[0].group
        self._check_features(alone=seed)
        if not isinstance(seed, int):
            return CachedTimes(cells, config.time_rounds, config.time_budget_s, reporter, self._measured)
        task, split = self.task, self._first_split
        d, n_database = task.n_features, len(split.database)
        operations = ground_truth_operations(d, n_database, len(split.queries))
        reporter.step(f"exact neighbours, seed {seed}", operations / (OPERATIONS_PER_SECOND * self.resources.n_threads))
        data = task.view(seed, cached_bytes(self.resources.memory_limit, d, n_database, len(split.train_positions)))
        warn_of_mean(data.queries(), [entry.label for entry in self.config.encoders if self._encoder(entry).linear])
        evaluator = RetrievalEvaluator(data, task.n_neighbours, task.depth, reporter.advance, auc=self.config.auc)
        return _Group(evaluator, encoded_bits(cells))

    def _check_features(self, alone: Any) -> None:
        """Check the rows of all splits without results, before the first cell runs.

        A single split is checked as its exact neighbours are searched.
        """
        drawn = dict.fromkeys(map(self.config.seed_of_split, self.config.seeds))
        seeds = [seed for seed in drawn if seed not in self._known_splits]
        if not self._checked and seeds not in ([], [alone]):
            splits = [self.task.split(seed) for seed in seeds]
            used = [rows for split in splits for rows in (split.queries, split.database)]
            check_rows(self.features, np.unique(np.concatenate(used)))
        self._checked = True

    def evaluate(self, cell: Cell, context: CachedTimes | _Group, progress: Progress) -> Metrics:
        """Return the metrics of a cell."""
        spec: Any = cell.spec
        if isinstance(context, CachedTimes):
            return context.metrics(cell.key, progress)
        encoder = encoder_of(spec, context.encoded_bits[cell.key]).set_resources(self.resources)
        return context.evaluator.evaluate(encoder, spec.n_bits, progress, spec.n_train or None)

    def summarise(self, row: RetrievalRow | TimingRow) -> str:
        """Say what recall a cell has, or how long encoding takes."""
        if isinstance(row, TimingRow):
            return summary_of(row)
        recall = f"recall@{row.depths[-1]} {row.recall[-1]:.3f}, asymmetric {row.recall_asymmetric[-1]:.3f}"
        return f"{recall} ({row.wall_s:.1f} s)"

    @classmethod
    def report(cls, results: Results) -> Report:
        """Return the tables and figures of recall, or of a sweep over a parameter."""
        return retrieval_report(results)

    @classmethod
    def describe_data(cls, results: Results) -> str:
        """Say in a line which data the results are about."""
        rows = recall_rows(results.rows)
        return data_label(rows) if rows else ""

    @classmethod
    def measurements(cls, results: Results) -> Iterator[Measurement]:
        """Yield recall, averaged AUC and ratios of time."""
        return retrieval_measurements(results)
