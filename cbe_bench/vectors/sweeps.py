"""The cells of an experiment on a Dask cluster.

Cells that share a context, such as a split and its exact neighbours, go to one worker, which builds it once; where
there are more workers than such groups, a group is divided between methods. Rows come back to this process, the only
one that writes. Values do not depend on where a cell was evaluated; its wall times do.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from threading import Lock
from typing import Any

from cbe_bench.core import environment
from cbe_bench.core.cells import Cell, Job
from cbe_bench.core.config import BaseConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.execution import Execute, evaluated, prepared, row_of, run_here
from cbe_bench.core.progress import Reporter, Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import FAILED, Row
from cbe_bench.evaluators.base import Experiment, experiment_class
from cbe_bench.evaluators.opening import open_data, pinned_data
from cbe_bench.vectors.cluster import ClusterRun, check_cluster, running

_LOST = "every worker that began it died, for want of memory maybe"


@dataclass(frozen=True)
class EvaluatedCells:
    """What a worker returns: rows, messages about what the cells have in common, and what machine it is."""

    rows: list[Row]
    messages: list[str]
    environment: dict[str, Any]


class SweepTask:
    """Evaluate cells of an experiment, a few of one group at a time.

    A worker keeps the experiment, with its open file, and the context of the last group; neither is ever sent.

    Parameters
    ----------
    config : BaseConfig
        The experiment; its feature file by absolute path.
    data_hash : str or None
        The hash of its features.
    job : Job
        With the resources of a worker.
    units : list of (group, cells)
        The number of a group, and cells of it that are evaluated together.
    """

    def __init__(
        self, config: BaseConfig, data_hash: str | None, job: Job, units: "list[tuple[int, list[Cell]]]"
    ) -> None:
        self.config, self.data_hash, self.job, self.units = config, data_hash, job, units
        self._context: tuple[int, Any] | None = None
        self._lock = Lock()
        """A worker may have several threads; the context is that of one group."""

    def __reduce__(self) -> tuple[Any, ...]:
        return SweepTask, (self.config, self.data_hash, self.job, self.units)

    @cached_property
    def _experiment(self) -> Experiment:
        features = open_data(self.config)
        if features is not None and features.content_hash() != self.data_hash:
            features.close()
            raise InputError(f"{features.source}: a worker finds another file there than this process")
        return experiment_class(self.config.experiment)(self.config, features, self.job.resources)

    def read(self, number: int) -> None:
        """Read nothing yet: what is read belongs to the context of a group."""

    def compute(self, number: int, content: None) -> EvaluatedCells:
        """Return the rows of a unit, and messages about its context if it was not there already."""
        group, cells = self.units[number]
        said = _Messages()
        with self._lock:
            context = self._context_of(group, said)
            rows = [evaluated(self._experiment, self.job, cell, context, Silent()) for cell in cells]
        return EvaluatedCells(rows, said.messages, environment.describe())

    def _context_of(self, group: int, reporter: Reporter) -> Any:
        if self._context is None or self._context[0] != group:
            self._context = None  # freed before the next is built
            cells = [cell for other, cells in self.units if other == group for cell in cells]
            self._context = group, prepared(self._experiment, cells, reporter)
        return self._context[1]


class _Messages(Silent):
    """Keeps messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)


class _Waiting:
    """Units that wait, given out so that a worker stays with the group of which it has the context."""

    def __init__(self, groups: Sequence[int]) -> None:
        self._left: dict[int, list[int]] = {}
        for number, group in reversed(list(enumerate(groups))):
            self._left.setdefault(group, []).append(number)
        self._group_of: dict[str, int] = {}

    def take(self, worker: str) -> int | None:
        """Return the next unit of the group of a worker; else of the group with the most units for each worker."""
        left = {group: numbers for group, numbers in sorted(self._left.items()) if numbers}
        if not left:
            return None
        group = self._group_of.get(worker)
        if group not in left:
            there = Counter(self._group_of.values())
            group = max(left, key=lambda one: len(left[one]) / (1 + there[one]))
        self._group_of[worker] = group
        return left[group].pop()


def on_cluster(experiment: Experiment, workers: int | None, scheduler: str | None) -> Execute:
    """Return where the cells of an experiment are evaluated: in this process unless a cluster is asked for.

    Parameters
    ----------
    experiment : Experiment
        Opened in this process.
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
        return run_here
    check_cluster(workers, scheduler)

    def execute(workload: Any, job: Job, cells: Sequence[Cell], reporter: Reporter) -> Iterator[tuple[Cell, Row]]:
        if not cells:
            return
        limit = job.resources.memory_limit
        with running(workers, scheduler) as run:
            assert isinstance(run, ClusterRun)
            most = run.memory_bytes(limit)
            small = [cell for cell in cells if not cell.excess(most)]
            yield from _by_workers(run, experiment, replace(job, resources=Resources(1, most)), small, reporter)
        large = [cell for cell in cells if cell.excess(most)]
        if any(not cell.excess(limit) for cell in large):
            reporter.message("cells that need more memory than a worker may use are evaluated in this process")
        yield from run_here(workload, job, large, reporter)

    return execute


def _by_workers(
    run: ClusterRun, experiment: Experiment, job: Job, cells: Sequence[Cell], reporter: Reporter
) -> Iterator[tuple[Cell, Row]]:
    """Yield cells and their rows as workers return them; what workers say is said once."""
    features = experiment.features if experiment.data else None
    config = pinned_data(experiment.config, features)
    units = _units(cells)
    task = SweepTask(config, features.content_hash() if features else None, job, units)
    waiting, said = _Waiting([group for group, _ in units]), set[str]()
    for number, found in run.run(task, len(units), waiting.take, 1, lambda number: _lost(job, units[number][1])):
        for text in found.messages:
            if text not in said:
                reporter.message(text)
                said.add(text)
        environment.write_description(job.folder / "environments.json", found.environment)
        for cell, row in zip(units[number][1], found.rows, strict=True):
            reporter.step(cell.title, cell.seconds)
            yield cell, row


def _units(cells: Sequence[Cell]) -> list[tuple[int, list[Cell]]]:
    """Return the cells of each group and method, with the number of the group; codes of a method may be nested."""
    return [
        (number, list(mine))
        for number, (_, members) in enumerate(groupby(cells, key=lambda cell: cell.group))
        for _, mine in groupby(members, key=lambda cell: cell.label)
    ]


def _lost(job: Job, cells: Sequence[Cell]) -> EvaluatedCells:
    return EvaluatedCells([row_of(job, cell, FAILED, _LOST) for cell in cells], [], environment.describe())
