"""``cbe-bench compare``: what changed between two folders of results."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cbe_bench.cli._output import JSON, emit, format_option, say

if TYPE_CHECKING:
    import pandas as pd

    from cbe_bench.core.results import Results
    from cbe_bench.reports.comparison import Comparison


@click.command(name="compare")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option("--metric", help="Only metrics whose name has this in it, or all; default: all but raw times.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=0), help="Print at most this many.")
@click.option("--fail-on-change", is_flag=True, help="Exit with code 1 if something changed beyond noise.")
@format_option
def command(first: Path, second: Path, metric: str | None, limit: int, fail_on_change: bool, form: str) -> None:
    """Show what changed beyond noise from A to B.

    A and B are folders of results, such as results/quick, or of single experiments. Measurements are matched by
    experiment, method, bits and parameters. Noise is two standard errors over seeds, or the quartiles of a time. Raw
    times differ from machine to machine and are compared only where --metric asks for them; ratios of times always.

    \b
    Examples:
      cbe-bench compare results/reference/paper results/paper
      cbe-bench compare results/reference/paper results/paper --metric recall --fail-on-change
      cbe-bench compare results/quick/cifar10 results/quick/fashion --limit 50
    """
    from cbe_bench.reports.comparison import compare, comparison_json

    sides = _load(first), _load(second)
    if metric not in (None, "all"):
        _check_metric(metric, sides)
    found = compare(*sides, metric)
    if form == JSON:
        click.echo(comparison_json(found))
    else:
        emit(_table(found, limit), form, "Changed beyond noise, the largest changes first")
        _say_rest(found, first, second, limit)
    if fail_on_change and found.changed:
        raise SystemExit(1)


def _load(folder: Path) -> "list[Results]":
    from cbe_bench.core.errors import InputError
    from cbe_bench.core.results import DESCRIPTION_FILE
    from cbe_bench.evaluators.base import load_experiment, load_experiments

    found = [load_experiment(folder)] if (folder / DESCRIPTION_FILE).is_file() else load_experiments(folder)
    if not found:
        raise InputError(f"{folder}: holds no experiment, and no folder in it does")
    return found


def _check_metric(metric: str, sides: "tuple[list[Results], list[Results]]") -> None:
    """Raise InputError where no metric of either side has this in its name."""
    from cbe_bench.core.errors import InputError
    from cbe_bench.evaluators.base import experiment_class

    known = {one.metric for side in sides for each in side for one in experiment_class(each.kind).measurements(each)}
    if known and not any(metric in name for name in known):
        raise InputError(f"--metric {metric}: no metric has this in its name; there are {'; '.join(sorted(known))}")


def _table(found: "Comparison", limit: int) -> "pd.DataFrame":
    import pandas as pd

    columns = ("experiment", "what", "metric", "before", "after", "change")
    lines = [
        (
            one.experiment,
            one.subject,
            one.metric,
            *(f"{side.value:.4g} [{side.low:.4g}, {side.high:.4g}]" for side in (one.before, one.after)),
            f"{one.after.value - one.before.value:+.3g}",
        )
        for one in found.changed[:limit]
    ]
    return pd.DataFrame(lines, columns=columns)


def _say_rest(found: "Comparison", first: Path, second: Path, limit: int) -> None:
    """Say how much more there is, and what is only in one."""
    if len(found.changed) > limit:
        say(f"{len(found.changed) - limit} more changed; --limit {len(found.changed)} prints all")
    for folder, names in ((first, found.only_first), (second, found.only_second)):
        for name in names[:limit]:
            say(f"only in {folder}: {name}")
        if len(names) > limit:
            say(f"only in {folder}: {len(names) - limit} more")
    say(f"{len(found.changed)} of {found.compared} measurements changed beyond noise")
