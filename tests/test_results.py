"""Rows survive what happens to files."""

import json

import pytest

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import (
    About,
    append_row,
    cell_key,
    load_experiment,
    load_experiments,
    load_rows,
    write_about,
)


def test_append_and_load_latest_of_each_key(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    assert load_rows(path) == []
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        append_row(path, {"key": key, "status": "ok", "value": value})
    assert [(row["key"], row["value"]) for row in load_rows(path)] == [("a", 3), ("b", 2)]


def test_a_torn_last_line_is_ignored_and_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "rows.jsonl"
    append_row(path, {"key": "a", "status": "ok"})
    whole = path.read_bytes()
    line = json.dumps({"key": "b", "params": {"x": [1]}, "status": "ok", "value": 12}).encode()
    for cut in range(1, len(line)):
        path.write_bytes(whole + line[:cut])
        assert [row["key"] for row in load_rows(path)] == ["a"]
        append_row(path, {"key": "c", "status": "ok"})
        assert [row["key"] for row in load_rows(path)] == ["a", "c"]


def test_foreign_content_is_told_with_its_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    good = '{"key": "a", "status": "ok"}'
    for bad in ('{"no": "key"}', "[1]", '{"key": "b"}'):
        path.write_text(f"{good}\n{bad}\n{good}\n")
        with pytest.raises(InputError, match="line 2 is not a result row"):
            load_rows(path)


def test_key_depends_on_everything_but_order():
    assert cell_key({"a": 1, "b": [2]}) == cell_key({"b": [2], "a": 1})
    assert cell_key({"a": 1, "b": [2]}) != cell_key({"a": 1, "b": [3]})


def test_whole_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.txt"
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with whole_file(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_an_experiment_has_its_own_rows_and_no_others(tmp_path):
    folder = tmp_path / "one"
    for key in ("old", "mine"):
        append_row(folder / "rows.jsonl", {"key": key, "status": "ok"})
    about = {"title": "One", "experiment": "retrieval", "scale": "smoke", "command": "cbe-bench run one.yaml"}
    write_about(folder, About(**about, config={"bits": [8]}, labels={"mine": "cbe-rand"}))
    (tmp_path / "no experiment").mkdir()
    (found,) = load_experiments(tmp_path)
    assert found.name == "one" and found.about.command == "cbe-bench run one.yaml"
    assert found.rows == [{"key": "mine", "status": "ok", "label": "cbe-rand"}]


def test_what_is_no_experiment_is_told(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        load_experiments(tmp_path / "missing")
    with pytest.raises(InputError, match="holds no experiment"):
        load_experiment(tmp_path)
    (tmp_path / "experiment.json").write_text('{"title": 1}')
    with pytest.raises(InputError, match="does not describe an experiment"):
        load_experiment(tmp_path)
