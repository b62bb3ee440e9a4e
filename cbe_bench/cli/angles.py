"""``cbe-bench angles``: how well codes estimate angles, set against what is proved about it."""

from pathlib import Path
from typing import Any

import click

from cbe_bench.cli._options import memory_limit_option, out_option, rerun_option, scale_option, threads_option
from cbe_bench.cli.run import command as run

_CONFIG = Path("configs/angles.yaml")


@click.command(name="angles")
@scale_option("smoke: seconds. quick: d up to 4,096, 5,000 draws, a minute. paper: d up to 16,384, 40,000 draws.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Features whose angles are estimated; default: those the configuration names.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Decides every random draw; default: 0.")
@out_option("Where results go, in SCALE/angles, or with --data FILE in SCALE/angles-FILE.")
@rerun_option
@memory_limit_option
@threads_option
@click.pass_context
def command(ctx: click.Context, data: Path | None, seed: int | None, **others: Any) -> None:
    """Simulate the angle estimate of Section 4 and judge the paper's claims about it.

    The share of differing bits of two codes estimates the angle of their vectors. For pairs at known angles (dense,
    sparse, and such as are hard for circulant codes) its mean, variance and tails over many draws are set against
    independent bits and against Theorems 1 and 2: with and without the sign flips D, before and after a random
    Hadamard transform, for numbers of bits up to d. On features, all pairs of a sample are compared. Every
    estimate has its interval; a bound that is trivially true is called vacuous, with the d that it would need.

    It is the experiment of configs/angles.yaml: `cbe-bench run` runs it as well, with any of its keys changed.

    \b
    Examples:
      cbe-bench angles --scale smoke
      cbe-bench angles --data mine.h5
      cbe-bench run configs/angles.yaml --set draws=1000 --set 'dims=[64]'
    """
    overrides = [] if seed is None else [f"seed={seed}"]
    if data is not None:
        overrides += [f"data.file={data}", f"name=angles-{data.stem}"]
    ctx.invoke(run, config=_CONFIG, overrides=tuple(overrides), **others)
