"""Results of one experiment in the terminal: its plan, its tables, and how claims stand by it."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from cbe_bench.cli._claims import show_verdicts
from cbe_bench.cli._output import JSON, MARKDOWN, TABLE, emit, say, show_table, verbosity
from cbe_bench.core.environment import human_bytes
from cbe_bench.core.progress import duration
from cbe_bench.core.report import Report
from cbe_bench.core.results import Results
from cbe_bench.core.runner import PlannedCell


def show_results(results: Results, report: Report, form: str) -> None:
    """Print the tables that belong on the terminal, with -v all of them, and the verdicts; as JSON, the rows.

    On a user's own file the answer to which code to use comes first, and verdicts on the paper only with -v.
    """
    from cbe_bench.evaluators.base import judge
    from cbe_bench.reports.answer import answer, is_own

    if form == JSON:
        click.echo(json.dumps([row.to_json() for row in results.rows], indent=1))
        return
    if form == TABLE and (text := answer(results)):
        click.echo(f"{text}\n")
    show_tables(report, form)
    if form == TABLE and (verbosity() > 0 or not is_own(results)):
        show_verdicts(judge([results]))


def show_tables(report: Report, form: str) -> None:
    """Print the tables that belong on the terminal, with -v all of them."""
    from cbe_bench.reports.page.grid import grid_of

    for table in report.tables:
        if table.name in report.terminal or (table.written and verbosity() > 0):
            emit(table.frame, form, show=partial(show_table, grid_of(table.frame), table.caption, table.keys))
            if form == MARKDOWN:
                click.echo()


def show_plan(cells: Sequence[PlannedCell], memory_limit: int, form: str) -> None:
    """Print the cells with their estimates."""
    import pandas as pd

    from cbe_bench.reports.page.grid import Cell, Grid

    def line(one: PlannedCell) -> dict[str, Any]:
        cell = one.cell
        return {"cell": cell.title, "memory_bytes": cell.memory_bytes, "seconds": cell.seconds, "state": one.state}

    def readable(one: PlannedCell) -> list[Cell]:
        sizes = (human_bytes(one.cell.memory_bytes), duration(one.cell.seconds))
        return [Cell(one.cell.title), *(Cell(text, key=0.0) for text in sizes), Cell(one.state)]

    grid = Grid(["cell", "memory", "time", "state"], [readable(one) for one in cells])
    show = partial(show_table, grid, "Cells; estimates are rough")
    emit(pd.DataFrame([line(one) for one in cells]), form, show=show)
    to_run = [one.cell for one in cells if one.state == "to run"]
    largest = human_bytes(max((cell.memory_bytes for cell in to_run), default=0))
    seconds = duration(sum(cell.seconds for cell in to_run))
    say(f"{len(to_run)} cells to run: about {seconds}, up to {largest} of memory (limit {human_bytes(memory_limit)})")
