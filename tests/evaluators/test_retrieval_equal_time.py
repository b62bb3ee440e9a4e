"""Code lengths of equal time: interpolated on a ladder, for costs of every shape."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_toys import recall_row, time_row

from cbe_bench.encoders import encoder_classes
from cbe_bench.evaluators.retrieval.equal_time import (
    EncodeTimes,
    between,
    bits_by_round,
    bits_in_time,
    brackets,
    rows_at_bits,
)
from cbe_bench.evaluators.times.methods import TimedMethod

LADDER = (16, 32, 64, 128)


@pytest.mark.parametrize(
    ("times", "time", "expected"),
    [
        ((1, 2, 4, 8), 2, 32),
        ((1, 2, 4, 8), 3, 48),
        ((1, 4, 16, 64), 8, 32 * 2**0.5),
        ((1, 2, 4, 8), 0.1, 16),
        ((1, 2, 4, 8), 99, 128),
        ((3, 3, 6, 6), 3, 32),
        ((3, 3, 6, 6), 4, 32 * 2 ** np.log2(4 / 3)),
        ((3, 3, 6, 6), 6, 128),
        ((1, 4, 2, 8), 2, 64),
        ((1, 4, 2, 8), 4, 64 * 2**0.5),
    ],
    ids=[
        "met",
        "between",
        "steep",
        "too slow",
        "too fast",
        "step",
        "in a step",
        "at the top",
        "slow size",
        "beyond it",
    ],
)
def test_bits_in_time_by_hand(times, time, expected):
    assert bits_in_time(LADDER, times, time) == pytest.approx(expected)


TIMES = st.lists(st.floats(0.01, 1e4), min_size=4, max_size=4)


@given(times=TIMES, first=st.floats(0.001, 1e5), second=st.floats(0.001, 1e5))
def test_more_time_never_gives_fewer_bits(times, first, second):
    less, more = (bits_in_time(LADDER, times, time) for time in sorted((first, second)))
    assert 16 <= less <= more * (1 + 1e-12) <= 128 * (1 + 1e-12)


@given(steps=st.lists(st.floats(1.01, 30), min_size=4, max_size=4), exponent=st.floats(0.01, 0.99))
def test_on_increasing_times_bits_increase_strictly_and_lengths_are_met(steps, exponent):
    times = np.cumprod(steps)
    assert [bits_in_time(LADDER, times, time) for time in times] == pytest.approx(LADDER)
    inner = [bits_in_time(LADDER, times, low * (high / low) ** exponent) for low, high in pairwise(times)]
    assert inner == pytest.approx([k * 2**exponent for k in LADDER[:-1]])


@given(times=TIMES, time=st.floats(0.001, 1e5))
def test_no_code_that_the_time_allows_is_longer(times, time):
    """The longest length of the ladder that fits the time is reached, and none beyond the next is."""
    allowed = [k for k, cost in zip(LADDER, times, strict=True) if cost <= time] or [16]
    bits = bits_in_time(LADDER, times, time)
    assert allowed[-1] <= bits <= min(2 * allowed[-1], 128) * (1 + 1e-12)


def test_every_round_has_its_own_length():
    own, rival = {100: (2.0, 3.0, 5.0)}, {16: (1.0, 1.0, 6.0, 1.0), 64: (4.0, 9.0, 9.0, 1.0)}
    assert bits_by_round(own, 100, rival) == pytest.approx([32, 32, 16])
    assert bits_by_round(own, 100, own) == [100.0] * 3, "its own time"
    assert bits_by_round(own, 99, rival) == bits_by_round(own, 100, {}) == []


def test_brackets():
    assert between(LADDER, 64 * 2**0.25) == pytest.approx((64, 128, 0.25))
    assert [between(LADDER, k) for k in (8, 32, 999)] == [(16, 16, 0), (32, 32, 0), (128, 128, 0)]
    assert brackets(LADDER, [40, 60]) == [32, 64]
    assert brackets(LADDER, [30, 40]) == [16, 32, 64], "whichever round it was"
    assert brackets(LADDER, [64]) == [64]
    assert brackets(LADDER, []) == []


def test_labels_are_those_of_what_encodes_alike():
    rows = [recall_row("mine", 16, 50, encoder="cbe-opt", params={"lam": 1}), recall_row("cbe-rand", 16, 50)]
    rows += [recall_row("unknown", 16, 50), time_row("cbe-rand", 16, (1.0, 2.0)), time_row("lsh", 16, 4.0)]
    times = EncodeTimes([*rows, recall_row("lsh", 16, 50)])
    assert times.row("mine", 16) is times.row("cbe-rand", 16) is rows[3]
    assert times.row("mine", 32) is times.row("unknown", 16) is times.row("nothing", 16) is None
    ratio = times.ratio("lsh", "mine", 16)
    assert ratio.value == pytest.approx(8**0.5) and np.isnan(ratio.low), "the geometric mean; of too few rounds"
    assert np.isnan(times.ratio("unknown", "mine", 16).value)
    assert TimedMethod.of("cbe-opt", {"lam": 1, "rows": "strided"}) == TimedMethod("cbe-rand", {"rows": "strided"})
    assert TimedMethod.of("lsh", {}).params == {"store": True}
    assert TimedMethod("a", {"x": 1, "y": 2}).key == TimedMethod("a", {"y": 2, "x": 1}).key


def test_rows_between_code_lengths():
    rows = [recall_row("fbe", k, 10 * k, seed, recall_median=(k / 100,)) for k in (2, 8) for seed in (0, 1)]
    rows += [recall_row("fbe", 4, 0, status="failed"), recall_row("lsh", 4, 99)]
    found = rows_at_bits(rows, "fbe", [4.0, 8.0])
    assert [(row.seed, row.n_bits) for row in found] == [(0, 6), (1, 6)]
    assert found[0].recall == pytest.approx((0.325, 0.65)), "the mean of half way in log bits, and the end"
    assert found[1].recall_median == pytest.approx((0.065,))
    assert rows_at_bits(rows, "fbe", []) == rows_at_bits(rows, "itq", [4.0]) == []


@pytest.mark.parametrize("name", [name for name, cls in encoder_classes().items() if cls.encodes_as])
def test_methods_that_encode_alike_encode_by_the_same_code(name):
    own = encoder_classes()[name]
    other = encoder_classes()[own.encodes_as]
    encoders = [cls(n_bits=40, random_state=0).fit(np.eye(64, dtype=np.float32)) for cls in (own, other)]
    for param in encoders[0]._fitted_state().keys() & encoders[1]._fitted_state().keys():
        setattr(encoders[0], param, getattr(encoders[1], param))
    X = np.random.default_rng(1).standard_normal((9, 64), dtype=np.float32)
    assert np.array_equal(*(encoder.encode(X) for encoder in encoders))
