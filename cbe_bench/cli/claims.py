"""``cbe-bench claims``: what the paper says, and how each of it stands in a folder of results."""

from pathlib import Path

import click

from cbe_bench.cli._options import folder_argument, results_folder


@click.command(name="claims")
@folder_argument
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON to standard output.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if a verdict is not the one that was committed.")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The verdicts --strict compares with; default: results/reference/SCALE/claims.json.",
)
def command(folder: Path | None, as_json: bool, strict: bool, against: Path | None) -> None:
    """Judge every claim of the paper by the results in FOLDER (default: results/quick).

    A claim is reproduced, not reproduced, vacuous (it says nothing that is not trivially true) or not tested. Each is
    judged by a rule with its thresholds, once for each set of data it was measured on, real data first. Nothing is
    written.

    \b
    Examples:
      cbe-bench claims
      cbe-bench claims results/paper --json
      cbe-bench claims --strict
    """
    from cbe_bench.cli._tables import show_claims
    from cbe_bench.evaluators.base import judge, load_experiments
    from cbe_bench.reports.claims_table import CLAIMS_FILE, changes, load_claims, verdicts_json

    chosen = results_folder(folder)
    before = load_claims(against or Path("results/reference") / chosen.name / CLAIMS_FILE) if strict else []
    verdicts = judge(load_experiments(chosen))
    if as_json:
        click.echo(verdicts_json(verdicts))
    else:
        show_claims(verdicts)
    if not strict:
        return
    found = changes(before, verdicts)
    for change in found:
        click.echo(str(change), err=True)
    if any(change.before for change in found):
        raise SystemExit(1)
    click.echo(f"the {len(before)} verdicts that were committed stand", err=True)
