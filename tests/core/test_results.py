"""Rows survive what happens to files."""

import json
import logging
import math
import pickle
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.core.locks import CAN_CLAIM
from cbe_bench.core.results import (
    Description,
    Row,
    Spec,
    append_row,
    load_description,
    load_results,
    load_rows,
    write_description,
)


@dataclass(frozen=True, kw_only=True)
class ToySpec(Spec):
    encoder: str
    params: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ToyRow(ToySpec, Row):
    type: ClassVar[str] = "toy"
    value: float = math.nan
    curve: tuple[float, ...] = ()
    interval: tuple[float, float] = (math.nan, math.nan)


TYPES = {"toy": ToyRow}


def row(key="a", **values):
    metadata = {"environment": "here", "threads": 2, "peak_memory_bytes": 1, "ended": "2014-06-17T00:00:00+00:00"}
    own = {"key": key, "code": "1", "status": "ok", "encoder": "lsh", "params": {}}
    return ToyRow(**metadata | own | values)


def description(**values):
    return Description(
        **{
            "name": "one",
            "title": "One",
            "kind": "toy",
            "scale": "smoke",
            "command": "cbe-bench run one",
            "section": "table-1",
            "order": 3.5,
            "config": {"n_bits": [8]},
            "labels": {"mine": "cbe-rand"},
        }
        | values
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@settings(max_examples=50)
@given(
    params=st.dictionaries(st.text(), json_values),
    value=st.floats(),
    curve=st.lists(st.floats(), max_size=3).map(tuple),
    interval=st.tuples(st.floats(), st.floats()),
    reason=st.text(),
    notes=st.lists(st.text(), max_size=2).map(tuple),
)
def test_rows_are_read_as_they_were_written(params, value, curve, interval, reason, notes):
    before = row(params=params, value=value, curve=curve, interval=interval, reason=reason, notes=notes)
    after = ToyRow.from_json(json.loads(json.dumps(before.to_json())))
    assert repr(after) == repr(before), "NaN is unlike itself, its text is not"


def test_fields_that_have_their_default_are_not_stored():
    assert row(label="LSH").to_json().keys() == row().to_json().keys()
    for one in (row(label="LSH"), pickle.loads(pickle.dumps(row()))):  # as a worker returns it: with a NaN of its own
        assert not one.to_json().keys() & {"value", "curve", "interval", "label", "reason", "notes"}


def test_append_and_load_latest_of_each_key(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    assert load_rows(path, TYPES) == []
    for key, value in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
        append_row(path, row(key, value=value))
    assert [(one.key, one.value) for one in load_rows(path, TYPES)] == [("a", 3), ("b", 2)]


def test_a_torn_last_line_is_skipped_and_does_not_spoil_the_next(tmp_path, caplog):
    path = tmp_path / "rows.jsonl"
    append_row(path, row("a"))
    whole = path.read_bytes()
    line = json.dumps(row("b", params={"x": [1, {"é": "ü"}]}, value=1.5).to_json()).encode()
    for cut in range(1, len(line), 3):
        path.write_bytes(whole + line[:cut])
        assert [one.key for one in load_rows(path, TYPES)] == ["a"]
        append_row(path, row("c"))
        assert [one.key for one in load_rows(path, TYPES)] == ["a", "c"]
    assert not caplog.records, "a crash is no other version"


def foreign(**changes):
    return json.dumps({k: v for k, v in (row("b").to_json() | changes).items() if v != "remove"})


@pytest.mark.parametrize(
    "line",
    [
        foreign(type="unknown"),
        foreign(type="remove"),
        foreign(seconds=1),
        foreign(value="fast"),
        foreign(curve=3),
        foreign(interval=[1, 2, 3]),
        foreign(encoder="remove"),
        foreign(params=[1]),
        "[1]",
        "3",
        '"row"',
        "null",
    ],
)
def test_foreign_rows_are_not_used_and_warned_of(line, tmp_path, caplog):
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(row('a').to_json())}\n{line}\n{line}\n{json.dumps(row('c').to_json())}\n")
    with caplog.at_level(logging.WARNING):
        assert [one.key for one in load_rows(path, TYPES)] == ["a", "c"]
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    assert " 2 rows" in record.getMessage()


def test_an_experiment_has_its_own_rows_with_their_labels(tmp_path):
    for key in ("old", "mine"):
        append_row(tmp_path / "rows.jsonl", row(key, label="as it was"))
    write_description(tmp_path, description())
    results = load_results(tmp_path, TYPES)
    assert (results.name, results.kind) == (tmp_path.name, "toy")
    assert [(one.key, one.label) for one in results.rows] == [("mine", "cbe-rand")]


def test_descriptions_are_read_as_they_were_written(tmp_path):
    write_description(tmp_path, description())
    assert load_description(tmp_path) == description()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"title": 1}',
        json.dumps(asdict(description()) | {"labels": []}),
        json.dumps(asdict(description()) | {"colour": 1}),
    ],
)
def test_what_describes_no_experiment_is_an_input_error(text, tmp_path):
    (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(InputError, match="does not describe an experiment") as raised:
        load_description(tmp_path)
    assert str(tmp_path / "experiment.json") in str(raised.value)


def test_a_folder_without_an_experiment(tmp_path):
    with pytest.raises(InputError, match=r"no experiment there: it has no experiment\.json"):
        load_results(tmp_path, TYPES)


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


@pytest.mark.skipif(not CAN_CLAIM, reason="files cannot be claimed on this system")
def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    left, path = tmp_path / ".cbe-bench-0123.txt", tmp_path / "x.txt"
    left.write_text("half")
    with whole_file(path) as mine:
        mine.write_text("mine")
        with whole_file(path) as other:
            assert sorted(tmp_path.iterdir()) == sorted([mine, other])
            other.write_text("other")
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_whole_files_have_the_permissions_of_new_files(tmp_path):
    with whole_file(tmp_path / "x.txt") as temporary:
        temporary.write_text("")
    (tmp_path / "y.txt").write_text("")
    assert (tmp_path / "x.txt").stat().st_mode == (tmp_path / "y.txt").stat().st_mode


@given(st.text())
def test_input_errors_have_one_line(text):
    assert len(str(InputError(f"file: {text}")).splitlines()) == 1
