"""``cbe-bench reproduce``: every experiment of the suite, then the page and a verdict on every claim."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cbe_bench.cli._options import make_folder, out_option, scale_option, stoppable

if TYPE_CHECKING:
    from cbe_bench.cli._suite import SuiteProgress
    from cbe_bench.runner.suite import Step


@click.command(name="reproduce")
@scale_option("smoke: minutes, few dimensions. quick: up to 2,500 rows, full dimension. paper: 100,000 rows.")
@click.option(
    "--configs",
    type=click.Path(path_type=Path),
    default="configs",
    show_default=True,
    help="The folder whose experiments are run.",
)
@out_option("Where results go, in SCALE/NAME.")
def command(scale: str, configs: Path, out: Path) -> None:
    """Run all experiments and timings, write the page, and judge every claim of the paper.

    Real features are made first where they are absent, with as many rows as the scale takes; where images cannot
    be had, experiments that allow it use a synthetic stand-in, the others are left out. An experiment that fails does
    not end the others; the exit code is then 1. Stop it with Ctrl-C whenever you like: the same command goes on.

    \b
    Examples:
      cbe-bench reproduce --scale smoke
      cbe-bench reproduce
    """
    from cbe_bench.cli._suite import SuiteProgress
    from cbe_bench.core.errors import InputError
    from cbe_bench.runner.suite import SECONDS_FILE, alone, forecasts, suite

    found = sorted(configs.glob("*.yaml"))
    if not found:
        raise InputError(f"{configs}: no configurations (*.yaml) there")
    folder = out / scale
    steps = suite(found, scale, out)
    make_folder(folder)
    seconds = forecasts(steps, folder / SECONDS_FILE, Path("results/reference") / scale / SECONDS_FILE)
    with (
        SuiteProgress(steps, seconds) as progress,
        alone(folder, progress.message) as handle,
        stoppable(progress.message),
    ):
        failed = [step for step in steps if not _run(step, folder, handle, progress)]
    _show_claims(folder)
    if failed:
        click.echo(f"failed: {', '.join(step.name for step in failed)}; the same command tries again", err=True)
        raise SystemExit(1)


def _run(step: "Step", folder: Path, handle: int, progress: "SuiteProgress") -> bool:
    """Run a step; tell whether the suite can do with how it ended."""
    from cbe_bench.cli._suite import run_command
    from cbe_bench.runner.suite import SECONDS_FILE, note_seconds

    progress.begin(step)
    if missing := step.missing():
        progress.end(f"left out: {missing}")
        return True
    if step.name == "report":
        _write_claims(folder)
    code, lines = run_command(step.arguments, handle, progress.line)
    note_seconds(folder / SECONDS_FILE, step.name, progress.elapsed)
    if code == 0:
        progress.end()
        return True
    last = lines[-1] if lines else f"exit code {code}"
    if step.optional:
        progress.end(f"going on without: {last}")
        return True
    progress.end(f"FAILED, exit code {code}", lines)
    return False


def _write_claims(folder: Path) -> None:
    from cbe_bench.core.results import load_experiments
    from cbe_bench.reports.claims import judge, write_claims

    write_claims(judge(load_experiments(folder)), folder)


def _show_claims(folder: Path) -> None:
    from cbe_bench.cli._tables import show_claims
    from cbe_bench.reports.claims import CLAIMS_FILE, load_claims

    show_claims(load_claims(folder / CLAIMS_FILE))
    page = folder / "index.html"
    if page.is_file():
        click.echo(f"the page: {page}")
