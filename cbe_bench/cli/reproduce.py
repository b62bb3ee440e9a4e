"""``cbe-bench reproduce``: every experiment of the suite, then the page and a verdict on every claim."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cbe_bench.cli._options import make_folder, out_option, scale_option, stoppable
from cbe_bench.cli._output import brief, emit, format_option, say

if TYPE_CHECKING:
    from cbe_bench.cli._suite import SuiteProgress
    from cbe_bench.evaluators.suite import Step


@click.command(name="reproduce")
@scale_option("smoke: minutes, few dimensions. quick: 1,000 rows, full dimension. paper: 100,000 rows.")
@click.option(
    "--configs",
    type=click.Path(path_type=Path),
    help="The folder whose experiments are run; default: configs, or those that come with the suite.",
)
@out_option("Where results go, in SCALE/NAME.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this experiment, its data and the page; recurs.")
@click.option("--dry-run", is_flag=True, help="List the steps with what they took before; run nothing.")
@click.option("--open", "show_page", is_flag=True, help="Open the page in a browser at the end.")
@format_option
def command(
    scale: str, configs: Path | None, out: Path, only: tuple[str, ...], dry_run: bool, show_page: bool, form: str
) -> None:
    """Run everything, write the page, judge every claim.

    Real features are built first where they are absent, with as many rows as the scale takes; where images cannot
    be had, experiments that allow it use a synthetic surrogate, the others are left out. An experiment that fails does
    not end the others; the exit code is then 1. Stop it with Ctrl-C whenever you like: the same command resumes.

    \b
    Examples:
      cbe-bench reproduce --scale smoke
      cbe-bench reproduce --only cifar10 --open
      cbe-bench reproduce --dry-run
    """
    from cbe_bench.cli._suite import SuiteProgress
    from cbe_bench.core.locks import exclusive
    from cbe_bench.core.progress import duration
    from cbe_bench.evaluators.suite import SECONDS_FILE, UNKNOWN_S, estimates, suite, unknown_steps

    folder = out / scale
    steps = suite(_chosen(_configs(configs), only), scale, out, whole=not only)
    files = (folder / SECONDS_FILE, Path("results/reference") / scale / SECONDS_FILE)
    seconds = estimates(steps, *files)
    how_long = f"{len(steps)} steps: about {duration(sum(seconds.values()))} where nothing is done yet"
    if unknown := unknown_steps(steps, *files):
        how_long += f", at {duration(UNKNOWN_S)} for each of the {unknown} steps that were never timed"
    if dry_run:
        say(how_long)
        _show_steps(steps, seconds, form)
        return
    make_folder(folder)
    say(f"{how_long}; results in {folder}")
    with (
        SuiteProgress(steps, seconds) as progress,
        exclusive(folder, progress.message) as handle,
        stoppable(progress.message),
    ):
        failed = [step for step in steps if not _run(step, folder, handle, progress)]
    _show_claims(folder, form)
    page = folder / "index.html"
    if show_page and page.is_file():
        click.launch(str(page))
    if failed:
        click.echo(f"failed: {', '.join(step.name for step in failed)}; the same command tries again", err=True)
        raise SystemExit(1)


def _configs(chosen: Path | None) -> list[Path]:
    from cbe_bench.core.errors import InputError
    from cbe_bench.evaluators.configs import config_folders

    folders = [chosen] if chosen else [Path("configs"), *config_folders()]
    found = next((paths for folder in folders if (paths := sorted(folder.glob("*.yaml")))), [])
    if not found:
        raise InputError(f"{chosen or 'configs'}: no configurations (*.yaml) there")
    return found


def _chosen(paths: list[Path], only: tuple[str, ...]) -> list[Path]:
    from cbe_bench.core.errors import InputError, did_you_mean

    names = [path.stem for path in paths]
    for name in only:
        if name not in names:
            raise InputError(f"--only {name}: no such experiment; {did_you_mean(name, names)}")
    return [path for path in paths if not only or path.stem in only]


def _show_steps(steps: "list[Step]", seconds: dict[str, float], form: str) -> None:
    import pandas as pd

    from cbe_bench.core.progress import duration
    from cbe_bench.evaluators.suite import lacking

    lines = [
        {"step": step.name, "seconds": seconds[step.name], "lacks": lacking(step, steps), "command": step.command}
        for step in steps
    ]
    frame = pd.DataFrame(lines)
    people = frame.assign(seconds=[duration(value) for value in frame["seconds"]]).rename(columns={"seconds": "time"})
    emit(frame, form, people=brief(people, 3))
    if missing := sum(bool(lacks) for lacks in frame["lacks"]):
        say(
            f"{missing} of them lack their data and are left out: `cbe-bench data make NAME` builds it; -v has commands"
        )


def _run(step: "Step", folder: Path, handle: int, progress: "SuiteProgress") -> bool:
    """Run a step; return whether the suite can do with how it ended."""
    from cbe_bench.cli._suite import run_command
    from cbe_bench.evaluators.suite import SECONDS_FILE, store_seconds

    progress.begin(step)
    if missing := step.missing():
        progress.end(f"left out: {missing}")
        return True
    if step.name == "report":
        _write_claims(folder)
    code, lines = run_command(step.arguments, handle, progress.line)
    store_seconds(folder / SECONDS_FILE, step.name, progress.elapsed)
    if code == 0:
        progress.end()
        return True
    last = lines[-1] if lines else f"exit code {code}"
    if step.optional:
        progress.end(f"continuing without: {last}")
        return True
    progress.end(f"FAILED, exit code {code}", lines)
    return False


def _write_claims(folder: Path) -> None:
    from cbe_bench.evaluators.base import judge, load_experiments
    from cbe_bench.reports.claims_table import write_claims

    write_claims(judge(load_experiments(folder)), folder)


def _show_claims(folder: Path, form: str) -> None:
    from cbe_bench.cli.claims import print_claims
    from cbe_bench.reports.claims_table import CLAIMS_FILE, load_claims

    print_claims(load_claims(folder / CLAIMS_FILE), form, folder)
    page = folder / "index.html"
    if page.is_file():
        say(f"the page: {page}")
