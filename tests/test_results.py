"""Rows survive what happens to files."""

import json

import pytest

from cbe_bench.cache import whole_file
from cbe_bench.errors import InputError
from cbe_bench.results import append_row, cell_key, load_rows


def test_append_and_load_latest_of_each_key(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    assert load_rows(path) == []
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        append_row(path, {"key": key, "value": value})
    assert load_rows(path) == [{"key": "a", "value": 3}, {"key": "b", "value": 2}]


def test_a_torn_last_line_is_ignored_and_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "rows.jsonl"
    append_row(path, {"key": "a"})
    whole = path.read_bytes()
    line = json.dumps({"key": "b", "value": 12}).encode()
    for cut in range(1, len(line)):
        path.write_bytes(whole + line[:cut])
        assert load_rows(path) == [{"key": "a"}]
        append_row(path, {"key": "c"})
        assert load_rows(path) == [{"key": "a"}, {"key": "c"}]


def test_foreign_content_is_told_with_its_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"key": "a"}\n{"no": "key"}\n{"key": "b"}\n')
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
