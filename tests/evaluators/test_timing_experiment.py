"""Timing experiments: configuration, cells and a run."""

import re

import numpy as np
import pytest

from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent, no_progress
from cbe_bench.core.resources import Resources
from cbe_bench.core.runner import BASE_BYTES
from cbe_bench.encoders import encoder_classes
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened, run_experiment
from cbe_bench.evaluators.times import measure, rounds
from cbe_bench.evaluators.times.rows import LearningSpec, TimingSpec
from cbe_bench.evaluators.timing import experiment as module
from cbe_bench.evaluators.timing.config import parse_bits, parse_dims
from cbe_bench.evaluators.timing.paper import ENCODE_MS

pytestmark = pytest.mark.usefixtures("png_only")


def test_dims():
    assert parse_dims("2^15..2^18") == (2**15, 2**16, 2**17, 2**18)
    assert parse_dims("paper") == tuple(ENCODE_MS)
    assert parse_dims("768, 2^10,2**11,768") == (768, 1024, 2048)
    assert len(parse_dims("2^15..2^27")) == 13


@pytest.mark.parametrize("text", ["", "x", "2^", "3..5", "2^9..2^8", "0", "2^40", "9^99999999", "1..2..4", "-5"])
def test_bad_dims(text):
    with pytest.raises(ValueError, match=r"768, 2\^20|2\^15\.\.2\^27"):
        parse_dims(text)


def test_code_lengths():
    assert parse_bits("d, d/4,2d, 512,2*d", 1000) == [250, 512, 1000, 2000]
    for text in ("", "k", "d/0", "0", "d/2000", "-1"):
        with pytest.raises(ValueError, match=r"write 512|no bit"):
            parse_bits(text, 1000)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "times.yaml"
    path.write_text("title: Times\nexperiment: timing\nbudget_s: 0.01\ndims: 64\nencoders: [cbe-rand, hd3]\n")
    return lambda *overrides: load_config(path, "smoke", overrides)


def test_the_words_of_a_configuration(config):
    assert config().dims == (64,)
    assert config("dims=2^6..2^8").dims == (64, 128, 256)
    assert config("dims=[96, 64]").dims == (96, 64)
    assert config("n_bits=[d/4, 2d, 512]").lengths(256) == [64, 512]
    assert config("n_bits=512").lengths(256) == [512]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("dims=lots", "dims: found 'lots'; lots: write 768"),
        ("dims=[]", "dims: list should have at least 1 item"),
        ("dims=[64, 64]", "dims: 64 given more than once"),
        ("dims=0", "dims: found 0; "),
        ("n_bits=k", "n_bits: found 'k'; "),
        ("n_bits=d/128", "n_bits: d/128: is no bit at d = 64"),
        ("n_bits=99999999d", "n_bits: 6,399,999,936 bits at d = 64; at most 2,147,483,648 are timed"),
        ("encoders=[lhs]", "encoders: unknown encoder 'lhs'; did you mean 'lsh'?"),
        ("encoders=[lsh, lsh]", "encoders: lsh given more than once"),
        ("encoders=[]", "encoders: list should have at least 1 item"),
        ("budget_s=0", "budget_s: found 0; "),
        ("batch=0", "batch: found 0; "),
        ("threads=-1", "threads: found -1; "),
        ("method=lsh", "method: unknown key; "),
    ],
)
def test_bad_configurations(override, expected, config):
    with pytest.raises(InputError, match=rf"times\.yaml: {re.escape(expected)}"):
        config(override)


def run(config, out, memory_bytes=None, **options):
    with opened(config, Resources(None, memory_bytes), Silent()) as experiment:
        return run_experiment(experiment, job_of(experiment, "smoke", out, "cbe-bench run", **options), Silent())


def test_a_run_ends_in_times(config, tmp_path):
    outcome = run(config("dims=[64, 128, 256]"), tmp_path)
    rows = outcome.results.rows
    assert [(row.n_features, row.encoder) for row in rows] == [
        (d, name) for d in (64, 128, 256) for name in ("cbe-rand", "hd3")
    ]
    for row in rows:
        assert row.ok
        assert row.encode_us_per_vector == pytest.approx(np.median(row.samples_us))
        low, high = row.encode_us_quartiles
        assert low <= row.encode_us_per_vector <= high
        assert (row.threads, row.batch, row.dtype) == (1, 1, "float32")
        assert row.parameter_bytes > 0
        assert min(row.fit_s, row.calls_per_sample) > 0
        assert row.plan_s >= 0
    assert {table.name for table in outcome.report.tables} == {"table1", "table2", "times"}
    subjects = {one.subject for one in module.TimingExperiment.measurements(outcome.results)}
    assert len(subjects) == 6


def cells_within(config, memory_bytes):
    with opened(config, Resources(None, memory_bytes), Silent()) as experiment:
        return experiment.cells("cells", ())


def test_methods_that_do_not_fit_together_are_timed_in_groups(config):
    several = config("dims=[1024]", "encoders=[cbe-rand, bilinear-rand, cbe-orth, hd3, lsh]")
    cells = cells_within(several, 24 << 30)
    assert len({cell.group for cell in cells}) == 1
    shared = BASE_BYTES + 4 * 1024
    limit = max(cell.memory_bytes for cell in cells)
    groups = {}
    for cell in cells_within(several, limit):
        groups.setdefault(cell.group, []).append(cell.memory_bytes - shared)
    assert len(groups) > 1
    assert all(sum(own) + shared <= limit for own in groups.values())


