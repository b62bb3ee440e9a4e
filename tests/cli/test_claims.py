"""The claims and compare verbs, through their real command lines."""

import io
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.claims import NOT_REPRODUCED, NOT_TESTED, REPRODUCED, Claim, Estimate, Evidence, Source
from cbe_bench.core.errors import InputError
from cbe_bench.evaluators.base import all_claims, judge, load_experiments
from cbe_bench.reports.claims_table import (
    changes,
    claims_markdown,
    evidence_table,
    load_claims,
    verdicts_json,
    write_claims,
)


def invoke(*args, code=0):
    result = CliRunner().invoke(main, [*map(str, args)])
    assert result.exit_code == code, result.output
    return result


def as_json(*args):
    return json.loads(invoke(*args, "--format", "json").stdout)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with two small experiments that were really run."""
    out = tmp_path_factory.mktemp("results")
    config = Path(__file__).parents[2] / "configs" / "flickr.yaml"
    few = ["seeds=[0, 1]", "n_bits=[32, 64]", "data.keep_dims=64", "encoders=[cbe-rand, lsh]", "fixed=[bits]"]
    invoke("run", config, "--scale", "smoke", "--out", out, *(word for one in few for word in ("--set", one)))
    dims = ["--dims", "64,128,256", "--methods", "cbe-rand,hd3", "--budget", "0.01"]
    invoke("time", *dims, "--scale", "smoke", "--out", out)
    return out / "smoke"


def a_verdict(outcome=REPRODUCED, value=1.5, experiment="x"):
    claim = Claim(id="C", statement="It holds.", where="Table 9", rule="> 1", missing="no", judge=lambda *_: [])
    return claim.verdict(outcome, Estimate(value, 1.0, 2.0), "found | it", Source("data", "real", experiment))


def test_every_claim_is_judged_and_named_once_where_nothing_was_run():
    verdicts = judge([])
    assert [one.claim for one in verdicts] == [claim.id for claim in all_claims()]
    assert {one.outcome for one in verdicts} == {NOT_TESTED}
    assert len({claim.order for claim in all_claims()}) == len(verdicts)


def test_verdicts_survive_a_file(tmp_path):
    verdicts = [a_verdict(), a_verdict(NOT_TESTED, math.nan)]
    assert len(write_claims(verdicts, tmp_path)) == 3
    first, second = load_claims(tmp_path / "claims.json")
    assert first == verdicts[0]
    assert math.isnan(second.value)
    assert json.loads(verdicts_json(verdicts))[1]["value"] is None
    assert "found" not in claims_markdown(verdicts[:1]), "the value stands where there is one"
    assert claims_markdown([verdicts[1]]).count("\\|") == 1, "text stays in its cell"
    for spoiled in ("[1]", "{", '[{"claim": "x"}]'):
        (tmp_path / "bad.json").write_text(spoiled)
        with pytest.raises(InputError, match="bad"):
            load_claims(tmp_path / "bad.json")


def test_changes_are_those_of_the_same_claim_and_experiment():
    before = [a_verdict(), a_verdict(experiment="y")]
    now = [a_verdict(NOT_REPRODUCED), a_verdict(experiment="y"), a_verdict(experiment="z")]
    found = {(one.experiment, one.before, one.now) for one in changes(before, now)}
    assert found == {("x", REPRODUCED, NOT_REPRODUCED), ("z", "", REPRODUCED)}


def test_claims_are_shown_and_nothing_is_written(results):
    before = sorted(path.name for path in results.rglob("*"))
    shown = invoke("claims", results)
    assert all(claim.id in shown.stdout for claim in all_claims())
    found = as_json("claims", results)
    assert [one["claim"] for one in found] == [one.claim for one in judge(load_experiments(results))]
    assert sorted(path.name for path in results.rglob("*")) == before


def test_strict_fails_on_a_changed_verdict(results, tmp_path):
    verdicts = as_json("claims", results)
    file = tmp_path / "claims.json"
    file.write_text(json.dumps(verdicts))
    assert "stand" in invoke("claims", results, "--strict", "--against", file).stderr
    verdicts[0]["outcome"] = REPRODUCED if verdicts[0]["outcome"] != REPRODUCED else NOT_REPRODUCED
    file.write_text(json.dumps(verdicts))
    assert verdicts[0]["claim"] in invoke("claims", results, "--strict", "--against", file, code=1).stderr
    missing = invoke("claims", results, "--strict", "--against", tmp_path / "absent.json", code=2)
    assert missing.output.startswith("error: ") and missing.output.count("\n") == 1


def test_compare_finds_no_change_with_itself_and_one_that_was_made(results, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(results, other)
    same = as_json("compare", results, other)
    assert same["changed"] == same["only_first"] == same["only_second"] == []
    assert same["compared"] == 8, "raw times are not compared unless that is asked for"
    assert as_json("compare", results, other, "--metric", "us per")["compared"] == 6
    rows_file = other / "flickr" / "rows.jsonl"
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()]
    for row in rows:
        if row["encoder"] == "lsh":
            row["recall"] = [0.0] * len(row["recall"])
    rows_file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.rmtree(other / "time")
    found = as_json("compare", results, other, "--metric", "all")
    invoke("compare", results, other, "--fail-on-change", code=1)
    assert {one["experiment"] for one in found["changed"]} == {"flickr"}
    assert all("lsh" in one["subject"] and "recall" in one["metric"] for one in found["changed"])
    assert len(found["only_first"]) == 6
    assert "there are recall, points; " in invoke("compare", results, other, "--metric", "recal1", code=2).output
    shown = invoke("compare", results / "flickr", other / "flickr", "--limit", 1)
    assert shown.stdout.count("lsh") == 1 and "changed beyond noise" in shown.stderr
    assert not invoke("compare", results / "flickr", other / "flickr", "-q").stderr


def test_one_claim_is_told_whole_and_formats_agree(results):
    told = invoke("claims", results, "f-bits-lsh").stdout
    assert "rule: cbe-rand - lsh within 1.5 points" in told
    decided = Evidence("cbe-rand - lsh", 64, 0.5, 0.25, 0.75, NOT_REPRODUCED)
    failing = replace(a_verdict(NOT_REPRODUCED), evidence=(decided,), least=1.0)
    assert evidence_table(failing).to_dict("records") == [{"compared": "cbe-rand - lsh", "64": "0.5 *"}]
    table = pd.read_csv(io.StringIO(invoke("claims", results, "--format", "csv").stdout))
    assert list(table["claim"]) == [one["claim"] for one in as_json("claims", results)]
    assert invoke("claims", results, "--format", "md").stdout.startswith("| claim |")
    assert len(invoke("claims", results).stdout.splitlines()) < len(all_claims()) + 10, "one screen"


def test_a_result_is_shown_by_name_in_every_format(results, monkeypatch, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "quick").symlink_to(results)
    monkeypatch.chdir(tmp_path)
    shown = invoke("show", "flickr")
    assert "k=32" in shown.stdout and "lsh" in shown.stdout and "made by" in shown.stderr
    rows = as_json("show", "flickr")
    assert len(rows) == 8
    table = pd.read_csv(io.StringIO(invoke("show", "flickr", "--format", "csv").stdout))
    mean = np.mean([row["recall"][-1] for row in rows if (row["encoder"], row["n_bits"]) == ("lsh", 32)])
    assert table.set_index("encoder").loc["lsh", "k=32"] == pytest.approx(mean)
    assert "did you mean 'flickr'" in invoke("show", "flikr", code=2).output


def test_compare_of_what_is_no_folder_of_results(results, tmp_path):
    for bad in (tmp_path, tmp_path / "absent"):
        message = invoke("compare", results, bad, code=2).output
        assert message.startswith(f"error: {bad}: ") and message.count("\n") == 1
