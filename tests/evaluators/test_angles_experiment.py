"""Experiments on angles from a configuration to rows: cells, keys, runs, bad input."""

import dataclasses
import math
from pathlib import Path

import h5py
import numpy as np
import pytest

from cbe_bench.core import report as core_report
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.runner import plan
from cbe_bench.evaluators.angles import experiment as module
from cbe_bench.evaluators.angles.experiment import ANGLES, AnglesExperiment, code_lengths
from cbe_bench.evaluators.angles.methods import FEATURE_METHODS, METHODS
from cbe_bench.evaluators.angles.pairs import PAIRS
from cbe_bench.evaluators.angles.rows import FeaturesRow, FeaturesSpec, SimulationRow, SimulationSpec
from cbe_bench.evaluators.base import load_experiment
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened, run_experiment

pytestmark = pytest.mark.usefixtures("png_only")

CONFIG = Path(__file__).parents[2] / "configs" / "angles.yaml"
TINY = ["dims=[16, 32]", "draws=200", "vectors=10", "data.file=null", "data.keep_dims=64", "feature_draws=2"]


class Recorder(Silent):
    """A reporter that keeps how cells ended."""

    def __init__(self):
        self.messages, self.lines = [], []

    def message(self, text):
        self.messages.append(text)

    def end(self, line, notes=()):
        self.lines.append(line)


@pytest.fixture
def few(monkeypatch):
    """Two kinds of pairs, no figures."""
    monkeypatch.setattr(module, "PAIRS", {pair: PAIRS[pair] for pair in ("dense", "smooth")})
    report = module.angles_report
    monkeypatch.setattr(module, "angles_report", lambda results: dataclasses.replace(report(results), figures=()))


def run(out, *overrides, threads=None, memory=None, **options):
    config = load_config(CONFIG, "smoke", [*TINY, *overrides])
    reporter = Recorder()
    with opened(config, Resources(threads, memory), reporter) as experiment:
        outcome = run_experiment(experiment, job_of(experiment, "smoke", out, "", **options), reporter)
    return outcome, reporter


def metrics(results):
    """Return rows without what depends on the moment."""
    moment = {"wall_s", "ended", "peak_memory_bytes", "threads", "memory_estimate_bytes"}
    return {
        row.key: {name: value for name, value in row.to_json().items() if name not in moment} for row in results.rows
    }


# Cells and keys


def test_code_lengths():
    assert code_lengths(4096) == (1, 4, 16, 64, 256, 512, 1024, 2048, 4096)
    assert code_lengths(25_600, 16) == (25, 100, 400, 1600, 3200, 6400, 12_800, 25_600)
    assert code_lengths(2) == (1, 2)
    assert code_lengths(5, 16) == (5,)


def test_cells_are_every_method_on_every_pair_and_every_draw_on_features(tmp_path):
    config = load_config(CONFIG, "smoke", [*TINY, "flat_dims=[32, 64]", "flat_draws=50"])
    with opened(config, Resources(), Silent()) as experiment:
        cells = [one.cell for one in plan(experiment, job_of(experiment, "smoke", tmp_path, ""))]
        assert "d = 16, 32, 32, 64" in experiment.headline
    kinds = [cell.row_class for cell in cells]
    on_features = len(FEATURE_METHODS) * 2
    assert kinds[:on_features] == [FeaturesRow] * on_features
    assert kinds[on_features:] == [SimulationRow] * (2 * (1 + (len(METHODS) - 1) * len(PAIRS)) + 1)
    assert [cell.group for cell in cells] == ["features"] * on_features + ["simulations"] * len(kinds[on_features:])
    assert len({cell.key for cell in cells}) == len(cells)
    assert (cells[-1].spec.pair, cells[-1].spec.n_features, cells[-1].spec.draws) == ("flat", 64, 50)
    assert list(tmp_path.iterdir()) == [], "planning writes nothing"


