"""``cbe-bench angles``: how well codes estimate angles, set against what is proved about it."""

from pathlib import Path
from typing import Any

import click

from cbe_bench.cli._options import (
    command_line,
    memory_limit_option,
    out_option,
    rerun_option,
    scale_option,
    threads_option,
)
from cbe_bench.cli._output import format_option
from cbe_bench.cli.run import run


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
@format_option
def command(data: Path | None, seed: int | None, scale: str, **options: Any) -> None:
    """Simulate angles estimated from codes (Section 4).

    The fraction of differing bits of two codes estimates the angle of their vectors. For pairs at known angles (dense,
    sparse, and such as are hard for circulant codes) its mean, variance and tails over many draws are set against
    independent bits and against Theorems 1 and 2: with and without the sign flips D, before and after a random
    Hadamard transform, for code lengths up to d. On features, all pairs of a sample are compared. Every estimate has
    its interval; a bound that is trivially true is called vacuous, with the d that it would need.

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
    given = {"data": data, "seed": seed}
    typed = command_line("angles", scale=scale, **{key: value for key, value in given.items() if value is not None})
    run(Path("configs/angles.yaml"), scale, tuple(overrides), typed, **options)
