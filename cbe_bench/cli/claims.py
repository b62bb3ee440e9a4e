"""``cbe-bench claims``: what the paper says, and how each of it stands in a folder of results."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cbe_bench.cli._options import results_folder
from cbe_bench.cli._output import JSON, MARKDOWN, TABLE, emit, format_option, say

if TYPE_CHECKING:
    from cbe_bench.core.claims import Verdict


@click.command(name="claims")
@click.argument("which", nargs=-1, metavar="[FOLDER] [ID]...")
@format_option
@click.option("--strict", is_flag=True, help="Exit with code 1 if a verdict is not the one that was committed.")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The verdicts --strict compares with; default: results/reference/SCALE/claims.json.",
)
def command(which: tuple[str, ...], form: str, strict: bool, against: Path | None) -> None:
    """Judge every claim of the paper by results.

    FOLDER has the results; default: results/paper, results/quick, or where both are absent those that came with the
    suite. An interval decides: a claim is reproduced where it lies in the region that is claimed, not reproduced
    where it lies outside, inconclusive where it straddles a bound. The quick scale says only which way values
    point. Each claim is judged by a rule with its thresholds, once for each set of data it was measured on, real
    data first. Claims that are not tested or do not fit the screen are listed by name: -v prints a line for each,
    and the ID of a claim its rule and all of its evidence. Nothing is written.

    \b
    Examples:
      cbe-bench claims
      cbe-bench claims F-bits-lsh
      cbe-bench claims results/paper --format csv
      cbe-bench claims --strict
    """
    from cbe_bench.evaluators.base import judge, load_experiments
    from cbe_bench.reports.claims_table import CLAIMS_FILE, changes, load_claims

    folder, names = _parted(which)
    chosen = results_folder(folder)
    before = load_claims(against or Path("results/reference") / chosen.name / CLAIMS_FILE) if strict else []
    verdicts = judge(load_experiments(chosen))
    print_claims([one for one in verdicts if not names or one.claim in names], form, chosen, whole=bool(names))
    if not strict:
        return
    found = changes(before, verdicts)
    for change in found:
        click.echo(str(change), err=True)
    if any(change.before for change in found):
        raise SystemExit(1)
    say(f"the {len(before)} verdicts that were committed stand")


def _parted(which: tuple[str, ...]) -> tuple[Path | None, set[str]]:
    """Return the folder and the claims that are named; a word that is neither is taken for a folder."""
    from cbe_bench.core.errors import InputError, did_you_mean
    from cbe_bench.evaluators.base import all_claims

    known = {claim.id.lower(): claim.id for claim in all_claims()}
    names = {known[word.lower()] for word in which if word.lower() in known}
    others = [word for word in which if word.lower() not in known]
    if len(others) > 1:
        raise InputError(f"unknown claim {others[1]!r}; {did_you_mean(others[1], known.values())}")
    return (Path(others[0]) if others else None), names


def print_claims(verdicts: "list[Verdict]", form: str, folder: Path, *, whole: bool = False) -> None:
    """Print verdicts in a format: one screen for people, or all there is about them."""
    from cbe_bench.cli._claims import show_claim, show_screen
    from cbe_bench.reports.claims_table import claims_markdown, claims_table, verdicts_json

    if form == JSON:
        click.echo(verdicts_json(verdicts))
    elif form == MARKDOWN:
        click.echo(claims_markdown(verdicts), nl=False)
    elif form == TABLE:
        show_claim(verdicts) if whole else show_screen(verdicts, folder)
    else:
        emit(claims_table(verdicts), form)
