"""Retrieval experiments from a configuration to rows, tables and figures."""

from dataclasses import fields, replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import cbe_bench.data.view
from cbe_bench.core import runner
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import load_rows
from cbe_bench.core.runner import plan
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.retrieval.equal_time import EncodeTimes, brackets
from cbe_bench.evaluators.retrieval.experiment import RECALL, TIMES, RetrievalExperiment
from cbe_bench.evaluators.retrieval.rows import recall_rows
from cbe_bench.evaluators.run import job_of, opened, run_experiment
from cbe_bench.evaluators.times.rows import encode_rows

pytestmark = pytest.mark.usefixtures("png_only")

CONFIGS = Path(__file__).parents[2] / "configs"
SMALL = ("seeds=[0]", "n_bits=[32, 64]", "data.keep_dims=128", "data.file=null", "name=flickr", "data.synthetic=true")
LADDER = (16, 32, 64)
BITS = ("encoders=[cbe-rand, cbe-orth, bilinear-rand, lsh]", "fixed=[bits]")


class Recorder(Silent):
    def __init__(self, stop_after=None):
        self.messages, self.ended, self.stop_after = [], [], stop_after

    def message(self, text):
        self.messages.append(text)

    def advance(self, fraction):
        if len(self.ended) == self.stop_after:
            raise KeyboardInterrupt

    def end(self, line, notes=()):
        self.ended.append(line)


def run_rows(out, *overrides, config="flickr", scale="smoke", resources=None, reporter=None, **options):
    settings = load_config(CONFIGS / f"{config}.yaml", scale, [*SMALL, f"name={config}", *overrides])
    reporter = reporter or Silent()
    with opened(settings, resources or Resources(), reporter) as experiment:
        job = job_of(experiment, scale, out, "cbe-bench run", **options)
        return runner.run(experiment, job, reporter).rows


def cells_of(*overrides, stage=RECALL, rows=(), memory=None, scale="smoke"):
    settings = load_config(CONFIGS / "flickr.yaml", scale, [*SMALL, *overrides])
    with opened(settings, Resources(memory_bytes=memory), Silent()) as experiment:
        return experiment.cells(stage, rows)


def values(rows):
    return sorted((row.key, row.status, row.recall, row.recall_asymmetric) for row in rows)


def test_run_writes_rows_tables_and_figures_and_resumes(tmp_path):
    config = load_config(CONFIGS / "flickr.yaml", "smoke", [*SMALL, *BITS])
    with opened(config, Resources(), Silent()) as experiment:
        outcome = run_experiment(experiment, job_of(experiment, "smoke", tmp_path, "cbe-bench run"), Silent())
    folder = tmp_path / "smoke" / "flickr"
    drawn = ("recall", "recall-asymmetric", "differences")
    figures = {f"{name}.{suffix}" for name in drawn for suffix in ("png", "pdf", "svg")}
    outputs = {"table.csv", "recall.csv", "differences.csv"} | figures
    assert {path.name for path in folder.iterdir()} == {"rows.jsonl", "experiment.json", "environments.json"} | outputs
    rows = outcome.results.rows
    assert len(rows) == 8 and all(row.ok for row in rows)
    for row in rows:
        assert row.depths == tuple(range(1, 101))
        assert np.all(np.diff(row.recall) >= 0)
        assert row.encode_us_per_vector > 0
        assert row.encode_us_per_vector > 0
        assert row.n_train == row.n_train_pool == 0
    before, reporter = (folder / "rows.jsonl").read_bytes(), Recorder()
    run_rows(tmp_path, *BITS, reporter=reporter)
    assert reporter.messages == ["resuming: 8 of 8 cells done"]
    assert (folder / "rows.jsonl").read_bytes() == before


@pytest.mark.parametrize("stop_after", [0, 1, 5])
def test_stopped_anywhere_and_resumed_gives_the_same_rows(stop_after, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_rows(tmp_path / "stopped", *BITS, reporter=Recorder(stop_after))
    rows = load_rows(tmp_path / "stopped" / "smoke" / "flickr" / "rows.jsonl", RetrievalExperiment.row_types())
    assert len(rows) == stop_after
    assert values(run_rows(tmp_path / "stopped", *BITS)) == values(run_rows(tmp_path / "whole", *BITS))


def test_values_do_not_depend_on_threads_memory_or_blocks(tmp_path, monkeypatch):
    found = []
    for name, resources, block in (
        ("a", Resources(threads=1), 1 << 27),
        ("b", Resources(threads=2, memory_bytes=2 << 30), 17 * 4 * 128),
        ("c", Resources(threads=2), 333 * 4 * 128),
    ):
        monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / name / "cache"))
        monkeypatch.setattr(cbe_bench.data.view, "_BLOCK_BYTES", block)
        found.append(values(run_rows(tmp_path / name, *BITS, "protocol=released-code", resources=resources)))
    assert found[0] == found[1] == found[2]


