"""Experiments on the angle estimate: simulated pairs, and all pairs of some features.

A simulation cell is one method on one kind of pair in some dimensions: all angles and all numbers of bits at once. A
feature cell is one draw of one encoder on the features: all their pairs, at every number of bits.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cbe_bench
from cbe_bench import environment
from cbe_bench.data import formats
from cbe_bench.data.features import Features, Matrix, check_values
from cbe_bench.data.prepared import Tick
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.errors import InputError
from cbe_bench.evaluators.angles import DELTA, METHODS, Method, estimates, simulate
from cbe_bench.evaluators.distortion import TrueAngles, angle_errors, true_angles
from cbe_bench.evaluators.pairs import KINDS, make_plane
from cbe_bench.evaluators.theory import iid_variance
from cbe_bench.kernels.parallel import blas_threads, thread_count
from cbe_bench.results import Row, append_row
from cbe_bench.runner.common import (
    BASE_BYTES,
    OPERATIONS_A_SECOND,
    BaseCell,
    Reporter,
    circumstances,
    derive_seed,
    done_keys,
    going_on,
)

ANGLES = tuple(twelfths * math.pi / 12 for twelfths in (1, 2, 3, 4, 6, 8, 10))
SHOWN = 3
"""The angle that progress is told of: pi/3."""
FEATURE_METHODS = ("lsh", "cbe-rand", "cbe-rand without D", "cbe-orth", "hd3")
_VERSION = 1
"""Part of every key: to be raised by a change that changes the numbers."""
_SECONDS_A_VALUE = 6e-8
"""What one thread needs for one simulated value; forecasts rest on it and are rough."""


@dataclass(frozen=True)
class Scale:
    """How much is simulated."""

    dims: tuple[int, ...]
    draws: int
    flat_dims: tuple[int, ...]
    """Dimensions in which the flattest pair alone is simulated: there Theorem 1 begins to say something."""
    flat_draws: int
    rows: int
    feature_dim: int
    feature_draws: int


SCALES = {
    "smoke": Scale((64, 256), 2_000, (), 0, 50, 1_024, 3),
    "quick": Scale((256, 1_024, 4_096), 10_000, (65_536,), 1_000, 200, 25_600, 5),
    "paper": Scale((256, 1_024, 4_096, 16_384), 40_000, (65_536, 262_144), 4_000, 1_000, 25_600, 10),
}


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

    label: str
    draw: int
    bits: list[int]
    seed: int

    def describe(self) -> str:
        """Name the cell for a person."""
        return f"{self.label}, features, draw {self.draw}"


def numbers_of_bits(d: int, least: int = 1) -> list[int]:
    """Return the powers of two from `least` up to d, and d itself."""
    powers = [1 << power for power in range(d.bit_length())]
    return sorted({k for k in powers if k >= least} | {d})


def plan_angles(features: Features, scale: Scale, seed: int) -> list[SimulationCell | FeatureCell]:
    """List all cells of an experiment."""
    return [*plan_simulations(scale, seed), *plan_features(features, scale, seed)]


def plan_simulations(scale: Scale, seed: int) -> list[SimulationCell]:
    """List the simulations: every method on every kind of pair, lsh on one, since all are alike to it."""
    cells = []
    for d in scale.dims:
        cells.append(_simulation("dense", METHODS["lsh"], d, scale.draws, seed))
        others = [method for label, method in METHODS.items() if label != "lsh"]
        cells += [_simulation(kind, method, d, scale.draws, seed) for kind in KINDS for method in others]
    cells += [_simulation("flat", METHODS["cbe-rand"], d, scale.flat_draws, seed) for d in scale.flat_dims]
    return cells


def _simulation(kind: str, method: Method, d: int, draws: int, seed: int) -> SimulationCell:
    bits = numbers_of_bits(d)
    identity = {
        "experiment": "angles",
        "part": "simulation",
        "version": cbe_bench.__version__,
        "simulation_version": _VERSION,
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


def open_features(data: Path | None, scale: Scale, reporter: Reporter) -> Features:
    """Open the features: a file, or the synthetic stand-in where none is given."""
    if data is None:
        reporter.message("no --data FILE: the angles of features are those of a synthetic stand-in")
        return SyntheticFeatures("vlad", scale.rows, scale.feature_dim)
    features = formats.open_features(data)
    for found, what in ((features.n_rows, "row"), (features.n_features, "dimension")):
        if found < 2:
            features.close()
            raise InputError(f"{data}: /features has {found} {what}; angles need at least 2")
    return features


@dataclass(frozen=True)
class Sample:
    """Some rows of the features and the angles between them."""

    X: Matrix
    truth: TrueAngles


def read_sample(features: Features, scale: Scale, seed: int) -> Sample:
    """Read a random sample of rows, checked."""
    n = min(scale.rows, features.n_rows)
    rows = np.sort(np.random.default_rng([seed, 1]).choice(features.n_rows, n, replace=False))
    X = features.read(rows)
    check_values(X, rows, features.source)
    with blas_threads(thread_count()):
        return Sample(X, true_angles(X))


def plan_features(features: Features, scale: Scale, seed: int) -> list[FeatureCell]:
    """List the feature cells: every encoder, drawn a number of times."""
    draws = range(scale.feature_draws)
    return [_feature_cell(features, scale, label, draw, seed) for label in FEATURE_METHODS for draw in draws]


def _feature_cell(features: Features, scale: Scale, label: str, draw: int, seed: int) -> FeatureCell:
    d, n = features.n_features, min(scale.rows, features.n_rows)
    bits = numbers_of_bits(d, 16)
    encoder = _encoder(label, d, 0)
    identity = {
        "experiment": "angles",
        "part": "features",
        "version": cbe_bench.__version__,
        "data": features.name,
        "data_kind": features.kind,
        "data_hash": features.content_hash(),
        "n_rows": features.n_rows,
        "n_vectors": n,
        "n_features": d,
        "method": label,
        "bits": bits,
        "draw": draw,
        "seed": seed,
    }
    return FeatureCell(
        label=label,
        draw=draw,
        bits=bits,
        seed=seed,
        memory_bytes=BASE_BYTES + encoder.memory_bytes(d) + n * (9 * d + 48 * n),
        seconds=2 * n * encoder.work(d) / (OPERATIONS_A_SECOND * thread_count()),
        identity=identity,
    )


def _encoder(label: str, n_bits: int, seed: int) -> Encoder:
    return make_encoder(METHODS[label].family, n_bits=n_bits, random_state=seed)


def run_angles(
    cells: Sequence[SimulationCell | FeatureCell],
    features: Features,
    scale: Scale,
    rows_file: Path,
    reporter: Reporter,
    *,
    rerun: str | None = None,
) -> None:
    """Run the cells that are not done; append a row as each ends."""
    done = done_keys(rows_file, rerun)
    pending = [cell for cell in cells if cell.key not in done]
    if len(pending) < len(cells):
        reporter.message(going_on(len(cells) - len(pending), len(cells), rows_file))
    feature_cells = [cell for cell in pending if isinstance(cell, FeatureCell)]
    sample = read_sample(features, scale, feature_cells[0].seed) if feature_cells else None
    reporter.begin(len(pending), sum(cell.seconds for cell in pending))
    for cell in pending:
        reporter.step(cell.describe(), cell.seconds)
        start = time.perf_counter()
        row = _run_cell(cell, sample, reporter.share)
        row["seconds"] = round(time.perf_counter() - start, 3)
        append_row(rows_file, {"key": cell.key, **cell.identity, **row, **circumstances()})
        reporter.end(f"{cell.describe()}: {_line(cell, row)}")


def _run_cell(cell: SimulationCell | FeatureCell, sample: Sample | None, tick: Tick) -> Row:
    limit = environment.memory_limit()
    if cell.memory_bytes > limit:
        needs = environment.human_bytes(cell.memory_bytes)
        reason = f"needs about {needs}, the memory limit is {environment.human_bytes(limit)}"
        return {"status": "skipped", "reason": reason}
    try:
        values = _simulate(cell, tick) if isinstance(cell, SimulationCell) else _encode(cell, sample)
    except Exception as error:  # one failing cell must not end the others
        return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    return {"status": "ok", "reason": "", **values}


def _simulate(cell: SimulationCell, tick: Tick) -> Row:
    plane = make_plane(cell.pair, cell.n_features, derive_seed("pair", cell.seed, cell.pair, cell.n_features))
    seed = derive_seed("draws", cell.seed, cell.pair, cell.n_features, cell.method.label)
    counts, spreads = simulate(plane, cell.method, list(ANGLES), cell.bits, cell.draws, seed, tick)
    return {"spreads": spreads, **estimates(counts, list(ANGLES), cell.bits)}


def _encode(cell: FeatureCell, sample: Sample | None) -> Row:
    if sample is None:
        raise ValueError("feature cells need a sample of features")
    seed = derive_seed("features", cell.seed, cell.label, cell.draw)
    encoder = _encoder(cell.label, cell.bits[-1], seed).fit(sample.X)
    if not METHODS[cell.label].flips:
        encoder.signs_[:] = 1
    signs, truth = encoder.transform(sample.X), sample.truth
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


def _line(cell: SimulationCell | FeatureCell, row: Row) -> str:
    if row["status"] != "ok":
        return f"{row['status']}: {row['reason']}"
    if isinstance(cell, FeatureCell):
        text = f"angles off by {row['mean_error'][-1]:.4f} pi on average, {row['worst_error'][-1]:.4f} at worst"
    else:
        ratio = row["variance"][SHOWN][-1] / iid_variance(ANGLES[SHOWN], cell.bits[-1])
        text = f"variance at pi/3 and {cell.bits[-1]:,} bits {ratio:.3g} times that of independent bits"
    return f"{text}  ({row['seconds']:.1f} s)"
