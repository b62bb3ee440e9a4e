"""Retrieval experiments, cell by cell.

A cell is one encoder at one number of bits under one seed. Cells of a seed share its split and true neighbours,
and cells of an encoder whose codes are nested share one pass over the data, the longest code first.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cbe_bench
from cbe_bench.config import EncoderConfig, RetrievalConfig
from cbe_bench.core import environment
from cbe_bench.core.results import Row
from cbe_bench.data.features import Features
from cbe_bench.data.splits import PROTOCOLS, Split, make_split
from cbe_bench.data.view import PreparedData, Tick
from cbe_bench.encoders import Encoder, encoder_classes, make_encoder
from cbe_bench.evaluators.retrieval import RetrievalEvaluator, evaluation_bytes, evaluation_work
from cbe_bench.kernels.parallel import thread_count
from cbe_bench.runner.calibration import Calibration, calibrate, calibrations, known_bits
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


@dataclass(frozen=True, kw_only=True)
class Cell(EncoderCell):
    """One encoder at one number of bits under one seed."""

    encoded_bits: int
    """The bits computed: those of the longest cell it shares its codes with."""


@dataclass(frozen=True, kw_only=True)
class Plan(BasePlan):
    """A retrieval experiment laid out."""

    config: RetrievalConfig
    cells: list[Cell]
    pending: list[Cell]
    calibrations: list[Calibration]
    """What must be known before methods have equal time."""
    n_database: int

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        return (
            f"{self.features.name} ({self.features.kind}): {self.n_database:,} database rows, "
            f"{self.config.queries:,} queries, d = {self.config.n_features:,}; {len(self.cells)} cells"
        )

    @property
    def labels(self) -> dict[str, str]:
        """What the method of each row is called, by the key of the row."""
        return super().labels | {cell.key: cell.encoder.label for cell in self.calibrations}


def make_plan(
    config: RetrievalConfig, scale: str, features: Features, rows_file: Path, *, rerun: str | None = None
) -> Plan:
    """List the cells of an experiment and which are still to run."""
    split = _split(config, features, config.seeds[0])
    data_identity = {
        "experiment": config.experiment,
        "version": cbe_bench.__version__,
        "dataset": features.content_hash(),
        "rows": features.n_rows,
        "protocol": config.protocol,
        "n_features": config.n_features,
        "n_database": len(split.database),
        "n_queries": len(split.queries),
        "neighbours": config.neighbours,
        "depth": config.depth,
    }
    wanted = calibrations(config)
    bits = _bits_of_each(config, known_bits(wanted, rows_file))
    cells = [
        _make_cell(config, entry, n_bits, bits[entry.label], seed, split, {**data_identity, "seed": seed})
        for seed in config.seeds
        for entry in config.encoders
        for n_bits in bits[entry.label]
    ]
    done = done_keys(rows_file, rerun)
    pending = [cell for cell in cells if cell.key not in done]
    return Plan(
        config=config,
        scale=scale,
        features=features,
        cells=cells,
        pending=pending,
        calibrations=wanted,
        n_database=len(split.database),
    )


def _bits_of_each(config: RetrievalConfig, equal_time: dict[tuple[str, int], int]) -> dict[str, list[int]]:
    """Return the numbers of bits each method is run at, the largest first."""
    common = set(config.bits) if "bits" in config.fixed else set()
    found = {entry.label: set(common) for entry in config.encoders}
    for (label, _), n_bits in equal_time.items():
        found[label].add(n_bits)
    return {label: sorted(bits, reverse=True) for label, bits in found.items()}


def _make_cell(
    config: RetrievalConfig,
    entry: EncoderConfig,
    n_bits: int,
    others: list[int],
    seed: int,
    split: Split,
    shared: Row,
) -> Cell:
    n_database, params = len(split.database), config.params_of(entry)
    encoder = make_encoder(entry.name, n_bits=n_bits, **params)
    encoded_bits, memory = n_bits, _memory(config, encoder, n_database)
    if encoder.nested:  # the longest code that fits serves all shorter ones
        for longer in sorted(b for b in others if b > n_bits):
            more = _memory(config, encoder.set_params(n_bits=longer), n_database)
            if more <= environment.memory_limit():
                encoded_bits, memory = longer, more
    encoder.set_params(n_bits=encoded_bits)
    encode = (n_database + config.queries) * encoder.work(config.n_features) if n_bits == encoded_bits else 0.0
    work = encode + evaluation_work(n_database, config.queries, n_bits)
    n_learn = min(entry.learn or config.learn, len(split.learn)) if encoder.learns else 0
    return Cell(
        encoder=entry,
        n_bits=n_bits,
        encoded_bits=encoded_bits,
        seed=seed,
        memory_bytes=memory,
        seconds=work / (OPERATIONS_A_SECOND * thread_count()),
        identity={**shared, "encoder": entry.name, "params": params, "n_bits": n_bits, "n_learn": n_learn},
    )


def _memory(config: RetrievalConfig, encoder: Encoder, n_database: int) -> int:
    """Estimate the bytes a cell needs."""
    learning = 8 * config.n_features * config.learn if encoder.learns else 0
    evaluation = evaluation_bytes(n_database, config.queries, encoder.bits(config.n_features), thread_count())
    kept = kept_bytes(config.n_features, n_database, config.learn)
    return BASE_BYTES + kept + learning + evaluation + encoder.memory_bytes(config.n_features)


def run_plan(
    plan: Plan,
    rows_file: Path,
    reporter: Reporter,
    *,
    rerun: str | None = None,
    timeout: float | None = None,
    block_rows: int | None = None,
) -> Plan:
    """Run the pending cells; every one ends in a row, appended before the next begins.

    Where methods are to have equal time, their bits are measured first; the plan that was run is returned.
    """
    _check_files(plan)
    if plan.calibrations:
        calibrate(plan.calibrations, plan.config, rows_file, reporter, anew=rerun == "all")
        plan = make_plan(plan.config, plan.scale, plan.features, rows_file, rerun=rerun)
    evaluator = kept_for_seed(lambda seed: _prepare(plan, seed, reporter, block_rows))
    run_pending(plan, rows_file, reporter, lambda cell: partial(_evaluate, evaluator(cell.seed), cell), _line, timeout)
    return plan


def _check_files(plan: Plan) -> None:
    """Check all rows of all seeds before the run begins; one seed alone is checked as its neighbours are sought."""
    seeds = {cell.seed for cell in plan.pending}
    if len(seeds) > 1:
        splits = [_split(plan.config, plan.features, seed) for seed in seeds]
        used = [rows for split in splits for rows in (split.queries, split.database)]
        check_rows(plan.features, np.unique(np.concatenate(used)))


def _prepare(plan: Plan, seed: int, reporter: Reporter, block_rows: int | None) -> RetrievalEvaluator:
    """Split the data by a seed and find the true neighbours; bad data is found here, before any cell runs."""
    config = plan.config
    split = _split(config, plan.features, seed)
    data = PreparedData(
        plan.features,
        split,
        PROTOCOLS[config.protocol],
        seed=derive_seed(seed, "dimensions"),
        n_dims=config.n_features if config.n_features != plan.features.n_features else None,
        cache_bytes=kept_bytes(config.n_features, len(split.database), len(split.learn)),
        block_rows=block_rows,
    )
    work = 4.0 * config.n_features * len(split.database) * (len(split.queries) + 100)
    reporter.step(f"true neighbours, seed {seed}", work / (OPERATIONS_A_SECOND * thread_count()))
    return RetrievalEvaluator(data, config.neighbours, config.depth, reporter.share, auc=config.auc)


def _learns(config: RetrievalConfig) -> bool:
    """Tell whether any of the methods looks at a learning set."""
    return any(encoder_classes()[entry.name].learns for entry in config.encoders)


def _split(config: RetrievalConfig, features: Features, seed: int) -> Split:
    protocol = PROTOCOLS[config.protocol]
    return make_split(
        features.n_rows,
        database=min(config.database, protocol.most_database or config.database),
        learn=min(config.learn, protocol.most_learn or config.learn) if _learns(config) else 0,
        queries=config.queries,
        least=max(config.neighbours, config.depth),
        seed=derive_seed(seed, "split"),
        source=features.source,
        own_queries=features.own_queries,
    )


def _evaluate(evaluator: RetrievalEvaluator, cell: Cell, tick: Tick) -> Row:
    return evaluator.evaluate(_encoder_for(cell), cell.n_bits, tick, cell.identity["n_learn"] or None)


def _encoder_for(cell: Cell) -> Encoder:
    params: dict[str, Any] = cell.identity["params"]
    seed = derive_seed(cell.seed, "encoder", cell.encoder.name)
    return make_encoder(cell.encoder.name, n_bits=cell.encoded_bits, random_state=seed, **params)


def _line(row: Row) -> str:
    """Tell how a cell ended."""
    values = f"recall@{row['depths'][-1]} {row['recall'][-1]:.3f}, asymmetric {row['recall_asymmetric'][-1]:.3f}"
    return f"{values}  ({row['seconds']:.1f} s)"
