"""``cbe-bench search``: the nearest codes of queries."""

from pathlib import Path

import click

from cbe_bench.cli._options import (
    FeatureFile,
    LocalFile,
    cluster_options,
    make_folder,
    part_option,
    stoppable,
    threads_option,
)
from cbe_bench.cli._output import say


@click.command(name="search")
@click.argument("codes", type=LocalFile())
@click.argument("queries", type=FeatureFile())
@click.option("-k", "k", default=10, show_default=True, type=click.IntRange(min=1), help="Neighbours of each query.")
@click.option("-o", "--out", required=True, type=LocalFile(), help="A .npy, .parquet or .jsonl file.")
@click.option("--asymmetric", is_flag=True, help="Compare real queries with codes: more exact, a few times slower.")
@click.option("--rerank", type=FeatureFile(), help="The encoded vectors: rank candidates exactly by them.")
@click.option("--oversample", default=10, show_default=True, type=click.IntRange(min=1), help="Candidates / k.")
@part_option
@threads_option
@cluster_options
def command(
    codes: Path,
    queries: Path,
    k: int,
    out: Path,
    asymmetric: bool,
    rerank: Path | None,
    oversample: int,
    part: str | None,
    threads: int | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Find the nearest codes of queries, exactly.

    CODES is a file that `cbe-bench encode` wrote, QUERIES a file of vectors. The codes are read in blocks: memory does
    not grow with their number. With --rerank, the nearest codes are only candidates, ranked by the exact distances of
    the vectors they were made from.

    \b
    Examples:
      cbe-bench search codes.cbe.h5 queries.npy -k 10 -o found.npy
      cbe-bench search codes.cbe.h5 queries.npy -k 10 --rerank mine.npy --oversample 20 -o found.parquet
    """
    from cbe_bench.cli._rows import RowsProgress
    from cbe_bench.core.environment import human_bytes
    from cbe_bench.core.progress import duration
    from cbe_bench.core.resources import Resources
    from cbe_bench.data.formats import open_features
    from cbe_bench.kernels.bits import code_bytes
    from cbe_bench.vectors import CodeIndex
    from cbe_bench.vectors.cluster import running
    from cbe_bench.vectors.results import search_file

    make_folder(out.parent)
    with (
        RowsProgress(f"searching {codes.name}") as shown,
        stoppable(shown.message),
        CodeIndex.open(codes, Resources(threads)) as index,
        open_features(queries, part=part) as features,
        running(workers, scheduler) as run,
    ):
        size = human_bytes(len(index) * code_bytes(index.file.n_bits))
        shown.message(
            f"searching {len(index):,} codes of {index.file.n_bits:,} bits, {size}, for {features.n_rows:,} queries"
        )
        search_file(
            index,
            features,
            k,
            out,
            asymmetric=asymmetric,
            rerank=rerank,
            oversample=oversample,
            run=run,
            rows_done=shown.rows_done,
        )
        say(
            f"wrote {out}: {k} neighbours of each of {features.n_rows:,} queries among {len(index):,} codes, "
            f"{duration(shown.elapsed)}"
        )
