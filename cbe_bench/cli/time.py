"""``cbe-bench time``: how long encoding takes, method by method and dimension by dimension."""

import json
from pathlib import Path

import click

from cbe_bench.cli._options import command_line, make_folder, memory_limit_option, out_option, rerun_option, stoppable


@click.command(name="time")
@click.option(
    "--dims", default="paper", show_default=True, help="2^15..2^27, paper (2^15, 17, 20, 24, 27), or 768,2^20."
)
@click.option("--methods", help="Registry names, by commas; default: lsh, bilinear-rand, cbe-rand, cbe-orth, hd3.")
@click.option("--bits", default="d", show_default=True, help="Bits of a code: 512, d, d/4, 2d, or a list.")
@click.option(
    "--batch",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Vectors a call: 1 is latency, more is throughput.",
)
@click.option(
    "--threads", default=1, show_default=True, type=click.IntRange(min=1), help="Threads, pinned to as many cores."
)
@click.option(
    "--budget",
    default=10.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds a cell is sampled for.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON to standard output instead of a table.")
@rerun_option
@memory_limit_option
@out_option("Where results go, in NAME/.")
@click.option("--name", default="time", show_default=True, help="Folder of these results: one for each set of cells.")
def command(
    dims: str,
    methods: str | None,
    bits: str,
    batch: int,
    threads: int,
    budget: float,
    as_json: bool,
    rerun: str | None,
    memory_limit: int | None,
    out: Path,
    name: str,
) -> None:
    """Time encoding and set it beside Table 2 of the paper; fit how it grows, as in Table 1.

    Timed is projection, sign and packing of vectors in memory, on pinned cores. Drawing the parameters, and the FFT
    plans and tables the first call builds, are timed apart. Methods of one dimension take turns, so that ratios hold
    on a machine whose speed wanders. What does not fit the memory limit is shown as "-" with the bytes it needs.

    \b
    Examples:
      cbe-bench time --dims 2^15..2^27
      cbe-bench time --dims 768,25600 --batch 256
      cbe-bench time --dims 2^10..2^14 --bits d,2d,4d,8d --name growth
    """
    from cbe_bench.cli._progress import Progress
    from cbe_bench.config import SCALES
    from cbe_bench.core import environment
    from cbe_bench.core.results import ROWS_FILE, About, load_experiment, write_about
    from cbe_bench.kernels import parallel
    from cbe_bench.reports.timing import write_timing
    from cbe_bench.runner.timing import choose_methods, parse_dims, plan_times, run_times

    rows_file = out / name / ROWS_FILE
    with environment.limited_memory(memory_limit), parallel.threads(threads), Progress() as progress:
        cells = plan_times(choose_methods(methods), parse_dims(dims), bits, batch)
        make_folder(rows_file.parent)
        with stoppable(progress.message):
            run_times(cells, rows_file, progress, rerun=rerun, budget=budget)
        chosen = {"dims": dims, "bits": bits, "batch": batch, "threads": threads, "budget": budget}
        if methods is not None:
            chosen["methods"] = methods
        about = About(
            title="Encoding time",
            experiment="time",
            scale=out.name if out.name in SCALES else "",
            command=command_line("time", **chosen, out=out, name=name),
            config=chosen,
            labels={cell.key: cell.encoder for cell in cells},
        )
        write_about(rows_file.parent, about)
        rows = load_experiment(rows_file.parent).rows
        environment.write_description(rows_file.parent / "environments.json")
        files = write_timing(rows, rows_file.parent)
        if as_json:
            click.echo(json.dumps(rows, indent=1))
            return
        progress.show_times(rows)
        for file in files:
            progress.message(f"wrote {file}")
