"""Bits of equal time: the search for them, on costs of every shape, and the experiment that uses them."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cbe_bench.config import load_config
from cbe_bench.evaluators.auc import averaged_auc
from cbe_bench.evaluators.budget import TOLERANCE, most_bits
from cbe_bench.runner import calibration
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench.cli import main
from cbe_bench.core.results import load_rows
from cbe_bench.encoders import encoder_classes, make_encoder
from cbe_bench.encoders.base import Encoder
from cbe_bench.kernels.bits import pack_signs

BYTES = range(8, 1_000_000, 8)


@given(
    exponent=st.floats(0.3, 2),
    right=st.integers(8, 100_000),
    guess=st.integers(1, 400_000),
)
@settings(max_examples=200)
def test_smooth_costs_are_met_closely(exponent, right, guess):
    asked = []

    def share(bits):
        asked.append(bits)
        return (bits / right) ** exponent

    found = most_bits(share, guess, BYTES[:25_000])
    assert found.share <= 1 + TOLERANCE
    one_byte = ((found.n_bits + 8) / right) ** exponent
    assert found.share >= 1 - TOLERANCE or one_byte > 1 + TOLERANCE
    assert len(asked) <= 30
    assert all(bits % 8 == 0 for bits in asked)


@given(step=st.integers(1, 4_000), low=st.floats(0.3, 0.9), guess=st.integers(1, 50_000))
def test_steps_are_found_exactly(step, low, guess):
    found = most_bits(lambda bits: low if bits <= 8 * step else 2.5 * low + 0.6, guess, BYTES[:8_000])
    assert found.n_bits == 8 * step


def test_sizes_that_happen_to_be_slow_do_not_end_the_search():
    found = most_bits(lambda bits: 1.3 if bits == 200 else bits / 250, 200, range(100, 400, 20))
    assert (found.n_bits, found.share) == (240, 0.96)


def test_limits_end_the_search():
    assert most_bits(lambda bits: 0.1, 100, BYTES[:125]).n_bits == 1_000
    assert most_bits(lambda bits: 0.1, 100, [*BYTES[:125], 1_003]).n_bits == 1_003
    slow = most_bits(lambda bits: 3.0 + bits, 100, BYTES[:125])
    assert (slow.n_bits, slow.share) == (8, 11.0)
    assert most_bits(lambda bits: 5.0, 4, [4]).n_bits == 4
    assert most_bits(lambda bits: bits / 6.5, 1_000, [2, 5, 7, 11]).n_bits == 5


CONFIGS = Path(__file__).parents[1] / "configs"


class Clock:
    """A clock that only encoders move on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Artificial(Encoder):
    """An encoder that takes a known time."""

    name = "artificial"

    def __init__(self, n_bits=None, *, cost=None, clock=None, random_state=None):
        super().__init__(n_bits, random_state=random_state)
        self.cost, self.clock = cost, clock

    def _fit(self, X, y, rng):
        pass

    def _project(self, X):
        raise NotImplementedError

    def _encode(self, X):
        self.clock.now += len(X) * self.cost(self.n_bits_)

    def memory_bytes(self, n_features):
        return 0

    def work(self, n_features):
        return 0.0


@pytest.mark.parametrize(
    "cost, expected",
    [
        (lambda bits: 1e-6 * bits / 40, 40 * 100),
        (lambda bits: 1e-4 * math.sqrt(bits / 300), 300),
        (lambda bits: 0.8e-4 if bits <= 4096 else 1.6e-4, 4096),
        (lambda bits: 1e-9, 4 * 1000),
        (lambda bits: 1e-4 * bits / 2, 8),
    ],
    ids=["linear", "root", "step", "at the limit", "too slow"],
)
def test_calibration_finds_the_bits_of_an_encoder_of_known_cost(cost, expected, monkeypatch, tmp_path, fresh_cache):
    clock = Clock()
    costs = {"cbe-rand": lambda bits: 1e-4, "lsh": cost}
    monkeypatch.setattr(calibration.time, "thread_time", clock)
    monkeypatch.setattr(
        calibration,
        "make_encoder",
        lambda name, n_bits, random_state=None, **params: Artificial(n_bits, cost=costs[name], clock=clock),
    )
    overrides = [
        "fixed=[time]",
        "encoders=[cbe-rand, cbe-opt, lsh]",
        "bits=[250, 500]",
        "data.dim=1000",
        "data.keep_dims=null",
    ]
    config = load_config(str(CONFIGS / "flickr.yaml"), "smoke", overrides)
    wanted = calibration.calibrations(config)
    calibration.calibrate(wanted, config, tmp_path / "rows.jsonl", Silent())
    found = calibration.known_bits(wanted, tmp_path / "rows.jsonl")
    assert found[("cbe-rand", 500)] == 500
    assert found[("lsh", 500)] == pytest.approx(expected, rel=0.12)
    assert found[("lsh", 250)] == found[("lsh", 500)], "the reference takes the same time for either"
    assert (found[("cbe-opt", 250)], found[("cbe-opt", 500)]) == (250, 500)
    row = next(
        row for row in load_rows(tmp_path / "rows.jsonl") if (row["encoder"], row["target_bits"]) == ("lsh", 500)
    )
    assert row["share_at_equal_bits"] == pytest.approx(cost(500) / 1e-4)
    assert row["share"] == pytest.approx(cost(row["n_bits"]) / 1e-4)
    assert row["reference_seconds"] == pytest.approx(1e-4)
    costs["lsh"], before = (lambda bits: 1e-6), clock.now
    calibration.calibrate(wanted, config, tmp_path / "other" / "rows.jsonl", Silent())
    assert calibration.known_bits(wanted, tmp_path / "other" / "rows.jsonl") == found
    assert clock.now == before, "what is known is not measured again"
    calibration.calibrate(wanted, config, tmp_path / "rows.jsonl", Silent(), anew=True)
    assert calibration.known_bits(wanted, tmp_path / "rows.jsonl")[("lsh", 500)] == 4000


