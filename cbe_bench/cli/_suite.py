"""The suite in the terminal: one line a step, what runs now, and the time that is left."""

import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from cbe_bench.cli._output import verbosity
from cbe_bench.core.progress import duration
from cbe_bench.evaluators.suite import Step

_KEPT = 12
"""Lines of a step that are shown if it fails."""
_DONE_EARLIER = 0.3
"""A step that takes less than this fraction of its estimate was mostly done earlier, and says nothing of the speed."""


class SuiteProgress:
    """Shows which step runs, how each ended, and about how long the rest will take."""

    def __init__(self, steps: Sequence[Step], seconds: dict[str, float]) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=verbosity() < 0)
        self._steps, self._seconds = list(steps), seconds
        self._number = 0
        self._fraction = 0.0
        self._started = time.perf_counter()
        self._estimate_done = self._took = 0.0
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.perf_counter() - self._started

    @property
    def left(self) -> float:
        """Seconds that the rest is likely to take, by its estimate and by how true estimates have been."""
        rest = [self._seconds[step.name] for step in self._steps[self._number - 1 :]]
        speed = self._took / self._estimate_done if self._estimate_done else 1.0
        return speed * (sum(rest) - self._fraction * rest[0]) if rest else 0.0

    def message(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False)

    def begin(self, step: Step) -> None:
        """Take the step that runs now."""
        self._number += 1
        self._fraction, self._started = 0.0, time.perf_counter()
        if self._status:
            self.line("")
        else:
            self.message(f"{self._place} {step.name} ...")

    def line(self, text: str) -> None:
        """Take a line of the step that runs: it may say how many of its cells have ended."""
        if cells := re.match(r"\[(\d+)/(\d+)\]", text):
            self._fraction = int(cells[1]) / int(cells[2])
        if self._status:
            step = self._steps[self._number - 1]
            now = f"{self._place} {step.name}, about {duration(self.left)} left  {text}"
            self._status.update(now[: self._console.width - 4].replace("[", "\\["))

    def end(self, how: str = "", lines: Sequence[str] = ()) -> None:
        """Print how the step ended, and the lines of it that say why."""
        step, estimate, elapsed = (
            self._steps[self._number - 1],
            self._seconds[self._steps[self._number - 1].name],
            self.elapsed,
        )
        if elapsed > _DONE_EARLIER * estimate:
            self._estimate_done, self._took = self._estimate_done + estimate, self._took + elapsed
        self._fraction = 1.0
        left = f"; about {duration(self.left)} left" if self._number < len(self._steps) else ""
        self.message(f"{self._place} {step.name}: {how + ', ' if how else ''}{duration(elapsed)}{left}")
        for line in lines:
            self.message(f"    {line}")

    @property
    def _place(self) -> str:
        return f"[{self._number}/{len(self._steps)}]"


def run_command(arguments: Sequence[str], handle: int, line: Callable[[str], None]) -> tuple[int, list[str]]:
    """Run `cbe-bench` with arguments in a process of its own; return its exit code and its last lines.

    An interrupt is handed on once, and waited for. Should this process be killed outright, the other ends as it
    writes its next line, which nobody reads.
    """
    command = [sys.executable, "-m", "cbe_bench", *arguments]
    lines: deque[str] = deque(maxlen=_KEPT)
    before = signal.signal(signal.SIGTERM, _interrupt)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=(handle,),
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            for text in process.stdout:
                lines.append(text.rstrip())
                line(lines[-1])
            return process.wait(), list(lines)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            raise
        finally:
            signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
