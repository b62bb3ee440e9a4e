"""File formats by suffix: one module each, with a reader and, where the format can be written, a writer.

A new format is one module that decorates both; nothing else changes:

    @reader(".npy")
    def open_npy(path, name, part): ...      # -> Features

    @writer(".npy")
    @contextmanager
    def write_npy(path, features): ...       # yields append(rows, first)

Modules of this package are found by themselves, those of other packages through the entry-point group
``cbe_bench.formats``, whose entries name a module that registers its format when it is imported.
"""

import importlib
import pkgutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.plugins import load_plugins
from cbe_bench.core.remote import RemotePath, as_path, is_url
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.checks import MissingPartError, check_regular_file, readable

Append = Callable[[Matrix, int], None]
"""Takes the next rows and the index of the first of them."""
OpenFile = Callable[[Path, str | None, str | None], Features]
"""Opens a file by path, display name and, for formats that hold several matrices, the name of one of them."""
WriteFile = Callable[[Path, Features], AbstractContextManager[Append]]

_R = TypeVar("_R", bound=OpenFile)
_W = TypeVar("_W", bound=WriteFile)


@dataclass(frozen=True)
class Reader:
    """How files of a format are opened."""

    open: OpenFile
    has_parts: bool
    """Whether they can hold several matrices."""
    is_folder: bool
    by_url: bool
    """Whether they are read by URL too."""


@dataclass(frozen=True)
class Writer:
    """How files of a format are written, and whether labels are stored."""

    open: WriteFile
    keeps_labels: bool


_READERS: dict[str, Reader] = {}
_WRITERS: dict[str, Writer] = {}


def reader(
    *suffixes: str, has_parts: bool = False, is_folder: bool = False, by_url: bool = False
) -> Callable[[_R], _R]:
    """Register a reader for file suffixes.

    Parameters
    ----------
    *suffixes : str
        In lower case, with the dot.
    has_parts : bool
        Whether a file can hold several matrices, so that the caller may name one.
    is_folder : bool
        Whether the data are a folder rather than a file.
    by_url : bool
        Whether the function takes a `core.remote.RemotePath` too.
    """

    def register(function: _R) -> _R:
        _READERS.update(dict.fromkeys(suffixes, Reader(function, has_parts, is_folder, by_url)))
        return function

    return register


def writer(*suffixes: str, keeps_labels: bool = False) -> Callable[[_W], _W]:
    """Register a writer for file suffixes.

    Parameters
    ----------
    *suffixes : str
        In lower case, with the dot.
    keeps_labels : bool
        Whether the format has a place for labels.
    """

    def register(function: _W) -> _W:
        _WRITERS.update(dict.fromkeys(suffixes, Writer(function, keeps_labels)))
        return function

    return register


@cache
def _import_formats() -> None:
    package = importlib.import_module("cbe_bench.data.formats")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    load_plugins("cbe_bench.formats")


def readable_suffixes() -> list[str]:
    """List the suffixes of the formats that can be read."""
    _import_formats()
    return sorted(_READERS)


def writable_suffixes() -> list[str]:
    """List the suffixes of the formats that can be written."""
    _import_formats()
    return sorted(_WRITERS)


def open_features(path: str | Path | RemotePath, name: str | None = None, part: str | None = None) -> Features:
    """Open a feature file in the format its suffix says.

    Parameters
    ----------
    path : str, Path or RemotePath
        The file, or for some formats its URL.
    name : str, optional
        What the data are called in tables and figures; default: the stem of the file name.
    part : str, optional
        Which matrix to take where the format can hold several: an HDF5 dataset, a Parquet column, an array of a
        ``.npz`` file. Needed only where there are several candidates.

    Returns
    -------
    Features
        To be closed, or used as a context manager.

    Raises
    ------
    InputError
        In one line, whatever is wrong with the file.
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    if is_url(path) and not (suffix in readable_suffixes() and _READERS[suffix].by_url):
        by_url = ", ".join(known for known in sorted(_READERS) if _READERS[known].by_url)
        raise InputError(f"{path}: only {by_url} are read by URL; download it")
    is_folder = suffix in readable_suffixes() and _READERS[suffix].is_folder
    check_regular_file(path, is_folder)
    with readable(path):
        if suffix not in readable_suffixes():
            raise InputError(f"{path}: unknown format {suffix!r}; {did_you_mean(suffix, _READERS)}")
        found = _READERS[suffix]
        if part is not None and not found.has_parts:
            several = ", ".join(known for known in sorted(_READERS) if _READERS[known].has_parts)
            raise MissingPartError(f"{path}: holds one matrix only; --dataset and --column select in {several}")
        return found.open(path, name, part)


def find_writer(path: Path) -> Writer:
    """Return the writer of the format that a file's suffix says."""
    suffix = path.suffix.lower()
    if suffix not in writable_suffixes():
        raise InputError(f"{path}: cannot be written as {suffix!r}; {did_you_mean(suffix, _WRITERS)}")
    return _WRITERS[suffix]
