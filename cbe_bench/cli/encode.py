"""``cbe-bench encode``: a file of vectors to a file of binary codes."""

from pathlib import Path

import click

from cbe_bench.cli._options import (
    FeatureFile,
    LocalFile,
    cluster_options,
    make_folder,
    metric_option,
    parsed_params,
    part_option,
    seed_option,
    stoppable,
    threads_option,
)
from cbe_bench.cli._output import say


@click.command(name="encode")
@click.argument("file", type=FeatureFile())
@click.option("-o", "--out", required=True, type=LocalFile(), help="The file of codes to write.")
@click.option("--method", default="cbe-opt", show_default=True, help="The method; `cbe-bench methods` lists them.")
@click.option("--bits", type=click.IntRange(min=1), help="Code length; default: the dimension of the vectors.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Another parameter of the method.")
@metric_option
@click.option("--center/--no-center", default=True, show_default=True, help="Subtract the mean of sampled rows.")
@click.option(
    "--train", default=10_000, show_default=True, type=click.IntRange(min=2), help="Rows sampled to train on."
)
@seed_option
@click.option("--ids", type=click.Path(path_type=Path), help="A .npy file with an integer or string for each row.")
@part_option
@click.option("--force", is_flag=True, help="Write over OUT, and start over what was begun with other options.")
@threads_option
@cluster_options
def command(
    file: Path,
    out: Path,
    method: str,
    bits: int | None,
    params: tuple[str, ...],
    metric: str,
    center: bool,
    train: int,
    seed: int,
    ids: Path | None,
    part: str | None,
    force: bool,
    threads: int | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Encode the rows of FILE to packed binary codes.

    They are streamed, on all cores, in constant memory. FILE may be a URL that fsspec knows, such as
    s3://bucket/mine.npy: .h5, .npy, .parquet and .zarr.

    The output holds the codes in the layout of faiss, their ids and the fitted encoder; `cbe-bench search` searches it,
    and h5py reads it. Trained methods train on rows sampled from the whole file. Rows of zeros are skipped and
    counted. Stop whenever you like: the same command resumes, and the file is the same to the byte.

    \b
    Examples:
      cbe-bench encode mine.npy -o codes.cbe.h5 --method cbe-opt --bits 1024
      cbe-bench encode mine.parquet -o codes.cbe.h5 --column embedding --bits 512 --ids ids.npy
      cbe-bench encode mine.npy -o codes.cbe.h5 --bits 1024 --workers 4
    """
    from cbe_bench.cli._rows import RowsProgress, warnings_as_lines
    from cbe_bench.core.environment import human_bytes, peak_memory
    from cbe_bench.core.progress import duration
    from cbe_bench.core.resources import Resources
    from cbe_bench.vectors import encode_file
    from cbe_bench.vectors.cluster import running

    make_folder(out.parent)
    with (
        RowsProgress(f"encoding {file.name}") as shown,
        stoppable(shown.message),
        warnings_as_lines(shown.message),
        running(workers, scheduler) as run,
    ):
        summary = encode_file(
            file,
            out,
            method=method,
            n_bits=bits,
            metric=metric,
            center=center,
            n_train=train,
            seed=seed,
            params=parsed_params(params),
            dataset=part,
            ids=ids,
            overwrite=force,
            resources=Resources(threads),
            run=run,
            message=shown.message,
            rows_done=shown.rows_done,
            foreseen=shown.foreseen,
        )
    encoded = summary.n_codes + summary.skipped - summary.resumed
    if summary.skipped:
        shown_rows = "1 row of zeros was" if summary.skipped == 1 else f"{summary.skipped:,} rows of zeros were"
        say(f"{shown_rows} skipped: zeros have no direction")
    say(
        f"wrote {out}: {summary.n_codes:,} codes, {human_bytes(out.stat().st_size)}; {encoded:,} rows in "
        f"{duration(shown.elapsed)}, {encoded / shown.elapsed:,.0f} rows/s, peak memory {human_bytes(peak_memory())}"
    )
