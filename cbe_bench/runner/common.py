"""What all experiments share: who is told, what is done already, and under what circumstances a row came about."""

import hashlib
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cbe_bench.config import BaseConfig, EncoderConfig
from cbe_bench.core import environment
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import Row, append_row, cell_key, load_rows
from cbe_bench.data.catalogue import hint
from cbe_bench.data.features import Features, check_values
from cbe_bench.data.formats import open_features
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.data.view import Tick
from cbe_bench.kernels.parallel import slices, thread_count

BASE_BYTES = 400 << 20
"""The interpreter, its libraries and a few blocks of data."""
OPERATIONS_A_SECOND = 5e10
"""What one core does of a matrix product; forecasts of time rest on it and are rough."""


Prepared = TypeVar("Prepared")


class Reporter(Protocol):
    """Who is told how a run goes on."""

    def message(self, text: str) -> None:
        """Take a line for the user."""

    def begin(self, n_cells: int, seconds: float) -> None:
        """Take how many cells are to run, and a forecast of their seconds."""

    def step(self, what: str, seconds: float) -> None:
        """Take what begins now, and a forecast of its seconds."""

    def share(self, done: float) -> None:
        """Take the share of the step that is done."""

    def end(self, line: str, notes: Sequence[str] = ()) -> None:
        """Take how a cell has ended, and what is to be noted about it."""


@dataclass(frozen=True, kw_only=True)
class BaseCell(ABC):
    """One thing to run: what it needs, by estimate, and all that decides its value."""

    memory_bytes: int
    seconds: float
    identity: Row = field(repr=False)

    @property
    def key(self) -> str:
        """The hash of all that decides the cell's value."""
        return cell_key(self.identity)

    @abstractmethod
    def describe(self) -> str:
        """Name the cell for a person."""

    @property
    def label(self) -> str:
        """What tables and figures call it: its description, unless it has a name of its own."""
        return self.describe()

    def too_large(self) -> str:
        """Say why the cell cannot run within the memory limit; nothing where it can."""
        limit = environment.memory_limit()
        if self.memory_bytes <= limit:
            return ""
        needs = environment.human_bytes(self.memory_bytes)
        return f"needs about {needs}, the memory limit is {environment.human_bytes(limit)}"


@dataclass(frozen=True, kw_only=True)
class EncoderCell(BaseCell):
    """One encoder at one number of bits under one seed."""

    encoder: EncoderConfig
    n_bits: int
    seed: int

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return self.encoder.label

    def describe(self) -> str:
        """Name the cell for a person."""
        return f"{self.encoder.label}, {self.n_bits:,} bits, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class BasePlan(ABC):
    """An experiment laid out: its data, its cells in the order they run, and those still to run."""

    config: BaseConfig
    scale: str
    features: Features
    cells: Sequence[BaseCell]
    pending: Sequence[BaseCell]

    @property
    @abstractmethod
    def headline(self) -> str:
        """Say in a line what is to be run."""

    @property
    def labels(self) -> dict[str, str]:
        """What the method of each row is called, by the key of the row."""
        return {cell.key: cell.label for cell in self.cells}


def open_data(config: BaseConfig, reporter: Reporter) -> Features:
    """Open the experiment's features: its file, or a synthetic stand-in where that is allowed."""
    data = config.data
    if data.file is not None and not data.stand_in and not data.file.exists():
        raise InputError(f"{data.file}: no such file{hint(data.file)}")
    if data.file is not None and data.file.exists():
        features = open_features(data.file, data.name)
        if features.n_features != data.dim:
            features.close()
            raise InputError(f"{data.file}: has {features.n_features:,} dimensions; data.dim says {data.dim:,}")
        return features
    if data.file is not None:
        reporter.message(f"{data.file} is not here: using a synthetic stand-in of the same shape")
    return SyntheticFeatures(data.name, config.rows_needed, config.n_features)


def row_of(plan: BasePlan, cell: BaseCell, status: str, reason: str, metrics: Row) -> Row:
    """Return the row of a cell that has ended."""
    return {
        "key": cell.key,
        "name": plan.config.name,
        "scale": plan.scale,
        "data": plan.features.name,
        "data_kind": plan.features.kind,
        **cell.identity,
        "status": status,
        "reason": reason,
        **metrics,
        **circumstances(),
    }


class CellTimeoutError(Exception):
    """A cell has taken longer than it may."""


