"""Code lengths of equal time: for each code length of a reference, the length every other method reaches in its time.

Timed is encoding a batch to packed bits on one pinned thread, a method and the reference interleaved, by the processor
time of the thread, which does not run while others use the core. What is found depends on the dimension, not on the
data, so it is cached for other experiments on the same machine, as long as the code is the same. Methods that encode by
the same operations share a measurement. So do code lengths of the reference that take it the same time, as those of
circulant products do: there the others reach the same length as well.
"""

import json
import math
import time
import warnings
from bisect import bisect_right
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.core.code_version import code_version
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import no_progress
from cbe_bench.core.runner import BASE_BYTES
from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.retrieval.length_search import TOLERANCE, Timed, longest_in_time
from cbe_bench.evaluators.retrieval.rows import EqualTimeSpec
from cbe_bench.evaluators.timers import (
    TIMED_PARAMS,
    Candidate,
    fit_for_timing,
    interleaved,
    pinned_threads,
    unit_vectors,
)

BATCH = 64
"""Vectors that are encoded at once."""
_DOUBTFUL = 1.2
"""A ratio between one and this is measured again: noise, or where in memory its tables lie, may make it too large."""
_ATTEMPTS = 3
_THREADS = 1
_MOST_TIMES_D = 4
"""Codes longer than this many times d are not tried."""


@dataclass(frozen=True)
class TimedMethod:
    """The method and the parameters that decide how long encoding takes."""

    encoder: str
    params: dict[str, Any]

    @classmethod
    def of(cls, encoder: str, params: dict[str, Any]) -> "TimedMethod":
        """Return what is timed for a method: one that encodes by the same operations, if there is one.

        Parameters
        ----------
        encoder : str
            The name of the method.
        params : dict
            Its parameters; those the timed method does not have are left out.

        Returns
        -------
        TimedMethod
        """
        name = encoder_class(encoder).encodes_as or encoder
        known = {*encoder_class(name)().get_params(), "precondition"}
        kept = {key: value for key, value in params.items() if key in known}
        return cls(name, kept | TIMED_PARAMS.get(name, {}))

    def make(self, n_bits: int) -> Encoder:
        """Return the encoder of a code length, not fitted."""
        return make_encoder(self.encoder, n_bits=n_bits, random_state=0, **self.params)

    def memory_bytes(self, n_bits: int, n_features: int) -> int:
        """Estimate the memory of a code length.

        Parameters
        ----------
        n_bits : int
            The code length.
        n_features : int
            The dimension.

        Returns
        -------
        int
        """
        return self.make(n_bits).memory_bytes(n_features)


def timed_methods(spec: EqualTimeSpec) -> tuple[TimedMethod, TimedMethod]:
    """Return what is timed for the method of a cell, and for the reference."""
    return TimedMethod.of(spec.encoder, spec.params), TimedMethod.of(spec.reference, spec.reference_params)


def timing_code(*encoders: str) -> str:
    """Return the version of the code that decides the encode times of some methods."""
    return code_version([__name__, *(encoder_class(name).__module__ for name in encoders)])


def with_most_bits(spec: EqualTimeSpec, memory_limit: int) -> EqualTimeSpec:
    """Return the spec with the longest code the method allows and memory holds beside the reference; 0 for none.

    Parameters
    ----------
    spec : EqualTimeSpec
        The method, the reference and its code length.
    memory_limit : int
        The bytes the run may use.

    Returns
    -------
    EqualTimeSpec
        With `most_bits` set.
    """
    own, reference = timed_methods(spec)
    if own == reference:
        return replace(spec, most_bits=spec.target_bits)
    d = spec.n_features
    longest = next((n for n in (_MOST_TIMES_D * d, d) if _allows(spec, n)), spec.target_bits)
    free = memory_limit - BASE_BYTES - reference.memory_bytes(spec.target_bits, d)
    fitting = bisect_right(range(1, longest + 1), free, key=lambda n_bits: own.memory_bytes(n_bits, d))
    return replace(spec, most_bits=fitting)


def _allows(spec: EqualTimeSpec, n_bits: int) -> bool:
    try:
        make_encoder(spec.encoder, n_bits=n_bits, **spec.params).check_params(spec.n_features)
    except InputError:
        return False
    return True


def least_bytes(spec: EqualTimeSpec) -> int:
    """Estimate the least memory a cell needs: the reference and, unless it encodes alike, the shortest code."""
    own, reference = timed_methods(spec)
    beside = 0 if own == reference else own.memory_bytes(1, spec.n_features)
    return BASE_BYTES + reference.memory_bytes(spec.target_bits, spec.n_features) + beside


def expected_bits(spec: EqualTimeSpec) -> int:
    """Estimate the code length of a cell by the operations of the method and of the reference."""
    own, reference = timed_methods(spec)
    if own == reference or spec.most_bits < 1:
        return spec.target_bits
    d = spec.n_features
    budget = reference.make(spec.target_bits).cost_estimate(d)
    lengths = own.make(spec.most_bits).candidate_lengths(d, spec.most_bits)
    return lengths[max(0, bisect_right(lengths, budget, key=lambda n_bits: own.make(n_bits).cost_estimate(d)) - 1)]


