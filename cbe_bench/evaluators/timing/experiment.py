"""Timing experiments: encode or training times of every method at every dimension, interleaved as far as memory allows.

`measure` says what is timed; `rounds` repeats it in new processes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from cbe_bench.core import environment
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.results import Results
from cbe_bench.core.runner import BASE_BYTES, OPERATIONS_PER_SECOND, Cell, Metrics
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.base import Experiment, Measurement, register
from cbe_bench.evaluators.configs import EncoderConfig
from cbe_bench.evaluators.times.cells import encoding_cell, grouped, summary_of, timer_of, timing_code
from cbe_bench.evaluators.times.device import HOST
from cbe_bench.evaluators.times.measure import Round
from cbe_bench.evaluators.times.rounds import Rounds
from cbe_bench.evaluators.times.rows import (
    LearningRow,
    LearningSpec,
    TimingRow,
    TimingSpec,
    encode_rows,
    learning_rows,
)
from cbe_bench.evaluators.timing.claims import CLAIMS
from cbe_bench.evaluators.timing.config import TimingConfig
from cbe_bench.evaluators.timing.figures import timing_report


@register
class TimingExperiment(Experiment):
    """How long encoding takes, method by method and dimension by dimension."""

    kind = "timing"
    config_class = TimingConfig
    row_classes = (TimingRow, LearningRow)
    claims = CLAIMS
    judged_from = "quick"
    timed_stages = ("cells",)
    config: TimingConfig

    @property
    def headline(self) -> str:
        """Say in a line what is to be run."""
        config = self.config
        dims = ", ".join(f"{d:,}" for d in config.dims)
        what = "training times" if config.n_train else "encode times"
        rows = ", ".join(f"{n:,}" for n in config.n_train)
        size = f"{rows} training rows" if rows else f"batches of {config.batch}"
        return (
            f"{what} of {', '.join(entry.label for entry in config.encoders)}; d = {dims}; code lengths "
            f"{config.n_bits}; {size}, {config.threads} pinned thread{'s' if config.threads > 1 else ''}"
            f"{'' if config.device == HOST else f', and on {config.device}'}"
        )

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List every method at every dimension and code length; what fits memory together is one group."""
        config, devices = self.config, dict.fromkeys((HOST, self.config.device))
        blocks: list[list[Cell]] = []
        for d in config.dims:
            for n_bits in config.lengths(d):
                if config.n_train:
                    sizes = [(one, n_train) for n_train in config.n_train for one in config.encoders]
                    blocks.append([self._learning_cell(one, d, n_bits, n_train) for one, n_train in sizes])
                else:
                    places = [(one, device) for one in config.encoders for device in devices]
                    blocks.append([self._cell(one, d, n_bits, device) for one, device in places])
        return list(grouped(blocks, self.resources.memory_limit))

    def _cell(self, entry: EncoderConfig, d: int, n_bits: int, device: str) -> Cell:
        config = self.config
        spec = TimingSpec(
            encoder=entry.name,
            params=config.params_of(entry),
            n_features=d,
            n_bits=n_bits,
            batch=config.batch,
            threads=config.threads,
            dtype="float32",
            environment=environment.environment_id(),
            device=device,
            rounds=config.rounds,
        )
        label = entry.label if device == HOST else f"{entry.label} on {device}"
        return encoding_cell(spec, label, config.budget_s, self.resources)

    def _learning_cell(self, entry: EncoderConfig, d: int, n_bits: int, n_train: int) -> Cell:
        config = self.config
        encoder = make_encoder(entry.name, n_bits=n_bits, **entry.params).set_resources(self.resources)
        spec = LearningSpec(
            encoder=entry.name,
            params=entry.params,
            n_features=d,
            n_bits=n_bits,
            n_train=n_train,
            threads=config.threads,
            environment=environment.environment_id(),
            rounds=config.rounds,
        )
        seconds = 10 * n_train * encoder.cost_estimate(d) / OPERATIONS_PER_SECOND
        return Cell(
            spec=spec,
            row_class=LearningRow,
            code=timing_code(entry.name),
            label=entry.label,
            title=f"training {entry.label}, d = {d:,}, {n_bits:,} bits, {n_train:,} rows",
            memory_bytes=BASE_BYTES + 4 * d * n_train + encoder.memory_bytes(d, n_train),
            seconds=config.rounds * max(config.budget_s, seconds),
        )

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> Round | Rounds:
        """Set up the methods of a group; several rounds do so themselves."""
        return timer_of(cells, self.config.rounds, self.config.budget_s, reporter)

    def evaluate(self, cell: Cell, context: Round | Rounds, progress: Progress) -> Metrics:
        """Return the times of a cell; the first of a group is measured together with all others."""
        return context.metrics(cell.key, progress)

    def summarise(self, row: TimingRow | LearningRow) -> str:
        """Say how long encoding, or training, takes and whether that is stable."""
        if isinstance(row, LearningRow):
            return f"{row.fit_s:,.4g} s ({len(row.samples_s)} samples, {len(row.rounds_s)} rounds)"
        return summary_of(row)

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
        """Yield encode times with their quartiles, and training times with the fastest and the slowest round."""
        for learned in learning_rows(results.rows):
            subject = f"training {learned.label}, d = {learned.n_features:,}, {learned.n_train:,} rows"
            yield Measurement(subject, "s", learned.fit_s, min(learned.rounds_s), max(learned.rounds_s))
        for row in encode_rows(results.rows):
            if row.ok:
                subject = f"{row.label}, d = {row.n_features:,}, {row.n_bits:,} bits, batches of {row.batch:,}"
                yield Measurement(subject, "us per vector", row.encode_us_per_vector, *row.encode_us_quartiles)
