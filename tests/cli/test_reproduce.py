"""The whole suite: what it runs, in which order, and that it ends in the same rows however often it is killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cbe_bench
from cbe_bench.cli import main
from cbe_bench.cli._suite import SuiteProgress
from cbe_bench.core.errors import InputError
from cbe_bench.core.locks import exclusive
from cbe_bench.core.results import load_rows
from cbe_bench.evaluators.base import all_claims, experiment_class, load_experiments
from cbe_bench.evaluators.suite import Step, estimates, store_seconds, suite, unknown_steps

PAGE = Path(cbe_bench.__file__).parent / "reports" / "page"
TINY = {
    "title": "Tiny",
    "experiment": "retrieval",
    "data": {"name": "toy", "dim": 64},
    "n_bits": [16, 32],
    "seeds": [0, 1],
    "encoders": ["cbe-rand", "lsh"],
    "n_database": 200,
    "n_train": 100,
    "n_queries": 10,
    "depth": 20,
}


def write_config(folder, name, **changes):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**TINY, **changes}))
    return path


def on_file(name, **more):
    return {"data": {"name": name, "dim": 25_600, "file": f"data/{name}.h5", **more}}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_file(path, rows, **attributes):
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        file["features"] = np.ones((rows, 4), np.float32)
        file.attrs.update(attributes)


# What is run


def test_steps_come_in_the_order_of_their_configurations(place):
    names = {"mine": 3, "lambda": 2, "cifar10": 1.5, "also-mine": 3}
    paths = [write_config(place / "configs", name, order=order) for name, order in names.items()]
    steps = suite(paths, "quick", Path("results"))
    assert [step.name for step in steps] == ["cifar10", "lambda", "also-mine", "mine", "report"]
    assert steps[0].arguments == ("run", str(paths[2]), "--scale", "quick", "--out", "results")
    assert steps[-1].arguments == ("report", "results/quick")


def test_experiments_outside_the_suite_at_a_scale_run_where_asked_for(place):
    paths = [write_config(place / "configs", "large", in_suite=["paper"]), write_config(place / "configs", "small")]
    names = {scale: [step.name for step in suite(paths, scale, Path("results"))] for scale in ("quick", "paper")}
    assert names == {"quick": ["small", "report"], "paper": ["large", "small", "report"]}
    assert [step.name for step in suite(paths[:1], "quick", Path("results"), whole=False)] == ["large", "report"]


def test_configurations_of_the_suite_have_a_place_and_a_section():
    sections = {one["anchor"] for one in yaml.safe_load((PAGE / "sections.yaml").read_text())}
    paths = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
    keys = [yaml.safe_load(path.read_text()) for path in paths]
    assert len({one["order"] for one in keys}) == len(keys)
    assert {one["section"] for one in keys} == sections


def data_steps(scale="quick", **changes):
    everywhere = on_file("cifar10-vlad25600", build_at=["smoke", "quick", "paper"])
    paths = [write_config(Path("configs"), "one", **everywhere, **changes)]
    paths.append(write_config(Path("configs"), "two", **on_file("mnist-vlad25600", synthetic=False)))
    return [step for step in suite(paths, scale, Path("results")) if step.arguments[0] == "data"]


def test_data_are_made_with_the_rows_that_are_used(place):
    (step,) = data_steps(n_database=10_000, n_queries=500)
    assert step.optional and step.name == "data cifar10-vlad25600, 10,500 of 60,000 rows"
    assert step.arguments[:5] == ("data", "make", "cifar10-vlad25600", "--rows", "10500")
    (step,) = data_steps(n_database=40_000)
    assert "--rows" not in step.arguments
    assert [step.arguments[2] for step in data_steps("paper")] == ["cifar10-vlad25600", "mnist-vlad25600"]


def test_rows_of_every_class_are_made_for_classifiers(place):
    changes = {"experiment": "classification", "costs": [1]}
    changes |= {"train_per_class": 8, "validation_per_class": 4, "test_per_class": 4}
    settings = {**TINY, **changes, **on_file("quickdraw-vlad25600", build_at=["quick"])}
    for key in ("n_database", "n_train", "n_queries", "depth"):
        del settings[key]
    (place / "c.yaml").write_text(yaml.safe_dump(settings))
    step = suite([place / "c.yaml"], "quick", Path("results"))[0]
    assert step.name == "data quickdraw-vlad25600, 15,180 of 34,500 rows"  # 345 classes, 16 + 5 * 4 + 8 of each


def test_files_with_too_few_rows_are_made_again_unless_they_are_not_ours(place):
    file = place / "data" / "cifar10-vlad25600.h5"
    make_file(file, 210, recipe="{}")
    assert data_steps() == []
    make_file(file, 209, recipe="{}")
    assert len(data_steps()) == 1
    make_file(file, 209)
    assert data_steps() == []
    file.write_text("broken")
    assert data_steps() == []


def test_an_experiment_without_its_data_says_how_to_get_them(place):
    path = write_config(place / "configs", "two", **on_file("mnist-vlad25600", synthetic=False))
    step = suite([path], "quick", Path("results"))[0]
    assert step.missing() == ("data/mnist-vlad25600.h5 is absent; to make it: cbe-bench data make mnist-vlad25600")
    make_file(place / "data" / "mnist-vlad25600.h5", 1)
    assert step.missing() == ""


def test_a_bad_configuration_is_told_before_anything_runs(place):
    write_config(place / "configs", "good")
    write_config(place / "configs", "bad", n_bits=[])
    with pytest.raises(InputError, match="n_bits"):
        suite(sorted((place / "configs").glob("*.yaml")), "quick", Path("results"))
    result = CliRunner().invoke(main, ["reproduce", "--scale", "smoke"])
    assert result.exit_code == 2 and "bad.yaml: n_bits" in result.stderr
    assert not (place / "results").exists()
    assert "no configurations" in CliRunner().invoke(main, ["reproduce", "--configs", "none"]).stderr


# How long it takes


def test_forecasts_rest_on_earlier_times(tmp_path):
    own, reference = tmp_path / "own.json", tmp_path / "reference.json"
    steps = [Step(name, ()) for name in "abc"]
    store_seconds(reference, "a", 10)
    store_seconds(reference, "b", 20)
    store_seconds(own, "a", 5)
    store_seconds(own, "a", 1)  # done already
    assert estimates(steps, own, reference) == {"a": 5.0, "b": 20.0, "c": 60.0}
    assert unknown_steps(steps, own, reference) == 1
    own.write_text("torn")
    assert estimates(steps, own, reference)["a"] == 10.0


def test_time_left_follows_the_steps_and_their_cells(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("cbe_bench.cli._suite.time.perf_counter", lambda: now[0])
    progress = SuiteProgress([Step("a", ()), Step("b", ()), Step("c", ())], {"a": 100, "b": 100, "c": 200})
    progress.begin(Step("a", ()))
    assert progress.left == 400
    progress.line("[1/4] lsh, 16 bits: recall@20 0.3")
    assert progress.left == 375
    now[0] = 200.0
    progress.end()
    progress.begin(Step("b", ()))
    assert progress.left == 600  # everything takes twice as long as thought
    now[0] = 202.0
    progress.end("left out: no data")
    progress.begin(Step("c", ()))
    assert progress.left == 400
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "[1/3] a: 3 min; about 10 min left"
    assert lines[3] == "[2/3] b: left out: no data, 2.0 s; about 7 min left"


def test_one_run_at_a_time(tmp_path):
    said = []
    with exclusive(tmp_path, said.append):
        code = (
            "import sys; from pathlib import Path; from cbe_bench.core.locks import exclusive\n"
            "def message(text): print(text); sys.exit(3)\n"
            f"with exclusive(Path({str(tmp_path)!r}), message): pass"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3 and "waiting for it to end" in done.stdout
    with exclusive(tmp_path, said.append):
        assert said == []


def test_without_a_source_of_images_the_suite_goes_on(place, monkeypatch):
    """Steps are commands: here each is only noted, and the one that fetches images fails."""
    write_config(place / "configs", "one", **on_file("cifar10-vlad25600", build_at=["smoke"]))
    called = []

    def fake(arguments, handle, line):
        called.append(arguments[0])
        return (2, ["trying npm", "error: cifar10: nothing could be reached"]) if arguments[0] == "data" else (0, [])

    monkeypatch.setattr("cbe_bench.cli._suite.run_command", fake)
    result = CliRunner().invoke(main, ["reproduce", "--scale", "smoke"])
    assert result.exit_code == 0, result.output
    assert called == ["data", "run", "report"]
    assert "210 of 60,000 rows: continuing without: error: cifar10: nothing could be reached" in result.stderr
    assert f"{len(all_claims())} not tested" in result.stdout


# Run for real

DRIVER = """
import os, sys
from cbe_bench.cli import _suite, main

