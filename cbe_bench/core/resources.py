"""What a computation may use of the machine, as one value that is passed along."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LARGEST_DEFAULT = 24 << 30
"""Bytes of memory that are used at most unless more are asked for."""
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Resources:
    """Threads and memory that a computation may use.

    Attributes
    ----------
    threads : int or None
        Threads; None means all cores.
    memory_bytes : int or None
        Bytes of memory; None means what the machine or its container has, at most 24 GiB.
    """

    threads: int | None = None
    memory_bytes: int | None = None

    @property
    def n_threads(self) -> int:
        """The number of threads, that of the cores unless one was given."""
        return available_cores() if self.threads is None else self.threads

    @property
    def memory_limit(self) -> int:
        """The memory limit in bytes, that of the machine unless one was given."""
        return machine_memory() if self.memory_bytes is None else self.memory_bytes


def available_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def machine_memory() -> int:
    """Return the bytes of memory of the machine or its container, at most 24 GiB."""
    limits = [_LARGEST_DEFAULT]
    if hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUP_LIMITS:
        try:
            limits.append(int(Path(name).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits)
