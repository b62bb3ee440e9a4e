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
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import load_rows
from cbe_bench.evaluators.base import experiment_class, load_experiment
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened, run_experiment
from cbe_bench.reports.page import load_results

pytestmark = pytest.mark.usefixtures("png_only")

CONFIG = str(Path("configs/flickr.yaml").resolve())
SMALL = ["--set", "seeds=[0]", "--set", "n_bits=[32, 64]", "--set", "data.keep_dims=128"]
SMALL += ["--set", "encoders=[cbe-rand, cbe-orth, bilinear-rand, lsh]", "--set", "fixed=[bits]"]
VALUES = ("key", "status", "recall", "recall_asymmetric")


def run(*args, code=0):
    result = CliRunner().invoke(main, ["run", CONFIG, "--scale", "smoke", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def rows_in(out, name="flickr"):
    types = experiment_class("retrieval").row_types()
    return load_rows(out / "smoke" / name / "rows.jsonl", types)


def values(rows):
    return sorted(tuple(json.dumps(getattr(row, name)) for name in VALUES) for row in rows)


class Stopping(Silent):
    """A reporter that stops the run within a cell, once some have ended."""

    def __init__(self, stop_after):
        self.ended, self.stop_after = 0, stop_after

    def advance(self, fraction):
        if self.ended == self.stop_after:
            raise KeyboardInterrupt

    def end(self, line, notes=()):
        self.ended += 1


def run_directly(out, reporter, *overrides, threads=None):
    config = load_config(CONFIG, "smoke", [*SMALL[1::2], *overrides])
    with opened(config, Resources(threads), reporter) as experiment:
        return run_experiment(experiment, job_of(experiment, "smoke", out, "cbe-bench run"), reporter)


def test_smoke_run_writes_rows_tables_and_figures(tmp_path):
    result = run("--out", tmp_path, *SMALL)
    assert "data/flickr25600.h5 is absent: using a synthetic surrogate" in result.output
    folder = tmp_path / "smoke" / "flickr"
    names = {path.name for path in folder.iterdir()}
    drawn = ("recall", "recall-asymmetric", "differences")
    figures = {f"{name}.{kind}" for name in drawn for kind in ("png", "pdf", "svg")}
    tables = {"table.csv", "recall.csv", "differences.csv"}
    assert names == {"rows.jsonl", "experiment.json", "environments.json"} | tables | figures
    rows = rows_in(tmp_path)
    assert len(rows) == 8
    assert {row.status for row in rows} == {"ok"}
    assert {row.data_kind for row in rows} == {"synthetic"}
    for row in rows:
        assert row.depths == tuple(range(1, 101))
        assert np.all(np.diff(row.recall) >= 0)
        assert row.environment in json.loads((folder / "environments.json").read_text())
    experiment = load_experiment(folder)
    assert experiment.description.command.startswith(f"cbe-bench run {CONFIG} --scale smoke --set 'seeds=[0]' --set")
    assert [row.label for row in experiment.rows] == [row.encoder for row in rows]
    table = pd.read_csv(folder / "table.csv")
    assert list(table["data_kind"].unique()) == ["synthetic"]
    assert len(table) == 8
    curves = pd.read_csv(folder / "recall.csv")
    one = curves.query("encoder == 'lsh' and n_bits == 64 and scoring == 'symmetric' and depth == 10")
    row = next(row for row in rows if (row.encoder, row.n_bits) == ("lsh", 64))
    assert one["mean"].item() == pytest.approx(row.recall[9], rel=1e-5)


def test_second_run_has_nothing_to_do_and_says_so(tmp_path):
    run("--out", tmp_path, *SMALL)
    before = (tmp_path / "smoke" / "flickr" / "rows.jsonl").read_bytes()
    result = run("--out", tmp_path, *SMALL)
    assert "resuming: 8 of 8 cells done" in result.output
    assert (tmp_path / "smoke" / "flickr" / "rows.jsonl").read_bytes() == before


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results of a run that was not stopped."""
    out = tmp_path_factory.mktemp("whole")
    run("--out", out, *SMALL)
    return out


@pytest.mark.parametrize("stop_after", range(8))
def test_stopped_anywhere_and_resumed_gives_the_same_rows(stop_after, whole, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_directly(tmp_path / "stopped", Stopping(stop_after))
    assert len(rows_in(tmp_path / "stopped")) == stop_after
    if stop_after:
        interrupted = load_experiment(tmp_path / "stopped" / "smoke" / "flickr")
        assert len(interrupted.description.labels) == 8, "an interrupted run can be read"
    run("--out", tmp_path / "stopped", *SMALL)
    assert values(rows_in(tmp_path / "stopped")) == values(rows_in(whole))


def test_interrupt_ends_with_code_130_and_a_hint(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("cbe_bench.evaluators.run.run", interrupted)
    result = run("--out", tmp_path, *SMALL, code=130)
    assert "the same command resumes" in result.output


def test_rows_do_not_depend_on_threads_or_memory(tmp_path, monkeypatch):
    seen = []
    for folder, threads in (("a", 1), ("b", 2), ("c", 3)):
        monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / folder / "cache"))
        run_directly(tmp_path / folder, Silent(), "protocol=released-code", threads=threads)
        seen.append(values(rows_in(tmp_path / folder)))
    assert seen[0] == seen[1] == seen[2]


def test_released_code_protocol(tmp_path):
    run("--out", tmp_path, *SMALL, "--set", "protocol=released-code")
    rows = rows_in(tmp_path)
    assert rows[0].depths == tuple(range(10, 101, 10))
    assert {json.dumps(row.params) for row in rows if row.encoder == "cbe-rand"} == {'{"rows": "random"}'}
    assert {row.protocol for row in rows} == {"released-code"}


def test_cells_over_the_memory_limit_are_skipped_with_the_estimate(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--memory-limit", "100MiB")
    rows = rows_in(tmp_path)
    assert {row.status for row in rows} == {"skipped"}
    assert all("the memory limit is 100 MiB" in row.reason for row in rows)
    assert "8 skipped" in result.output
    again = run("--out", tmp_path, *SMALL)
    assert "8 ok" in again.output, "what was skipped is judged again"


def test_timeout_ends_a_cell_not_the_run(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--timeout", "1e-9", code=1)
    assert {row.status for row in rows_in(tmp_path)} == {"timeout"}
    assert "8 timeout" in result.output
    run("--out", tmp_path, *SMALL, "--rerun", "failed")
    assert {row.status for row in rows_in(tmp_path)} == {"ok"}


def test_a_failing_encoder_is_a_row_not_a_crash(tmp_path, monkeypatch):
    from cbe_bench import LSH

    def broken(self, X, y, rng):
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(LSH, "_fit", broken)
    result = run("--out", tmp_path, *SMALL, code=1)
    failed = [row for row in rows_in(tmp_path) if row.status == "failed"]
    assert {row.encoder for row in failed} == {"lsh"}
    assert {row.reason for row in failed} == {"ArithmeticError: on purpose"}
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


def test_dry_run_lists_and_writes_nothing(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--dry-run")
    assert "bilinear-rand" in result.output
    assert "8 cells to run" in result.output
    assert list(tmp_path.iterdir()) == []


def test_padded_bits_are_noted(tmp_path):
    result = run("--out", tmp_path, *SMALL, "--set", "n_bits=[127]", "--set", "encoders=[bilinear-rand]")
    assert "note: bilinear-rand: 127 bits have no sides that fit" in result.output


@pytest.fixture
def user_file(tmp_path):
    data = np.random.default_rng(0).standard_normal((1200, 40)).astype(np.float32)
    path = tmp_path / "mine.h5"
    with h5py.File(path, "w") as file:
        file["features"] = data
    return path


MINE = ["--set", "data.keep_dims=null", "--set", "n_bits=[16]", "--set", "seeds=[0]"]
MINE += ["--set", "fixed=[bits]", "--set", "encoders=[cbe-rand, lsh]"]


def test_all_rows_of_a_user_file_are_used_and_the_answer_comes_first(tmp_path, user_file):
    own = ["--out", tmp_path / "out", "--set", f"data.file={user_file}", *MINE, "--set", "n_bits=[8, 64]"]
    own += ["--set", "encoders=[cbe-rand, lsh, itq]"]
    result = run(*own)
    assert "mine (user): 1,150 database rows, 50 queries, d = 40, centred; cbe-rand" in result.output
    assert "left out: itq at 64 bits" in result.output
    rows = rows_in(tmp_path / "out", "mine")
    assert {(row.data, row.data_kind) for row in rows} == {("mine", "user")}
    assert {(row.encoder, row.n_bits) for row in rows} == {
        (label, k) for label in ("cbe-rand", "lsh", "itq") for k in (8, 64) if label != "itq" or k == 8
    }
    assert {row.n_database for row in rows} == {1150} and all(row.params["center"] for row in rows)
    assert {row.encode_us_per_vector > 0 for row in rows} == {True}
    best = max((row for row in rows if row.n_bits == 64), key=lambda row: row.recall[-1])
    answer = f"mine: {best.encoder} with 64 bits (8 bytes) finds {best.recall[-1]:.3f} of the 10 nearest by cosine"
    assert answer in result.stdout and result.stdout.index(answer) < result.stdout.index("recall@100 by code length")
    assert "F-bits-lsh" not in result.output, "verdicts on the paper are not what was asked for"
    facts = load_results(tmp_path / "out" / "smoke")
    assert facts["title"] == "Binary codes for mine" and facts["findings"][0].startswith(answer)


def test_rows_of_zeros_of_a_user_file_are_skipped_and_counted(tmp_path, user_file):
    with h5py.File(user_file, "a") as file:
        file["features"][5] = file["features"][700] = 0
        whole = file["features"][:]
    np.save(tmp_path / "others.npy", np.delete(whole, [5, 700], axis=0))
    out = ["--out", tmp_path / "out", *MINE, "--set", "encoders=[cbe-rand, itq]"]
    result = run(*out, "--set", f"data.file={user_file}")
    assert "2 rows of zeros are skipped: zeros have no direction\nmine (user): 1,148 database rows" in result.output
    assert "resuming: 2 of 2 cells done" in run(*out, "--set", f"data.file={user_file}").output, "known by now"
    run(*out, "--set", f"data.file={tmp_path / 'others.npy'}")
    found, same = (
        [(row.encoder, row.recall) for row in rows_in(tmp_path / "out", name)] for name in ("mine", "others")
    )
    assert found == same
    whole[900, 3] = np.nan
    np.save(tmp_path / "nan.npy", whole)
    assert "nan.npy: row 900 holds NaN" in run(*out, "--set", f"data.file={tmp_path / 'nan.npy'}", code=2).output


def test_one_of_several_datasets_of_a_user_file_is_used(tmp_path, user_file):
    with h5py.File(user_file, "a") as file:
        file["a"], file["b/c"] = file["features"][:, :10], file["features"][:, :24]
        del file["features"]
    own = ["--out", tmp_path / "out", "--set", f"data.file={user_file}", *MINE]
    assert "found: a, b/c; choose with --dataset" in run(*own, code=2).output
    result = run(*own, "--set", "data.dataset=b/c")
    assert "50 queries, d = 24" in result.output


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
        "n_database=1150",
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


def test_cbe_rand_and_lsh_are_alike_at_equal_bits(tmp_path):
    """The paper's main claim at equal bits, on the synthetic surrogate: recall within noise of each other."""
    run(
        "--out",
        tmp_path,
        "--set",
        "encoders=[cbe-rand, lsh]",
        "--set",
        "seeds=[0, 1, 2, 3]",
        "--set",
        "n_bits=[128, 512]",
    )
    curves = pd.read_csv(tmp_path / "smoke" / "flickr" / "recall.csv").query("scoring == 'symmetric' and depth == 50")
    means = curves.pivot(index="n_bits", columns="encoder", values="mean")
    assert (means["cbe-rand"] - means["lsh"]).abs().max() < 0.04
