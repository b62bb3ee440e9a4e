"""Timing experiments: the encode time of every method at every dimension, methods of one dimension interleaved.

Timed is an unchecked `encode`, vectors in memory to packed codes, on pinned threads. Drawing the parameters, and what
the first call builds, are timed apart.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from cbe_bench.core import environment
from cbe_bench.core.code_version import code_version
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.results import Results
from cbe_bench.core.runner import BASE_BYTES, OPERATIONS_PER_SECOND, Cell, Metrics
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.base import Experiment, Measurement, register
from cbe_bench.evaluators.timers import (
    TIMED_PARAMS,
    UNSTABLE,
    Candidate,
    fit_for_timing,
    interleaved,
    pinned_threads,
    unit_vectors,
)
from cbe_bench.evaluators.timing.claims import CLAIMS
from cbe_bench.evaluators.timing.config import TimingConfig
from cbe_bench.evaluators.timing.device import HOST, OnDevice
from cbe_bench.evaluators.timing.figures import timing_report
from cbe_bench.evaluators.timing.rows import TimingRow, TimingSpec

_TIMING_MODULES = ("cbe_bench.evaluators.timers", "cbe_bench.evaluators.timing.device")
_TRAINING_ROWS = 64
"""Rows that trained methods see when only their encoding is timed."""


@register
class TimingExperiment(Experiment):
    """How long encoding takes, method by method and dimension by dimension."""

    kind = "timing"
    config_class = TimingConfig
    row_classes = (TimingRow,)
    claims = CLAIMS
    judged_from = "quick"
    config: TimingConfig

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        config = self.config
        dims = ", ".join(f"{d:,}" for d in config.dims)
        return (
            f"encode times of {', '.join(config.encoders)}; d = {dims}; code lengths {config.n_bits}; batches of "
            f"{config.batch}, {config.threads} pinned thread{'s' if config.threads > 1 else ''}"
            f"{'' if config.device == HOST else f', and on {config.device}'}"
        )

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List every method at every dimension and code length; what fits memory together is one group."""
        found: list[Cell] = []
        devices = dict.fromkeys((HOST, self.config.device))
        for d in self.config.dims:
            for n_bits in self.config.lengths(d):
                names = self.config.encoders
                found += self._grouped([self._cell(name, d, n_bits, device) for name in names for device in devices])
        return found

    def _cell(self, name: str, d: int, n_bits: int, device: str) -> Cell:
        config, params = self.config, TIMED_PARAMS.get(name, {})
        encoder = make_encoder(name, n_bits=n_bits, **params).set_resources(self.resources)
        seconds = config.batch * encoder.cost_estimate(d) / OPERATIONS_PER_SECOND
        spec = TimingSpec(
            encoder=name,
            params=params,
            n_features=d,
            n_bits=n_bits,
            batch=config.batch,
            threads=config.threads,
            dtype="float32",
            environment=environment.environment_id(),
            device=device,
        )
        label = name if device == HOST else f"{name} on {device}"
        return Cell(
            spec=spec,
            row_class=TimingRow,
            code=code_version([encoder_class(name).__module__, *_TIMING_MODULES]),
            label=label,
            title=f"{label}, d = {d:,}, {n_bits:,} bits",
            memory_bytes=self._shared_bytes(d) + encoder.memory_bytes(d),
            seconds=max(config.budget_s, 2 * seconds),
        )

    def _shared_bytes(self, d: int) -> int:
        """Return the part of a cell's memory common to all cells of its dimension."""
        return BASE_BYTES + 4 * d * self.config.batch

    def _grouped(self, cells: list[Cell]) -> Iterator[Cell]:
        """Put cells of one dimension into groups that fit into memory together."""
        limit = free = self.resources.memory_limit
        number = 0
        for cell in cells:
            spec: Any = cell.spec
            if cell.memory_bytes > free and not cell.excess(limit):
                number, free = number + 1, limit
            if not cell.excess(limit):
                free -= cell.memory_bytes - self._shared_bytes(spec.n_features)
            yield Cell(**{**vars(cell), "group": (spec.n_features, spec.n_bits, number)})

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> "_Interleaved":
        """Draw the parameters of all methods of a group and call each once."""
        with pinned_threads(self.config.threads):
            return _Interleaved(cells, self.config, reporter)

    def evaluate(self, cell: Cell, context: "_Interleaved", progress: Progress) -> Metrics:
        """Return the times of a cell; the first of a group is measured together with all others."""
        with pinned_threads(self.config.threads):
            return context.metrics(cell, progress)

    def summarise(self, row: TimingRow) -> str:
        """Say how long encoding takes and whether that is stable."""
        how = f"IQR {row.relative_iqr:.0%}" if len(row.samples_us) > 1 else "a single sample"
        line = f"{row.encode_us_per_vector:,.4g} us per vector, {how} ({len(row.samples_us)} samples)"
        if row.relative_iqr > UNSTABLE:
            line += ", unstable"
        return line

    @classmethod
    def report(cls, results: Results) -> Report:
        """Return Tables 1 and 2, all times, and the figure of growth."""
        return timing_report(results.rows)

    @classmethod
    def describe_data(cls, results: Results) -> str:
        """Say what is encoded."""
        return "random unit vectors: encode time does not depend on the values"

    @classmethod
    def measurements(cls, results: Results) -> Iterator[Measurement]:
        """Yield the times with their quartiles."""
        for row in results.rows:
            if row.ok:
                subject = f"{row.label}, d = {row.n_features:,}, {row.n_bits:,} bits, batches of {row.batch:,}"
                yield Measurement(subject, "us per vector", row.encode_us_per_vector, *row.encode_us_quartiles)


