"""One run at a time in a folder, and a limit of time for a block of code."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: runs are not kept apart there
    fcntl = None
CAN_LOCK = fcntl is not None


@contextmanager
def exclusive(folder: Path, message: Callable[[str], None]) -> Iterator[int]:
    """Hold a folder of results, waiting for another run in it to end; yield the handle of the lock.

    The lock belongs to the open handle: the system releases it however the process ends. A process that is handed it
    keeps the folder locked should its parent be killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield -1
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if not _lock(handle):
            message(f"another run is writing to {folder}: waiting for it to end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Lock a folder if no process has it; yield whether it is there and locked, or cannot be locked on this system."""
    if fcntl is None:
        yield True
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _lock(handle) and folder.exists()
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the block of code once it has run this long; None sets no limit.

    It needs the main thread and a system with alarm signals; elsewhere there is no limit.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
