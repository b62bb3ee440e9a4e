"""``cbe-bench time``: how long encoding takes, method by method and dimension by dimension."""

from pathlib import Path

import click

from cbe_bench.cli._options import command_line, memory_limit_option, out_option, rerun_option, scale_option
from cbe_bench.cli._output import format_option
from cbe_bench.cli.run import run


@click.command(name="time")
@click.option("--dims", help="2^15..2^27, paper (2^15, 17, 20, 24, 27), or 768,2^20; default: paper.")
@click.option("--methods", help="Names of methods, by commas; default: lsh,bilinear-rand,cbe-rand,cbe-orth,hd3.")
@click.option("--bits", help="Code lengths: 512, d, d/4, 2d, or a list; default: d.")
@click.option("--batch", type=click.IntRange(min=1), help="Vectors a call: 1 (default) is latency, more throughput.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads, pinned to as many cores; default: 1.")
@click.option(
    "--device", help="Time on this device as well: gpu, cuda, cuda:1, cupy, jax, ...; copying is timed apart."
)
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds to sample a cell; default: 10.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds, several in a new process each; default: 1.")
@format_option
@rerun_option
@memory_limit_option
@scale_option("Where results go within --out.")
@out_option("Where results go, in SCALE/NAME.")
@click.option("--name", default="time", show_default=True, help="Folder of these results: one for each set of cells.")
def command(
    dims: str | None,
    methods: str | None,
    bits: str | None,
    batch: int | None,
    threads: int | None,
    device: str | None,
    budget: float | None,
    rounds: int | None,
    form: str,
    rerun: str | None,
    memory_limit: int | None,
    scale: str,
    out: Path,
    name: str,
) -> None:
    """Time encoding, beside Table 2 of the paper.

    How time and memory grow is fitted as in Table 1.

    Timed are projection, sign and packing of vectors in memory, on pinned cores. Drawing the parameters, and the FFT
    plans and tables the first call builds, are timed apart. Methods of one dimension are interleaved, so that ratios
    hold on a machine whose speed wanders. What does not fit the memory limit is shown as "-" with the bytes it needs.
    Claims are judged by intervals over five rounds or more.

    It is the experiment of configs/table2.yaml: `cbe-bench run` runs it as well, with any of its keys changed.

    \b
    Examples:
      cbe-bench time --dims 2^15..2^27
      cbe-bench time --dims 768,25600 --batch 256
      cbe-bench time --dims 2^10..2^14 --bits d,2d,4d,8d --name growth
      cbe-bench time --dims 2^15..2^20 --batch 64 --device gpu --name gpu
    """
    encoders = "lsh,bilinear-rand,cbe-rand,cbe-orth,hd3" if methods is None else methods
    chosen = {
        "dims": dims or "paper",
        "n_bits": bits or "d",
        "encoders": f"[{', '.join(one.strip() for one in encoders.split(','))}]",
        "batch": batch or 1,
        "threads": threads or 1,
        "device": device or "cpu",
        "budget_s": budget or 10.0,
        "rounds": rounds or 1,
        "name": name,
    }
    given = {"dims": dims, "methods": methods, "bits": bits, "batch": batch, "threads": threads, "budget": budget}
    given |= {"device": device, "rounds": rounds}
    typed = command_line("time", **{key: value for key, value in given.items() if value is not None}, name=name)
    run(
        Path("configs/table2.yaml"),
        scale,
        tuple(f"{key}={value}" for key, value in chosen.items()),
        typed,
        out=out,
        rerun=rerun,
        memory_limit=memory_limit,
        form=form,
    )
