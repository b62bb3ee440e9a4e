"""``cbe-bench angles``: how well codes estimate angles, set against what is proved about it."""

from pathlib import Path

import click

from cbe_bench.cli._options import make_folder, memory_limit_option, out_option, rerun_option


@click.command(name="angles")
@click.option(
    "--scale",
    type=click.Choice(["smoke", "quick", "paper"]),
    default="quick",
    show_default=True,
    help="smoke: seconds. quick: d up to 4,096, 10,000 draws, two minutes. paper: d up to 16,384, 40,000 draws.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="HDF5 with /features whose angles are estimated; default: a synthetic stand-in.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Decides every random draw.")
@out_option("Where results go, in angles/.")
@rerun_option
@memory_limit_option
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use; default: all cores.")
def command(
    scale: str,
    data: Path | None,
    seed: int,
    out: Path,
    rerun: str | None,
    memory_limit: int | None,
    threads: int | None,
) -> None:
    """Simulate the angle estimate of Section 4 and judge the paper's claims about it.

    The share of differing bits of two codes estimates the angle of their vectors. For pairs at known angles (dense,
    sparse, and such as are hard for circulant codes) its mean, variance and tails over many draws are set against
    independent bits and against Theorems 1 and 2: with and without the sign flips D, before and after a random
    Hadamard transform, for every number of bits up to d. On features, all pairs of a sample are compared. Every
    estimate has its interval; a bound that is trivially true is called vacuous, with the d that it would need.

    \b
    Examples:
      cbe-bench angles --scale smoke
      cbe-bench angles --data mine.h5
    """
    from cbe_bench import environment
    from cbe_bench.cli._progress import Progress
    from cbe_bench.kernels import parallel
    from cbe_bench.reports.angles import write_angles
    from cbe_bench.results import load_rows
    from cbe_bench.runner.angles import SCALES, open_features, plan_angles, run_angles

    folder = out / "angles"
    rows_file = folder / "rows.jsonl"
    amount = SCALES[scale]
    with (
        environment.limited_memory(memory_limit),
        parallel.threads(threads),
        Progress() as progress,
        open_features(data, amount, progress) as features,
    ):
        make_folder(folder)
        cells = plan_angles(features, amount, seed)
        try:
            run_angles(cells, features, amount, rows_file, progress, rerun=rerun)
        except KeyboardInterrupt:
            progress.message("stopped; the same command goes on from here")
            raise SystemExit(130) from None
        wanted = {cell.key for cell in cells}
        rows = [row for row in load_rows(rows_file) if row["key"] in wanted]
        environment.write_description(folder / "environments.json")
        files, verdicts = write_angles(rows, folder)
        progress.show_result(rows, files)
    for verdict in verdicts.to_dict("records"):
        click.echo(f"{verdict['claim']}: {verdict['verdict'].upper()}. {verdict['statement']}")
        click.echo(f"    {verdict['found']}")
        click.echo(f"    rule: {verdict['rule']}")
    if any(row["status"] == "failed" for row in rows):
        raise SystemExit(1)
