"""A run in the terminal: live bars where there is one, plain lines where there is not."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from cbe_bench.cli._output import verbosity
from cbe_bench.core.environment import human_bytes, peak_memory
from cbe_bench.core.progress import LONG_S, duration
from cbe_bench.core.results import FAILED, OK, SKIPPED, TIMEOUT, Row


class Progress:
    """Shows what runs, what is done and how long the rest will take."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._quiet = verbosity() < 0
        self._live = self._console.is_terminal and not self._quiet
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._overall: TaskID | None = None
        self._step: TaskID | None = None
        self._estimate_left = 0.0
        self._estimate_step = 0.0
        self._estimate_done = 0.0
        self._created = self._started = time.perf_counter()
        self._cells = self._ended = 0
        self._noted: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bars away."""
        if self._step is not None:
            self._bars.stop()
            for task in self._bars.task_ids:
                self._bars.remove_task(task)
            self._overall = self._step = None

    def message(self, text: str) -> None:
        """Print a line."""
        if not self._quiet:
            self._console.print(text, markup=False)

    def begin(self, n_cells: int, seconds: float, memory_bytes: int = 0) -> None:
        """Show a bar for a cell, and one for all of several; a line says how long and how large they are, if much."""
        self._cells, self._ended = n_cells, 0
        self._estimate_left, self._estimate_done = seconds, 0.0
        self._started = time.perf_counter()
        self.stop()
        if n_cells and seconds >= LONG_S:
            memory = f", up to {human_bytes(memory_bytes)} of memory" if memory_bytes else ""
            self.message(f"{n_cells} cells to run: about {duration(seconds)}{memory}")
        if self._live and n_cells:
            self._bars.start()
            self._overall = self._bars.add_task("all cells", total=1.0, note="") if n_cells > 1 else None
            self._step = self._bars.add_task("", total=1.0, note="")

    def step(self, what: str, seconds: float) -> None:
        """Show what runs now."""
        self._estimate_step = seconds
        if self._step is not None:
            self._bars.reset(self._step, total=1.0, description=what)
            self.advance(0.0)

    def advance(self, fraction: float) -> None:
        """Move the bars."""
        if self._step is None:
            return
        self._bars.update(self._step, completed=fraction)
        passed = self._estimate_done + fraction * self._estimate_step
        total = max(self._estimate_done + self._estimate_left, passed, 1e-9)
        elapsed = time.perf_counter() - self._started
        left = f"about {duration(elapsed * (total - passed) / passed)} left" if passed > 0.02 * total else ""
        if self._overall is None:
            self._bars.update(self._step, note=left)
            return
        ended = f"{self._ended} of {self._cells}" + (f", {left}" if left else "")
        self._bars.update(self._overall, completed=passed / total, note=ended)

    def end(self, line: str, notes: Sequence[str] = ()) -> None:
        """Print a line for a cell that has ended."""
        self._ended += 1
        self._estimate_done += self._estimate_step
        self._estimate_left -= self._estimate_step
        self._estimate_step = 0.0
        self.message(f"[{self._ended}/{self._cells}] {line}")
        for note in notes:
            if note not in self._noted or verbosity() > 0:  # a warning is explained once
                self.message(f"    note: {note}")
                self._noted.add(note)

    def show_end(self, rows: Sequence[Row], files: Sequence[str]) -> None:
        """Print how the cells ended and which files were written."""
        self.stop()
        counts = Counter(row.status for row in rows)
        again = "; --rerun failed runs them again" if counts[FAILED] + counts[TIMEOUT] else ""
        ended = ", ".join(f"{counts[status]} {status}" for status in (OK, SKIPPED, FAILED, TIMEOUT) if counts[status])
        cost = f"{duration(time.perf_counter() - self._created)}, peak memory {human_bytes(peak_memory())}"
        self.message(f"{ended or 'no cells'}{again} ({cost})")
        if files:
            folder = Path(files[0]).parent
            self.message(f"wrote {folder}/ ({len(files)} files)")