def test_released_code_protocol(tmp_path):
    rows = run_rows(tmp_path, *BITS, "protocol=released-code")
    assert rows[0].depths == tuple(range(10, 101, 10))
    assert [row.params for row in rows if row.encoder == "cbe-rand"] == 2 * [{"rows": "random"}]
    assert {row.protocol for row in rows} == {"released-code"}


def test_methods_are_run_at_code_lengths_of_equal_time(tmp_path):
    overrides = ("seeds=[0, 1]", "encoders=[cbe-rand, cbe-opt, hd3]")
    reporter = Recorder()
    rows = run_rows(tmp_path, *overrides, reporter=reporter)
    timed, recalls = encode_rows(rows), recall_rows(rows)
    assert {(row.encoder, row.n_bits) for row in timed} == {(name, k) for name in ("cbe-rand", "hd3") for k in LADDER}
    assert len(timed) == 2 * len(LADDER), "cbe-opt encodes as cbe-rand does"
    assert all((row.ok, row.batch, row.threads, len(row.rounds_us)) == (True, 64, 1, 1) for row in timed)
    times = EncodeTimes(rows)
    found = {(row.encoder, row.n_bits, row.seed) for row in recalls}
    expected = {k for target in (32, 64) for k in brackets(LADDER, times.bits("cbe-rand", target, "hd3"))} | {32, 64}
    assert {k for name, k, _ in found if name == "hd3"} == expected
    assert {k for name, k, _ in found if name == "cbe-opt"} == {32, 64}, "its own length takes the time of cbe-rand"
    assert len(reporter.ended) == len(timed) + len(recalls)
    again = Recorder()
    run_rows(tmp_path, *overrides, reporter=again)
    assert again.messages == ["resuming: 6 of 6 cells done", f"resuming: {len(recalls)} of {len(recalls)} cells done"]


def test_times_are_shared_by_experiments_unless_they_are_measured_again(tmp_path, fresh_cache):
    overrides = ("encoders=[cbe-rand, hd3]", "n_bits=[32]", "fixed=[time]")

    def samples(folder, *more, **options):
        rows = encode_rows(run_rows(tmp_path / folder, *overrides, *more, **options))
        return {(row.encoder, row.n_bits): row.samples_us for row in rows}

    first = samples("first")
    assert len(list((fresh_cache / "times").glob("*.json"))) == len(first) == 4
    assert samples("second", "seeds=[5]", "data.name=other") == first, "one timing counts once"
    more = samples("third", "n_bits=[32, 64]")
    assert more.items() > first.items()
    assert samples("fourth", "time_budget_s=0.03") != first
    (fresh_cache / "times" / next((fresh_cache / "times").iterdir()).name).write_text("torn")
    assert sum(value == first[key] for key, value in samples("fifth").items()) >= 3, "what is damaged is measured"
    assert samples("first") == first
    again = samples("first", rerun="all")
    assert not any(again[key] == first[key] for key in first)


def test_no_times_are_measured_where_time_is_not_fixed():
    assert cells_of(*BITS, stage=TIMES) == []
    assert {cell.spec.n_bits for cell in cells_of("fixed=[time]")} == set()


def test_every_method_is_timed_at_every_length_it_can_have():
    cells = cells_of("encoders=[cbe-rand, itq]", "n_bits=[32, 64, 256]", stage=TIMES)
    lengths = {name: [cell.spec.n_bits for cell in cells if cell.label == name] for name in ("cbe-rand", "itq")}
    assert lengths == {"cbe-rand": [16, 32, 64, 256], "itq": [16, 32, 64]}, "itq has at most d = 128 bits"
    assert len({cell.group for cell in cells}) == 1
    (label,) = {cell.label for cell in cells_of("encoders=[cbe-opt, cbe-rand]", stage=TIMES)}
    assert label == "cbe-rand", "the reference stands for what encodes alike"


def test_times_that_do_not_fit_memory_are_skipped_and_the_rest_runs(tmp_path, monkeypatch):
    large = {64: 4 << 30, 32: 1 << 20, 16: 1 << 20}
    monkeypatch.setattr("cbe_bench.LSH.memory_bytes", lambda self, n_features, n_train=0: large[self.n_bits])
    overrides = ("encoders=[cbe-rand, lsh]", "n_bits=[64]")
    rows = run_rows(tmp_path, *overrides, resources=Resources(memory_bytes=3 << 30))
    states = {(type(row).__name__, row.encoder, row.n_bits): row.status for row in rows}
    assert [states["TimingRow", "lsh", k] for k in LADDER] == ["ok", "ok", "skipped"]
    assert states["RetrievalRow", "cbe-rand", 64] == "ok"
    assert states["RetrievalRow", "lsh", 64] == "skipped"
    in_time = [
        status for (kind, name, k), status in states.items() if (kind, name) == ("RetrievalRow", "lsh") and k < 64
    ]
    assert in_time and set(in_time) == {"ok"}


