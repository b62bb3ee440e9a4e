"""``cbe-bench show``: the results of one experiment."""

from pathlib import Path

import click

from cbe_bench.cli._output import format_option


@click.command(name="show")
@click.argument("result", type=click.Path(path_type=Path))
@format_option
def command(result: Path, form: str) -> None:
    """Show the results of one experiment.

    RESULT is its folder, or its name: it is then looked for in results/quick, then in results/reference/quick.

    \b
    Examples:
      cbe-bench show cifar10
      cbe-bench show results/paper/cifar10 --format md
      cbe-bench show table2 --json
    """
    from cbe_bench.cli._output import say
    from cbe_bench.cli._results import show_results
    from cbe_bench.evaluators.base import experiment_class, load_experiment

    results = load_experiment(_find(result))
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

    places = (Path(), Path("results/quick"), Path("results/reference/quick"))
    for place in places:
        if (place / result / DESCRIPTION_FILE).is_file():
            return place / result
    known = sorted({path.parent.name for place in places[1:] for path in place.glob(f"*/{DESCRIPTION_FILE}")})
    hint = did_you_mean(str(result), known) if known else "there are none here: `cbe-bench run NAME` makes some"
    raise InputError(f"{result}: no results of that name; {hint}")
