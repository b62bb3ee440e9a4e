"""``cbe-bench run``: one experiment, from its configuration to rows, tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cbe_bench.cli._options import (
    command_line,
    make_folder,
    memory_limit_option,
    out_option,
    rerun_option,
    scale_option,
    stoppable,
    threads_option,
)

if TYPE_CHECKING:
    from cbe_bench.config import BaseConfig
    from cbe_bench.core.results import About
    from cbe_bench.runner.common import BasePlan


@click.command(name="run")
@click.argument("config", type=click.Path(path_type=Path))
@scale_option("smoke: seconds, few dimensions. quick: up to 2,500 rows, full dimension. paper: 100,000 rows.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key of the configuration: bits=[256,512], data.file=x.h5.",
)
@out_option("Where results go, in SCALE/NAME.")
@click.option("--dry-run", is_flag=True, help="List the cells with rough estimates of memory and time; run nothing.")
@rerun_option
@memory_limit_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Give up a cell after this long.",
)
@threads_option
def command(
    config: Path,
    scale: str,
    overrides: tuple[str, ...],
    out: Path,
    dry_run: bool,
    rerun: str | None,
    memory_limit: int | None,
    timeout: float | None,
    threads: int | None,
) -> None:
    """Run the experiment that CONFIG describes; write its rows, tables and figures.

    Where methods are to have equal time, the bits each makes in the time of a reference are measured first. A row is
    written as each cell ends. Stop with Ctrl-C whenever you like: the next run goes on where this one
    stopped.

    \b
    Examples:
      cbe-bench run configs/flickr.yaml --scale smoke
      cbe-bench run configs/flickr.yaml --dry-run
      cbe-bench run configs/flickr.yaml --set 'seeds=[0]' --set 'encoders=[cbe-rand, lsh]'
      cbe-bench run configs/flickr.yaml --set data.file=mine.npy
    """
    from cbe_bench.cli._progress import Progress
    from cbe_bench.config import load_config
    from cbe_bench.core import environment
    from cbe_bench.core.results import ROWS_FILE, load_experiment, write_about
    from cbe_bench.kernels import parallel
    from cbe_bench.reports import verdicts_on, write_report
    from cbe_bench.runner import experiment_runner, open_data

    settings = load_config(config, scale, overrides)
    folder = out / scale / settings.name
    rows_file = folder / ROWS_FILE
    with (
        environment.limited_memory(memory_limit),
        parallel.threads(threads),
        Progress() as progress,
        open_data(settings, progress) as features,
    ):
        runner = experiment_runner(settings.experiment)
        plan = runner.make_plan(settings, scale, features, rows_file, rerun=rerun)
        progress.message(plan.headline)
        if dry_run:
            progress.show_plan(plan)
            return
        make_folder(folder)
        with stoppable(progress.message):
            plan = runner.run_plan(plan, rows_file, progress, rerun=rerun, timeout=timeout)
        write_about(folder, _about(settings, plan, command_line("run", config, scale=scale, set=overrides)))
        rows = load_experiment(folder).rows
        environment.write_description(folder / "environments.json")
        files = write_report(rows, settings, folder)
        progress.show_result(rows, files)
        progress.show_verdicts(verdicts_on(rows))
    if any(row["status"] in ("failed", "timeout") for row in rows):
        raise SystemExit(1)


def _about(settings: "BaseConfig", plan: "BasePlan", typed: str) -> "About":
    """Say what the rows of an experiment are, and what was typed to make them."""
    from cbe_bench.core.results import About

    return About(
        title=settings.title,
        experiment=settings.experiment,
        scale=plan.scale,
        command=typed,
        config=settings.model_dump(mode="json"),
        labels=plan.labels,
    )
