"""Options, and ways to begin and to end, common to several commands."""

import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from cbe_bench.cli._output import say
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import as_path, is_url, local_path


class Bytes(click.ParamType):
    """A number of bytes as a person writes it: 8GiB, 500MB, 8G."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a size."""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", str(value), re.IGNORECASE)
        if not match or not float(match[1]):
            self.fail(f"{value!r} is not a size; write it as 8GiB or 500MiB", param, ctx)
        return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


class FeatureFile(click.Path):
    """A file of vectors, or its URL."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a path or a URL."""
        return as_path(value) if is_url(value) else super().convert(value, param, ctx)


class LocalFile(click.Path):
    """A file on this machine."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a path; URLs are refused."""
        return super().convert(str(local_path(value, "this")), param, ctx)


threads_option = click.option("--threads", type=click.IntRange(min=1), help="Threads to use; default: all cores.")
memory_limit_option = click.option(
    "--memory-limit",
    type=Bytes(),
    help="Skip cells that need more; default: what the machine has, at most 24 GiB.",
)
rerun_option = click.option(
    "--rerun",
    type=click.Choice(["failed", "all"]),
    help="Run again what failed or timed out, or everything.",
)
part_option = click.option(
    "--dataset",
    "--column",
    "part",
    metavar="NAME",
    help="Which HDF5 dataset, Parquet column or .npz array, where FILE holds several.",
)
metric_option = click.option(
    "--metric",
    type=click.Choice(["cosine", "l2", "ip"]),
    default="cosine",
    show_default=True,
    help="What vectors are compared by: angle, Euclidean distance or inner product.",
)
seed_option = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Decides every random draw."
)


def cluster_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where blocks of rows are computed."""
    workers = click.option("--workers", type=click.IntRange(min=1), help="Start this many worker processes (Dask).")
    address = click.option("--scheduler", metavar="ADDRESS", help="Use the workers of a Dask cluster.")
    return workers(address(function))


REFERENCE = Path("results/reference/paper")
"""The results that come with the suite."""
RESULT_FOLDERS = (*(Path("results") / scale for scale in ("paper", "quick", "smoke")), REFERENCE)
"""Where the results of an experiment are looked for by its name."""
folder_argument = click.argument("folder", required=False, type=click.Path(path_type=Path))


def results_folder(chosen: Path | None) -> Path:
    """Return the folder of results that is meant: of one's own the largest scale, or else those of the suite."""
    own = [folder for folder in RESULT_FOLDERS[:2] if folder.is_dir()]
    if chosen is not None or own:
        return chosen or own[0]
    if REFERENCE.is_dir():
        say(f"no results here yet: these are those of {REFERENCE}")
        return REFERENCE
    others = [str(folder) for folder in RESULT_FOLDERS if folder.is_dir()]
    hint = f"name the folder: {', '.join(others)}" if others else "`cbe-bench reproduce` makes them"
    raise InputError(f"{RESULT_FOLDERS[1]}: no such folder; {hint}")


@contextmanager
def stoppable(message: Callable[[str], None]) -> Iterator[None]:
    """End the program on Ctrl-C; the same command resumes."""
    try:
        yield
    except KeyboardInterrupt:
        message("stopped; the same command resumes")
        raise SystemExit(130) from None


def make_folder(path: Path) -> None:
    """Make a folder that can be written to, or raise InputError, before anything is computed for it."""
    file = next((place for place in (path, *path.parents) if place.exists() and not place.is_dir()), None)
    if file is not None:
        raise InputError(f"{path}: results cannot be written there: {file} is a file, not a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"{path}: results cannot be written there ({error.strerror})") from None


def scale_option(text: str) -> Callable[[Any], Any]:
    """Return the option for the size of an experiment."""
    scales = click.Choice(["smoke", "quick", "paper"])
    return click.option("--scale", type=scales, default="quick", show_default=True, help=text)


def out_option(text: str) -> Callable[[Any], Any]:
    """Return the option for the folder results go to."""
    return click.option("--out", type=click.Path(path_type=Path), default="results", show_default=True, help=text)


def command_line(verb: str, *arguments: object, **options: Any) -> str:
    """Return what a person types for a verb with these arguments and options; an option with several values recurs."""
    words = ["cbe-bench", verb, *map(str, arguments)]
    for name, value in options.items():
        for each in value if isinstance(value, tuple) else (value,):
            words += [f"--{name.replace('_', '-')}", str(each)]
    return shlex.join(words)


def parsed_params(given: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of a method given as NAME=VALUE, values read as YAML."""
    import yaml

    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"--param {text}: write it as NAME=VALUE")
        try:
            found[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(f"--param {text}: the value cannot be read") from None
    return found