@dataclass(frozen=True, kw_only=True)
class EqualTime:
    """What was found for a cell: fields of its row."""

    n_bits: int
    time_ratio: float
    time_ratio_at_equal_bits: float
    reference_us_per_vector: float
    searched_at_bits: int


class EqualTimeSearch:
    """Finds code lengths of equal time, of cells that come with the longest codes of the reference first.

    Parameters
    ----------
    n_features : int
        The dimension of the vectors.
    """

    def __init__(self, n_features: int) -> None:
        self._X = unit_vectors(BATCH, n_features)
        self._found: dict[str, EqualTime] = {}
        self._longer: dict[str, EqualTime] = {}

    def find(self, spec: EqualTimeSpec, *, use_cache: bool = True) -> EqualTime:
        """Return the result of a cell: measured for it, for one with the same timed operations or by an earlier run.

        Parameters
        ----------
        spec : EqualTimeSpec
            The cell.
        use_cache : bool
            Whether to use what an earlier run found.

        Returns
        -------
        EqualTime
        """
        own, reference = timed_methods(spec)
        shared = replace(
            spec,
            encoder=own.encoder,
            params=own.params,
            reference=reference.encoder,
            reference_params=reference.params,
        )
        key = shared.key(timing_code(own.encoder, reference.encoder))
        if key not in self._found:
            path = cache_directory() / "equal-time" / f"{key}.json"
            found = (_load(path) if use_cache else None) or self._measure(spec, own, reference)
            write_cache(path, json.dumps(asdict(found)).encode())
            self._found[key] = found
        found = self._found[key]
        if found.searched_at_bits == spec.target_bits:
            self._longer[repr(own)] = found
        return found

    def _measure(self, spec: EqualTimeSpec, own: TimedMethod, reference: TimedMethod) -> EqualTime:
        target = spec.target_bits
        against = self._fitted(reference, target)
        reference_s: list[float] = []

        def ratio(n_bits: int) -> float:
            found = np.inf
            for _ in range(_ATTEMPTS):
                mine = against if (own, n_bits) == (reference, target) else self._fitted(own, n_bits)
                measured, seconds = self._compare(mine, against, spec.budget_s)
                reference_s.append(seconds)
                found = min(found, measured)
                if not 1 < found < _DOUBTFUL:
                    break
            return found

        at_equal_bits = ratio(target) if target <= spec.most_bits else math.nan
        searched_at = target
        if own == reference:
            found = Timed(target, 1.0)
        elif abs(at_equal_bits - 1) <= TOLERANCE:
            found = Timed(target, at_equal_bits)
        elif same := self._as_for_longer(spec, own, reference, against):
            found, searched_at = same
        else:
            lengths = own.make(spec.most_bits).candidate_lengths(spec.n_features, spec.most_bits)
            guess = target / (8 if math.isnan(at_equal_bits) else at_equal_bits)
            found = longest_in_time(ratio, guess, lengths)
        if not reference_s:
            reference_s.append(self._compare(against, against, spec.budget_s)[1])
        return EqualTime(
            n_bits=found.n_bits,
            time_ratio=found.ratio,
            time_ratio_at_equal_bits=at_equal_bits,
            reference_us_per_vector=1e6 * min(reference_s),
            searched_at_bits=searched_at,
        )

    def _as_for_longer(
        self, spec: EqualTimeSpec, own: TimedMethod, reference: TimedMethod, against: Encoder
    ) -> tuple[Timed, int] | None:
        """Return what was found for a longer code of the reference, if that takes the reference the same time."""
        longer = self._longer.get(repr(own))
        if longer is None or longer.n_bits > spec.most_bits:
            return None
        ratio, _ = self._compare(against, self._fitted(reference, longer.searched_at_bits), spec.budget_s)
        if abs(ratio - 1) > TOLERANCE or longer.time_ratio / ratio > 1 + TOLERANCE:
            return None
        return Timed(longer.n_bits, longer.time_ratio / ratio), longer.searched_at_bits

    def _fitted(self, method: TimedMethod, n_bits: int) -> Encoder:
        """Return an encoder that has encoded a vector: what is compiled and planned at first use is not timed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            encoder = fit_for_timing(method.make(n_bits), self._X, _THREADS)
        encoder.encode(self._X[:1], check_input=False)
        return encoder

    def _compare(self, encoder: Encoder, reference: Encoder, budget_s: float) -> tuple[float, float]:
        """Return the time of an encoder relative to the reference, and the seconds per vector of the reference.

        The fastest sample of either counts: it is what is left when nothing else uses the machine.
        """
        own, other = (
            Candidate(name, partial(one.encode, self._X, check_input=False), len(self._X), clock=time.thread_time)
            for name, one in (("own", encoder), ("reference", reference))
        )
        with pinned_threads(_THREADS):
            for _ in interleaved([own, other], budget_s, no_progress, least_samples=1):
                pass
        return min(own.samples) / min(other.samples), min(other.samples)


def _load(path: Path) -> EqualTime | None:
    kept = read_checked(path)
    return None if kept is None else EqualTime(**json.loads(kept))
