"""The experiment on angles: its verdicts from rows made up, its runs through the real command line."""

import math
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from cbe_bench import reports
from cbe_bench.cli import angles as verb
from cbe_bench.cli import main
from cbe_bench.config import load_config
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import load_rows
from cbe_bench.evaluators import theory
from cbe_bench.evaluators.pairs import KINDS
from cbe_bench.reports.angles import theory_verdicts
from cbe_bench.runner import angles as runner
from cbe_bench.runner.angles import numbers_of_bits

CONFIG = str(Path("configs/angles.yaml").resolve())
TINY = ["dims=[16, 32]", "draws=200", "vectors=10", "data.file=null", "data.keep_dims=64", "feature_draws=2"]


# Verdicts, from rows made up


def made_up(method, pair, d, *, ratio=1.0, shift=0.0, draws=20_000, spread=None):
    """Return the row of a cell whose variance is `ratio` times that of independent bits; ratio may depend on k."""
    bits, angles = numbers_of_bits(d), [math.pi / 3, math.pi / 2]
    of = ratio if callable(ratio) else lambda k: ratio
    variance = [[of(k) * theory.iid_variance(theta, k) for k in bits] for theta in angles]
    return {
        "status": "ok",
        "part": "simulation",
        "method": method,
        "pair": pair,
        "n_features": d,
        "draws": draws,
        "angles": angles,
        "bits": bits,
        "spreads": [spread or d**-0.5] * 2,
        "mean": [theta / math.pi + shift for theta in angles],
        "variance": variance,
        "kurtosis": [[3.0 for _ in bits] for _ in angles],
        "beyond_2_sigma": [0, 0],
        "beyond_3_sigma": [0, 0],
        "beyond_theorem2": [[0 for _ in bits] for _ in angles],
    }


def verdict_of(claim, *rows):
    table = theory_verdicts(list(rows))
    return table[table["claim"] == claim]["verdict"].tolist()


def test_verdicts_on_the_mean():
    assert verdict_of("S4-mean", made_up("cbe-rand", "dense", 256)) == ["reproduced"]
    assert verdict_of("S4-mean", made_up("cbe-rand", "dense", 256, shift=0.01)) == ["not reproduced"]
    assert verdict_of("S4-mean", made_up("cbe-rand", "dense", 16, draws=100)) == ["not tested"]
    assert verdict_of("S4-mean", made_up("hd3", "dense", 256, shift=0.1)) == []


def test_verdicts_on_theorem1():
    small = made_up("cbe-rand", "flat", 4096)
    assert verdict_of("S4-var", small) == ["vacuous"]
    assert verdict_of("S4-var", made_up("cbe-rand", "flat", 65_536)) == ["reproduced"]
    assert verdict_of("S4-var", small, made_up("cbe-rand", "flat", 65_536)) == ["vacuous", "reproduced"]
    all_the_same = made_up("cbe-rand", "flat", 65_536, ratio=lambda k: k)
    assert verdict_of("S4-var", small, all_the_same) == ["vacuous", "not reproduced"]