line_of, (at, number) = _suite.SuiteProgress.line, (sys.argv[1], int(sys.argv[2]))

def line(self, text):
    line_of(self, text)
    if at and text.startswith(at):
        os.kill(os.getpid(), number)

_suite.SuiteProgress.line = line
main(["reproduce", "--scale", "smoke"])
"""


def reproduce(at="", number=0):
    """Run the suite in a process of its own, which gets a signal as one of its experiments says that a cell ended."""
    command = [sys.executable, "-c", DRIVER, at, str(int(number))]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def rows_of(path):
    return load_rows(path, experiment_class("retrieval").row_types())


def values(rows):
    return sorted(json.dumps([getattr(row, name) for name in ("key", "status", "recall")]) for row in rows)


@pytest.mark.slow
def test_killed_and_started_again_it_ends_in_the_same_rows(place):
    write_config(place / "configs", "good")
    write_config(place / "configs", "of-bad-data", **on_file("mnist-vlad25600", synthetic=False))
    write_config(place / "configs", "absent", **on_file("fashion-mnist-vlad51200", synthetic=False))
    make_file(place / "data" / "mnist-vlad25600.h5", 500)
    code, said = reproduce("[1/8]", signal.SIGTERM)
    assert code == 130 and said.endswith("stopped; the same command resumes\n")
    rows_file = Path("results/smoke/good/rows.jsonl")
    assert 1 <= len(rows_of(rows_file)) < 8
    assert reproduce("[2/", signal.SIGKILL)[0] == -signal.SIGKILL
    code, said = reproduce()
    assert code == 1
    assert "absent: left out: data/fashion-mnist-vlad51200.h5 is absent; to make it" in said
    assert "of-bad-data: FAILED, exit code 2" in said
    assert "has 4 dimensions; data.dim says 25,600" in said
    assert "failed: of-bad-data; the same command tries again" in said
    assert "the page: results/smoke/index.html" in said
    assert [one.name for one in load_experiments(Path("results/smoke"))] == ["good"]
    assert len(json.loads(Path("results/smoke/claims.json").read_text())) == len(all_claims())
    CliRunner().invoke(main, ["run", "configs/good.yaml", "--scale", "smoke", "--out", "once"], catch_exceptions=False)
    once = values(rows_of(Path("once/smoke/good/rows.jsonl")))
    assert len(once) == 8
    assert values(rows_of(rows_file)) == once
