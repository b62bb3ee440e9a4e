"""Experiments on the angle estimate: simulated pairs, and all pairs of some features.

A simulation cell is one method on one kind of pair in some dimensions: all angles and all numbers of bits at once. A
feature cell is one draw of one encoder on the features: all their pairs, at every number of bits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

import cbe_bench
from cbe_bench.config import AnglesConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import Row
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.splits import PROTOCOLS, Split
from cbe_bench.data.view import PreparedData, Tick
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.evaluators.angles import DELTA, METHODS, Method, estimates, simulate
from cbe_bench.evaluators.distortion import TrueAngles, angle_errors, true_angles
from cbe_bench.evaluators.pairs import KINDS, make_plane
from cbe_bench.evaluators.theory import iid_variance
from cbe_bench.kernels.parallel import blas_threads, thread_count
from cbe_bench.runner.common import (
    BASE_BYTES,
    OPERATIONS_A_SECOND,
    BaseCell,
    BasePlan,
    Reporter,
    derive_seed,
    done_keys,
    run_pending,
)

ANGLES = tuple(twelfths * math.pi / 12 for twelfths in (1, 2, 3, 4, 6, 8, 10))
_SHOWN = 3
"""The angle that progress is told of: pi/3."""
FEATURE_METHODS = ("lsh", "cbe-rand", "cbe-rand without D", "cbe-orth", "hd3")
_FEWEST_BITS = 16
"""Codes of features are at least this long."""
_VERSION = 2
"""Part of every key: to be raised by a change that changes the numbers."""
_SECONDS_A_VALUE = 6e-8
"""What one thread needs for one simulated value; forecasts rest on it and are rough."""


@dataclass(frozen=True, kw_only=True)
class SimulationCell(BaseCell):
    """One method on one kind of pair."""

    n_features: int
    pair: str
    method: Method
    draws: int
    bits: list[int]
    seed: int

    def describe(self) -> str:
        """Name the cell for a person."""
        return f"{self.method.label}, {self.pair} pair, d = {self.n_features:,}"


@dataclass(frozen=True, kw_only=True)
class FeatureCell(BaseCell):
    """One draw of one encoder on the features."""

    method: Method
    draw: int
    bits: list[int]
    seed: int

    def describe(self) -> str:
        """Name the cell for a person."""
        return f"{self.method.label}, features, draw {self.draw}"


@dataclass(frozen=True)
class Sample:
    """Some rows of the features and the angles between them."""

    X: Matrix
    truth: TrueAngles


@dataclass(frozen=True)
class Plan(BasePlan):
    """An experiment on angles laid out: features first, since a bad file is found as they are read."""

    config: AnglesConfig
    cells: list[SimulationCell | FeatureCell]
    pending: list[SimulationCell | FeatureCell]

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        dims = ", ".join(f"{d:,}" for d in (*self.config.dims, *self.config.flat_dims))
        return (
            f"pairs of vectors, d = {dims}; {self.features.name} ({self.features.kind}): all pairs of "
            f"{_n_vectors(self.config, self.features):,} rows, d = {self.config.n_features:,}; {len(self.cells)} cells"
        )

    @cached_property
    def sample(self) -> Sample:
        """A random sample of the features: rows of unit length, checked, and their angles."""
        seed, none = derive_seed("rows", self.config.seed), np.empty(0, np.int64)
        n = _n_vectors(self.config, self.features)
        rows = np.sort(np.random.default_rng(seed).choice(self.features.n_rows, n, replace=False))
        split = Split(queries=rows, database=none, learn=none)
        kept = self.config.n_features if self.config.n_features != self.features.n_features else None
        X = PreparedData(self.features, split, PROTOCOLS["paper"], seed=seed, n_dims=kept).queries()
        with blas_threads(thread_count()):
            return Sample(X, true_angles(X))


def _n_vectors(config: AnglesConfig, features: Features) -> int:
    return min(config.vectors, features.n_rows)


def make_plan(
    config: AnglesConfig, scale: str, features: Features, rows_file: Path, *, rerun: str | None = None
) -> Plan:
    """List the cells of an experiment and which are still to run."""
    for found, what in ((features.n_rows, "row"), (config.n_features, "dimension")):
        if found < 2:
            raise InputError(f"{features.source}: {found} {what}; angles need at least 2")
    cells: list[SimulationCell | FeatureCell] = [*_plan_features(config, features), *_plan_simulations(config)]
    done = done_keys(rows_file, rerun)
    pending = [cell for cell in cells if cell.key not in done]
    return Plan(config=config, scale=scale, features=features, cells=cells, pending=pending)


def numbers_of_bits(d: int, least: int = 1) -> list[int]:
    """Return d, its halves down to d/16, and quarters from there down to `least`, rising."""
    shifts = [0, 1, 2, 3, *range(4, d.bit_length(), 2)]
    return sorted({d >> shift for shift in shifts if d >> shift >= least} | {d})


def _plan_simulations(config: AnglesConfig) -> list[SimulationCell]:
    """List the simulations: every method on every kind of pair, lsh on one, since all are alike to it."""
    cells = []
    for d in config.dims:
        cells.append(_simulation("dense", METHODS["lsh"], d, config.draws, config.seed))
        others = [method for label, method in METHODS.items() if label != "lsh"]
        cells += [_simulation(kind, method, d, config.draws, config.seed) for kind in KINDS for method in others]
    flat = [d for d in config.flat_dims if d not in config.dims]
    return cells + [_simulation("flat", METHODS["cbe-rand"], d, config.flat_draws, config.seed) for d in flat]


def _simulation(kind: str, method: Method, d: int, draws: int, seed: int) -> SimulationCell:
    bits = numbers_of_bits(d)
    identity = {
        "experiment": "angles",
        "part": "simulation",
        "version": cbe_bench.__version__,
        "simulation_version": _VERSION,
        "data": "simulated pairs",
        "data_kind": "simulated",
        "n_features": d,
        "pair": kind,
        "method": method.label,
        "draws": draws,
        "angles": list(ANGLES),
        "bits": bits,
        "delta": DELTA,
        "seed": seed,
    }
    return SimulationCell(
        n_features=d,
        pair=kind,
        method=method,
        draws=draws,
        bits=bits,
        seed=seed,
        memory_bytes=BASE_BYTES + thread_count() * max(d, 1 << 18) * 40 + 40 * draws * len(ANGLES) * len(bits),
        seconds=draws * d * _SECONDS_A_VALUE / thread_count(),
        identity=identity,
    )


def _plan_features(config: AnglesConfig, features: Features) -> list[FeatureCell]:
    """List the feature cells: every encoder, drawn a number of times."""
    methods = [METHODS[label] for label in FEATURE_METHODS]
    return [_feature_cell(config, features, method, draw) for method in methods for draw in range(config.feature_draws)]


def _feature_cell(config: AnglesConfig, features: Features, method: Method, draw: int) -> FeatureCell:
    d, n = config.n_features, _n_vectors(config, features)
    bits = numbers_of_bits(d, _FEWEST_BITS)
    encoder = _encoder(method, d, 0)
    identity = {
        "experiment": "angles",
        "part": "features",
        "version": cbe_bench.__version__,
        "dataset": features.content_hash(),
        "rows": features.n_rows,
        "n_vectors": n,
        "n_features": d,
        "method": method.label,
        "bits": bits,
        "draw": draw,
        "seed": config.seed,
    }
    return FeatureCell(
        method=method,
        draw=draw,
        bits=bits,
        seed=config.seed,
        memory_bytes=BASE_BYTES + encoder.memory_bytes(d) + n * (20 * d + 48 * n),
        seconds=2 * n * encoder.work(d) / (OPERATIONS_A_SECOND * thread_count()),
        identity=identity,
    )


def _encoder(method: Method, n_bits: int, seed: int) -> Encoder:
    return make_encoder(method.family, n_bits=n_bits, random_state=seed)


def run_plan(
    plan: Plan, rows_file: Path, reporter: Reporter, *, rerun: str | None = None, timeout: float | None = None
) -> Plan:
    """Run the pending cells, whether anew or not; every one ends in a row, appended before the next begins."""
    run_pending(plan, rows_file, reporter, partial(_work, plan), _line, timeout)
    return plan


def _work(plan: Plan, cell: SimulationCell | FeatureCell) -> Callable[[Tick], Row]:
    return partial(_simulate, cell) if isinstance(cell, SimulationCell) else partial(_encode, cell, plan.sample)


def _simulate(cell: SimulationCell, tick: Tick) -> Row:
    plane = make_plane(cell.pair, cell.n_features, derive_seed("pair", cell.seed, cell.pair, cell.n_features))
    seed = derive_seed("draws", cell.seed, cell.pair, cell.n_features, cell.method.label)
    counts, spreads = simulate(plane, cell.method, list(ANGLES), cell.bits, cell.draws, seed, tick)
    return {"spreads": spreads, **estimates(counts, list(ANGLES), cell.bits)}


def _encode(cell: FeatureCell, sample: Sample, tick: Tick) -> Row:
    seed = derive_seed("features", cell.seed, cell.method.label, cell.draw)
    encoder = _encoder(cell.method, cell.bits[-1], seed).fit(sample.X)
    if not cell.method.flips:
        encoder.signs_[:] = 1
    signs, truth = encoder.transform(sample.X), sample.truth
    tick(0.9)
    with blas_threads(thread_count()):
        means, worst = angle_errors(signs, truth, cell.bits)
    return {
        "mean_error": means,
        "worst_error": worst,
        "pairs": len(truth.angles),
        "spread_range": [float(truth.spreads.min()), float(truth.spreads.max())],
        "angle_range": [float(truth.angles.min()), float(truth.angles.max())],
        "share_with_hypothesis": [truth.share_with_hypothesis(k) for k in cell.bits],
    }


def _line(row: Row) -> str:
    """Tell how a cell ended."""
    k = row["bits"][-1]
    if row["part"] == "features":
        text = f"angles off by {row['mean_error'][-1]:.4f} pi on average, {row['worst_error'][-1]:.4f} at worst"
    else:
        ratio = row["variance"][_SHOWN][-1] / iid_variance(ANGLES[_SHOWN], k)
        text = f"variance at pi/3 and {k:,} bits {ratio:.3g} times that of independent bits"
    return f"{text}  ({row['seconds']:.1f} s)"