SPECS = (
    SimulationSpec(
        method="cbe-rand", pair="dense", n_features=8, n_bits=(4, 8), angles_rad=ANGLES, draws=10, delta=0.05, seed=0
    ),
    FeaturesSpec(method="cbe-rand", data_hash="a", n_rows=9, n_vectors=5, n_features=8, n_bits=(4, 8), draw=0, seed=0),
)


def changed(value):
    return value[:-1] if isinstance(value, tuple) else f"{value}x" if isinstance(value, str) else value + 1


@pytest.mark.parametrize(("spec", "name"), [(spec, field.name) for spec in SPECS for field in dataclasses.fields(spec)])
def test_every_field_of_a_spec_decides_its_key(spec, name):
    other = dataclasses.replace(spec, **{name: changed(getattr(spec, name))})
    assert other.key("v1") != spec.key("v1")


def test_the_version_of_the_code_decides_keys():
    for spec in SPECS:
        assert spec.key("v1") == dataclasses.replace(spec).key("v1")
        assert spec.key("v1") != spec.key("v2")


def test_code_versions_follow_the_encoder_and_not_the_report(monkeypatch, tmp_path):
    named = []
    monkeypatch.setattr(module, "code_version", lambda modules: named.append(tuple(modules)) or "version")
    config = load_config(CONFIG, "smoke", TINY)
    with opened(config, Resources(), Silent()) as experiment:
        experiment.cells("cells", [])
    assert {modules[0] for modules in named} >= {"cbe_bench.encoders.lsh", "cbe_bench.evaluators.angles.simulation"}
    assert not any("claims" in name or "experiment" in name for modules in named for name in modules)


# Runs


def test_a_run_ends_in_rows_tables_and_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(core_report, "save_figure", lambda drawing, path: [f"{path}.png"])
    outcome, reporter = run(tmp_path)
    rows = outcome.results.rows
    assert len(rows) == len(reporter.lines) == 2 * (1 + 6 * len(PAIRS)) + 5 * 2
    assert {row.status for row in rows} == {"ok"}
    assert {(row.data, row.data_kind) for row in rows if isinstance(row, SimulationRow)} == {
        ("simulated pairs", "simulated")
    }
    assert {row.data_kind for row in rows if isinstance(row, FeaturesRow)} == {"synthetic"}
    assert {row.label for row in rows} == set(METHODS)
    names = {f"{name}.csv" for name in ("mean", "variance", "signs", "tails", "features")}
    names |= {f"{name}.png" for name in ("mean", "variance", "signs", "features")}
    assert {Path(file).name for file in outcome.files} == names
    assert metrics(load_experiment(tmp_path / "smoke" / "angles")) == metrics(outcome.results)
    for row in rows:
        if isinstance(row, SimulationRow):
            assert len(row.mean) == len(row.flatness) == len(row.variance) == len(ANGLES)
            assert len(row.kurtosis[0]) == len(row.n_beyond_theorem2[0]) == len(row.n_bits)
        else:
            assert (row.n_vectors, row.n_features, row.n_pairs, row.n_bits) == (10, 64, 45, (16, 32, 64))
            assert all(
                mean <= worst for mean, worst in zip(row.mean_error_over_pi, row.worst_error_over_pi, strict=True)
            )


def test_a_run_resumes_where_it_stopped_and_gives_the_same_whatever_the_threads(tmp_path, few):
    outcome, _ = run(tmp_path)
    rows_file = tmp_path / "smoke" / "angles" / "rows.jsonl"
    n_cells = len(outcome.results.rows)
    lines = rows_file.read_bytes().splitlines(keepends=True)
    rows_file.write_bytes(b"".join(lines[:20]) + lines[20][:50])
    again, reporter = run(tmp_path, threads=1)
    assert len(reporter.lines) == n_cells - 20
    assert metrics(again.results) == metrics(outcome.results)
    before = rows_file.read_bytes()
    run(tmp_path)
    assert rows_file.read_bytes() == before
    _, other = run(tmp_path, "seed=1")
    assert len(other.lines) == n_cells, "another seed is another cell"


