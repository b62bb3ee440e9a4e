"""Runs the cells of any experiment: what is done already is skipped, every cell that ends becomes a row.

The runner owns keys, resuming, memory limits, time-outs, locks and progress, once for all kinds of experiments. An
experiment says which cells there are, what some of them have in common (a *context*, such as a split and its exact
neighbours, built once for each group of cells), and how a cell is evaluated. Cells may come in stages, where those of a
later stage depend on the rows of an earlier one.
"""

import time
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Protocol

from cbe_bench.core import environment
from cbe_bench.core.errors import InputError
from cbe_bench.core.locks import exclusive, time_limit
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import (
    FAILED,
    OK,
    ROWS_FILE,
    SKIPPED,
    TIMEOUT,
    Description,
    Results,
    Row,
    RowTypes,
    Spec,
    append_row,
    load_results,
    load_rows,
    write_description,
)

BASE_BYTES = 400 << 20
"""The interpreter, its libraries and a few blocks of data."""
OPERATIONS_PER_SECOND = 5e10
"""What one core does of a matrix product; estimates of time rest on it and are rough."""

Metrics = Mapping[str, Any]
"""The fields of a row that evaluating a cell gives."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One thing to evaluate."""

    spec: Spec
    """Everything that decides its value."""
    row_class: type[Row]
    code: str
    """The version of the code that computes the value."""
    label: str
    """What tables and figures call it."""
    title: str
    """What a person reads while it runs."""
    memory_bytes: int
    """An estimate of the memory it needs."""
    seconds: float
    """An estimate of the time it takes."""
    group: Hashable = None
    """Cells of a group have one context."""

    @property
    def key(self) -> str:
        """The key of its row."""
        return self.spec.key(self.code)

    def excess(self, limit: int) -> str:
        """Say why the cell cannot run within a memory limit; an empty string where it can."""
        if self.memory_bytes <= limit:
            return ""
        needs, has = environment.human_bytes(self.memory_bytes), environment.human_bytes(limit)
        return f"needs about {needs}, the memory limit is {has}"


class Workload(Protocol):
    """What the runner needs to know of an experiment."""

    stages: ClassVar[tuple[str, ...]]

    def row_types(self) -> RowTypes:
        """Return the classes of its rows."""

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage, given the rows of earlier ones.

        Parameters
        ----------
        stage : str
            One of `stages`.
        rows : sequence of Row
            The rows on disk when the stage begins.
        """

    def expected_cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage as `cells` does, foreseen where earlier stages have not run yet."""

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> Any:
        """Return what the cells of a group have in common.

        Parameters
        ----------
        cells : sequence of Cell
        reporter : Reporter
        """

    def evaluate(self, cell: Cell, context: Any, progress: Progress) -> Metrics:
        """Return the metrics of a cell.

        Parameters
        ----------
        cell : Cell
        context : object
            What `prepare` returned for the group of the cell.
        progress : Progress
        """

    def summarise(self, row: Any) -> str:
        """Say in a few words what a row found."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run of an experiment: where its rows go, what it may use, what is run again."""

    folder: Path
    description: Description
    """Without labels: these are those of the cells."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Name and kind of the features: fields of every row."""
    resources: Resources = field(default_factory=Resources)
    rerun: str | None = None
    """None, failed or all: which of the cells that ended are run again."""
    timeout: float | None = None
    """Seconds after which a cell is given up."""

    @property
    def rows_file(self) -> Path:
        """Where rows are appended."""
        return self.folder / ROWS_FILE


@dataclass(frozen=True)
class PlannedCell:
    """A cell and whether it is to run."""

    cell: Cell
    state: str
    """done, to run, or too large."""


def plan(workload: Workload, job: Job) -> list[PlannedCell]:
    """List the cells; those of a later stage that need the rows of earlier ones are foreseen.

    Parameters
    ----------
    workload : Workload
    job : Job
        Its folder, its memory limit and what is to rerun.

    Returns
    -------
    list of PlannedCell
        Each cell with its state: done, too large or to run.
    """
    rows = load_rows(job.rows_file, workload.row_types())
    done = _done(rows, job.rerun)
    cells = [cell for stage in workload.stages for cell in workload.expected_cells(stage, rows)]
    limit = job.resources.memory_limit

    def state(cell: Cell) -> str:
        return "done" if cell.key in done else "too large" if cell.excess(limit) else "to run"

    return [PlannedCell(cell, state(cell)) for cell in cells]


