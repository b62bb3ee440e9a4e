"""Code lengths of equal time: the search for them, on costs of every shape, and what is measured, shared and cached."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench.core.runner import BASE_BYTES
from cbe_bench.encoders import encoder_classes, make_encoder
from cbe_bench.encoders.base import Encoder
from cbe_bench.evaluators.retrieval import equal_time
from cbe_bench.evaluators.retrieval.equal_time import (
    EqualTimeSearch,
    TimedMethod,
    least_bytes,
    with_most_bits,
)
from cbe_bench.evaluators.retrieval.length_search import TOLERANCE, longest_in_time
from cbe_bench.evaluators.retrieval.rows import EqualTimeSpec

BYTES = range(8, 1_000_000, 8)


@given(exponent=st.floats(0.3, 2), right=st.integers(8, 100_000), guess=st.integers(1, 400_000))
@settings(max_examples=200)
def test_smooth_costs_are_met_closely(exponent, right, guess):
    asked = []

    def ratio(n_bits):
        asked.append(n_bits)
        return (n_bits / right) ** exponent

    found = longest_in_time(ratio, guess, BYTES[:25_000])
    assert found.ratio <= 1 + TOLERANCE
    one_byte_more = ((found.n_bits + 8) / right) ** exponent
    assert found.ratio >= 1 - TOLERANCE or one_byte_more > 1 + TOLERANCE
    assert len(asked) <= 30
    assert all(n_bits % 8 == 0 for n_bits in asked)


@given(step=st.integers(1, 4_000), low=st.floats(0.3, 0.9), guess=st.integers(1, 50_000))
def test_steps_are_found_exactly(step, low, guess):
    found = longest_in_time(lambda n_bits: low if n_bits <= 8 * step else 2.5 * low + 0.6, guess, BYTES[:8_000])
    assert found.n_bits == 8 * step


def test_sizes_that_happen_to_be_slow_do_not_end_the_search():
    found = longest_in_time(lambda n_bits: 1.3 if n_bits == 200 else n_bits / 250, 200, range(100, 400, 20))
    assert found == (240, 0.96)


def test_limits_end_the_search():
    assert longest_in_time(lambda n_bits: 0.1, 100, BYTES[:125]).n_bits == 1_000
    assert longest_in_time(lambda n_bits: 0.1, 100, [*BYTES[:125], 1_003]).n_bits == 1_003
    assert longest_in_time(lambda n_bits: 3.0 + n_bits, 100, BYTES[:125]) == (8, 11.0)
    assert longest_in_time(lambda n_bits: 5.0, 4, [4]).n_bits == 4
    assert longest_in_time(lambda n_bits: n_bits / 6.5, 1_000, [2, 5, 7, 11]).n_bits == 5


class Clock:
    """A clock that only encoders advance."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Artificial(Encoder):
    """An encoder whose time and memory are known."""

    name = "artificial"

    def __init__(self, n_bits=None, *, cost=None, size=None, clock=None, random_state=None):
        super().__init__(n_bits, random_state=random_state)
        self.cost, self.size, self.clock = cost, size, clock

    def _fit(self, X, y, rng):
        pass

    def _project(self, X):
        raise NotImplementedError

    def _encode(self, X):
        self.clock.now += len(X) * self.cost(self.n_bits_)

    def memory_bytes(self, n_features, n_train=0):
        return self.size(self.n_bits)


@pytest.fixture
def artificial(monkeypatch, fresh_cache):
    """Give cbe-rand and lsh known costs, which may be changed, and return them with the clock."""
    clock = Clock()
    costs = {"cbe-rand": lambda n_bits: 1e-4, "lsh": lambda n_bits: 1e-4}
    sizes = {"cbe-rand": lambda n_bits: 1 << 20, "lsh": lambda n_bits: n_bits << 20}

    def make(name, n_bits, random_state=None, **params):
        return Artificial(n_bits, cost=lambda k: costs[name](k), size=sizes[name], clock=clock)

    monkeypatch.setattr(equal_time.time, "thread_time", clock)
    monkeypatch.setattr(equal_time, "make_encoder", make)
    return costs, clock


