"""``cbe-bench compare``: what changed between two folders of results."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cbe_bench.core.results import Results
    from cbe_bench.reports.comparison import Comparison

_MOST_NAMED = 20
"""The most names listed of what is only in one."""


@click.command(name="compare")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON to standard output.")
def command(first: Path, second: Path, as_json: bool) -> None:
    """Show what changed beyond noise from results A to results B, and what is only in one.

    A and B are folders of results, such as results/quick, or of single experiments. Measurements are matched by
    experiment, method, bits and parameters. Noise is two standard errors over seeds, or the quartiles of a time.

    \b
    Examples:
      cbe-bench compare results/reference/quick results/quick
      cbe-bench compare results/quick/cifar10 results/quick/fashion
    """
    from cbe_bench.reports.comparison import compare, comparison_json

    found = compare(_load(first), _load(second))
    if as_json:
        click.echo(comparison_json(found))
        return
    _show(found, first, second)


def _load(folder: Path) -> "list[Results]":
    from cbe_bench.core.errors import InputError
    from cbe_bench.core.results import DESCRIPTION_FILE
    from cbe_bench.evaluators.base import load_experiment, load_experiments

    found = [load_experiment(folder)] if (folder / DESCRIPTION_FILE).is_file() else load_experiments(folder)
    if not found:
        raise InputError(f"{folder}: holds no experiment, and no folder in it does")
    return found


def _show(found: "Comparison", first: Path, second: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from cbe_bench.cli._tables import wide_console

    console = wide_console()
    if found.changed:
        table = Table("experiment", "what", "metric", str(first), str(second), "change", title="Changed beyond noise")
        for one in found.changed:
            sides = [f"{side.value:.4g} [{side.low:.4g}, {side.high:.4g}]" for side in (one.before, one.after)]
            change = f"{one.after.value - one.before.value:+.3g}"
            table.add_row(*map(Text, (one.experiment, one.subject, one.metric, *sides, change)))
        console.print(table)
    for folder, names in ((first, found.only_first), (second, found.only_second)):
        for name in names[:_MOST_NAMED]:
            console.print(f"only in {folder}: {name}", markup=False, soft_wrap=True)
        if len(names) > _MOST_NAMED:
            console.print(f"only in {folder}: {len(names) - _MOST_NAMED} more", markup=False)
    console.print(f"{len(found.changed)} of {found.compared} measurements changed beyond noise")
