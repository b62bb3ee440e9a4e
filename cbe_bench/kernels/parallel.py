"""All cores, one way: our own threads over slices of rows, each calling code that releases the interpreter.

BLAS is limited to one thread meanwhile. That keeps cores from being fought over and, since a product of fixed
shape on one thread always adds in the same order, makes results independent of the number of threads.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache

from threadpoolctl import ThreadpoolController

from cbe_bench.core.resources import available_cores

_SLICES_PER_THREAD = 4

_threads: ContextVar[int | None] = ContextVar("threads", default=None)
"""Threads for the kernels called from here, of a thread or task its own; None means all cores."""


def thread_count() -> int:
    """Return how many threads the kernels called from here use: all cores unless `threads` says otherwise."""
    return _threads.get() or available_cores()


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Run a block of code with this many threads in its kernels; None leaves the number as it is.

    The number applies only to this block: not for other threads of the program, nor for what they call.
    """
    if count is None:
        yield
        return
    before = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(before)


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Run a block of code with BLAS, and other libraries with threads of their own, limited to this many."""
    with _controller().limit(limits=count):
        yield


@contextmanager
def pinned(count: int) -> Iterator[None]:
    """Run a block of code on the last `count` cores this process may use; on systems other than Linux, on any."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[-count:])
    try:
        with threads(count):  # the cores seen from within are fewer; the threads are not
            yield
    finally:
        os.sched_setaffinity(0, before)


def _controller() -> ThreadpoolController:
    """Return what controls the threads of all libraries; an import may have loaded another since the last call."""
    return _controller_after(len(sys.modules))


@lru_cache(maxsize=1)
def _controller_after(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="cbe-bench")


class _SingleThreadedBLAS:
    """Holds BLAS to one thread while any thread is within; the first to enter sets it, the last to leave resets it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limit is not None:
                self._limit.restore_original_limits()


_single_threaded_blas = _SingleThreadedBLAS()


def _after_fork() -> None:
    """Forget the threads of the parent process, which a forked child does not have."""
    global _single_threaded_blas
    _pool.cache_clear()
    _single_threaded_blas = _SingleThreadedBLAS()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def slices(n: int, size: int) -> list[slice]:
    """Cut range(n) into near-equal slices.

    Parameters
    ----------
    n : int
        The length of the range.
    size : int
        The largest length of a slice.

    Returns
    -------
    list of slice
    """
    return _cut(n, -(-n // size))


def _cut(n: int, count: int) -> list[slice]:
    return [slice(n * i // count, n * (i + 1) // count) for i in range(count)]


def slice_size(n: int, least: int) -> int:
    """Return the size of slices that keep all threads busy to the end, a few for each, none below `least`.

    Parameters
    ----------
    n : int
        The length of the range.
    least : int
        The smallest size worth a task.

    Returns
    -------
    int
    """
    return max(least, -(-n // (_SLICES_PER_THREAD * thread_count())), 1)


def for_slices(work: Callable[[slice], object], n: int, size: int, *, blas: bool = False) -> None:
    """Call `work` on slices of range(n) from all threads and wait for the end.

    No slice is longer than `size`; work of no more than that is done at once, by the calling thread. The slices
    are a multiple of the threads in number, so that all end together. Work that calls BLAS says so.

    Parameters
    ----------
    work : callable
        Called with a slice of range(n).
    n : int
        The length of the range.
    size : int
        The largest length of a slice.
    blas : bool
        Whether `work` calls BLAS, which then uses one thread in each task.
    """
    if blas:
        with _single_threaded_blas:
            return for_slices(work, n, size)
    count, workers = -(-n // size), thread_count()
    if count <= 1 or workers == 1:
        for part in _cut(n, count):
            work(part)
    else:
        parts = _cut(n, min(n, -(-count // workers) * workers))
        futures = [_pool(workers).submit(work, part) for part in parts]
        try:
            for future in futures:
                future.result()
        finally:  # after an error too, nothing runs on
            for future in futures:
                future.cancel()
            wait(futures)
    return None