class _Interleaved:
    """The methods of one dimension, set up and then timed interleaved, all when the first is asked for."""

    def __init__(self, cells: Sequence[Cell], config: TimingConfig, reporter: Reporter) -> None:
        first: Any = cells[0].spec
        self._config = config
        self._X = unit_vectors(first.batch, first.n_features)
        self._candidates: list[Candidate] = []
        self._set_up: dict[str, Metrics] = {}
        self._failed: dict[str, Exception] = {}
        self._timed: dict[str, Candidate] = {}
        self._is_timed = False
        for cell in cells:
            reporter.step(f"{cell.title}: parameters, first call", 0.0)
            try:
                self._add(cell)
            except Exception as error:  # one failing method must not end the comparison of the others
                self._failed[cell.key] = error

    def _add(self, cell: Cell) -> None:
        spec: Any = cell.spec
        encoder = make_encoder(spec.encoder, n_bits=spec.n_bits, random_state=0, **spec.params)
        rows: NDArray = unit_vectors(_TRAINING_ROWS, spec.n_features) if encoder.data_dependent else self._X
        fit_s = Candidate("fit", partial(fit_for_timing, encoder, rows, spec.threads)).sample()
        metrics: Metrics = {"fit_s": fit_s, "parameter_bytes": encoder.parameter_bytes()}
        call: Callable[[], object] = partial(encoder.encode, self._X, check_input=False)
        if spec.device != HOST:
            on_device = OnDevice(encoder, self._X, spec.device)
            call, metrics = on_device.encode, {**metrics, **on_device.metrics()}
        candidate = Candidate(cell.key, call, len(self._X))
        candidate.first_s = candidate.sample()
        self._candidates.append(candidate)
        self._set_up[cell.key] = metrics

    def metrics(self, cell: Cell, progress: Progress) -> Metrics:
        """Return the times of a cell, once all are measured."""
        if not self._is_timed:
            self._is_timed = True
            self._time(progress)
        if cell.key in self._failed:
            raise self._failed[cell.key]
        return {**self._set_up[cell.key], **_times(self._timed[cell.key])}

    def _time(self, progress: Progress) -> None:
        """Time all candidates; what ends this early, such as a time limit, is the failure of those not yet timed."""
        try:
            for candidate in interleaved(self._candidates, self._config.budget_s, progress):
                self._timed[candidate.name] = candidate
        except Exception as error:
            self._failed |= {one.name: error for one in self._candidates if one.name not in self._timed}


def _times(candidate: Candidate) -> Metrics:
    low, median, high = candidate.quartiles()
    sampled = sum(candidate.samples) * candidate.calls * candidate.vectors
    return {
        "encode_us_per_vector": 1e6 * median,
        "encode_us_quartiles": (1e6 * low, 1e6 * high),
        "samples_us": tuple(1e6 * sample for sample in candidate.samples),
        "calls_per_sample": candidate.calls,
        "plan_s": max(0.0, candidate.first_s - median * candidate.vectors),
        "wall_s": round(sampled, 3),
    }