def run(workload: Workload, job: Job, reporter: Reporter) -> Results:
    """Run the cells that are not done; each ends in a row, on disk before the next begins.

    The description is written before the first row, so that an interrupted run can be read. Only bad input ends the
    run: a cell that fails is a row that says why.

    Parameters
    ----------
    workload : Workload
    job : Job
    reporter : Reporter

    Returns
    -------
    Results
        The rows of this run and of those it resumed.
    """
    with exclusive(job.folder, reporter.message):
        labels: dict[str, str] = {}
        for stage in workload.stages:
            rows = load_rows(job.rows_file, workload.row_types())
            cells = workload.cells(stage, rows)
            labels |= {cell.key: cell.label for cell in cells}
            done = _done(rows, job.rerun)
            pending = [cell for cell in cells if cell.key not in done]
            if len(pending) < len(cells):
                reporter.message(f"resuming: {len(cells) - len(pending)} of {len(cells)} cells done")
            described = False
            for row in _run_pending(workload, job, pending, reporter):
                if not described:
                    _describe(job, labels)
                    described = True
                append_row(job.rows_file, row)
        _describe(job, labels)
        return load_results(job.folder, workload.row_types())


def _describe(job: Job, labels: dict[str, str]) -> None:
    write_description(job.folder, Description(**{**asdict(job.description), "labels": labels}))
    environment.write_description(job.folder / "environments.json")


def _done(rows: Sequence[Row], rerun: str | None) -> set[str]:
    """Return the keys of cells that need not run again; what was skipped is judged again every time."""
    keep = {None: {OK, FAILED, TIMEOUT}, "failed": {OK}, "all": set()}[rerun]
    return {row.key for row in rows if row.status in keep}


def _run_pending(workload: Workload, job: Job, pending: Sequence[Cell], reporter: Reporter) -> Iterator[Row]:
    """Yield the row of each cell as it ends."""
    limit = job.resources.memory_limit
    fitting = [cell for cell in pending if not cell.excess(limit)]
    largest = max((cell.memory_bytes for cell in fitting), default=0)
    reporter.begin(len(pending), sum(cell.seconds for cell in fitting), largest)
    for _, members in groupby(pending, key=lambda cell: cell.group):
        cells = list(members)
        mine = [cell for cell in cells if not cell.excess(limit)]
        notes: list[str] = []
        with noted_warnings(notes):
            context = workload.prepare(mine, reporter) if mine else None
        for note in notes:
            reporter.message(f"note: {note}")
        for cell in cells:
            if reason := cell.excess(limit):
                row = _row(job, cell, SKIPPED, reason)
            else:
                row = _evaluate(workload, job, cell, context, reporter)
            yield row
            found = workload.summarise(row) if row.ok else f"{row.status}: {row.reason}"
            reporter.end(f"{cell.title}: {found}", row.notes)
        del context  # freed before the next is prepared


def _evaluate(workload: Workload, job: Job, cell: Cell, context: Any, reporter: Reporter) -> Row:
    reporter.step(cell.title, cell.seconds)
    start = time.perf_counter()
    notes: list[str] = []
    status, reason, metrics = OK, "", {}
    with noted_warnings(notes):
        try:
            with time_limit(job.timeout):
                metrics = dict(workload.evaluate(cell, context, reporter.advance))
        except TimeoutError as error:
            status, reason = TIMEOUT, str(error)
        except InputError:
            raise
        except Exception as error:  # one failing method must not end the comparison of the others
            status, reason = FAILED, f"{type(error).__name__}: {error}"
    metrics = {"wall_s": round(time.perf_counter() - start, 3)} | metrics
    return _row(job, cell, status, reason, tuple(notes), metrics)


def _row(
    job: Job, cell: Cell, status: str, reason: str, notes: tuple[str, ...] = (), metrics: Metrics | None = None
) -> Row:
    metadata = {
        "environment": environment.environment_id(),
        "threads": job.resources.n_threads,
        "peak_memory_bytes": environment.peak_memory(),
        "memory_estimate_bytes": cell.memory_bytes,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    decided = {"key": cell.key, "code": cell.code, "label": cell.label, **job.data, **asdict(cell.spec)}
    ended = {"status": status, "reason": reason, "notes": notes, **(metrics or {})}
    return cell.row_class(**{**metadata, **decided, **ended})


@contextmanager
def noted_warnings(notes: list[str]) -> Iterator[None]:
    """Collect the warnings of a block of code instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    notes += sorted({str(warning.message) for warning in caught})
