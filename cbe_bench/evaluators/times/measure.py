"""What is timed in one round: encoding, or training, of several methods that are interleaved.

Encoding is an unchecked `encode`, vectors in memory to packed codes, on pinned threads. Drawing the parameters, and
what the first call builds, are timed apart. Training is `fit` on rows in memory, after a `fit` on a few rows, which
loads compiled code and makes plans.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from numpy.typing import NDArray

from cbe_bench.core.progress import Progress
from cbe_bench.core.resources import Resources
from cbe_bench.core.runner import Metrics
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.evaluators.timers import Candidate, fit_for_timing, interleaved, pinned_threads, unit_vectors
from cbe_bench.evaluators.times.device import HOST, OnDevice
from cbe_bench.evaluators.times.rows import LearningSpec, TimingSpec

_TRAINING_ROWS = 64
"""Rows that trained methods see when only their encoding is timed, and before their training is."""

_LONG_S = 1.0
"""Seconds that count as the first call of training at most: it is on few rows, and must not be taken for a sample."""

Step = Callable[[str], None]
"""Takes what is being set up."""


class Round:
    """Cells that are set up and then timed interleaved, all when the first is asked for.

    Parameters
    ----------
    specs : mapping of str to Spec
        What is timed, by key; all of the same kind.
    budget_s : float
        Seconds for which each is sampled.
    step : callable
        Takes the key of what is being set up.
    """

    least_samples: ClassVar[int] = 3
    rows_field: ClassVar[str]
    """The field of a spec with the number of rows it is timed on."""

    def __init__(self, specs: Mapping[str, Any], budget_s: float, step: Step = lambda key: None) -> None:
        self._budget_s = budget_s
        self._threads: int = next(iter(specs.values())).threads
        self._X = {d: unit_vectors(n_rows, d) for d, n_rows in self._most_rows(specs).items()}
        self._candidates: list[Candidate] = []
        self._set_up: dict[str, Metrics] = {}
        self._failed: dict[str, Exception] = {}
        self._timed: dict[str, Candidate] = {}
        self._is_timed = False
        with pinned_threads(self._threads):
            for key, spec in specs.items():
                step(key)
                try:
                    self._add(key, spec)
                except Exception as error:  # one failing method must not end the comparison of the others
                    self._failed[key] = error

    def metrics(self, key: str, progress: Progress) -> Metrics:
        """Return the times of a cell, once all are measured.

        Parameters
        ----------
        key : str
            The key of its spec.
        progress : Progress
            Called with the progress of all, from 0 to 1.

        Returns
        -------
        Metrics
        """
        if not self._is_timed:
            self._is_timed = True
            with pinned_threads(self._threads):
                self._time(progress)
        if key in self._failed:
            raise self._failed[key]
        return {**self._set_up[key], **self._times(self._timed[key])}

    def _time(self, progress: Progress) -> None:
        """Time all candidates; what ends this early, such as a time limit, is the failure of those not yet timed."""
        try:
            for candidate in interleaved(self._candidates, self._budget_s, progress, self.least_samples):
                self._timed[candidate.name] = candidate
        except Exception as error:
            self._failed |= {one.name: error for one in self._candidates if one.name not in self._timed}

    def _most_rows(self, specs: Mapping[str, Any]) -> dict[int, int]:
        """Return, for each dimension, the most rows that a cell is timed on."""
        most: dict[int, int] = {}
        for spec in specs.values():
            most[spec.n_features] = max(most.get(spec.n_features, 0), getattr(spec, self.rows_field))
        return most

    def _add(self, key: str, spec: Any) -> None:
        """Set a method up and add it to the candidates."""
        raise NotImplementedError

    def _times(self, candidate: Candidate) -> Metrics:
        """Return the metrics of a method that was timed."""
        raise NotImplementedError


class EncodingRound(Round):
    """Encode times."""

    rows_field = "batch"

    def _add(self, key: str, spec: TimingSpec) -> None:
        encoder, X = _encoder(spec), self._X[spec.n_features]
        rows: NDArray = unit_vectors(_TRAINING_ROWS, spec.n_features) if encoder.data_dependent else X
        fit_s = Candidate("fit", partial(fit_for_timing, encoder, rows, spec.threads)).sample()
        metrics: Metrics = {"fit_s": fit_s, "parameter_bytes": encoder.parameter_bytes()}
        call: Callable[[], object] = partial(encoder.encode, X, check_input=False)
        if spec.device != HOST:
            on_device = OnDevice(encoder, X, spec.device)
            call, metrics = on_device.encode, {**metrics, **on_device.metrics()}
        candidate = Candidate(key, call, len(X))
        candidate.first_s = candidate.sample()
        self._candidates.append(candidate)
        self._set_up[key] = metrics

    def _times(self, candidate: Candidate) -> Metrics:
        low, median, high = candidate.quartiles()
        return {
            "encode_us_per_vector": 1e6 * median,
            "encode_us_quartiles": (1e6 * low, 1e6 * high),
            "samples_us": tuple(1e6 * sample for sample in candidate.samples),
            "rounds_us": (1e6 * median,),
            "calls_per_sample": candidate.calls,
            "plan_s": max(0.0, candidate.first_s - median * candidate.vectors),
            "wall_s": round(sum(candidate.samples) * candidate.calls * candidate.vectors, 3),
        }


class LearningRound(Round):
    """Training times."""

    least_samples = 1
    rows_field = "n_train"

    def _add(self, key: str, spec: LearningSpec) -> None:
        encoder, X = _encoder(spec), self._X[spec.n_features][: spec.n_train]
        warm_up = Candidate(key, partial(self._fit, encoder, X[:_TRAINING_ROWS]))
        candidate = Candidate(key, partial(self._fit, encoder, X))
        candidate.first_s = min(warm_up.sample(), _LONG_S)
        self._candidates.append(candidate)
        self._set_up[key] = {}

    def _fit(self, encoder: Encoder, X: NDArray) -> Encoder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # codes of random vectors are timed, not used
            return encoder.set_resources(Resources(self._threads)).fit(X)

    def _times(self, candidate: Candidate) -> Metrics:
        median = candidate.quartiles()[1]
        seconds = round(sum(candidate.samples) * candidate.calls, 3)
        return {"fit_s": median, "rounds_s": (median,), "samples_s": tuple(candidate.samples), "wall_s": seconds}


def _encoder(spec: TimingSpec | LearningSpec) -> Encoder:
    """Return the encoder of a cell, not fitted."""
    return make_encoder(spec.encoder, n_bits=spec.n_bits, random_state=0, **spec.params)
