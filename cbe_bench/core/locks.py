"""One run at a time in a folder, and a limit of time for a block of code."""

import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: there is no lock between runs there
    fcntl = None
CAN_CLAIM = hasattr(fcntl, "F_OFD_SETLK")
"""Whether files can be claimed: on Linux."""


@contextmanager
def exclusive(folder: Path, message: Callable[[str], None]) -> Iterator[int]:
    """Lock a folder of results, waiting for another run in it to end.

    The lock belongs to the open handle: the system releases it however the process ends. A process that inherits the
    handle holds the lock should its parent be killed.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    message : callable
        Called with one line of text if another run holds the lock.

    Yields
    ------
    int
        The handle of the lock, -1 where the system has no such locks.
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


def claim_file(handle: int) -> bool:
    """Claim an open file until the handle is closed, or the process ends; False if another handle has it.

    The claim does not hinder whoever else opens, reads, writes or locks the file.
    """
    whole = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, whole)
    except OSError:
        return False
    return True


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
