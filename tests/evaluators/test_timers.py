"""Interleaved timing, by a clock that only moves when work is done."""

import numpy as np
import pytest

from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.timers import Candidate, fit_for_timing, interleaved, pinned_threads, unit_vectors
from cbe_bench.kernels import parallel


class Clock:
    def __init__(self):
        self.now = 0.0
        self.log = []

    def candidate(self, name, seconds, first=0.0, vectors=1):
        def call():
            self.now += seconds + (first if name not in self.log else 0.0)
            self.log.append(name)

        return Candidate(name, call, vectors, clock=lambda: self.now)


@pytest.fixture
def clock():
    return Clock()


def progress(fraction):
    assert 0 <= fraction <= 1


def test_candidates_are_interleaved_and_get_their_samples(clock):
    fast, slow = clock.candidate("fast", 0.1, vectors=4), clock.candidate("slow", 0.5)
    done = [candidate.name for candidate in interleaved([fast, slow], 2.0, progress)]
    assert sorted(done) == ["fast", "slow"]
    assert (len(fast.samples), len(slow.samples)) == (20, 4)
    np.testing.assert_allclose(fast.samples, 0.025)
    np.testing.assert_allclose(slow.quartiles(), 0.5)
    order = "".join(name[0] for name in clock.log[4:])
    assert order == "fsffff" * 4, "samples of the slow one are spread between those of the fast one"


def test_what_the_first_call_builds_is_no_sample(clock):
    candidate = clock.candidate("x", 0.1, first=5.0)
    list(interleaved([candidate], 1.0, progress))
    assert candidate.first_s == pytest.approx(5.1)
    np.testing.assert_allclose(candidate.samples, 0.1)


def test_fast_calls_are_repeated_within_a_sample(clock):
    candidate = clock.candidate("x", 1e-5)
    list(interleaved([candidate], 1.0, progress))
    assert 2500 <= candidate.calls <= 2600
    assert len(candidate.samples) in (39, 40)
    np.testing.assert_allclose(candidate.samples, 1e-5)


def test_a_call_longer_than_the_budget_is_timed_once(clock):
    slow, other = clock.candidate("slow", 60.0), clock.candidate("other", 1.0)
    assert [candidate.name for candidate in interleaved([slow, other], 10.0, progress)] == ["slow", "other"]
    assert slow.samples == [60.0]
    assert clock.log.count("slow") == 1


def test_slow_candidates_get_a_few_samples_even_so(clock):
    candidate = clock.candidate("x", 2.0)
    list(interleaved([candidate], 1.0, progress, least_samples=5))
    assert len(candidate.samples) == 5


def test_nothing_to_time():
    assert list(interleaved([], 1.0, progress)) == []


def test_pinned_threads_are_undone():
    cores = parallel.available_cores()
    with pinned_threads(1):
        assert (parallel.available_cores(), parallel.thread_count()) == (1, 1)
    assert parallel.available_cores() == cores


def test_vectors_have_unit_norm():
    X = unit_vectors(3, 50)
    assert (X.dtype, X.shape) == (np.float32, (3, 50))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("name", ["cbe-rand", "cbe-opt", "itq"])
def test_encoders_fitted_for_timing_encode(name):
    encoder = fit_for_timing(make_encoder(name, n_bits=16, random_state=0), unit_vectors(64, 32), 1)
    assert encoder.encode(unit_vectors(1, 32), check_input=False).shape == (1, 2)