def spec_of(encoder, target_bits, memory_limit=1 << 40, **values):
    spec = {"encoder": encoder, "params": {}, "reference": "cbe-rand", "reference_params": {}, "n_features": 1000}
    spec |= {"target_bits": target_bits, "most_bits": 0, "batch": 64, "budget_s": 0.02, "environment": "here"}
    return with_most_bits(EqualTimeSpec(**spec | values), memory_limit)


@pytest.mark.parametrize(
    "cost, expected",
    [
        (lambda n_bits: 1e-6 * n_bits / 40, 4 * 1000),
        (lambda n_bits: 1e-4 * math.sqrt(n_bits / 300), 300),
        (lambda n_bits: 0.8e-4 if n_bits <= 3072 else 1.6e-4, 3072),
        (lambda n_bits: 1e-9, 4 * 1000),
        (lambda n_bits: 1e-4 * n_bits / 2, 8),
    ],
    ids=["linear", "root", "step", "at the limit", "too slow"],
)
def test_the_length_of_a_method_of_known_cost(cost, expected, artificial):
    costs, _ = artificial
    costs["lsh"] = cost
    search = EqualTimeSearch(1000)
    names = ("cbe-rand", "cbe-opt", "lsh")
    found = {(name, k): search.find(spec_of(name, k)) for k in (500, 250) for name in names}
    assert found["cbe-rand", 500].n_bits == 500
    assert found["lsh", 500].n_bits == pytest.approx(expected, rel=0.12)
    assert found["lsh", 500].time_ratio_at_equal_bits == pytest.approx(cost(500) / 1e-4)
    assert found["lsh", 500].time_ratio == pytest.approx(cost(found["lsh", 500].n_bits) / 1e-4)
    assert found["lsh", 500].reference_us_per_vector == pytest.approx(100)
    assert found["lsh", 250].n_bits == found["lsh", 500].n_bits, "the reference takes the same time for either"
    assert (found["cbe-opt", 250].n_bits, found["cbe-opt", 500].n_bits) == (250, 500)
    assert found["cbe-opt", 500] is found["cbe-rand", 500], "methods that encode alike share a measurement"


def test_what_was_measured_is_cached_for_other_experiments_and_can_be_measured_again(artificial):
    costs, clock = artificial
    costs["lsh"] = lambda n_bits: 1e-6 * n_bits / 10
    spec = spec_of("lsh", 500)
    first, before = EqualTimeSearch(1000).find(spec), clock.now
    costs["lsh"] = lambda n_bits: 1e-6
    assert EqualTimeSearch(1000).find(spec) == first
    assert clock.now == before
    assert EqualTimeSearch(1000).find(spec, use_cache=False).n_bits == 4000


def test_a_cache_of_other_code_or_another_spec_is_not_used(artificial, monkeypatch, fresh_cache):
    _, clock = artificial
    spec = spec_of("lsh", 500)
    EqualTimeSearch(1000).find(spec)
    others = [replace(spec, budget_s=0.03), replace(spec, environment="there"), replace(spec, target_bits=400)]
    for changed, other in enumerate(others, 1):
        EqualTimeSearch(1000).find(other)
        assert len(list((fresh_cache / "equal-time").glob("*.json"))) == changed + 1
    monkeypatch.setattr(equal_time, "code_version", lambda modules: "another")
    before = clock.now
    EqualTimeSearch(1000).find(spec)
    assert clock.now > before


def test_a_cache_file_that_cannot_be_read_is_measured_again(artificial, fresh_cache):
    spec = spec_of("lsh", 500)
    first = EqualTimeSearch(1000).find(spec)
    (path,) = (fresh_cache / "equal-time").glob("*.json")
    for content in ("", "[]", '{"n_bits": 1}'):
        path.write_text(content)
        assert EqualTimeSearch(1000).find(spec).n_bits == first.n_bits


