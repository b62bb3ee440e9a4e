"""The time verb: what it reads, what it measures, what it writes."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import load_rows
from cbe_bench.evaluators import timing
from cbe_bench.evaluators.timing import Candidate, in_turns
from cbe_bench.kernels import parallel
from cbe_bench.reports.timing import table1, table2
from cbe_bench.runner.timing import PAPER_DIMS, choose_methods, parse_bits, parse_dims


class Clock:
    """A clock that only moves when work is done."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def work(self, name, seconds, first=0.0):
        def call():
            self.now += seconds + (first if name not in self.log else 0.0)
            self.log.append(name)

        return call


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock.now)
    return clock


def quiet(share):
    assert 0 <= share <= 1


def test_candidates_take_turns_and_get_their_samples(clock):
    fast = Candidate("fast", clock.work("fast", 0.1), vectors=4)
    slow = Candidate("slow", clock.work("slow", 0.5))
    done = [candidate.name for candidate in in_turns([fast, slow], 2.0, quiet)]
    assert sorted(done) == ["fast", "slow"]
    assert (len(fast.samples), len(slow.samples)) == (20, 4)
    np.testing.assert_allclose(fast.samples, 0.025)
    np.testing.assert_allclose(slow.quartiles(), 0.5)
    turns = "".join(name[0] for name in clock.log[4:])
    assert turns == "fsffff" * 4, "the slow one is spread between the calls of the fast one"


def test_what_the_first_call_builds_is_no_sample(clock):
    candidate = Candidate("x", clock.work("x", 0.1, first=5.0))
    list(in_turns([candidate], 1.0, quiet))
    assert candidate.first_seconds == pytest.approx(5.1)
    np.testing.assert_allclose(candidate.samples, 0.1)


def test_fast_calls_are_repeated_within_a_sample(clock):
    candidate = Candidate("x", clock.work("x", 1e-5))
    list(in_turns([candidate], 1.0, quiet))
    assert 2500 <= candidate.calls <= 2600
    assert len(candidate.samples) in (39, 40)
    np.testing.assert_allclose(candidate.samples, 1e-5)


def test_a_call_longer_than_the_budget_is_timed_once(clock):
    slow, other = Candidate("slow", clock.work("slow", 60.0)), Candidate("other", clock.work("other", 1.0))
    done = [candidate.name for candidate in in_turns([slow, other], 10.0, quiet)]
    assert done == ["slow", "other"]
    assert slow.samples == [60.0]
    assert clock.log.count("slow") == 1


def test_dims():
    assert parse_dims("2^15..2^18") == [2**15, 2**16, 2**17, 2**18]
    assert parse_dims("paper") == list(PAPER_DIMS)
    assert parse_dims("768, 2^10,2**11,768") == [768, 1024, 2048]
    assert len(parse_dims("2^15..2^27")) == 13


@pytest.mark.parametrize("text", ["", "x", "2^", "3..5", "2^9..2^8", "0", "2^40", "9^99999999", "1..2..4", "-5"])
def test_bad_dims_are_told(text):
    with pytest.raises(InputError, match="--dims"):
        parse_dims(text)


def test_bits():
    assert parse_bits("d, d/4,2d, 512,2*d", 1000) == [250, 512, 1000, 2000]
    for text in ("", "k", "d/0", "0", "d/2000", "-1"):
        with pytest.raises(InputError, match="--bits"):
            parse_bits(text, 1000)


def test_methods():
    assert choose_methods(None)[:3] == ["lsh", "bilinear-rand", "cbe-rand"]
    assert choose_methods("cbe-orth, lsh") == ["cbe-orth", "lsh"]
    with pytest.raises(InputError, match="did you mean 'lsh'"):
        choose_methods("lhs")


def test_pinning_is_undone_and_sets_the_threads():
    cores = parallel.available_cores()
    with parallel.pinned(1):
        assert parallel.available_cores() == 1
        assert parallel.thread_count() == 1
    assert parallel.available_cores() == cores


