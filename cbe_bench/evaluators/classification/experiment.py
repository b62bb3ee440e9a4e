"""Classification experiments: a cell is one encoder at one code length under one seed, or the features themselves.

Cells of a seed use the same split and training rows, which are in memory; held-out rows are read block by block, and
cached where they fit.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from cbe_bench.core.code_version import code_version
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import Results
from cbe_bench.core.runner import BASE_BYTES, OPERATIONS_PER_SECOND, Cell, Metrics
from cbe_bench.data.features import Features
from cbe_bench.data.splits import ClassSplit
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.base import Experiment, Measurement, register
from cbe_bench.evaluators.classification.claims import CLAIMS
from cbe_bench.evaluators.classification.config import ClassificationConfig
from cbe_bench.evaluators.classification.figures import classification_report
from cbe_bench.evaluators.classification.metrics import (
    ClassificationEvaluator,
    draw_class_split,
    evaluation_bytes,
    evaluation_operations,
)
from cbe_bench.evaluators.classification.rows import ORIGINAL, ClassificationRow, ClassificationSpec
from cbe_bench.evaluators.classification.tables import data_label, grouped
from cbe_bench.evaluators.configs import EncoderConfig
from cbe_bench.evaluators.feature_rows import cached_bytes, check_rows
from cbe_bench.evaluators.seeds import derive_seed

_METRICS = "cbe_bench.evaluators.classification.metrics"
_FLOAT_BITS = 32
_SINGLE_SEED_POINTS = 1.0
"""Points that an accuracy of a single seed may be off."""


@register
class ClassificationExperiment(Experiment):
    """How accurate linear classifiers of codes are."""

    kind = "classification"
    config_class = ClassificationConfig
    row_classes = (ClassificationRow,)
    claims = CLAIMS
    config: ClassificationConfig

    def __init__(self, config: ClassificationConfig, features: Features | None, resources: Resources) -> None:
        super().__init__(config, features, resources)
        self._n_classes = len(self._split(config.seeds[0]).names)
        self._rows_are_checked = False

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        config = self.config
        return (
            f"{self.features.name} ({self.features.kind}): {self._n_classes} classes, of each "
            f"{config.train_per_class:,} rows for training, {config.validation_per_class:,} for validation, "
            f"{config.test_per_class:,} for the test, d = {config.n_features:,}; {len(self.cells('cells', ()))} cells"
            f"{', centred' * config.center}{config.lengths_left_out}"
        )

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List, seed by seed, the features themselves and every encoder at every code length, the longest first."""
        config = self.config
        original = EncoderConfig(name=ORIGINAL, label=ORIGINAL)
        wanted = [(original, _FLOAT_BITS * config.n_features)]
        wanted += [
            (entry, n_bits) for entry in config.encoders for n_bits in sorted(config.lengths(entry), reverse=True)
        ]
        data_hash = self.features.content_hash()
        return [
            self._cell(entry, n_bits, seed, data_hash)
            for seed in config.seeds
            for entry, n_bits in wanted
            if seed in config.seeds_of(entry)
        ]

    def _cell(self, entry: EncoderConfig, n_bits: int, seed: int, data_hash: str) -> Cell:
        config, encoder = self.config, self._encoder(entry, n_bits)
        spec = ClassificationSpec(
            encoder=entry.name,
            params=config.params_of(entry),
            n_bits=n_bits,
            n_train=min(entry.n_train or self._n_train, self._n_train) if encoder and encoder.data_dependent else 0,
            seed=seed,
            data_hash=data_hash,
            data_rows=self.features.n_rows,
            protocol=config.protocol,
            n_features=config.n_features,
            n_classes=self._n_classes,
            train_per_class=config.train_per_class,
            validation_per_class=config.validation_per_class,
            test_per_class=config.test_per_class,
            costs=tuple(sorted(config.costs)),
        )
        memory_bytes, operations = self._estimates(spec, encoder)
        return Cell(
            spec=spec,
            row_class=ClassificationRow,
            code=code_version([_METRICS, *([encoder_class(entry.name).__module__] if encoder else [])]),
            label=entry.label,
            title=f"{entry.label}, {n_bits:,} bits, seed {seed}",
            memory_bytes=memory_bytes,
            seconds=operations / (OPERATIONS_PER_SECOND * self.resources.n_threads),
            group=seed,
        )

    def _encoder(self, entry: EncoderConfig, n_bits: int) -> Encoder | None:
        """Return the encoder of an entry; None for the features themselves."""
        if entry.name == ORIGINAL:
            return None
        return make_encoder(entry.name, n_bits=n_bits, **self.config.params_of(entry)).set_resources(self.resources)

    @property
    def _n_train(self) -> int:
        """Training rows of all classes."""
        return self._n_classes * self.config.train_per_class

    @property
    def _n_held_out(self) -> int:
        """Validation and test rows of all classes."""
        return self._n_classes * (self.config.validation_per_class + self.config.test_per_class)

    @property
    def _cache_bytes(self) -> int:
        return cached_bytes(self.resources.memory_limit, self.config.n_features, self._n_held_out)

    def _estimates(self, spec: ClassificationSpec, encoder: Encoder | None) -> tuple[int, float]:
        """Return the memory in bytes and the operations that a cell is expected to need."""
        d, n_train, n_costs = spec.n_features, self._n_train, len(spec.costs)
        n_dims = spec.n_bits if encoder else d
        memory_bytes = BASE_BYTES + self._cache_bytes
        memory_bytes += evaluation_bytes(n_train, d, n_dims, self._n_classes, n_costs)
        operations = evaluation_operations(n_train, self._n_held_out, n_dims, self._n_classes * n_costs)
        if encoder is None:
            return memory_bytes, operations + n_train * n_train * d
        drawn = 4 * d * spec.n_train if spec.n_train < n_train else 0
        encoding = (n_train + self._n_held_out) * encoder.cost_estimate(d)
        return memory_bytes + encoder.memory_bytes(d, self._n_train) + drawn, operations + encoding

    def _split(self, seed: int) -> ClassSplit:
        config = self.config
        return draw_class_split(
            self.features,
            seed,
            classes=config.classes,
            train=config.train_per_class,
            validation=config.validation_per_class,
            test=config.test_per_class,
        )

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> ClassificationEvaluator:
        """Draw the split of a seed and read its training rows; rows of all seeds are checked before the first."""
        if not self._rows_are_checked:
            splits = [self._split(seed) for seed in self.config.seeds]
            check_rows(self.features, np.unique(np.concatenate([r for s in splits for r in (s.train, s.held)])))
            self._rows_are_checked = True
        spec: Any = cells[0].spec
        reporter.step(f"training rows, seed {spec.seed}", 0.0)
        return ClassificationEvaluator(
            self.features,
            self._split(spec.seed),
            seed=spec.seed,
            n_features=spec.n_features,
            costs=spec.costs,
            protocol=spec.protocol,
            cache_bytes=self._cache_bytes,
        )

    def evaluate(self, cell: Cell, context: ClassificationEvaluator, progress: Progress) -> Metrics:
        """Return the accuracy and the cost of a cell."""
        spec: Any = cell.spec
        if spec.encoder == ORIGINAL:
            return context.original(progress)
        seed = derive_seed(spec.seed, "encoder", spec.encoder)
        encoder = make_encoder(spec.encoder, n_bits=spec.n_bits, random_state=seed, **spec.params)
        return context.codes(encoder.set_resources(self.resources), progress, spec.n_train or None)

    def summarise(self, row: ClassificationRow) -> str:
        """Say how accurate the classifiers are."""
        symmetric = "" if math.isnan(row.accuracy_symmetric) else f", symmetric {row.accuracy_symmetric:.3f}"
        return f"accuracy {row.accuracy:.3f}{symmetric}  ({row.wall_s:.1f} s)"

    @classmethod
    def report(cls, results: Results) -> Report:
        """Return the table and the figure of accuracies."""
        return classification_report(results)

    @classmethod
    def describe_data(cls, results: Results) -> str:
        """Say in a line which data the results are about."""
        return data_label(results.rows)

    @classmethod
    def measurements(cls, results: Results) -> Iterator[Measurement]:
        """Yield accuracies in percent: means over seeds, and two standard errors either way, pooled over methods."""
        groups = list(grouped(row for row in results.rows if row.ok))
        for metric, name in (("accuracy (%)", "accuracy"), ("symmetric accuracy (%)", "accuracy_symmetric")):
            found = {_subject(rows[0]): [100 * getattr(row, name) for row in rows] for rows in groups}
            found = {subject: values for subject, values in found.items() if not math.isnan(values[0])}
            deviation = _pooled_deviation(found.values())
            for subject, values in found.items():
                mean, half = float(np.mean(values)), 2 * deviation / len(values) ** 0.5
                yield Measurement(subject, metric, mean, mean - half, mean + half)


def _subject(row: ClassificationRow) -> str:
    """Name what a row measures, its seed aside."""
    words = [row.label, f"d = {row.n_features:,}", f"{row.n_bits:,} bits"]
    words += [str(row.params)] if row.params else []
    words += [f"{row.n_train:,} training rows"] if row.n_train else []
    return ", ".join(words)


def _pooled_deviation(groups: Collection[list[float]]) -> float:
    """Return the standard deviation over seeds: of all methods together, since a few seeds say little about one."""
    freedom = sum(len(values) - 1 for values in groups)
    if not freedom:
        return _SINGLE_SEED_POINTS / 2
    return float(np.sqrt(sum(np.sum((np.array(values) - np.mean(values)) ** 2) for values in groups) / freedom))
