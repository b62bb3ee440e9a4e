"""The time verb, through its real command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.results import load_rows
from cbe_bench.evaluators.base import experiment_class


def rows_of(path):
    return load_rows(path, experiment_class("timing").row_types())


def run(*args, code=0):
    result = CliRunner().invoke(main, ["time", "--budget", "0.01", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def test_times_end_in_rows_tables_and_a_figure(tmp_path):
    result = run("--dims", "64,128,256", "--out", tmp_path)
    assert "circulant ms" in result.output
    folder = tmp_path / "quick" / "time"
    assert {path.name for path in folder.iterdir()} == {
        "rows.jsonl",
        "experiment.json",
        "environments.json",
        "times.csv",
        "table1.csv",
        "table2.csv",
        *(f"{name}.{suffix}" for name in ("growth", "speedup") for suffix in ("png", "pdf", "svg")),
    }
    rows = rows_of(folder / "rows.jsonl")
    assert len(rows) == 15
    for row in rows:
        assert row.status == "ok"
        assert row.threads == 1
        assert row.encode_us_per_vector == pytest.approx(np.median(row.samples_us))
        assert row.parameter_bytes > 0
    before = (folder / "rows.jsonl").read_bytes()
    run("--dims", "64,128,256", "--out", tmp_path)
    assert (folder / "rows.jsonl").read_bytes() == before, "what is done is not run again"
    run("--dims", "64,128,256", "--out", tmp_path, "--rerun", "all")
    assert (folder / "rows.jsonl").read_bytes() != before


def test_what_does_not_fit_is_skipped_with_its_bytes(tmp_path):
    result = run("--dims", "2^13", "--methods", "lsh,cbe-rand", "--memory-limit", "600MiB", "--out", tmp_path)
    rows = {row.encoder: row for row in rows_of(tmp_path / "quick" / "time" / "rows.jsonl")}
    assert rows["cbe-rand"].status == "ok"
    assert rows["lsh"].status == "skipped"
    assert rows["lsh"].memory_estimate_bytes > 4 * 2**26
    assert "the memory limit is 600 MiB" in result.output
    table = pd.read_csv(tmp_path / "quick" / "time" / "table2.csv")
    assert table["full_ms"].item().startswith("- (")


def test_bits_other_than_d_have_lines_of_their_own(tmp_path):
    result = run("--dims", "256", "--bits", "64,32", "--methods", "cbe-rand,lsh", "--out", tmp_path)
    assert "full ratio" in result.output
    assert pd.read_csv(tmp_path / "quick" / "time" / "table2.csv")["n_bits"].tolist() == [32, 64]
    run("--dims", "256", "--bits", "64", "--methods", "cbe-rand", "--out", tmp_path, "--name", "one")
    assert not (tmp_path / "quick" / "one" / "growth.png").exists(), "a single point is no figure"


def test_methods_that_do_not_fit_together_run_one_after_the_other(tmp_path):
    names = "cbe-rand,bilinear-rand,cbe-orth,hd3"
    run("--dims", "1024", "--methods", names, "--memory-limit", "520MiB", "--out", tmp_path)
    assert {row.status for row in rows_of(tmp_path / "quick" / "time" / "rows.jsonl")} == {"ok"}


def test_a_failing_method_is_a_row_and_what_was_skipped_is_judged_again(tmp_path, monkeypatch):
    from cbe_bench import CBERand

    with monkeypatch.context() as patch:
        patch.setattr(CBERand, "_encode", lambda self, X: 1 / 0)
        result = run("--dims", "64", "--methods", "cbe-rand,hd3", "--out", tmp_path, code=1)
    assert "failed: ZeroDivisionError" in result.output
    run("--dims", "64", "--methods", "lsh", "--memory-limit", "1MiB", "--out", tmp_path)
    again = run("--dims", "64", "--methods", "cbe-rand,hd3,lsh", "--rerun", "failed", "--out", tmp_path)
    assert "resuming: 1 of 3 cells done" in again.output
    assert {row.status for row in rows_of(tmp_path / "quick" / "time" / "rows.jsonl")} == {"ok"}


def test_json_goes_to_standard_output(tmp_path):
    result = run("--dims", "64", "--methods", "cbe-rand", "--format", "json", "--out", tmp_path)
    (row,) = json.loads(result.stdout)
    assert (row["encoder"], row["n_features"], row["n_bits"]) == ("cbe-rand", 64, 64)


def test_a_device_is_timed_beside_the_processor(tmp_path):
    arguments = ("--dims", "64", "--methods", "cbe-rand,hd3", "--batch", "8", "--device", "array_api_strict")
    result = run(*arguments, "--out", tmp_path)
    assert "on another device" in result.output
    rows = rows_of(tmp_path / "quick" / "time" / "rows.jsonl")
    assert [(row.encoder, row.device) for row in rows] == [
        (name, device) for name in ("cbe-rand", "hd3") for device in ("cpu", "array_api_strict")
    ]
    for row in rows:
        assert row.ok and not row.device_is_gpu
        assert (row.transfer_us_per_vector > 0) == (row.device != "cpu")
    table = pd.read_csv(tmp_path / "quick" / "time" / "devices.csv")
    assert table["speed_up"].tolist() == pytest.approx((table["processor_ms"] / table["device_ms"]).tolist(), rel=1e-3)
    before = (tmp_path / "quick" / "time" / "rows.jsonl").read_bytes()
    run(*arguments, "--out", tmp_path)
    assert (tmp_path / "quick" / "time" / "rows.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--device", "cdua"), "unknown device 'cdua'; did you mean 'cuda'? allowed: "),
        (("--device", "array_api_strict:x"), "device 'array_api_strict:x': no device found"),
        (("--device", "array_api_strict", "--methods", "itq"), "encoders: itq encodes on no device; those that do: "),
    ],
)
def test_devices_that_cannot_be_timed_end_with_one_line(arguments, message, tmp_path):
    result = run("--dims", "64", *arguments, "--out", tmp_path, code=2)
    assert result.output.startswith("error: ") and message in result.output and result.output.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_bad_arguments_end_with_one_line(tmp_path):
    result = run("--dims", "lots", "--out", tmp_path, code=2)
    assert result.output.startswith("error: ") and "dims" in result.output and result.output.count("\n") == 1
    assert not list(tmp_path.iterdir())