@pytest.mark.parametrize("d", [1000, 2048, 25_600])
def test_lengths_of_bilinear_codes_take_ever_more_time(d):
    encoder = make_encoder("bilinear-rand")
    lengths = encoder.lengths(d, 2 * d)
    assert lengths == sorted(set(lengths)) and lengths[-1] == 2 * d and d in lengths
    work = [make_encoder("bilinear-rand", n_bits=bits).work(d) for bits in lengths]
    assert np.all(np.diff(work) > 0)
    assert max(b / a for a, b in pairwise(lengths) if a > d / 20) < 1.3


@pytest.mark.parametrize("name", [name for name, cls in encoder_classes().items() if cls.encodes_as])
def test_twins_encode_by_the_same_code(name):
    own = encoder_classes()[name]
    other = encoder_classes()[own.encodes_as]
    encoders = [cls(n_bits=40, random_state=0).fit(np.eye(64, dtype=np.float32)) for cls in (own, other)]
    for param in encoders[0]._fitted_state().keys() & encoders[1]._fitted_state().keys():
        setattr(encoders[0], param, getattr(encoders[1], param))
    X = np.random.default_rng(1).standard_normal((9, 64), dtype=np.float32)
    assert np.array_equal(*(encoder.encode(X) for encoder in encoders))


class Silent:
    def message(self, text):
        pass

    def begin(self, n_cells, seconds):
        pass

    def step(self, what, seconds):
        pass

    def share(self, done):
        pass

    def end(self, line, notes=()):
        pass


def test_methods_are_run_at_the_bits_of_equal_time_and_drawn(tmp_path):
    args = ["run", str(CONFIGS / "flickr.yaml"), "--scale", "smoke", "--out", str(tmp_path)]
    for key in ("seeds=[0, 1]", "bits=[32, 64]", "data.keep_dims=128", "encoders=[cbe-rand, cbe-opt, hd3]"):
        args += ["--set", key]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    folder = tmp_path / "smoke" / "flickr"
    rows = load_rows(folder / "rows.jsonl")
    found = [row for row in rows if row["experiment"] == "calibration"]
    assert len(found) == 2 * 3
    cells = {(row["encoder"], row["n_bits"], row["seed"]) for row in rows if row["experiment"] == "retrieval"}
    assert {(row["encoder"], row["n_bits"], seed) for row in found for seed in (0, 1)} <= cells
    assert {("hd3", 32, 0), ("cbe-opt", 64, 1)} <= cells
    assert "[6/6] " in result.output and f"[1/{len(cells)}] " in result.output
    table = pd.read_csv(folder / "equal-time.csv")
    assert len(table) == 6
    assert table["recall@100"].notna().all()
    again = CliRunner().invoke(main, args)
    assert f"going on: {len(cells)} of {len(cells)} cells" in again.output
    assert load_rows(folder / "rows.jsonl") == rows


def test_auc_is_its_definition(rng):
    queries, database = rng.standard_normal((7, 24)), rng.standard_normal((60, 24))
    of_queries, of_database = rng.integers(0, 3, 7), rng.integers(0, 3, 60)
    distances = ((queries[:, None] >= 0) != (database >= 0)).sum(axis=2)
    areas = []
    for distance, label in zip(distances, of_queries, strict=True):
        same, other = distance[of_database == label], distance[of_database != label]
        wins = (same[:, None] < other).mean() + 0.5 * (same[:, None] == other).mean()
        areas.append(wins)
    found = averaged_auc(pack_signs(queries), pack_signs(database), of_queries, of_database)
    assert found == pytest.approx(np.mean(areas))
    alone = averaged_auc(pack_signs(queries), pack_signs(database), np.array([0] * 6 + [9]), of_database)
    assert 0 < alone < 1


def test_labels_and_pairs_reach_learning(tmp_path):
    args = ["run", str(CONFIGS / "semisup.yaml"), "--scale", "smoke", "--out", str(tmp_path)]
    for key in ("seeds=[0]", "bits=[64]", "data.file=null", "data.keep_dims=128"):
        args += ["--set", key]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    rows = load_rows(tmp_path / "smoke" / "semisup" / "rows.jsonl")
    assert len(rows) == 5
    assert all(0.4 < row["auc"] < 1 for row in rows)
    assert len({row["auc"] for row in rows}) == 5
    assert all(np.all(np.diff(row["objective"]) <= 1e-6 * np.abs(row["objective"][0])) for row in rows)
    assert (tmp_path / "smoke" / "semisup" / "sweep.png").is_file()
