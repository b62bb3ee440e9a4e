"""Experiments on the angle estimate: simulated pairs, and all pairs of some features.

A simulation cell is one method on one kind of pair in some dimension: all angles and all code lengths at once. A
feature cell is one draw of one encoder on a sample of the features: all their pairs, at every code length.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from cbe_bench.core.code_version import code_version
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.results import Results
from cbe_bench.core.runner import BASE_BYTES, OPERATIONS_PER_SECOND, Cell, Metrics
from cbe_bench.core.statistics import log_variance_error
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.angles.claims import CLAIMS
from cbe_bench.evaluators.angles.config import AnglesConfig
from cbe_bench.evaluators.angles.distortion import Sample, draw_sample, evaluate_features
from cbe_bench.evaluators.angles.figures import angles_report
from cbe_bench.evaluators.angles.methods import FEATURE_METHODS, METHODS
from cbe_bench.evaluators.angles.pairs import PAIRS
from cbe_bench.evaluators.angles.rows import (
    FeaturesRow,
    FeaturesSpec,
    SimulationRow,
    SimulationSpec,
    features_rows,
    simulations,
)
from cbe_bench.evaluators.angles.simulation import evaluate_simulation
from cbe_bench.evaluators.angles.theory import DELTA, iid_variance
from cbe_bench.evaluators.base import Experiment, Measurement, register

ANGLES = tuple(twelfths * math.pi / 12 for twelfths in (1, 2, 3, 4, 6, 8, 10))
"""Angles of simulated pairs, in radians."""
_SUMMARISED = 3
"""Position of the angle that a finished cell reports: pi/3."""
_SHORTEST_CODE = 16
"""Codes of features are at least this long."""
_SECONDS_PER_VALUE = 6e-8
"""What one thread needs for one simulated value; estimates of time rest on it and are rough."""
_MODULES = "cbe_bench.evaluators.angles"


def code_lengths(d: int, least: int = 1) -> tuple[int, ...]:
    """Return d, its halves down to d/16, and quarters from there down to `least`, ascending.

    Parameters
    ----------
    d : int
        The dimension.
    least : int
        The shortest code length.

    Returns
    -------
    tuple of int
    """
    shifts = [0, 1, 2, 3, *range(4, d.bit_length(), 2)]
    return tuple(sorted({d >> shift for shift in shifts if d >> shift >= least} | {d}))


@register
class AnglesExperiment(Experiment):
    """How well codes estimate angles: of simulated pairs, and of all pairs of a sample of features."""

    kind = "angles"
    config_class = AnglesConfig
    row_classes = (SimulationRow, FeaturesRow)
    claims = CLAIMS
    judged_from: ClassVar[str] = "smoke"
    config: AnglesConfig

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        config, features = self.config, self.features
        dims = ", ".join(f"{d:,}" for d in (*config.dims, *config.flat_dims))
        return (
            f"simulated pairs, d = {dims}; {features.name} ({features.kind}): all pairs of {self._n_vectors:,} rows, "
            f"d = {config.n_features:,}"
        )

    @property
    def _n_vectors(self) -> int:
        return min(self.config.vectors, self.features.n_rows)

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells: those of features first, since a bad file is found as they are read."""
        for found, what in ((self.features.n_rows, "row"), (self.config.n_features, "dimension")):
            if found < 2:
                raise InputError(f"{self.features.source}: {found} {what}; angles need at least 2")
        draws = range(self.config.feature_draws)
        on_features = [self._features_cell(method, draw) for method in FEATURE_METHODS for draw in draws]
        return [*on_features, *self._simulation_cells()]

    def _simulation_cells(self) -> Iterator[Cell]:
        """List the simulations: every method on every kind of pair, lsh on one, since all are alike to it."""
        config = self.config
        for d in config.dims:
            yield self._simulation_cell("lsh", "dense", d, config.draws)
            for pair in PAIRS:
                for method in METHODS:
                    if method != "lsh":
                        yield self._simulation_cell(method, pair, d, config.draws)
        for d in config.flat_dims:
            if d not in config.dims:
                yield self._simulation_cell("cbe-rand", "flat", d, config.flat_draws)

    def _simulation_cell(self, method: str, pair: str, d: int, draws: int) -> Cell:
        n_bits, threads = code_lengths(d), self.resources.n_threads
        spec = SimulationSpec(
            method=method,
            pair=pair,
            n_features=d,
            n_bits=n_bits,
            angles_rad=ANGLES,
            draws=draws,
            delta=DELTA,
            seed=self.config.seed,
        )
        return Cell(
            spec=spec,
            row_class=SimulationRow,
            code=code_version([f"{_MODULES}.simulation"]),
            label=method,
            title=f"{method}, {pair} pair, d = {d:,}",
            memory_bytes=BASE_BYTES + threads * max(d, 1 << 18) * 40 + 40 * draws * len(ANGLES) * len(n_bits),
            seconds=draws * d * _SECONDS_PER_VALUE / threads,
            group="simulations",
        )

    def _features_cell(self, method: str, draw: int) -> Cell:
        d, n = self.config.n_features, self._n_vectors
        name = METHODS[method].encoder
        encoder = make_encoder(name, n_bits=d)
        spec = FeaturesSpec(
            method=method,
            data_hash=self.features.content_hash(),
            n_rows=self.features.n_rows,
            n_vectors=n,
            n_features=d,
            n_bits=code_lengths(d, _SHORTEST_CODE),
            draw=draw,
            seed=self.config.seed,
        )
        return Cell(
            spec=spec,
            row_class=FeaturesRow,
            code=code_version([encoder_class(name).__module__, f"{_MODULES}.distortion"]),
            label=method,
            title=f"{method}, features, draw {draw}",
            memory_bytes=BASE_BYTES + encoder.memory_bytes(d) + n * (20 * d + 48 * n),
            seconds=2 * n * encoder.cost_estimate(d) / (OPERATIONS_PER_SECOND * self.resources.n_threads),
            group="features",
        )

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> Sample | None:
        """Draw the sample common to the feature cells; simulations need none."""
        if not isinstance(cells[0].spec, FeaturesSpec):
            return None
        return draw_sample(self.features, self._n_vectors, self.config.n_features, self.config.seed)

    def evaluate(self, cell: Cell, context: Sample | None, progress: Progress) -> Metrics:
        """Return the metrics of a cell."""
        if isinstance(cell.spec, SimulationSpec):
            return evaluate_simulation(cell.spec, progress)
        assert isinstance(cell.spec, FeaturesSpec)
        assert context is not None
        return evaluate_features(cell.spec, context, progress)

    def summarise(self, row: SimulationRow | FeaturesRow) -> str:
        """Say how far angles are off, or how the variance compares with that of independent bits."""
        if isinstance(row, FeaturesRow):
            mean, worst = row.mean_error_over_pi[-1], row.worst_error_over_pi[-1]
            return f"mean error of angles {mean:.4f} pi, worst {worst:.4f} pi"
        k = row.n_bits[-1]
        ratio = row.variance[_SUMMARISED][-1] / iid_variance(row.angles_rad[_SUMMARISED], k)
        return f"variance at pi/3 and {k:,} bits is {ratio:.3g} times that of independent bits"

    @classmethod
    def report(cls, results: Results) -> Report:
        """Return the tables and figures of mean, variance, sign flips, tails and features."""
        return angles_report(results)

    @classmethod
    def measurements(cls, results: Results) -> Iterator[Measurement]:
        """Yield the variances of simulations, and the mean errors of features over draws."""
        for row in simulations(results.rows):
            yield _variance(row)
        rows = features_rows(results.rows)
        for method in dict.fromkeys(row.method for row in rows):
            yield _mean_error([row for row in rows if row.method == method])


def _variance(row: SimulationRow) -> Measurement:
    """Return the variance at the longest code and the angle in the middle, with two standard errors."""
    middle = len(row.angles_rad) // 2
    value = row.variance[middle][-1]
    factor = float(np.exp(2 * log_variance_error(row.kurtosis[middle][-1], row.draws)))
    subject = f"{row.label}, {row.pair} pair, d = {row.n_features:,}, {row.draws:,} draws"
    return Measurement(subject, "variance of the angle estimate", value, value / factor, value * factor)


def _mean_error(rows: list[FeaturesRow]) -> Measurement:
    """Return the mean error at the longest code, averaged over draws, with two standard errors."""
    first, errors = rows[0], [row.mean_error_over_pi[-1] for row in rows]
    mean = float(np.mean(errors))
    half = 2 * float(np.std(errors, ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else math.inf
    subject = f"{first.label}, all pairs of {first.n_vectors:,} features, d = {first.n_features:,}"
    return Measurement(subject, "mean error of angles, pi", mean, mean - half, mean + half)
