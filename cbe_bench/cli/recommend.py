"""``cbe-bench recommend``: which codes to use for a file of vectors."""

from pathlib import Path

import click

from cbe_bench.cli._options import (
    FeatureFile,
    LocalFile,
    make_folder,
    metric_option,
    part_option,
    seed_option,
    stoppable,
    threads_option,
)
from cbe_bench.cli._output import TABLE, format_option, say


@click.command(name="recommend")
@click.argument("file", type=FeatureFile())
@click.option(
    "--recall", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Recall wanted; default: 0.95."
)
@click.option("--at", default=100, show_default=True, type=click.IntRange(min=1), help="Neighbours of a query, k.")
@click.option("--bytes", "max_bytes", type=click.IntRange(min=1), help="Bytes of a code, at most.")
@metric_option
@click.option("--queries", type=FeatureFile(), help="A file of queries; default: rows of FILE.")
@click.option("--methods", help="Methods to try, by commas; default: cbe-opt,cbe-orth,hd3,itq,lsh,sign.")
@click.option("--bits", help="Code lengths to try, by commas; default: 64 to four times the dimension.")
@click.option("--sample", default=50_000, show_default=True, type=click.IntRange(min=500), help="Rows to try them on.")
@click.option("--n-queries", default=500, show_default=True, type=click.IntRange(min=10), help="Queries, at most.")
@seed_option
@part_option
@click.option("-o", "--out", type=LocalFile(), help="Folder of the table and figure; default: FILE.recommend.")
@threads_option
@format_option
def command(
    file: Path,
    recall: float | None,
    at: int,
    max_bytes: int | None,
    metric: str,
    queries: Path | None,
    methods: str | None,
    bits: str | None,
    sample: int,
    n_queries: int,
    seed: int,
    part: str | None,
    out: Path | None,
    threads: int | None,
    form: str,
) -> None:
    """Find out which binary codes to use for FILE.

    They are tried on a sample of its rows. Methods and code lengths are tried with Hamming, asymmetric and re-ranked
    search. Printed are the codes that no others beat, and one sentence that answers the target, with a 95 % interval.
    Recall changes as a database grows: it is measured on samples of several sizes and extrapolated to all rows. It is
    that of the codes that encode makes with the same seed. Written are a table and a figure.

    \b
    Examples:
      cbe-bench recommend mine.npy
      cbe-bench recommend mine.parquet --column embedding --recall 0.9 --at 10
      cbe-bench recommend mine.npy --bytes 64 --metric l2 --queries asked.npy
    """
    from cbe_bench.cli._progress import Progress
    from cbe_bench.cli._results import show_tables
    from cbe_bench.cli._rows import warnings_as_lines
    from cbe_bench.core.report import write_report
    from cbe_bench.core.resources import Resources
    from cbe_bench.vectors.recommend import recommend, recommend_report

    out = out or Path(f"{file.stem}.recommend")
    make_folder(out)
    with Progress() as shown, stoppable(shown.message), warnings_as_lines(lambda text: None):
        shown.begin(1, 1.0)
        shown.step(f"trying codes on {file.name}", 1.0)
        found = recommend(
            file,
            recall=recall,
            at=at,
            max_bytes=max_bytes,
            metric=metric,
            queries=queries,
            dataset=part,
            methods=None if methods is None else [name.strip() for name in methods.split(",")],
            n_bits=None if bits is None else _lengths(bits),
            sample_rows=sample,
            n_queries=n_queries,
            seed=seed,
            resources=Resources(threads),
            message=shown.message,
            progress=shown.advance,
        )
        report = recommend_report(found)
        shown.stop()
        show_tables(report, form)
        for reason in found.skipped:
            shown.message(f"not tried: {reason}")
        written = write_report(report, out)
    click.echo(found.answer, err=form != TABLE)
    say(f"wrote {out}/ ({len(written)} files)")


def _lengths(text: str) -> list[int]:
    from cbe_bench.core.errors import InputError

    try:
        return sorted({int(one) for one in text.split(",")})
    except ValueError:
        raise InputError(f"--bits {text}: write code lengths by commas, such as 256,512") from None