def test_what_does_not_fit_memory_together_is_timed_apart():
    settings = ("data.keep_dims=null", "n_bits=[3200, 25600]", "encoders=[cbe-rand, lsh]")
    together, apart = (cells_of(*settings, stage=TIMES, memory=gib << 30, scale="quick") for gib in (8, 4))
    assert len({cell.group for cell in together}) == 1
    assert len({cell.group for cell in apart}) == 2
    assert {cell.spec.n_bits for cell in together} == {25, 50, 100, 200, 400, 800, 1600, 3200, 25600}


def test_cells_over_the_memory_limit_are_skipped_with_the_estimate(tmp_path):
    rows = run_rows(tmp_path, *BITS, resources=Resources(memory_bytes=100 << 20))
    assert {row.status for row in rows} == {"skipped"}
    assert all("100 MiB" in row.reason and row.memory_estimate_bytes > 100 << 20 for row in rows)
    assert all(row.ok for row in run_rows(tmp_path, *BITS)), "what was skipped is judged again"


def test_a_shorter_code_is_not_skipped_for_a_longer_one(tmp_path):
    overrides = ("encoders=[lsh]", "fixed=[bits]", "n_bits=[32, 64, 20000]")
    limit = max(cell.memory_bytes for cell in cells_of(*overrides) if cell.spec.n_bits == 64)
    rows = {row.n_bits: row for row in run_rows(tmp_path, *overrides, resources=Resources(memory_bytes=limit))}
    assert {k: row.status for k, row in rows.items()} == {20_000: "skipped", 64: "ok", 32: "ok"}
    assert rows[32].fit_s == rows[64].fit_s, "one encoder, whose codes are nested"


def test_estimates_grow_with_the_work():
    cells = cells_of("data.keep_dims=null", "fixed=[bits]", "n_bits=[3200, 25600]", scale="paper", memory=24 << 30)
    cell = {(cell.label, cell.spec.n_bits): cell for cell in cells}
    assert cell["lsh", 25_600].seconds > 20 * cell["cbe-rand", 25_600].seconds
    assert cell["lsh", 25_600].seconds > 2 * cell["lsh", 3_200].seconds, "nested codes are encoded once"
    assert cell["lsh", 25_600].memory_bytes > 2 << 30
    assert all(one.memory_bytes < 24 << 30 for one in cells), "all fit, with the database cached"


