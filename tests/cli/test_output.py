"""How results are printed: every verb in every format, results on standard output and messages on standard error."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import _output, main
from cbe_bench.cli._claims import show_screen
from cbe_bench.core.claims import NOT_REPRODUCED, NOT_TESTED, REPRODUCED
from cbe_bench.core.results import DESCRIPTION_FILE, ROWS_FILE
from cbe_bench.data.catalogue import datasets, fetched_sets
from cbe_bench.data.images.dense_sift import count_descriptors, dense_sift
from cbe_bench.evaluators.base import judge
from cbe_bench.evaluators.suite import Step, lacking

LISTS = ["data list", "configs", "methods"]
FACTS = ["data info rows.npy", "data check rows.npy", "data formats", "methods cbe-opt"]
COMMITTED = Path(__file__).parents[2] / "results" / "reference" / "paper"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32))


def invoke(command, code=0):
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == code, result.output
    return result


def verbs(group=main, name=""):
    context = click.Context(group)
    for word in group.list_commands(context):
        found = group.get_command(context, word)
        yield from verbs(found, f"{name}{word} ") if isinstance(found, click.Group) else [(f"{name}{word}", found)]


def test_every_verb_that_prints_results_has_formats_and_every_verb_can_be_silenced():
    files_only = {"data convert", "data fetch", "data make", "encode", "report", "search"}
    for name, command in verbs():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"-q", "-v"} <= options, name
        assert ("--format" in options) == (name not in files_only), name


def test_every_verb_is_described_in_a_line():
    for name, command in verbs():
        assert len(command.help.splitlines()[0]) < 60, name


@pytest.mark.parametrize("command", LISTS + FACTS)
def test_programs_get_json_csv_and_markdown(command):
    found = json.loads(invoke(f"{command} --format json").stdout)
    table = pd.read_csv(io.StringIO(invoke(f"{command} --format csv").stdout))
    assert isinstance(found, list if command in LISTS else dict)
    assert len(table) == len(found)
    assert len(invoke(f"{command} --format md").stdout.splitlines()) == len(found) + 2


@pytest.mark.parametrize("command", LISTS + FACTS)
def test_quiet_leaves_results_only(command):
    loud, quiet = invoke(command), invoke(f"{command} -q")
    assert quiet.stdout == loud.stdout
    assert not quiet.stderr


def test_what_data_check_finds_is_for_programs_too():
    X = np.load("rows.npy")
    X[3] = np.nan
    np.save("bad.npy", X)
    found = json.loads(invoke("data check bad.npy --format json", code=1).stdout)
    assert found["rows"] == 40 and found["problems"] == ["row 3 holds NaN or infinite values"]
    assert found["norm_median"] > 0 and found["labels"] is None and found["nearest_has_same_label"] is None


def test_how_large_and_how_long_is_said_before_anything_is_built():
    text = invoke("data make flickr2048 --rows 20").stderr
    assert text.startswith("building flickr2048.h5: 20 rows x 2,048 dimensions, 160 KiB\n")
    known = datasets()
    extents = {name: str(one.extent(None)) for name, one in known.items()}
    assert re.fullmatch(r"60,000 rows x 25,600 dimensions, 5.7 GiB, about .+", extents["cifar10-vlad25600"])
    assert extents["movie-reviews-tfidf25600"] == "33,530 rows x 25,600 dimensions, sparse"
    assert extents["cifar10"] == "None", "images have no features; their download says how large it is"
    longer = [known[f"cifar10-vlad{name}"].extent(None).seconds for name in ("25600", "51200", "25600-dense")]
    assert longer == sorted(longer)
    assert all(package.bytes for one in fetched_sets().values() for package in one.packages), "said before a download"


@pytest.mark.parametrize("side", [64, 128])
def test_descriptors_are_counted_as_they_are_computed(side):
    assert count_descriptors(side) == dense_sift(np.zeros((1, side, side), np.float32)).shape[1]


def test_a_file_in_the_place_of_a_folder_is_named():
    Path("file").write_text("")
    for command in ("data make flickr2048 --rows 5 --folder file", "encode rows.npy -o file/codes.cbe.h5"):
        assert "file is a file, not a folder" in invoke(command, code=2).output


def test_steps_of_a_dry_run_say_what_they_lack():
    made = Path("data/mnist-vlad25600.h5")
    steps = [Step("data", (), makes=made), Step("run", (), needs=made), Step("other", (), needs=Path("data/x.h5"))]
    assert [lacking(step, steps) for step in steps] == ["", "", "data/x.h5"]


@pytest.fixture
def terminal(monkeypatch):
    def of(columns, lines):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        monkeypatch.setattr(_output, "_is_terminal", lambda: True)

    return of


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", LISTS)
def test_lists_fit_the_terminal_and_leave_names_whole(command, columns, terminal):
    terminal(columns, 24)
    lines = invoke(command).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    names = {one.get("name") for one in json.loads(invoke(f"{command} --format json").stdout)}
    assert names <= {line.split("  ")[0] for line in lines}


@pytest.mark.parametrize("outcome", [REPRODUCED, NOT_TESTED])
@pytest.mark.parametrize("columns, lines", [(80, 24), (120, 40)])
def test_claims_are_one_screen_with_every_name(outcome, columns, lines, terminal, capsys):
    terminal(columns, lines)
    verdicts = [replace(one, outcome=outcome, value=0.123456, low=0.1, high=0.2, kind="synthetic") for one in judge([])]
    verdicts[5] = replace(verdicts[5], outcome=NOT_REPRODUCED, experiment="flickr")
    show_screen(verdicts, Path("results/quick"))
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) < lines and max(map(len, shown)) <= columns
    assert all(one.claim in "\n".join(shown) for one in verdicts)
    (failing,) = (line for line in shown if line.startswith(f"{verdicts[5].claim} "))
    assert "0.12" in failing and "synthetic" in failing


def test_nothing_is_cut_in_a_pipe():
    longest = max((known.title for known in datasets().values()), key=len)
    assert longest in invoke("data list").stdout


def test_rows_of_another_version_are_counted_in_one_line(tmp_path, caplog):
    folder = tmp_path / "results" / "quick"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        described = (COMMITTED / "table2" / DESCRIPTION_FILE).read_text()
        (folder / name / DESCRIPTION_FILE).write_text(described)
        (folder / name / ROWS_FILE).write_text('{"type": "timing", "old": 1}\n' * 3)
    error = invoke("show a", code=2).output
    assert error.startswith("error: results/quick/a: its 3 rows were made by another version; `cbe-bench")
    assert error.count("\n") == 1
    invoke("claims")
    (warning,) = caplog.records
    assert warning.getMessage().startswith("results/quick: 6 rows of 2 experiments were made by another version")


def test_an_experiment_is_found_at_any_scale_and_folders_are_named(tmp_path):
    (tmp_path / "results" / "smoke" / "table2").mkdir(parents=True)
    for name in (DESCRIPTION_FILE, ROWS_FILE):
        (tmp_path / "results" / "smoke" / "table2" / name).write_text((COMMITTED / "table2" / name).read_text())
    assert "Encode time" in invoke("show table2").stderr
    assert "name the folder: results/smoke" in invoke("claims", code=2).output
