"""``cbe-bench run``: one experiment, from its configuration to rows, tables and figures."""

from pathlib import Path

import click

from cbe_bench.cli._options import (
    cluster_options,
    command_line,
    make_folder,
    memory_limit_option,
    out_option,
    rerun_option,
    scale_option,
    stoppable,
    threads_option,
)
from cbe_bench.cli._output import TABLE, format_option


@click.command(name="run")
@click.argument("config", type=click.Path(path_type=Path))
@scale_option("smoke: seconds, few dimensions. quick: 1,000 rows, full dimension. paper: 100,000 rows.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key: n_bits=[256,512], data.file=x.h5, encoders.itq.params.n_iter=6.",
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
@cluster_options
@format_option
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
    workers: int | None,
    scheduler: str | None,
    form: str,
) -> None:
    """Run an experiment; write rows, tables and figures.

    CONFIG is a file, or the name of a configuration that comes with the suite (`cbe-bench configs`). Where methods are
    to have equal time, their encode times at a ladder of code lengths are measured first. A row is written as each cell
    ends. Stop with Ctrl-C whenever you like: the same command resumes.

    With --workers or --scheduler, cells are evaluated by the processes of a Dask cluster, one thread each, to the same
    values; experiments on times, and encode times, stay in this process, alone.

    With data.file=FILE, all rows of FILE are used but the queries and rows of zeros; vectors are centred (not so with
    center=false), code lengths go beyond the dimension, and what to use comes first.

    \b
    Examples:
      cbe-bench run flickr --scale smoke
      cbe-bench run flickr --dry-run
      cbe-bench run configs/flickr.yaml --set 'seeds=[0]' --set 'encoders=[cbe-rand, lsh]'
      cbe-bench run flickr --set data.file=mine.npy
      cbe-bench run flickr --workers 4
    """
    run(
        config,
        scale,
        overrides,
        command_line("run", config, scale=scale, set=overrides),
        out=out,
        dry_run=dry_run,
        rerun=rerun,
        memory_limit=memory_limit,
        timeout=timeout,
        threads=threads,
        workers=workers,
        scheduler=scheduler,
        form=form,
    )


def run(
    config: Path,
    scale: str,
    overrides: tuple[str, ...],
    typed: str,
    *,
    out: Path,
    rerun: str | None,
    memory_limit: int | None,
    dry_run: bool = False,
    timeout: float | None = None,
    threads: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    form: str = TABLE,
) -> None:
    """Run an experiment with progress and results in the terminal; exit with code 1 if a cell failed."""
    from cbe_bench.cli._progress import Progress
    from cbe_bench.cli._results import show_plan, show_results
    from cbe_bench.core.errors import InputError
    from cbe_bench.core.resources import Resources
    from cbe_bench.core.results import FAILED, TIMEOUT
    from cbe_bench.core.runner import plan
    from cbe_bench.evaluators.configs import load_config
    from cbe_bench.evaluators.run import job_of, opened, run_experiment
    from cbe_bench.vectors.sweeps import on_cluster

    if timeout is not None and (workers is not None or scheduler is not None):
        raise InputError("--timeout gives up cells of this process; it does not go with --workers and --scheduler")
    settings = load_config(config, scale, overrides)
    resources = Resources(threads, memory_limit)
    with Progress() as progress, opened(settings, resources, progress) as experiment:
        job = job_of(experiment, scale, out, typed, rerun=rerun, timeout=timeout)
        progress.message(experiment.headline)
        if dry_run:
            show_plan(plan(experiment, job), resources.memory_limit, form)
            return
        make_folder(job.folder)
        with stoppable(progress.message):
            outcome = run_experiment(experiment, job, progress, on_cluster(experiment, workers, scheduler))
        rows = outcome.results.rows
        progress.stop()
        show_results(outcome.results, outcome.report, form)
        for note in outcome.report.notes:
            progress.message(note)
        progress.show_end(rows, outcome.files)
    if any(row.status in (FAILED, TIMEOUT) for row in rows):
        raise SystemExit(1)
