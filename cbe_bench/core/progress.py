"""Progress of a run: what begins, the fraction done, how it ended, and times as a person writes them."""

from collections.abc import Callable, Sequence
from typing import Protocol

Progress = Callable[[float], None]
"""Takes the fraction of a step that is done, between 0 and 1."""


def no_progress(fraction: float) -> None:
    """Take the fraction and do nothing."""


LONG_S = 10.0
"""Before steps that are likely to take longer, a line says how long."""


def duration(seconds: float) -> str:
    """Write a time as a person would."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Reporter(Protocol):
    """Follows a run of cells."""

    def message(self, text: str) -> None:
        """Take a line for the user."""

    def begin(self, n_cells: int, seconds: float, memory_bytes: int = 0) -> None:
        """Take how many cells are to run, and an estimate of their seconds.

        Parameters
        ----------
        n_cells : int
            How many cells are to run.
        seconds : float
            The estimate of their time.
        memory_bytes : int
            The estimate of the memory of the largest of them.
        """

    def step(self, what: str, seconds: float) -> None:
        """Take what begins now, and an estimate of its seconds.

        Parameters
        ----------
        what : str
            The description of the step.
        seconds : float
            The estimate of its time.
        """

    def advance(self, fraction: float) -> None:
        """Take the fraction of the step that is done."""

    def end(self, line: str, notes: Sequence[str] = ()) -> None:
        """Take how a cell has ended, and warnings about it.

        Parameters
        ----------
        line : str
            The outcome of the cell.
        notes : sequence of str
            The warnings about it.
        """


class Silent:
    """A reporter that says nothing."""

    def message(self, text: str) -> None:
        """Take a line."""

    def begin(self, n_cells: int, seconds: float, memory_bytes: int = 0) -> None:
        """Take how many cells are to run."""

    def step(self, what: str, seconds: float) -> None:
        """Take what begins now."""

    def advance(self, fraction: float) -> None:
        """Take the fraction that is done."""

    def end(self, line: str, notes: Sequence[str] = ()) -> None:
        """Take how a cell has ended."""
