"""All cores, one way: our own threads over slices of rows, each calling code that releases the interpreter.

BLAS is held to one thread meanwhile. That keeps cores from being fought over and, since a product of fixed
shape on one thread always adds in the same order, makes results independent of the number of threads.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_thread_count: int | None = None


def available_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Return how many threads the kernels use: all cores unless `threads` says otherwise."""
    return _thread_count or available_cores()


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run a block of code with this many kernel threads (None: all cores)."""
    global _thread_count
    before, _thread_count = _thread_count, count
    try:
        yield
    finally:
        _thread_count = before


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="cbe-bench")


def slices(n: int, size: int) -> list[slice]:
    """Cut range(n) into near-equal slices of at most `size`: no tiny last one."""
    count = -(-n // size)
    edges = [n * i // count for i in range(count + 1)] if count else [0]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def for_slices(work: Callable[[slice], object], n: int, size: int) -> None:
    """Call `work` on the `slices` of range(n) from all threads, BLAS single-threaded, and wait for the end."""
    parts = slices(n, size)
    count = min(thread_count(), len(parts))
    with _controller().limit(limits=1, user_api="blas"):
        if count <= 1:
            for part in parts:
                work(part)
        else:
            for _ in _pool(count).map(work, parts):
                pass