def test_a_failing_encoder_is_a_row_not_a_crash(tmp_path, monkeypatch):
    from cbe_bench import LSH

    def broken(self, X, y, rng):
        raise ArithmeticError("on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(LSH, "_fit", broken)
        rows = run_rows(tmp_path, *BITS)
    failed = [row for row in rows if not row.ok]
    assert {(row.encoder, row.reason) for row in failed} == {("lsh", "ArithmeticError: on purpose")}
    assert all(row.ok for row in run_rows(tmp_path, *BITS, rerun="failed"))


def test_labels_and_pairs_reach_training(tmp_path):
    rows = run_rows(tmp_path, "n_bits=[64]", config="semisup")
    assert len(rows) == 5
    assert all(0.4 < row.averaged_auc < 1 for row in rows)
    assert len({row.averaged_auc for row in rows}) == 5
    for row in rows:
        assert np.all(np.diff(row.objective_history) <= 1e-6 * abs(row.objective_history[0]))


def test_every_field_of_the_spec_changes_the_key():
    (cell,) = cells_of("encoders=[cbe-opt]", "fixed=[bits]", "n_bits=[32]")
    for field in fields(cell.spec):
        value = getattr(cell.spec, field.name)
        other = {**value, "lam": 2} if isinstance(value, dict) else f"{value}x" if isinstance(value, str) else value + 1
        assert replace(cell, spec=replace(cell.spec, **{field.name: other})).key != cell.key, field.name
    assert replace(cell, code="other code").key != cell.key


@pytest.mark.parametrize(
    "override",
    [
        "auc=true",
        "n_train=400",
        "n_database=900",
        "n_queries=49",
        "n_neighbours=9",
        "depth=90",
        "protocol=released-code",
        "data.keep_dims=127",
        "seeds=[1]",
        "n_bits=[31]",
        "encoders=[{name: cbe-opt, n_train: 100}]",
        "encoders=[{name: cbe-opt, params: {lam: 2}}]",
        "encoders=[bilinear-opt]",
    ],
)
def test_every_key_of_the_configuration_that_decides_a_value_is_in_the_key(override):
    settings = ("encoders=[cbe-opt]", "fixed=[bits]", "n_bits=[32]")
    (before,), (after,) = cells_of(*settings), cells_of(*settings, override)
    assert before.key != after.key


def test_the_training_set_a_smaller_one_is_drawn_from_counts():
    settings = ("encoders=[{name: cbe-opt, n_train: 100}]", "fixed=[bits]", "n_bits=[32]")
    (before,), (after,) = cells_of(*settings), cells_of(*settings, "n_train=400")
    assert before.spec.n_train == after.spec.n_train == 100
    assert before.key != after.key
    (before,), (after,) = (cells_of(*settings, "encoders=[lsh]", n) for n in ("n_train=500", "n_train=400"))
    assert before.key == after.key, "data-independent methods do not depend on it"


@pytest.fixture
def user_file(tmp_path):
    with h5py.File(tmp_path / "mine.h5", "w") as file:
        file["features"] = np.random.default_rng(0).standard_normal((1200, 40)).astype(np.float32)
    return tmp_path / "mine.h5"


MINE = ("data.keep_dims=null", "data.dim=40", "n_bits=[16]", "n_database=100", "n_queries=5", "n_train=50")


@pytest.mark.parametrize("fixed", ["bits", "time"])
def test_bad_rows_of_a_later_seed_end_the_run_before_it_begins(fixed, tmp_path, user_file):
    settings = ("seeds=[0, 1]", *MINE, "encoders=[cbe-rand]", f"fixed=[{fixed}]", f"data.file={user_file}")
    config = load_config(CONFIGS / "flickr.yaml", "smoke", settings)
    with opened(config, Resources(), Silent()) as experiment:
        used = [experiment.task.split(seed) for seed in (0, 1)]
    only_later = min(set(used[1].database) - set(used[0].database) - set(used[0].queries))
    with h5py.File(user_file, "a") as file:
        file["features"][only_later] = np.nan
    with pytest.raises(InputError, match=f"row {only_later} holds NaN"):
        run_rows(tmp_path / "out", *settings)
    assert not list((tmp_path / "out").rglob("rows.jsonl"))


def test_seeds_with_results_are_not_checked_again(tmp_path, user_file, monkeypatch):
    settings = (*MINE, "encoders=[cbe-rand]", "fixed=[bits]", f"data.file={user_file}")
    run_rows(tmp_path, *settings, "seeds=[0, 1]")
    checked = []
    monkeypatch.setattr(
        "cbe_bench.evaluators.retrieval.experiment.check_rows", lambda features, rows: checked.append(len(rows))
    )
    run_rows(tmp_path, *settings, "seeds=[0, 1, 2]")
    assert checked == [], "the one seed that is left is checked as its neighbours are searched"
    run_rows(tmp_path, *settings, "seeds=[0, 1, 2, 3, 4]")
    assert len(checked) == 1 and 105 < checked[0] <= 2 * 105


def test_the_plan_lists_what_is_known(tmp_path):
    config = load_config(CONFIGS / "flickr.yaml", "smoke", [*SMALL, "encoders=[cbe-rand, lsh]"])
    with opened(config, Resources(), Silent()) as experiment:
        cells = plan(experiment, job_of(experiment, "smoke", tmp_path, ""))
        assert "1,000 database rows, 50 queries, d = 128" in experiment.headline
    foreseen = [one.cell for one in cells if "(about the time of cbe-rand)" in one.cell.title]
    assert len(cells) == 2 * len(LADDER) + 4 + len(foreseen)
    assert {cell.label for cell in foreseen} <= {"lsh"}, "those that lsh has in the time of cbe-rand"
    assert {cell.spec.n_bits for cell in foreseen} <= {16}, "the others are common code lengths"
    assert {one.state for one in cells} == {"to run"}
    assert not list(tmp_path.iterdir())


def test_code_lengths_are_foreseen_by_operations_and_then_follow_from_times(tmp_path):
    """At d = 128 a circulant product counts as 5 d log2 d operations and more, one bit of lsh as 2 d."""
    settings = load_config(CONFIGS / "flickr.yaml", "smoke", [*SMALL, "encoders=[cbe-rand, lsh]", "fixed=[time]"])
    with opened(settings, Resources(), Silent()) as experiment:
        cells = experiment.expected_cells(RECALL, [])
        cost = make_encoder("cbe-rand", n_bits=32).cost_estimate(128) / (2 * 128)
        assert {cell.spec.n_bits for cell in cells if cell.label == "lsh"} == set(brackets(LADDER, [cost]))
        assert {cell.spec.n_bits for cell in cells if cell.label == "cbe-rand"} == {32, 64}
        rows = runner.run(experiment, job_of(experiment, "smoke", tmp_path, ""), Silent()).rows
        now = {cell.key for cell in experiment.cells(RECALL, rows)}
        assert (
            {cell.key for cell in experiment.expected_cells(RECALL, rows)} == now == {r.key for r in recall_rows(rows)}
        )
