"""Encode times that several experiments share: measured once on a machine, as long as the code is the same."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.runner import Cell, Metrics
from cbe_bench.evaluators.times.cells import timer_of

FOLDER = "times"
"""The folder in the cache directory."""


class CachedTimes:
    """The times of a group of cells: from the cache, or measured and then cached, those that are not there interleaved.

    Parameters
    ----------
    cells : sequence of Cell
        All of encode times.
    n_rounds : int
        Independent rounds.
    budget_s : float
        Seconds for which each cell is sampled in each round; times of another budget are not used.
    reporter : Reporter
        Takes what is being set up.
    measure_again : collection of str
        Keys of cells that are not taken from the cache.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        n_rounds: int,
        budget_s: float,
        reporter: Reporter,
        measure_again: Collection[str] = (),
    ) -> None:
        self._budget_s = budget_s
        found = {cell.key: self._load(cell.key) for cell in cells if cell.key not in measure_again}
        self._cached = {key: metrics for key, metrics in found.items() if metrics is not None}
        pending = [cell for cell in cells if cell.key not in self._cached]
        self._timer = timer_of(pending, n_rounds, budget_s, reporter) if pending else None

    def metrics(self, key: str, progress: Progress) -> Metrics:
        """Return the times of a cell; the first that is not cached is measured together with all others.

        Parameters
        ----------
        key : str
            The key of the cell.
        progress : Progress
            Called with the progress of all, from 0 to 1.

        Returns
        -------
        Metrics
            Without the seconds it took where it was cached.
        """
        if key in self._cached:
            return self._cached[key]
        assert self._timer is not None
        found = self._timer.metrics(key, progress)
        write_cache(self._path(key), json.dumps(dict(found)).encode())
        return found

    def _path(self, key: str) -> Path:
        return cache_directory() / FOLDER / f"{key}-{self._budget_s:g}s.json"

    def _load(self, key: str) -> Metrics | None:
        content = read_checked(self._path(key))
        if content is None:
            return None
        found = {
            name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(content).items()
        }
        return {name: value for name, value in found.items() if name != "wall_s"}
