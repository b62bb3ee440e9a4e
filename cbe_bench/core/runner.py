"""Runs the cells of any experiment: what is done already is skipped, every cell that ends becomes a row.

The runner owns keys, resuming, memory limits, time-outs, locks and progress, once for all kinds of experiments. An
experiment says which cells there are, what some of them have in common (a *context*, such as a split and its exact
neighbours, built once for each group of cells), and how a cell is evaluated. Cells may come in stages, where those of a
later stage depend on the rows of an earlier one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from cbe_bench.core import environment
from cbe_bench.core.cells import BASE_BYTES, OPERATIONS_PER_SECOND, Cell, Job, Metrics, Workload
from cbe_bench.core.execution import Execute, run_here
from cbe_bench.core.locks import exclusive
from cbe_bench.core.progress import Reporter
from cbe_bench.core.results import (
    FAILED,
    OK,
    TIMEOUT,
    Description,
    Results,
    Row,
    append_row,
    load_results,
    load_rows,
    write_description,
)

__all__ = ["BASE_BYTES", "OPERATIONS_PER_SECOND", "Cell", "Job", "Metrics", "PlannedCell", "Workload", "plan", "run"]


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


def run(workload: Workload, job: Job, reporter: Reporter, execute: Execute = run_here) -> Results:
    """Run the cells that are not done; each ends in a row, on disk as soon as it is there.

    The description is written before the first row, so that an interrupted run can be read. Only bad input ends the
    run: a cell that fails is a row that says why.

    Parameters
    ----------
    workload : Workload
    job : Job
    reporter : Reporter
    execute : callable
        Where cells are evaluated, unless their values are times: those are measured in this process, alone.

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
            alone = execute is not run_here and stage in workload.timed_stages
            if alone and pending:
                reporter.message(f"times are measured in this process, alone, not by workers ({_cells(len(pending))})")
            for row in _run_pending(workload, job, pending, reporter, run_here if alone else execute):
                if not described:
                    _describe(job, labels)
                    described = True
                append_row(job.rows_file, row)
        _describe(job, labels)
        return load_results(job.folder, workload.row_types())


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _describe(job: Job, labels: dict[str, str]) -> None:
    write_description(job.folder, Description(**{**asdict(job.description), "labels": labels}))
    environment.write_description(job.folder / "environments.json")


def _done(rows: Sequence[Row], rerun: str | None) -> set[str]:
    """Return the keys of cells that need not run again; what was skipped is judged again every time."""
    keep = {None: {OK, FAILED, TIMEOUT}, "failed": {OK}, "all": set()}[rerun]
    return {row.key for row in rows if row.status in keep}


def _run_pending(
    workload: Workload, job: Job, pending: Sequence[Cell], reporter: Reporter, execute: Execute
) -> Iterator[Row]:
    """Yield the row of each cell as it ends."""
    fitting = [cell for cell in pending if not cell.excess(job.resources.memory_limit)]
    largest = max((cell.memory_bytes for cell in fitting), default=0)
    reporter.begin(len(pending), sum(cell.seconds for cell in fitting), largest)
    for cell, row in execute(workload, job, pending, reporter):
        yield row
        found = workload.summarise(row) if row.ok else f"{row.status}: {row.reason}"
        reporter.end(f"{cell.title}: {found}", row.notes)
