"""Rows that pass by in the terminal: how many, how fast, how long the rest will take."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from cbe_bench.cli._output import verbosity
from cbe_bench.core.progress import LONG_S, duration

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_UPDATES = 0.2


@contextmanager
def warnings_as_lines(message: Callable[[str], None]) -> Iterator[None]:
    """Report warnings, of poor codes above all, as lines."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda text, *about, **more: message(f"note: {text}")
        yield


class RowsProgress:
    """Shows rows done, rows per second and the time left: one live line, or a line now and then in a file.

    Parameters
    ----------
    what : str
        What is done to the rows, such as "encoding a.npy".
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=verbosity() < 0)
        self._status: Status | None = None
        self._started = self._shown = time.perf_counter()

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.quiet:
            self._status = self._console.status(self._what)
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the first row."""
        return time.perf_counter() - self._started

    def message(self, text: str) -> None:
        """Print a line; the rows begin after it."""
        self._console.print(text, markup=False)
        self._started = time.perf_counter()

    def foreseen(self, seconds: float) -> None:
        """Print how long the rest will take, where that is long."""
        if seconds >= LONG_S:
            self._console.print(f"about {duration(seconds)} left", markup=False)

    def rows_done(self, done: int, total: int, before: int) -> None:
        """Show how many rows are done, of how many; `before` of them were done by an earlier run."""
        now = time.perf_counter()
        if now - self._shown < (_SECONDS_BETWEEN_UPDATES if self._status else _SECONDS_BETWEEN_LINES):
            return
        self._shown = now
        speed = (done - before) / max(self.elapsed, 1e-9)
        left = duration((total - done) / speed) if speed else "?"
        line = f"{self._what}: {done:,} of {total:,} rows ({done / total:.0%}), {speed:,.0f} rows/s, {left} left"
        if self._status:
            self._status.update(line)
        else:
            self._console.print(line, markup=False)
