"""Classification experiments, cell by cell.

A cell is one encoder at one number of bits under one seed, or the features themselves. Cells of a seed share its split
and its training rows, which are held in memory; held rows are read block by block, and kept where there is room.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import cbe_bench
from cbe_bench.config import ORIGINAL, ClassificationConfig, EncoderConfig
from cbe_bench.core.results import Row
from cbe_bench.data.features import Features
from cbe_bench.data.splits import PROTOCOLS, ClassSplit, Split, make_class_split
from cbe_bench.data.view import PreparedData, Tick
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.classification import ClassificationEvaluator, evaluation_bytes, evaluation_work
from cbe_bench.kernels.parallel import thread_count
from cbe_bench.runner.common import (
    BASE_BYTES,
    OPERATIONS_A_SECOND,
    BasePlan,
    EncoderCell,
    Reporter,
    check_rows,
    derive_seed,
    done_keys,
    kept_bytes,
    kept_for_seed,
    run_pending,
)

_FLOAT_BITS = 32
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class Plan(BasePlan):
    """A classification experiment laid out."""

    config: ClassificationConfig
    cells: list[EncoderCell]
    pending: list[EncoderCell]
    n_classes: int

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        config = self.config
        return (
            f"{self.features.name} ({self.features.kind}): {self.n_classes} classes, of each {config.train:,} rows for "
            f"training, {config.validation:,} for validation, {config.test:,} for the test, "
            f"d = {config.n_features:,}; {len(self.cells)} cells"
        )


def make_plan(
    config: ClassificationConfig, scale: str, features: Features, rows_file: Path, *, rerun: str | None = None
) -> Plan:
    """List the cells of an experiment and which are still to run."""
    n_classes = len(_split(config, features, config.seeds[0]).names)
    shared = {
        "experiment": config.experiment,
        "version": cbe_bench.__version__,
        "dataset": features.content_hash(),
        "rows": features.n_rows,
        "protocol": config.protocol,
        "n_features": config.n_features,
        "n_classes": n_classes,
        "train": config.train,
        "validation": config.validation,
        "test": config.test,
        "costs": sorted(config.costs),
    }
    original = EncoderConfig(name=ORIGINAL, label=ORIGINAL)
    wanted = [(original, _FLOAT_BITS * config.n_features)]
    wanted += [(entry, n_bits) for entry in config.encoders for n_bits in sorted(config.bits, reverse=True)]
    cells = [
        _make_cell(config, entry, n_bits, n_classes, {**shared, "seed": seed})
        for seed in config.seeds
        for entry, n_bits in wanted
    ]
    done = done_keys(rows_file, rerun)
    pending = [cell for cell in cells if cell.key not in done]
    return Plan(config=config, scale=scale, features=features, cells=cells, pending=pending, n_classes=n_classes)


def _make_cell(
    config: ClassificationConfig, entry: EncoderConfig, n_bits: int, n_classes: int, shared: Row
) -> EncoderCell:
    d, n_train, n_held = config.n_features, n_classes * config.train, n_classes * (config.validation + config.test)
    n_machines, n_learn, params, dims = n_classes * len(config.costs), 0, {}, d
    memory, work = BASE_BYTES + kept_bytes(d, n_held), 0.0
    if entry.name != ORIGINAL:
        params, dims = config.params_of(entry), n_bits
        encoder = make_encoder(entry.name, n_bits=n_bits, **params)
        n_learn = min(entry.learn or n_train, n_train) if encoder.learns else 0
        memory += encoder.memory_bytes(d) + (4 * d * n_learn if n_learn < n_train else 0)
        work += (n_train + n_held) * encoder.work(d)
    else:
        work += n_train * n_train * d
    memory += evaluation_bytes(n_train, d, dims, n_machines, n_classes)
    work += evaluation_work(n_train, n_held, dims, n_machines)
    return EncoderCell(
        encoder=entry,
        n_bits=n_bits,
        seed=shared["seed"],
        memory_bytes=memory,
        seconds=work / (OPERATIONS_A_SECOND * thread_count()),
        identity={**shared, "encoder": entry.name, "params": params, "n_bits": n_bits, "n_learn": n_learn},
    )


def run_plan(
    plan: Plan, rows_file: Path, reporter: Reporter, *, rerun: str | None = None, timeout: float | None = None
) -> Plan:
    """Run the pending cells, whether anew or not; every one ends in a row, appended before the next begins."""
    splits = [_split(plan.config, plan.features, seed) for seed in {cell.seed for cell in plan.pending}]
    if splits:
        used = [rows for split in splits for rows in (split.train, split.held)]
        check_rows(plan.features, np.unique(np.concatenate(used)))
    evaluator = kept_for_seed(lambda seed: _prepare(plan, seed, reporter))
    run_pending(plan, rows_file, reporter, lambda cell: partial(_evaluate, evaluator(cell.seed), cell), _line, timeout)
    return plan


def _split(config: ClassificationConfig, features: Features, seed: int) -> ClassSplit:
    return make_class_split(
        features.labels(),
        classes=config.classes,
        train=config.train,
        validation=config.validation,
        test=config.test,
        seed=derive_seed(seed, "split"),
        source=features.source,
    )


def _prepare(plan: Plan, seed: int, reporter: Reporter) -> ClassificationEvaluator:
    """Split the data by a seed and read the training rows."""
    config, features = plan.config, plan.features
    reporter.step(f"training rows, seed {seed}", 0.0)
    split = _split(config, features, seed)

    def prepared(rows: Split, cache_bytes: int = 0) -> PreparedData:
        kept = config.n_features if config.n_features != features.n_features else None
        dims_seed = derive_seed(seed, "dimensions")
        return PreparedData(
            features, rows, PROTOCOLS[config.protocol], seed=dims_seed, n_dims=kept, cache_bytes=cache_bytes
        )

    X = prepared(Split(queries=split.train, database=_NOTHING, learn=_NOTHING)).queries()
    held = Split(queries=_NOTHING, database=split.held, learn=_NOTHING)
    held_data = prepared(held, kept_bytes(config.n_features, len(split.held)))
    return ClassificationEvaluator(X, held_data, split, sorted(config.costs))


def _evaluate(evaluator: ClassificationEvaluator, cell: EncoderCell, tick: Tick) -> Row:
    if cell.encoder.name == ORIGINAL:
        return evaluator.original(tick)
    seed = derive_seed(cell.seed, "encoder", cell.encoder.name)
    encoder = make_encoder(cell.encoder.name, n_bits=cell.n_bits, random_state=seed, **cell.identity["params"])
    return evaluator.codes(encoder, tick, cell.identity["n_learn"] or None)


def _line(row: Row) -> str:
    """Tell how a cell ended."""
    symmetric = f", symmetric {row['accuracy_symmetric']:.3f}" if "accuracy_symmetric" in row else ""
    return f"accuracy {row['accuracy']:.3f}{symmetric}  ({row['seconds']:.1f} s)"