def run(*args, code=0):
    result = CliRunner().invoke(main, ["time", "--budget", "0.01", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def test_times_end_in_rows_tables_and_a_figure(tmp_path):
    result = run("--dims", "64,128,256", "--out", tmp_path)
    assert "circulant ms" in result.output
    folder = tmp_path / "time"
    assert {path.name for path in folder.iterdir()} == {
        "rows.jsonl",
        "experiment.json",
        "environments.json",
        "times.csv",
        "table1.csv",
        "table2.csv",
        "growth.png",
        "growth.pdf",
    }
    rows = load_rows(folder / "rows.jsonl")
    assert len(rows) == 15
    for row in rows:
        assert row["status"] == "ok"
        assert row["threads"] == 1
        assert row["seconds"] == pytest.approx(np.median(row["samples"]))
        assert row["parameter_bytes"] > 0
    before = (folder / "rows.jsonl").read_bytes()
    run("--dims", "64,128,256", "--out", tmp_path)
    assert (folder / "rows.jsonl").read_bytes() == before, "what is done is not done again"
    run("--dims", "64,128,256", "--out", tmp_path, "--rerun", "all")
    assert (folder / "rows.jsonl").read_bytes() != before


def test_what_does_not_fit_is_skipped_with_its_bytes(tmp_path):
    result = run("--dims", "2^13", "--methods", "lsh,cbe-rand", "--memory-limit", "900MiB", "--out", tmp_path)
    rows = {row["encoder"]: row for row in load_rows(tmp_path / "time" / "rows.jsonl")}
    assert rows["cbe-rand"]["status"] == "ok"
    assert rows["lsh"]["status"] == "skipped"
    assert rows["lsh"]["needed_bytes"] > 4 * 2**26
    assert "the memory limit is 900 MiB" in result.output
    table = pd.read_csv(tmp_path / "time" / "table2.csv")
    assert table["full_ms"].item().startswith("- (")


def test_bits_other_than_d_have_lines_of_their_own(tmp_path):
    result = run("--dims", "256", "--bits", "64,32", "--methods", "cbe-rand,lsh", "--out", tmp_path)
    assert "full ratio" in result.output
    assert pd.read_csv(tmp_path / "time" / "table2.csv")["bits"].tolist() == [32, 64]
    run("--dims", "256", "--bits", "64", "--methods", "cbe-rand", "--out", tmp_path, "--name", "one")
    assert not (tmp_path / "one" / "growth.png").exists(), "a single point is no figure"


def test_methods_that_do_not_fit_together_run_one_after_the_other(tmp_path):
    names = "cbe-rand,bilinear-rand,cbe-orth,hd3"
    run("--dims", "1024", "--methods", names, "--memory-limit", "520MiB", "--out", tmp_path)
    assert {row["status"] for row in load_rows(tmp_path / "time" / "rows.jsonl")} == {"ok"}


def test_a_failing_method_is_a_row_and_what_was_skipped_is_judged_anew(tmp_path, monkeypatch):
    from cbe_bench import CBERand

    with monkeypatch.context() as patch:
        patch.setattr(CBERand, "_encode", lambda self, X: 1 / 0)
        result = run("--dims", "64", "--methods", "cbe-rand,hd3", "--out", tmp_path)
    assert "failed: ZeroDivisionError" in result.output
    run("--dims", "64", "--methods", "lsh", "--memory-limit", "1MiB", "--out", tmp_path)
    again = run("--dims", "64", "--methods", "cbe-rand,hd3,lsh", "--rerun", "failed", "--out", tmp_path)
    assert "going on: 1 of 3 cells" in again.output
    assert {row["status"] for row in load_rows(tmp_path / "time" / "rows.jsonl")} == {"ok"}


def test_json_goes_to_standard_output(tmp_path):
    result = run("--dims", "64", "--methods", "cbe-rand", "--json", "--out", tmp_path)
    (row,) = json.loads(result.stdout)
    assert (row["encoder"], row["n_features"], row["n_bits"]) == ("cbe-rand", 64, 64)


def test_bad_arguments_end_with_one_line(tmp_path):
    result = run("--dims", "lots", "--out", tmp_path, code=2)
    assert result.output.startswith("error: --dims lots")
    assert not list(tmp_path.iterdir())


def timed(encoder, d, k, seconds, size, status="ok"):
    row = {"encoder": encoder, "n_features": d, "n_bits": k, "status": status, "reason": "", "batch": 1, "threads": 1}
    return row | ({"seconds": seconds, "parameter_bytes": size} if status == "ok" else {"needed_bytes": 2**36})


def test_table2_by_hand():
    d = 2**15
    rows = [timed("lsh", d, d, 0.2, 1), timed("bilinear-rand", d, d, 0.0003, 1), timed("cbe-rand", d, d, 0.0001, 1)]
    rows += [timed("lsh", 2**17, 2**17, 0, 0, "skipped"), timed("cbe-rand", 2**17, 2**17, 0.0005, 1)]
    first, second = table2(rows).to_dict("records")
    assert (first["full_ms"], first["full_ms_paper"]) == (200.0, 544)
    assert first["full_ratio"] == pytest.approx(2000)
    assert first["bilinear_ratio"] == pytest.approx(3)
    assert first["bilinear_ratio_paper"] == pytest.approx(2.85 / 1.11)
    assert second["full_ms"] == "- (64.0 GiB)"
    assert np.isnan(second["full_ratio"])


def test_table1_finds_known_exponents():
    dims = [2**power for power in range(10, 15)]
    rows = [timed("lsh", d, d, 1e-9 * d**2, 4 * d * d) for d in dims]
    rows += [timed("cbe-rand", d, d, 1e-9 * d * np.log(d), 5 * d) for d in dims]
    rows += [
        timed("cbe-rand", dims[-1], m * dims[-1], 1e-9 * m * dims[-1] * np.log(dims[-1]), 5 * m * dims[-1])
        for m in (2, 4)
    ]
    lines = {(line["encoder"], line["regime"]): line for line in table1(rows).to_dict("records")}
    assert lines["lsh", "k = d"]["time"] == pytest.approx(2)
    assert lines["cbe-rand", "k = d"]["time"] == pytest.approx(lines["cbe-rand", "k = d"]["time_expected"])
    assert lines["cbe-rand", "k > d = 16,384"]["time"] == pytest.approx(1)
    assert lines["cbe-rand", "k > d = 16,384"]["space_expected"] == pytest.approx(1)


def test_paper_values_stand_only_where_the_paper_prints_them():
    row = table2([timed("cbe-rand", 2**16, 2**16, 1e-3, 1)]).to_dict("records")[0]
    assert row["circulant_ms_paper"] is None