def test_the_sample_is_prepared_once_and_only_for_features(tmp_path, few, monkeypatch):
    drawn = []
    draw = module.draw_sample
    monkeypatch.setattr(module, "draw_sample", lambda *args: drawn.append(args) or draw(*args))
    run(tmp_path)
    assert len(drawn) == 1
    run(tmp_path, "draws=201")
    assert len(drawn) == 1, "no cell of features was left to run"


def test_a_failing_cell_is_a_row_and_is_tried_again(tmp_path, few, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, "evaluate_simulation", lambda *args: 1 / 0)
        outcome, _ = run(tmp_path)
    failed = [row for row in outcome.results.rows if row.status == "failed"]
    assert len(failed) == 26
    assert {row.data_kind for row in failed} == {"simulated"}
    assert [table.name for table in outcome.report.tables] == ["features"]
    again, reporter = run(tmp_path, rerun="failed")
    assert len(reporter.lines) == 26
    assert {row.status for row in again.results.rows} == {"ok"}


def test_what_does_not_fit_is_skipped(tmp_path, few):
    outcome, _ = run(tmp_path, memory=1 << 20)
    assert {row.status for row in outcome.results.rows} == {"skipped"}
    assert outcome.report.tables == ()


def test_a_summary_names_what_was_found(tmp_path, few):
    outcome, reporter = run(tmp_path)
    row = outcome.results.rows[0]
    assert f"{row.mean_error_over_pi[-1]:.4f}" in reporter.lines[0]
    assert "independent bits" in reporter.lines[-1]


# Files


def write_features(path, X):
    with h5py.File(path, "w") as file:
        file["features"] = X
    return path


def test_features_of_a_file(tmp_path, few, rng):
    path = write_features(tmp_path / "mine.h5", rng.standard_normal((7, 48)))
    outcome, _ = run(tmp_path, f"data.file={path}", "name=angles-mine")
    frame = outcome.report.table("features")
    assert set(frame["data"]) == {"mine"}
    assert set(frame["data_kind"]) == {"user"}
    assert set(frame["n_pairs"]) == {21}
    assert set(frame["n_bits"]) == {24, 48}


def test_bad_files_end_the_run_before_a_cell_has_run(tmp_path, few):
    X = np.ones((5, 16))
    X[3, 2] = np.nan
    for path, message in (
        (tmp_path / "none.h5", "no such file"),
        (write_features(tmp_path / "nan.h5", X), "row 3 "),
        (write_features(tmp_path / "one.h5", X[:1]), "1 row; angles need at least 2"),
        (write_features(tmp_path / "thin.h5", X[:, :1]), "1 dimension"),
    ):
        with pytest.raises(InputError, match=message):
            run(tmp_path / "out", f"data.file={path}")
    assert not list((tmp_path / "out").rglob("rows.jsonl"))


# The configuration


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_our_configuration_is_valid(scale):
    config = load_config(CONFIG, scale)
    assert config.name == "angles"
    assert not set(config.dims) & set(config.flat_dims)
    assert AnglesExperiment.judged_from == "smoke"


@pytest.mark.parametrize(
    "override, message",
    [
        ("dims=[100]", "dims: found 100; pairs are simulated in 2, 4, 8"),
        ("dims=[64, 64]", "dims: 64 given more than once"),
        ("flat_dims=[3]", "flat_dims: found 3; pairs"),
        ("draws=1", "draws: found 1; input should be greater than or equal to 10"),
        ("vectors=1", "vectors: found 1; input should be"),
        ("n_bits=[64]", "n_bits: unknown key"),
        ("seed=-1", "seed: found -1"),
        ("data.synthetic=false", "data.file: required"),
    ],
)
def test_bad_keys_are_reported(override, message):
    with pytest.raises(InputError, match=message):
        load_config(CONFIG, "smoke", ["data.file=null", override])


def test_the_angle_that_a_summary_reports_is_a_third_of_pi():
    assert ANGLES[module._SUMMARISED] == pytest.approx(math.pi / 3)