def test_what_does_not_fit_is_skipped(config, tmp_path):
    outcome = run(config("dims=[8192]", "encoders=[lsh, cbe-rand]"), tmp_path, 600 << 20)
    lsh, circulant = outcome.results.rows
    assert (lsh.status, circulant.status) == ("skipped", "ok")
    assert lsh.memory_estimate_bytes > 4 * 8192**2
    assert outcome.report.table("table2")["full_ms"].item().startswith("- (")


def test_a_failing_method_is_a_row_of_its_own(config, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(encoder_classes()["cbe-rand"], "encode", lambda self, X, check_input: 1 / 0)
        rows = run(config(), tmp_path).results.rows
    assert [row.status for row in rows] == ["failed", "ok"]
    assert rows[0].reason.startswith("ZeroDivisionError")
    assert [row.status for row in run(config(), tmp_path, rerun="failed").results.rows] == ["ok", "ok"]


def test_what_ends_the_timing_early_leaves_what_was_timed(config, tmp_path, monkeypatch):
    def stops(candidates, budget_s, progress, least_samples):
        first, *_ = candidates
        first.samples = [1e-3]
        yield first
        raise TimeoutError("took longer than 1 s")

    monkeypatch.setattr(measure, "interleaved", stops)
    rows = run(config(), tmp_path).results.rows
    assert [row.status for row in rows] == ["ok", "timeout"]
    assert rows[0].encode_us_per_vector == pytest.approx(1000)


def test_times_on_other_machines_are_other_cells(config, monkeypatch):
    def keys():
        return [cell.key for cell in cells_within(config(), None)]

    before = keys()
    monkeypatch.setattr(module.environment, "environment_id", lambda: "another")
    assert not set(before) & set(keys())


def test_rounds_are_new_processes(config, tmp_path):
    entries = "encoders=[cbe-rand, {name: fjlt, label: sparse, params: {density: 0.1}}]"
    outcome = run(config("rounds=2", entries), tmp_path)
    for row in outcome.results.rows:
        assert row.ok, row.reason
        assert (row.rounds, len(row.rounds_us)) == (2, 2)
        assert row.encode_us_per_vector == pytest.approx(np.median(row.rounds_us))
        assert len(row.samples_us) >= 6
    assert [row.method for row in outcome.results.rows] == ["cbe-rand", "sparse"]


@pytest.mark.slow
def test_a_method_that_fails_in_a_round_is_a_row_of_its_own():
    specs = {
        name: TimingSpec(
            encoder=name, params={}, n_features=64, n_bits=n_bits, batch=1, threads=1, dtype="float32", environment=""
        )
        for name, n_bits in (("cbe-rand", 64), ("itq", 65))
    }
    timed = rounds.Rounds(specs, 1, 0.01)
    assert len(timed.metrics("cbe-rand", no_progress)["rounds_us"]) == 1
    with pytest.raises(rounds.RoundError, match="InputError: itq: n_bits = 65"):
        timed.metrics("itq", no_progress)


def test_a_round_whose_process_dies_fails_all_its_cells(monkeypatch):
    monkeypatch.setattr(rounds.sys, "executable", "/bin/false")
    timed = rounds.Rounds({"a": LearningSpec(**LEARNING)}, 2, 0.01)
    with pytest.raises(rounds.RoundError, match="ended early: exit status 1"):
        timed.metrics("a", no_progress)


LEARNING = {
    "encoder": "cbe-opt",
    "params": {"max_iter": 2},
    "n_features": 64,
    "n_bits": 64,
    "n_train": 100,
    "threads": 1,
    "environment": "",
}


def test_pooled_rounds():
    one = {"fit_s": 1.0, "rounds_s": [1.0], "samples_s": [0.9, 1.1], "wall_s": 2.0}
    other = {"fit_s": 4.0, "rounds_s": [4.0], "samples_s": [4.0], "wall_s": 4.0}
    expected = {"fit_s": 2.5, "rounds_s": (1.0, 4.0), "samples_s": (0.9, 1.1, 4.0), "wall_s": 6.0}
    assert rounds.pooled([one, other]) == expected


def test_training_is_timed_for_every_size(config, tmp_path, monkeypatch):
    calls = []
    fit = encoder_classes()["cbe-opt"].fit
    monkeypatch.setattr(
        encoder_classes()["cbe-opt"], "fit", lambda self, X: (calls.append((self.max_iter, len(X))), fit(self, X))[1]
    )
    overrides = (
        "n_train=[100, 200]",
        "encoders=[{name: cbe-opt, params: {max_iter: 2, tol: 0}}, itq]",
        "dims=[64, 96]",
    )
    outcome = run(config(*overrides), tmp_path)
    rows = outcome.results.rows
    sizes = [(d, n, name) for d in (64, 96) for n in (100, 200) for name in ("cbe-opt", "itq")]
    assert [(row.n_features, row.n_train, row.encoder) for row in rows] == sizes
    for row in rows:
        assert row.ok, row.reason
        assert row.fit_s == pytest.approx(np.median(row.samples_s))
        assert row.rounds_s == (row.fit_s,)
    assert set(calls) == {(2, 64), (2, 100), (2, 200)}, "parameters are those asked for; a fit of few rows comes first"
    assert "learning" in {table.name for table in outcome.report.tables}
    subjects = {one.subject for one in module.TimingExperiment.measurements(outcome.results)}
    assert len(subjects) == len(rows)
