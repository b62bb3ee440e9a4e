"""Where cells are evaluated: one group after the other in this process, unless the runner is given another way.

A way to execute takes the cells that are to run and yields each with its row, in any order. It writes no rows: the
runner does.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from cbe_bench.core import environment
from cbe_bench.core.cells import Cell, Job, Metrics, Workload
from cbe_bench.core.errors import InputError
from cbe_bench.core.locks import time_limit
from cbe_bench.core.progress import Reporter
from cbe_bench.core.results import FAILED, OK, SKIPPED, TIMEOUT, Row

Execute = Callable[[Workload, Job, Sequence[Cell], Reporter], Iterator[tuple[Cell, Row]]]
"""Evaluates cells and yields each with its row as it ends."""


def run_here(workload: Workload, job: Job, cells: Sequence[Cell], reporter: Reporter) -> Iterator[tuple[Cell, Row]]:
    """Evaluate cells in this process, in their order; what a group has in common is freed before the next begins.

    Parameters
    ----------
    workload : Workload
        The experiment.
    job : Job
        The resources, and the time a cell may take.
    cells : sequence of Cell
        The cells that are to run, and those that are too large, which become rows that say so.
    reporter : Reporter
        Takes what begins and how far it is.

    Yields
    ------
    cell : Cell
        A cell that has ended.
    row : Row
        Its row.
    """
    for _, members in groupby(cells, key=lambda cell: cell.group):
        yield from _run_group(workload, job, list(members), reporter)


def _run_group(workload: Workload, job: Job, cells: Sequence[Cell], reporter: Reporter) -> Iterator[tuple[Cell, Row]]:
    fitting = [cell for cell in cells if not cell.excess(job.resources.memory_limit)]
    context = prepared(workload, fitting, reporter) if fitting else None
    for cell in cells:
        yield cell, skipped(job, cell) or evaluated(workload, job, cell, context, reporter)


def prepared(workload: Workload, cells: Sequence[Cell], reporter: Reporter) -> Any:
    """Return what the cells of a group have in common; warnings become messages.

    Parameters
    ----------
    workload : Workload
        The experiment.
    cells : sequence of Cell
        All cells of the group that fit the memory.
    reporter : Reporter
        Takes messages.
    """
    notes: list[str] = []
    with noted_warnings(notes):
        context = workload.prepare(cells, reporter)
    for note in notes:
        reporter.message(f"note: {note}")
    return context


def skipped(job: Job, cell: Cell) -> Row | None:
    """Return the row of a cell that is too large for the memory; None where it is not."""
    reason = cell.excess(job.resources.memory_limit)
    return row_of(job, cell, SKIPPED, reason) if reason else None


def evaluated(workload: Workload, job: Job, cell: Cell, context: Any, reporter: Reporter) -> Row:
    """Evaluate a cell; whatever goes wrong, bad input aside, is in its row.

    Parameters
    ----------
    workload : Workload
        The experiment.
    job : Job
        The resources, and the time the cell may take.
    cell : Cell
        The cell.
    context : object
        What `prepared` returned for its group.
    reporter : Reporter
        Takes that it begins, and how far it is.

    Returns
    -------
    Row
    """
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
    return row_of(job, cell, status, reason, tuple(notes), metrics)


def row_of(
    job: Job, cell: Cell, status: str, reason: str, notes: tuple[str, ...] = (), metrics: Metrics | None = None
) -> Row:
    """Return the row of a cell that ended in this process.

    Parameters
    ----------
    job : Job
        The run it belongs to.
    cell : Cell
        What was evaluated.
    status, reason : str
        How it ended, and why unless well.
    notes : tuple of str
        Warnings raised meanwhile.
    metrics : mapping or None
        Further fields of the row.

    Returns
    -------
    Row
    """
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
