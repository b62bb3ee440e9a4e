"""``cbe-bench show``: the results of one experiment."""

from pathlib import Path

import click

from cbe_bench.cli._options import RESULT_FOLDERS
from cbe_bench.cli._output import format_option


@click.command(name="show")
@click.argument("result", type=click.Path(path_type=Path))
@format_option
def command(result: Path, form: str) -> None:
    """Show the results of one experiment.

    RESULT is its folder, or its name: it is then looked for in results/paper, results/quick, results/smoke and
    results/reference/paper, in this order.

    \b
    Examples:
      cbe-bench show cifar10
      cbe-bench show results/paper/cifar10 --format md
      cbe-bench show table2 --format json
    """
    from cbe_bench.cli._output import say
    from cbe_bench.cli._results import show_results
    from cbe_bench.core.errors import InputError
    from cbe_bench.evaluators.base import experiment_class, load_experiment

    results = load_experiment(_find(result))
    again = f"`{results.description.command}` makes them again"
    if results.unused and not results.rows:
        raise InputError(f"{results.folder}: its {results.unused:,} rows were made by another version; {again}")
    if results.unused:
        say(f"{results.unused:,} rows were made by another version and are not used; {again}")
    kind = experiment_class(results.kind)
    say(f"{results.description.title}: {kind.describe_data(results)}")
    report = kind.report(results)
    show_results(results, report, form)
    for note in report.notes:
        say(note)
    say(f"{results.folder}: made by {results.description.command}")


def _find(result: Path) -> Path:
    from cbe_bench.core.errors import InputError, did_you_mean
    from cbe_bench.core.results import DESCRIPTION_FILE

    for place in (Path(), *RESULT_FOLDERS):
        if (place / result / DESCRIPTION_FILE).is_file():
            return place / result
    known = sorted({path.parent.name for place in RESULT_FOLDERS for path in place.glob(f"*/{DESCRIPTION_FILE}")})
    hint = did_you_mean(str(result), known) if known else "there are none here: `cbe-bench run NAME` makes some"
    raise InputError(f"{result}: no results of that name; {hint}")