def test_memory_limits_the_codes_that_are_tried(artificial):
    costs, _ = artificial
    costs["lsh"] = lambda n_bits: 1e-9
    tight = BASE_BYTES + (1 << 20) + (300 << 20)
    spec = spec_of("lsh", 500, tight)
    assert spec.most_bits == 300
    found = EqualTimeSearch(1000).find(spec)
    assert found.n_bits == 300
    assert math.isnan(found.time_ratio_at_equal_bits)
    assert found.reference_us_per_vector == pytest.approx(100)
    assert least_bytes(spec) <= tight
    none = spec_of("lsh", 500, BASE_BYTES + (1 << 20))
    assert none.most_bits == 0
    assert least_bytes(none) > BASE_BYTES + (1 << 20)
    assert spec_of("cbe-opt", 500, tight).most_bits == 500, "it is the reference that is timed for it"


def test_a_length_found_for_longer_codes_of_the_reference_needs_no_time_at_equal_length(artificial):
    costs, _ = artificial
    costs["lsh"] = lambda n_bits: 1e-4 * n_bits / 100
    search = EqualTimeSearch(1000)
    long, short = (search.find(spec_of("lsh", k, BASE_BYTES + (201 << 20))) for k in (900, 800))
    assert (long.n_bits, long.searched_at_bits) == (short.n_bits, short.searched_at_bits)
    assert short.reference_us_per_vector == pytest.approx(100)


@pytest.mark.parametrize("name", ["lsh", "bilinear-opt", "hd3", "itq", "fjlt"])
def test_most_bits_are_those_that_fit_with_real_methods(name):
    spec = spec_of(name, 250)
    own, reference = TimedMethod.of(name, {}), TimedMethod.of("cbe-rand", {})
    free = own.memory_bytes(700, 1000)
    fitting = spec_of(name, 250, BASE_BYTES + reference.memory_bytes(250, 1000) + free).most_bits
    assert own.memory_bytes(fitting, 1000) <= free
    assert fitting == spec.most_bits or own.memory_bytes(fitting + 1, 1000) > free


def test_every_field_of_the_spec_changes_the_key():
    spec = spec_of("lsh", 250)
    others = {"params": {"store": True}, "reference_params": {"rows": "random"}}
    for field in fields(spec):
        value = getattr(spec, field.name)
        other = others.get(field.name, f"{value}x" if isinstance(value, str) else value)
        other = value + 1 if isinstance(value, int | float) else other
        assert replace(spec, **{field.name: other}).key("c") != spec.key("c"), field.name
    assert spec.key("c") != spec.key("other code")


@pytest.mark.parametrize("d", [1000, 2048, 25_600])
def test_lengths_of_bilinear_codes_take_ever_more_time(d):
    lengths = make_encoder("bilinear-rand").candidate_lengths(d, 2 * d)
    assert lengths == sorted(set(lengths)) and lengths[-1] == 2 * d and d in lengths
    work = [make_encoder("bilinear-rand", n_bits=n_bits).cost_estimate(d) for n_bits in lengths]
    assert np.all(np.diff(work) > 0)
    assert max(b / a for a, b in pairwise(lengths) if a > d / 20) < 1.3


@pytest.mark.parametrize("name", [name for name, cls in encoder_classes().items() if cls.encodes_as])
def test_methods_that_encode_alike_encode_by_the_same_code(name):
    own = encoder_classes()[name]
    other = encoder_classes()[own.encodes_as]
    encoders = [cls(n_bits=40, random_state=0).fit(np.eye(64, dtype=np.float32)) for cls in (own, other)]
    for param in encoders[0]._fitted_state().keys() & encoders[1]._fitted_state().keys():
        setattr(encoders[0], param, getattr(encoders[1], param))
    X = np.random.default_rng(1).standard_normal((9, 64), dtype=np.float32)
    assert np.array_equal(*(encoder.encode(X) for encoder in encoders))


def test_what_happens_at_first_use_is_not_timed(artificial):
    """Compiling and planning would be a sample, and the only one where they take longer than the budget."""
    costs, _ = artificial
    compiling = [100.0]
    costs["cbe-rand"] = lambda n_bits: compiling.pop() if compiling else 1e-4
    found = EqualTimeSearch(1000).find(spec_of("cbe-rand", 500))
    assert compiling == []
    assert found.time_ratio_at_equal_bits == pytest.approx(1)
    assert found.reference_us_per_vector == pytest.approx(100)
