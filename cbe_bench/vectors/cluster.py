"""Where blocks of work are done: in this process, or on a Dask cluster of several machines.

A block goes to one worker, which uses one thread for its kernels, FFTs and BLAS; the task, with its encoder or its
queries, is sent once. Results come back to this process, which alone writes: what a lost worker had not returned is
computed again by another, with the same result.
"""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import Any

from cbe_bench.core.errors import InputError
from cbe_bench.vectors.blocks import Run, Task, run_here

_BLOCKS_PER_WORKER = 3
"""Blocks in flight for each worker: enough to keep it busy, few enough that results do not pile up."""

_SECONDS_TO_ANSWER: float = 10
_SECONDS_TO_RETURN = 60
"""How long to wait for workers to replace those that are gone."""


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
    if workers is not None and scheduler is not None:
        raise InputError("--workers starts processes here, --scheduler uses those of a cluster: choose one")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("--workers and --scheduler need Dask: pip install 'cbe-bench[dask]'") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(f"--scheduler {scheduler}: does not answer ({type(error).__name__})") from None
        with client:
            yield ClusterRun(client)
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield ClusterRun(client)


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
        from distributed import as_completed

        sent, waiting = self._send(task), iter(numbers)
        n_workers = len(self.client.scheduler_info(n_workers=-1)["workers"])
        first = islice(waiting, _BLOCKS_PER_WORKER * max(1, n_workers))
        blocks = {future: number for number in first for future in [self._submit(sent, number)]}
        ended = as_completed(list(blocks), loop=self.client.loop)
        for future in ended:
            number = blocks.pop(future)
            try:
                result = future.result()
            except CancelledError:  # all workers that had the task are gone: send it to those that replace them
                sent = self._send(task)
                following: int | None = number
            else:
                yield number, result
                following = next(waiting, None)
            if following is not None:
                again = self._submit(sent, following)
                blocks[again] = following
                ended.add(again)

    def _send(self, task: Task) -> Any:
        self.client.wait_for_workers(1, timeout=_SECONDS_TO_RETURN)
        return self.client.scatter(task, hash=False, broadcast=True)

    def _submit(self, task: Any, number: int) -> Any:
        return self.client.submit(_do, task, number, pure=False)


def _do(task: Task, number: int) -> Any:
    """Do a block on a worker, in one thread."""
    from cbe_bench.kernels.parallel import blas_threads, threads

    with threads(1), blas_threads(1):
        return task.compute(number, task.read(number))
