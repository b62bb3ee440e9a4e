"""What a data set of the catalogue is: a name, a size, and how its file is built."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, PositiveInt

from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Progress

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

    @abstractmethod
    def build(self, build: Build) -> None:
        """Write the data set to a file, whole or not at all."""


def choose_rows(count: int, rows: int | None, seed: int) -> NDArray[np.int64]:
    """Return which of `count` rows are taken, sorted: all, or as many as `rows` says, drawn by the seed."""
    if rows is None or rows == count:
        return np.arange(count)
    if rows > count:
        raise InputError(f"--rows {rows}: there are {count:,}")
    return np.sort(np.random.default_rng([seed, count]).choice(count, rows, replace=False))