def run_cell(
    plan: BasePlan, cell: BaseCell, work: Callable[[Tick], Row], reporter: Reporter, timeout: float | None
) -> Row:
    """Do the work of a cell, within its time, and return its row; a cell that fails is a row too.

    `work` is given what to tell the share that is done, and returns the metrics. Bad input alone ends the run.
    """
    reporter.step(cell.describe(), cell.seconds)
    start = time.perf_counter()

    def tick(done: float) -> None:
        reporter.share(done)
        if timeout is not None and time.perf_counter() - start > timeout:
            raise CellTimeoutError(f"took longer than {timeout:g} s")

    status, reason = "ok", ""
    notes: list[str] = []
    metrics: Row = {}
    with noted_warnings(notes):
        try:
            metrics = work(tick)
        except CellTimeoutError as error:
            status, reason = "timeout", str(error)
        except InputError:
            raise
        except Exception as error:  # one failing method must not end the comparison of the others
            status, reason = "failed", f"{type(error).__name__}: {error}"
    metrics |= {"seconds": round(time.perf_counter() - start, 3), "notes": notes}
    return row_of(plan, cell, status, reason, metrics)


def run_pending(
    plan: BasePlan,
    rows_file: Path,
    reporter: Reporter,
    work: Callable[[Any], Callable[[Tick], Row]],
    line: Callable[[Row], str],
    timeout: float | None,
) -> None:
    """Run the pending cells; every one ends in a row, appended before the next begins.

    `work` returns what a cell has to do, as `run_cell` takes it, and `line` tells how a cell has ended.
    """
    if len(plan.pending) < len(plan.cells):
        reporter.message(going_on(len(plan.cells) - len(plan.pending), len(plan.cells), rows_file))
    reporter.begin(len(plan.pending), sum(cell.seconds for cell in plan.pending))
    for cell in plan.pending:
        if reason := cell.too_large():
            row = row_of(plan, cell, "skipped", reason, {})
        else:
            row = run_cell(plan, cell, work(cell), reporter, timeout)
        append_row(rows_file, row)
        told = line(row) if row["status"] == "ok" else f"{row['status']}: {row['reason']}"
        reporter.end(f"{cell.describe()}: {told}", row.get("notes", ()))


def kept_for_seed(prepare: Callable[[int], Prepared]) -> Callable[[int], Prepared]:
    """Return `prepare`, but keep what it made for the last seed, and free that before it makes something new."""
    kept: dict[int, Prepared] = {}

    def prepared(seed: int) -> Prepared:
        if seed not in kept:
            kept.clear()
            kept[seed] = prepare(seed)
        return kept[seed]

    return prepared


def check_rows(features: Features, rows: NDArray[np.int64]) -> None:
    """Read rows, sorted, once, so that bad ones end a run before it begins; drawn data need no check."""
    if isinstance(features, SyntheticFeatures):
        return
    for part in slices(len(rows), max(1, (1 << 27) // (4 * features.n_features))):
        check_values(features.read(rows[part]), rows[part], features.source)


def done_keys(rows_file: Path, rerun: str | None) -> set[str]:
    """Return the keys of the cells that need not run again; what was skipped is judged anew every time."""
    keep = {None: {"ok", "failed", "timeout"}, "failed": {"ok"}, "all": set()}[rerun]
    return {row["key"] for row in load_rows(rows_file) if row["status"] in keep}


def kept_bytes(n_features: int, n_database: int, n_learn: int = 0) -> int:
    """Return the memory for rows that are kept: the database's, the learning set's, or none.

    They may take a quarter of the limit.
    """
    choices = (4 * n_features * n_rows for n_rows in (n_database, n_learn))
    return next((needed for needed in choices if needed <= environment.memory_limit() // 4), 0)


def going_on(done: int, cells: int, rows_file: Path) -> str:
    """Say that a run goes on where an earlier one stopped."""
    return f"going on: {done} of {cells} cells are in {rows_file}"


def derive_seed(*axes: object) -> int:
    """Return a seed that depends on the names of what it is for, not on the order in which things run."""
    return int.from_bytes(hashlib.sha256(repr(axes).encode()).digest()[:4], "little") >> 1


@contextmanager
def noted_warnings(notes: list[str]) -> Iterator[None]:
    """Collect the warnings of a block of code instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    notes += sorted({str(warning.message) for warning in caught})


def circumstances() -> Row:
    """Return what a row says about the machine and the moment."""
    return {
        "peak_memory_bytes": environment.peak_memory(),
        "threads": thread_count(),
        "environment": environment.environment_id(),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }
