"""The run verb, through its real command line."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.config import load_config
from cbe_bench.core.environment import limited_memory
from cbe_bench.core.results import load_experiment, load_rows
from cbe_bench.kernels import parallel
from cbe_bench.runner import open_data
from cbe_bench.runner import retrieval as runner

CONFIG = str(Path("configs/flickr.yaml").resolve())
SMALL = ["--set", "seeds=[0]", "--set", "bits=[32, 64]", "--set", "data.keep_dims=128"]
SMALL += ["--set", "encoders=[cbe-rand, cbe-orth, bilinear-rand, lsh]", "--set", "fixed=[bits]"]
VALUES = ("key", "status", "recall", "recall_asymmetric")


def run(*args, code=0):
    result = CliRunner().invoke(main, ["run", CONFIG, "--scale", "smoke", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def rows_in(out, scale="smoke"):
    return load_rows(out / scale / "flickr" / "rows.jsonl")


def values(rows):
    return sorted(tuple(json.dumps(row.get(name)) for name in VALUES) for row in rows)


class Silent:
    """A reporter that stops the run after some cells."""

    def __init__(self, stop_after=None):
        self.ended = []
        self.stop_after = stop_after

    def message(self, text): ...
    def begin(self, n_cells, seconds): ...
    def step(self, what, seconds): ...
    def share(self, done):
        if self.stop_after is not None and len(self.ended) == self.stop_after:
            raise KeyboardInterrupt

    def end(self, line, notes=()):
        self.ended.append(line)


def test_smoke_run_writes_rows_tables_and_figures(tmp_path):
    result = run("--out", tmp_path, *SMALL)
    assert "data/flickr25600.h5 is not here: using a synthetic stand-in" in result.output
    folder = tmp_path / "smoke" / "flickr"
    names = {path.name for path in folder.iterdir()}
    figures = {f"{name}.{kind}" for name in ("recall", "recall-asymmetric") for kind in ("png", "pdf")}
    assert names == {"rows.jsonl", "experiment.json", "environments.json", "table.csv", "recall.csv"} | figures
    rows = rows_in(tmp_path)
    assert len(rows) == 8
    assert {row["status"] for row in rows} == {"ok"}
    assert {row["data_kind"] for row in rows} == {"synthetic"}
    for row in rows:
        assert row["depths"] == list(range(1, 101))
        assert np.all(np.diff(row["recall"]) >= 0)
        assert row["environment"] in json.loads((folder / "environments.json").read_text())
    experiment = load_experiment(folder)
    assert experiment.about.command.startswith(f"cbe-bench run {CONFIG} --scale smoke --set 'seeds=[0]' --set")
    assert [row["label"] for row in experiment.rows] == [row["encoder"] for row in rows]
    table = pd.read_csv(folder / "table.csv")
    assert list(table["data_kind"].unique()) == ["synthetic"]
    assert len(table) == 8
    curves = pd.read_csv(folder / "recall.csv")
    one = curves.query("encoder == 'lsh' and bits == 64 and scoring == 'symmetric' and depth == 10")
    row = next(row for row in rows if (row["encoder"], row["n_bits"]) == ("lsh", 64))
    assert one["mean"].item() == pytest.approx(row["recall"][9], rel=1e-5)


def test_second_run_has_nothing_to_do_and_says_so(tmp_path):
    run("--out", tmp_path, *SMALL)
    before = (tmp_path / "smoke" / "flickr" / "rows.jsonl").read_bytes()
    result = run("--out", tmp_path, *SMALL)
    assert "going on: 8 of 8 cells are in" in result.output
    assert (tmp_path / "smoke" / "flickr" / "rows.jsonl").read_bytes() == before


def plan_for(out, *overrides, rerun=None):
    config = load_config(CONFIG, "smoke", [*SMALL[1::2], *overrides])
    features = open_data(config, Silent())
    rows_file = out / "smoke" / "flickr" / "rows.jsonl"
    return runner.make_plan(config, "smoke", features, rows_file, rerun=rerun), rows_file


@pytest.mark.parametrize("stop_after", range(8))
def test_stopped_anywhere_and_started_again_gives_the_same_rows(stop_after, tmp_path):
    run("--out", tmp_path / "whole", *SMALL)
    plan, rows_file = plan_for(tmp_path / "stopped")
    with pytest.raises(KeyboardInterrupt):
        runner.run_plan(plan, rows_file, Silent(stop_after))
    assert len(load_rows(rows_file)) == stop_after
    run("--out", tmp_path / "stopped", *SMALL)
    assert values(rows_in(tmp_path / "stopped")) == values(rows_in(tmp_path / "whole"))


def test_interrupt_ends_with_code_130_and_a_hint(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("cbe_bench.runner.retrieval.run_plan", interrupted)
    result = run("--out", tmp_path, *SMALL, code=130)
    assert "the same command goes on from here" in result.output


def test_rows_do_not_depend_on_threads_or_block_size(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / "one"))
    seen = []
    for folder, threads, block_rows in (("a", 1, None), ("b", 2, 17), ("c", 2, 333)):
        monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / folder / "cache"))
        plan, rows_file = plan_for(tmp_path / folder, "protocol=released-code")
        with parallel.threads(threads):
            runner.run_plan(plan, rows_file, Silent(), block_rows=block_rows)
        seen.append(values(load_rows(rows_file)))
    assert seen[0] == seen[1] == seen[2]


def test_released_code_protocol(tmp_path):
    run("--out", tmp_path, *SMALL, "--set", "protocol=released-code")
    rows = rows_in(tmp_path)
    assert rows[0]["depths"] == list(range(10, 101, 10))
    assert {json.dumps(row["params"]) for row in rows if row["encoder"] == "cbe-rand"} == {'{"rows": "random"}'}
    assert {row["protocol"] for row in rows} == {"released-code"}


def test_cells_over_the_memory_limit_are_skipped_with_the_estimate(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--memory-limit", "100MiB")
    rows = rows_in(tmp_path)
    assert {row["status"] for row in rows} == {"skipped"}
    assert all("the memory limit is 100 MiB" in row["reason"] for row in rows)
    assert "8 skipped" in result.output
    again = run("--out", tmp_path, *SMALL)
    assert "8 ok" in again.output, "what was skipped is judged anew"


def test_timeout_ends_a_cell_not_the_run(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--timeout", "1e-9", code=1)
    assert {row["status"] for row in rows_in(tmp_path)} == {"timeout"}
    assert "8 timeout" in result.output
    run("--out", tmp_path, *SMALL, "--rerun", "failed")
    assert {row["status"] for row in rows_in(tmp_path)} == {"ok"}


def test_a_failing_encoder_is_a_row_not_a_crash(tmp_path, monkeypatch):
    from cbe_bench import LSH

    def broken(self, X, y, rng):
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(LSH, "_fit", broken)
    result = run("--out", tmp_path, *SMALL, code=1)
    failed = [row for row in rows_in(tmp_path) if row["status"] == "failed"]
    assert {row["encoder"] for row in failed} == {"lsh"}
    assert {row["reason"] for row in failed} == {"ArithmeticError: on purpose"}
    assert "6 ok, 2 failed" in result.output
    table = pd.read_csv(tmp_path / "smoke" / "flickr" / "table.csv")
    assert table["not_ok"].dropna().unique().tolist() == ["failed: ArithmeticError: on purpose"]


def test_rerun_all_computes_again(tmp_path):
    run("--out", tmp_path, *SMALL)
    run("--out", tmp_path, *SMALL, "--rerun", "all")
    lines = (tmp_path / "smoke" / "flickr" / "rows.jsonl").read_text().splitlines()
    assert len(lines) == 16
    assert len(rows_in(tmp_path)) == 8


def test_labels_are_those_of_the_run_that_asks(tmp_path):
    run("--out", tmp_path, *SMALL, "--set", "encoders=[lsh]")
    run("--out", tmp_path, *SMALL, "--set", "encoders=[{name: lsh, label: full matrix}]")
    assert set(pd.read_csv(tmp_path / "smoke" / "flickr" / "table.csv")["encoder"]) == {"full matrix"}


def test_a_shorter_code_is_not_skipped_for_a_longer_one(tmp_path):
    config = load_config(CONFIG, "quick", ["encoders=[lsh]", "seeds=[0]", "fixed=[bits]"])

    def cells(limit):
        with limited_memory(limit):
            return runner.make_plan(config, "quick", open_data(config, Silent()), tmp_path / "none").cells

    assert {cell.encoded_bits for cell in cells(24 << 30)} == {25_600}
    tight = max(cell.memory_bytes for cell in cells(1 << 30) if cell.n_bits == 12_800)
    fitting = [cell for cell in cells(tight) if cell.memory_bytes <= tight]
    assert {(cell.n_bits, cell.encoded_bits) for cell in fitting} == {(k, 12_800) for k in (3_200, 6_400, 12_800)}


def test_bad_rows_of_a_later_seed_end_the_run_before_it_begins(tmp_path, user_file):
    args = ["--set", "data.dim=40", "--set", "bits=[16]", "--set", "database=100", "--set", "queries=5"]
    args += ["--set", "learn=50"]
    config = load_config(CONFIG, "smoke", [f"data.file={user_file}", *args[1::2], "seeds=[0, 1]"])
    with open_data(config, Silent()) as features:
        used = [runner._split(config, features, seed) for seed in (0, 1)]
    only_later = min(set(used[1].database) - set(used[0].database) - set(used[0].queries))
    with h5py.File(user_file, "a") as file:
        file["features"][only_later] = np.nan
    both = ["--set", f"data.file={user_file}", *args, "--set", "seeds=[0, 1]"]
    result = run("--out", tmp_path / "out", *both, code=2)
    assert f"row {only_later} holds NaN" in result.output
    assert not list((tmp_path / "out").rglob("rows.jsonl"))


def test_dry_run_lists_and_writes_nothing(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--dry-run")
    assert "bilinear-rand" in result.output
    assert "8 cells to run" in result.output
    assert list(tmp_path.iterdir()) == []


def test_padded_bits_are_noted(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--set", "bits=[127]", "--set", "encoders=[bilinear-rand]")
    assert "note: bilinear-rand: 127 bits have no sides that fit" in result.output


@pytest.fixture
def user_file(tmp_path):
    data = np.random.default_rng(0).standard_normal((1200, 40)).astype(np.float32)
    path = tmp_path / "mine.h5"
    with h5py.File(path, "w") as file:
        file["features"] = data
    return path


MINE = ["--set", "data.keep_dims=null", "--set", "bits=[16]", "--set", "seeds=[0]"]
MINE += ["--set", "fixed=[bits]", "--set", "encoders=[cbe-rand, lsh]"]


def test_a_user_file_is_used_and_named(tmp_path, user_file):
    result = run("--out", tmp_path / "out", "--set", f"data.file={user_file}", *MINE)
    assert "mine (user): 1,000 database rows, 50 queries, d = 40" in result.output
    rows = load_rows(tmp_path / "out" / "smoke" / "mine" / "rows.jsonl")
    assert {(row["data"], row["data_kind"]) for row in rows} == {("mine", "user")}


@pytest.mark.parametrize(
    "spoil, message",
    [
        (
            lambda data: data[:149],
            "149 rows; 50 queries and a database of at least 100 need 150",
        ),
        (
            lambda data: np.where(np.arange(len(data))[:, None] == 7, np.nan, data),
            "mine.h5: row 7 holds NaN or infinite",
        ),
        (lambda data: np.zeros_like(data), "hold only zeros"),
        (lambda data: data[:, :39], "has 39 dimensions; data.dim says 40"),
        (lambda data: data.astype(int), "is int64; allowed: float16, float32, float64"),
    ],
)
def test_bad_files_end_with_one_line_and_nothing_written(spoil, message, tmp_path, user_file):
    with h5py.File(user_file, "a") as file:
        data = spoil(file["features"][:])
        del file["features"]
        file["features"] = data
    result = run(
        "--out",
        tmp_path / "out",
        "--set",
        f"data.file={user_file}",
        *MINE,
        "--set",
        "data.dim=40",
        "--set",
        "database=1150",
        code=2,
    )
    assert message in result.output
    assert "Traceback" not in result.output
    assert result.output.splitlines()[-1].startswith("error: ")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


def test_missing_file_asked_for_by_name(tmp_path):
    result = run("--out", tmp_path, "--set", "data.file=nowhere.h5", code=2)
    assert result.output == "error: nowhere.h5: no such file\n"


def test_bad_arguments(tmp_path):
    assert "did you mean" in CliRunner().invoke(main, ["run", "configs/flikr.yaml"]).output
    assert "is not a size" in run("--memory-limit", "lots", code=2).output
    blocked = tmp_path / "smoke"
    blocked.mkdir()
    (blocked / "flickr").write_text("in the way")
    assert "results cannot be written there" in run("--out", tmp_path, code=2).output
    assert "results cannot be written there" in run("--out", "/proc/nowhere", code=2).output
    assert "is not a size" in run("--memory-limit", "1.2.3", code=2).output


def test_module_and_command_are_the_same():
    for command in ([sys.executable, "-m", "cbe_bench"], [str(Path(sys.executable).parent / "cbe-bench")]):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert result.stdout.startswith("cbe-bench, version")


def test_estimates_grow_with_the_work():
    with limited_memory(24 << 30):
        config = load_config("configs/flickr.yaml", "paper")
        plan = runner.make_plan(config, "paper", open_data(config, Silent()), Path("none"))
    cell = {(cell.encoder.name, cell.n_bits, cell.seed): cell for cell in plan.cells}
    assert cell["lsh", 25_600, 0].seconds > 20 * cell["cbe-rand", 25_600, 0].seconds
    assert cell["lsh", 25_600, 0].memory_bytes > 2 << 30
    assert all(c.memory_bytes < 6 << 30 for c in plan.cells)


def test_cbe_rand_and_lsh_are_alike_at_equal_bits(tmp_path):
    """The paper's main claim at equal bits, on the stand-in: recall within noise of each other."""
    run(
        "--out",
        tmp_path,
        "--set",
        "encoders=[cbe-rand, lsh]",
        "--set",
        "seeds=[0, 1, 2, 3]",
        "--set",
        "bits=[128, 512]",
    )
    curves = pd.read_csv(tmp_path / "smoke" / "flickr" / "recall.csv").query("scoring == 'symmetric' and depth == 50")
    means = curves.pivot(index="bits", columns="encoder", values="mean")
    assert (means["cbe-rand"] - means["lsh"]).abs().max() < 0.04