def test_verdicts_on_theorem2():
    assert verdict_of("S4-tail", made_up("cbe-rand", "flat", 4096)) == ["vacuous"]
    imagined = made_up("cbe-rand", "flat", 65_536, spread=1e-8)  # as if there were dimensions enough
    assert verdict_of("S4-tail", imagined) == ["reproduced"]
    imagined["beyond_theorem2"] = [[imagined["draws"] // 10 for _ in imagined["bits"]]] * 2
    assert verdict_of("S4-tail", imagined) == ["not reproduced"]


def test_verdicts_on_the_sign_flips():
    hard = [made_up("cbe-rand", kind, 256) for kind in ("smooth", "periodic")]
    fails = [made_up("cbe-rand without D", kind, 256, ratio=50) for kind in ("smooth", "periodic")]
    works = [made_up("cbe-rand without D", kind, 256) for kind in ("smooth", "periodic")]
    assert verdict_of("S4-D", *hard, *fails) == ["reproduced"]
    assert verdict_of("S4-D", *hard, *works) == ["not reproduced"]
    assert verdict_of("S4-D", *hard) == []


def test_verdicts_on_the_fall_of_the_variance():
    assert verdict_of("S6-var", made_up("cbe-rand", "dense", 256)) == ["reproduced"]
    floor = made_up("cbe-rand", "dense", 256, ratio=lambda k: 1 + k / 64)
    assert verdict_of("S6-var", floor) == ["not reproduced"]
    assert verdict_of("S6-var", made_up("cbe-rand", "dense", 256, draws=100)) == ["not tested"]


# Runs


@pytest.fixture
def few(monkeypatch):
    """Two kinds of pairs, no figures."""
    monkeypatch.setattr(runner, "KINDS", {kind: KINDS[kind] for kind in ("dense", "smooth")})
    monkeypatch.setattr(reports.angles, "save_figure", lambda figure, path: [])


def run(*args, overrides=(), code=0):
    settings = [word for override in (*TINY, *overrides) for word in ("--set", override)]
    result = CliRunner().invoke(main, ["run", CONFIG, "--scale", "smoke", *settings, *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def rows_in(out, name="angles"):
    return load_rows(out / "smoke" / name / "rows.jsonl")


def values(rows):
    names = ("key", "mean", "variance", "mean_error", "worst_error")
    return sorted(([row.get(name) for name in names] for row in rows), key=lambda row: row[0])


def test_a_run_ends_in_rows_tables_figures_and_verdicts(tmp_path):
    result = run("--out", tmp_path)
    assert "all pairs of 10 rows, d = 64; 84 cells" in result.output
    assert "S4-var: VACUOUS" in result.output
    folder = tmp_path / "smoke" / "angles"
    tables = {f"{name}.csv" for name in ("mean", "variance", "signs", "tails", "features", "claims")}
    figures = {f"{name}.{kind}" for name in ("mean", "variance", "signs", "features") for kind in ("png", "pdf")}
    assert {path.name for path in folder.iterdir()} == tables | figures | {
        "rows.jsonl",
        "experiment.json",
        "environments.json",
    }
    rows = rows_in(tmp_path)
    assert len(rows) == 2 * (1 + 6 * len(KINDS)) + 5 * 2
    assert {row["status"] for row in rows} == {"ok"}
    for row in rows:
        assert {"key", "name", "scale", "experiment", "version", "seed", "bits", "environment", "ended"} <= row.keys()
        kind = {"features": "synthetic", "simulation": "simulated"}[row["part"]]
        assert row["data_kind"] == kind
    claims = pd.read_csv(folder / "claims.csv")
    assert claims["claim"].tolist() == ["S4-mean", "S4-var", "S4-tail", "S4-D", "S6-var", "S4-JL"]
    assert "on cifar10-vlad25600 (synthetic stand-in) angles are off by" in claims["found"][3]
    for name in ("variance", "signs"):
        table = pd.read_csv(folder / f"{name}.csv")
        assert (table["low"] <= table["variance"]).all()
        assert (table["variance"] <= table["high"]).all()
        assert set(table["bits"]) == {1, 2, 4, 8, 16, 32}
    assert set(pd.read_csv(folder / "variance.csv")["pair"]) == {"dense"}
    assert set(pd.read_csv(folder / "signs.csv")["pair"]) == set(KINDS)


def test_a_run_goes_on_where_it_stopped_and_gives_the_same(tmp_path, few):
    run("--out", tmp_path)
    rows_file = tmp_path / "smoke" / "angles" / "rows.jsonl"
    whole, before = rows_in(tmp_path), rows_file.read_bytes()
    lines = before.splitlines(keepends=True)
    rows_file.write_bytes(b"".join(lines[:20]) + lines[20][:50])
    result = run("--out", tmp_path, "--threads", 1)
    assert f"going on: 20 of {len(whole)} cells" in result.output
    assert values(rows_in(tmp_path)) == values(whole)
    before = rows_file.read_bytes()
    run("--out", tmp_path)
    assert rows_file.read_bytes() == before
    run("--out", tmp_path, overrides=["seed=1"])
    assert len(rows_in(tmp_path)) == 2 * len(whole), "another seed is another cell"


def test_a_single_draw_of_features_has_no_interval(tmp_path, few):
    run("--out", tmp_path, overrides=["feature_draws=1"])
    features = pd.read_csv(tmp_path / "smoke" / "angles" / "features.csv")
    assert features["mean_error"].notna().all()
    assert features["mean_error_low"].isna().all()


def test_dry_run_lists_and_writes_nothing(tmp_path):
    result = run("--out", tmp_path, "--dry-run")
    assert "hd3, dense pair, d = 32" in result.output
    assert "84 cells to run" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_failing_cell_is_a_row_and_is_tried_again(tmp_path, few, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(runner, "simulate", lambda *args: 1 / 0)
        result = run("--out", tmp_path, code=1)
    assert "failed: ZeroDivisionError" in result.output
    again = run("--out", tmp_path, "--rerun", "failed")
    assert "going on: 10 of 36 cells" in again.output


def test_what_does_not_fit_or_takes_too_long_is_told(tmp_path, few):
    result = run("--out", tmp_path, "--memory-limit", "1MiB")
    assert "skipped: needs about" in result.output
    assert {row["status"] for row in rows_in(tmp_path)} == {"skipped"}
    result = run("--out", tmp_path, "--timeout", 1e-9, code=1)
    assert "timeout: took longer than 1e-09 s" in result.output


# The configuration


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_our_configuration_is_valid(scale):
    config = load_config(CONFIG, scale)
    assert config.name == "angles"
    assert not set(config.dims) & set(config.flat_dims)


@pytest.mark.parametrize(
    "override, message",
    [
        ("dims=[100]", "dims: found 100; pairs are simulated in 2, 4, 8"),
        ("dims=[64, 64]", "dims: 64 given more than once"),
        ("flat_dims=[3]", "flat_dims: found 3; pairs"),
        ("draws=1", "draws: found 1; input should be greater than or equal to 10"),
        ("vectors=1", "vectors: found 1; input should be"),
        ("bits=[64]", "bits: unknown key"),
        ("seed=-1", "seed: found -1"),
        ("data.stand_in=false", "data.file: required"),
    ],
)
def test_bad_keys_are_told(override, message):
    with pytest.raises(InputError, match=message):
        load_config(CONFIG, "smoke", ["data.file=null", override])


# The verb


@pytest.fixture
def tiny(few, tmp_path, monkeypatch):
    """The verb's own configuration, made small."""
    path = tmp_path / "angles.yaml"
    config = yaml.safe_load(Path(CONFIG).read_text())
    small = {"dims": [16, 32], "draws": 200, "flat_dims": [], "vectors": 10, "feature_draws": 2, "scales": {}}
    data = config["data"] | {"file": None, "dim": 64}
    path.write_text(yaml.safe_dump(config | small | {"data": data}))
    monkeypatch.setattr(verb, "_CONFIG", path)


def angles(*args, code=0):
    result = CliRunner().invoke(main, ["angles", "--scale", "smoke", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def write_features(path, X):
    with h5py.File(path, "w") as file:
        file["features"] = X
    return path


def test_the_verb_runs_the_configuration(tmp_path, tiny):
    assert "S4-mean" in angles("--out", tmp_path / "verb", "--seed", 3).output
    run("--out", tmp_path / "run", overrides=["seed=3"])
    assert values(rows_in(tmp_path / "verb")) == values(rows_in(tmp_path / "run"))


def test_features_of_a_file(tmp_path, tiny, rng):
    angles("--out", tmp_path, "--data", write_features(tmp_path / "mine.h5", rng.standard_normal((7, 48))))
    features = pd.read_csv(tmp_path / "smoke" / "angles-mine" / "features.csv")
    assert set(features["data"]) == {"mine"}
    assert set(features["data_kind"]) == {"user"}
    assert set(features["pairs"]) == {21}
    assert set(features["bits"]) == {24, 48}


def test_bad_files_end_with_one_line(tmp_path, tiny):
    X = np.ones((5, 16))
    X[3, 2] = np.nan
    for path, told in (
        (tmp_path / "none.h5", "no such file"),
        (write_features(tmp_path / "nan.h5", X), "row 3 holds NaN"),
        (write_features(tmp_path / "one.h5", X[:1]), "1 row; angles need at least 2"),
        (write_features(tmp_path / "thin.h5", X[:, :1]), "1 dimension"),
    ):
        result = angles("--data", path, "--out", tmp_path / "out", code=2)
        errors = [line for line in result.output.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert told in errors[0]
        assert "[1/" not in result.output, "nothing has run"


def test_help_teaches_and_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from cbe_bench.cli import main\n"
        "result = CliRunner().invoke(main, ['angles', '--help'])\n"
        "assert 'Examples:' in result.output and 'vacuous' in result.output\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pandas', 'matplotlib', 'h5py', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
