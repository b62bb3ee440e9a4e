"""Where blocks of work are done: in this process, or on a Dask cluster of several machines.

A block goes to one worker, which uses one thread for its kernels, FFTs and BLAS; the task, with its encoder, its
queries or its experiment, is sent once. Results come back to this process, the only one that writes: what a lost
worker had not returned is computed again by another, with the same result. Workers that run another version of the
suite are refused.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, NoReturn

from cbe_bench.core.code_version import suite_version
from cbe_bench.core.errors import InputError
from cbe_bench.vectors.blocks import Run, Task, run_here

_BLOCKS_PER_WORKER = 3
"""Blocks in flight for each worker: enough to keep it busy, few enough that results do not pile up."""

_SECONDS_TO_ANSWER: float = 10
_SECONDS_TO_RETURN = 60
"""How long to wait for workers to replace those that are gone."""
_MOST_LOSSES = 3
"""A piece of work is given up when all workers have died of it so often, or, by Dask, a few of many."""
_UNINTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""What workers here begin with: Ctrl-C ends this process, which ends them."""


@contextmanager
def running(workers: int | None, scheduler: str | None) -> Iterator[Run]:
    """Give what does a task block by block: in this process unless a cluster is asked for.

    Parameters
    ----------
    workers : int or None
        Start this many worker processes on this machine.
    scheduler : str or None
        Address of the scheduler of a Dask cluster whose workers see the same files.

    Raises
    ------
    InputError
        If Dask is not installed or the scheduler does not answer.
    """
    if workers is None and scheduler is None:
        yield run_here
        return
    _check_installed(workers, scheduler)
    from distributed import Client, LocalCluster

    if scheduler is not None:
        with _connected(scheduler) as client:
            yield ClusterRun(client)
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,  # what they compute is chosen to fit
            preload=_UNINTERRUPTED,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield ClusterRun(client)


def check_cluster(workers: int | None, scheduler: str | None) -> None:
    """Raise InputError where `running` would: Dask is not installed, or the scheduler does not answer.

    Parameters
    ----------
    workers, scheduler
        See `running`.
    """
    _check_installed(workers, scheduler)
    if scheduler is not None:
        _connected(scheduler).close()


def _check_installed(workers: int | None, scheduler: str | None) -> None:
    if workers is not None and scheduler is not None:
        raise InputError("--workers starts processes here, --scheduler uses those of a cluster: choose one")
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InputError("--workers and --scheduler need Dask: pip install 'cbe-bench[dask]'") from None


def _connected(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"--scheduler {scheduler}: does not answer ({type(error).__name__})") from None


def _give_up(number: int) -> NoReturn:
    raise InputError(
        f"block {number:,}: every worker that began it died, for want of memory maybe; the same command resumes"
    )


class ClusterRun:
    """Does tasks on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def __call__(self, task: Task, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) as blocks end, in any order."""
        waiting = iter(numbers)
        return self.run(task, len(numbers), lambda worker: next(waiting, None), _BLOCKS_PER_WORKER)

    def run(
        self,
        task: Task,
        count: int,
        take: Callable[[str], int | None],
        per_worker: int,
        lost: Callable[[int], Any] = _give_up,
    ) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) as pieces of work end, in any order.

        Parameters
        ----------
        task : Task
            What is done, sent to all workers.
        count : int
            How many pieces there are.
        take : callable
            Takes a worker and returns the number of the next piece for it; None where none is left.
        per_worker : int
            Pieces in flight for each worker.
        lost : callable
            Takes the number of a piece that every worker that began it died of, and returns its result; by default
            that ends the run.
        """
        from distributed import KilledWorker

        pieces = _Pieces(self, task, take, per_worker)
        while count:
            pieces.submit()
            number, future = pieces.next_ended()
            try:
                result = future.result()
            except CancelledError:
                if pieces.restart(number):
                    continue
                result = lost(number)
            except KilledWorker:
                result = lost(number)
            count -= 1
            yield number, result

    def memory_bytes(self, limit: int) -> int:
        """Return the memory that a worker may use: its own limit, or its part of that of this machine."""
        self.workers()
        own = [one["memory_limit"] for one in self.client.scheduler_info(n_workers=-1)["workers"].values()]
        return min([limit, *own]) if all(own) else limit // max(1, len(own))

    def workers(self) -> list[str]:
        """Return the addresses of the workers; where all are gone, wait for those that replace them."""
        try:
            while not (found := list(self.client.nthreads())):
                self.client.wait_for_workers(1, timeout=_SECONDS_TO_RETURN)
        except TimeoutError:
            raise InputError(
                f"no worker of the cluster is left after {_SECONDS_TO_RETURN} s; the same command resumes"
            ) from None
        return found


class _Pieces:
    """Pieces of work that workers have, and those that are to be done again.

    The task is lost with the last worker that has it. What was in flight then is done again, one piece at a time: so
    one that all workers die of is told from those that ran beside it.

    Parameters
    ----------
    run, task, take, per_worker
        See `ClusterRun.run`.
    """

    def __init__(self, run: ClusterRun, task: Task, take: Callable[[str], int | None], per_worker: int) -> None:
        self._run, self._task, self._take, self._per_worker = run, task, take, per_worker
        self._again: list[int] = []
        self._losses = Counter[int]()
        self._start()

    def _start(self) -> None:
        from distributed import as_completed

        self._run.workers()
        self._sent = self._run.client.scatter(self._task, hash=False, broadcast=True)
        self._in_flight: dict[Any, tuple[int, str]] = {}
        self._ended = as_completed(loop=self._run.client.loop)

    def submit(self) -> None:
        """Give each worker as many pieces as it is to have."""
        workers, begun = self._run.workers(), self._in_flight.values()
        if self._again or any(self._losses[number] for number, _ in begun):
            if not begun:
                self._submit(self._again.pop(), workers[0])
            return
        busy = Counter(worker for _, worker in begun)
        for worker in workers:
            for _ in range(self._per_worker - busy[worker]):
                number = self._take(worker)
                if number is not None:
                    self._submit(number, worker)

    def _submit(self, number: int, worker: str) -> None:
        where = {"workers": [worker], "allow_other_workers": True}
        future = self._run.client.submit(_do, self._sent, number, suite_version(), pure=False, **where)
        self._in_flight[future] = number, worker
        self._ended.add(future)

    def next_ended(self) -> tuple[int, Any]:
        """Wait for a piece to end; return its number and its future."""
        future = next(self._ended)
        return self._in_flight.pop(future)[0], future

    def restart(self, number: int) -> bool:
        """Send the task again after it was lost; return whether this piece will be done again too."""
        lost = [number, *(other for other, _ in self._in_flight.values())]
        self._losses.update(lost)
        self._start()
        if self._losses[number] == _MOST_LOSSES:  # it was alone
            return False
        self._again += lost
        return True


def _do(task: Task, number: int, version: str) -> Any:
    """Do a piece of work on a worker, in one thread."""
    from cbe_bench.kernels.parallel import blas_threads, threads

    if version != suite_version():
        raise InputError("a worker has another version of cbe-bench than this process; install the same on all")
    with threads(1), blas_threads(1):
        return task.compute(number, task.read(number))
