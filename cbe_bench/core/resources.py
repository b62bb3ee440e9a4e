"""What a run may use: threads and memory, as one value that is passed along."""

import os
from dataclasses import dataclass

from cbe_bench.core.environment import machine_memory


@dataclass(frozen=True)
class Resources:
    """A limit of threads and memory.

    Parameters
    ----------
    threads : int or None
        Threads of the kernels; None means all cores this process may run on.
    memory_bytes : int or None
        Bytes that may be used; None means what the machine or its container has, at most 24 GiB.
    """

    threads: int | None = None
    memory_bytes: int | None = None

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        return self.threads or available_cores()

    @property
    def memory_limit(self) -> int:
        """The limit of memory in bytes."""
        return self.memory_bytes or machine_memory()


def available_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
