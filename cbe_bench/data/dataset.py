"""What a data set of the catalogue is: a name, a size, and how its file is built."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PositiveInt

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Progress, duration

Say = Callable[[str], None]
"""Prints a line for the user."""


@dataclass(frozen=True)
class Build:
    """What is asked for when a data set is built, and who hears of the progress."""

    out: Path
    """The file to write."""
    folder: Path
    """Where data sets are stored."""
    say: Say
    progress: Progress
    rows: int | None = None
    """Rows to draw; None takes all."""
    seed: int = 0
    given: str | None = None
    """A path or address of the archive it is made from, given by the user."""


@dataclass(frozen=True)
class Extent:
    """How large a file that is to be built will be, and how long building it is likely to take."""

    rows: int
    n_features: int
    n_bytes: int | None = None
    """None where it depends on the content, as that of sparse rows does."""
    seconds: float | None = None
    """On the cores there are, from known rates; None where no rate is known."""

    def __str__(self) -> str:
        size = "sparse" if self.n_bytes is None else human_bytes(self.n_bytes)
        time = "" if self.seconds is None else f", about {duration(self.seconds)}"
        return f"{self.rows:,} rows x {self.n_features:,} dimensions, {size}{time}"


def dense_extent(rows: int, n_features: int, seconds: float | None = None) -> Extent:
    """Return the extent of a file of rows of float32.

    Parameters
    ----------
    rows, n_features : int
        The shape.
    seconds : float or None
        How long building it is likely to take.
    """
    return Extent(rows, n_features, 4 * rows * n_features, seconds)


class Dataset(BaseModel):
    """A data set by name, and how its file is built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[Literal["real", "synthetic"]] = "real"

    name: str
    title: str
    family: str = ""
    """Which family of features it belongs to: claims may hold on some families and not on others."""
    rows: PositiveInt
    licence: str = "-"

    @property
    def n_classes(self) -> int | None:
        """How many classes its rows have; None where they have no labels."""
        return None

    @property
    def size(self) -> str:
        """How large a row is, in words."""
        return "-"

    @property
    def file(self) -> str:
        """The name of its file in the folder of data sets."""
        return f"{self.name}.h5"

    @property
    def source(self) -> str:
        """Where it comes from: the command that builds it."""
        return f"data make {self.name}"

    def derived(self) -> "Iterable[Dataset]":
        """Return the data sets that are made from this one."""
        return ()

    def extent(self, rows: int | None) -> Extent | None:
        """Return how large its file will be with this many rows, all if None; None where it has no features."""
        return None

    @abstractmethod
    def build(self, build: Build) -> None:
        """Write the data set to a file, whole or not at all."""


def choose_rows(count: int, rows: int | None, seed: int) -> NDArray[np.int64]:
    """Return which of `count` rows are taken, sorted: all, or as many as `rows` says, drawn by the seed.

    Parameters
    ----------
    count : int
        The number of rows there are.
    rows : int or None
        How many to take; None takes all.
    seed : int
        Seeds the choice.

    Returns
    -------
    int64 array of shape (rows,)
        Ascending, without replacement.

    Raises
    ------
    InputError
        If `rows` is more than `count`.
    """
    if rows is None or rows == count:
        return np.arange(count)
    if rows > count:
        raise InputError(f"--rows {rows}: there are {count:,}")
    return np.sort(np.random.default_rng([seed, count]).choice(count, rows, replace=False))
