"""Independent rounds of timing: each in a new process, with its own plans and buffers, methods interleaved in each.

Where in memory tables lie, and which plan a transform got, stay the same as long as a process lives and may make a
method faster or slower by some tenths. Rounds in new processes draw them again, so that their spread is that of the
time itself. ``python -m cbe_bench.evaluators.times.rounds`` is one round: specs come in and metrics go out as JSON.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import cbe_bench
from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.core.runner import Metrics
from cbe_bench.evaluators.times.measure import EncodingRound, LearningRound, Round
from cbe_bench.evaluators.times.rows import LearningSpec, TimingSpec

_KINDS: dict[str, tuple[type[Any], type[Round]]] = {
    "encoding": (TimingSpec, EncodingRound),
    "learning": (LearningSpec, LearningRound),
}
_POOLED = ("samples_us", "samples_s", "rounds_us", "rounds_s")
"""What rounds add to each other: their samples, and the median of each."""


class RoundError(Exception):
    """A method that failed in one of the rounds."""


class Rounds:
    """Several rounds of the same cells, run when the first is asked for.

    Parameters
    ----------
    specs : mapping of str to Spec
        What is timed, by key; all of the same kind.
    n_rounds : int
        How many rounds.
    budget_s : float
        Seconds for which each method is sampled in each round.
    """

    def __init__(self, specs: Mapping[str, Any], n_rounds: int, budget_s: float) -> None:
        self._specs, self._n_rounds, self._budget_s = specs, n_rounds, budget_s
        self._found: list[dict[str, dict[str, Any]]] | None = None

    def metrics(self, key: str, progress: Progress) -> Metrics:
        """Return the times of a cell over all rounds.

        Parameters
        ----------
        key : str
            The key of its spec.
        progress : Progress
            Called with the progress of all, from 0 to 1.

        Returns
        -------
        Metrics

        Raises
        ------
        RoundError
            If the method failed in one of the rounds.
        """
        if self._found is None:
            self._found = []
            for number in range(self._n_rounds):
                self._found.append(run_round(self._specs, self._budget_s))
                progress((number + 1) / self._n_rounds)
        mine = [found[key] for found in self._found]
        failed = [one["error"] for one in mine if "error" in one]
        if failed or len(mine) < self._n_rounds:
            raise RoundError(failed[0] if failed else "the rounds before it did not end")
        return pooled(mine)


def pooled(rounds: list[dict[str, Any]]) -> Metrics:
    """Return the metrics of several rounds as those of one: medians over rounds, samples of all.

    Parameters
    ----------
    rounds : list of dict
        The metrics of each round.

    Returns
    -------
    Metrics
    """
    out = dict(rounds[0])
    for name, first in out.items():
        values = [one[name] for one in rounds]
        if name in _POOLED:
            out[name] = tuple(value for one in values for value in one)
        elif name == "wall_s":
            out[name] = round(sum(values), 3)
        elif isinstance(first, float):
            out[name] = float(np.median(values))
    if "samples_us" in out:
        low, high = np.quantile(out["samples_us"], [0.25, 0.75])
        middle = out["encode_us_per_vector"]
        out["encode_us_quartiles"] = (min(float(low), middle), max(float(high), middle))
    return out


def run_round(specs: Mapping[str, Any], budget_s: float) -> dict[str, dict[str, Any]]:
    """Time one round in a new process.

    Parameters
    ----------
    specs : mapping of str to Spec
        What is timed, by key.
    budget_s : float
        Seconds for which each method is sampled.

    Returns
    -------
    dict of str to dict
        The metrics of each cell, or its `error`.
    """
    kind = next(name for name, (cls, _) in _KINDS.items() if isinstance(next(iter(specs.values())), cls))
    task = {"kind": kind, "budget_s": budget_s, "specs": {key: asdict(spec) for key, spec in specs.items()}}
    folder = str(Path(cbe_bench.__file__).parents[1])
    path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {key: {"error": f"the process of a round ended early: {last}"} for key in specs}
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _answer(task: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Run a task of `run_round`."""
    spec_class, round_class = _KINDS[task["kind"]]
    specs = {key: spec_class(**fields) for key, fields in task["specs"].items()}
    timed = round_class(specs, task["budget_s"])
    found: dict[str, dict[str, Any]] = {}
    for key in specs:
        try:
            found[key] = dict(timed.metrics(key, no_progress))
        except Exception as error:  # one failing method must not end the comparison of the others
            found[key] = {"error": f"{type(error).__name__}: {error}"}
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer(json.load(sys.stdin))) + "\n")
