"""Configurations of a toy kind: where values come from, and one line for whatever is wrong."""

import re
from typing import Annotated, Any, ClassVar, Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from cbe_bench.core.config import BaseConfig, Positive, Scales, Strict, as_yaml, load_config
from cbe_bench.core.errors import InputError


class Entry(Strict):
    name: str
    label: str = ""
    params: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class Data(Strict):
    file: str = "none"
    dim: Positive


class ToyConfig(BaseConfig):
    sizes: ClassVar[Scales] = {"smoke": {"n_rows": 10}, "quick": {"n_rows": 100}, "paper": {"n_rows": 1000}}

    experiment: Literal["toy"]
    data: Data
    n_rows: Positive
    n_bits: Annotated[tuple[Positive, ...], Field(min_length=1)]
    encoders: tuple[Entry, ...] = ()

    def problems(self):
        if self.n_rows < max(self.n_bits):
            yield f"n_rows: found {self.n_rows}; n_bits needs more"


GOOD = {
    "title": "A toy",
    "experiment": "toy",
    "data": {"dim": 64},
    "n_bits": [8, 4],
    "encoders": [{"name": "lsh"}, {"name": "cbe-opt", "label": "lam = 0.1", "params": {"lam": 0.1}}],
    "scales": {"smoke": {"n_bits": [2], "data.dim": 32}},
}


@pytest.fixture
def load(tmp_path):
    def load(content, *overrides, scale="quick"):
        path = tmp_path / "toy.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
        return load_config(path, scale, overrides, {"toy": ToyConfig})

    return load


def message(load, content, *overrides, scale="quick"):
    with pytest.raises(InputError) as raised:
        load(content, *overrides, scale=scale)
    assert len(str(raised.value).splitlines()) == 1
    return str(raised.value)


def test_the_later_source_counts(load):
    assert (load(GOOD).name, load(GOOD).n_rows, load(GOOD).data.dim) == ("toy", 100, 64)
    assert load(GOOD | {"n_rows": 50}).n_rows == 50, "the file over the sizes of the scale"
    assert load(GOOD | {"n_rows": 50}, scale="smoke").n_rows == 50
    smoke = load(GOOD, scale="smoke")
    assert (smoke.n_rows, smoke.n_bits, smoke.data.dim) == (10, (2,), 32), "its scale over the file"
    assert load(GOOD, "n_bits=[3]", "data.dim=5", scale="smoke").n_bits == (3,), "and overrides over all"
    assert load(GOOD, "scales.smoke.n_bits=[7]", scale="smoke").n_bits == (7,)
    assert load(GOOD, "scales.smoke.n_bits=[7]").n_bits == (8, 4)


def test_entries_are_addressed_by_label_name_or_position(load):
    config = load(GOOD, "encoders.lsh.params.store=true", "encoders.lam = 0.1.params.lam=2", "encoders.0.label=full")
    assert [entry.params for entry in config.encoders] == [{"store": True}, {"lam": 2}]
    assert [entry.label for entry in config.encoders] == ["full", "lam = 0.1"]
    assert load(GOOD, "encoders.lsh={name: hd3}").encoders[0].name == "hd3"
    assert load(GOOD, "n_bits.1=5").n_bits == (8, 5)
    assert load(GOOD, "title=a = b").title == "a = b"
    assert load(GOOD, "title = c").title == "c"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("n_bits", "--set n_bits: must be key=value"),
        ("=3", "--set =3: must be key=value"),
        ("n_bits=[1", "--set n_bits: line 1: "),
        ("title=2020-13-45", "--set title: not YAML "),
        ("n_bits=&a [1]", None),
        ("n_bits=*a", "--set n_bits: line 1: aliases are not allowed"),
        ("title.x=1", "--set: title.x: 'title' has no keys"),
        ("encoders.lhs.label=x", "--set: encoders.lhs.label: there is no 'lhs'; did you mean 'lsh'? "),
        ("encoders.7.label=x", "--set: encoders.7.label: there is no '7'; "),
        ("n_bits.9=4", "--set: n_bits.9: there is no '9'; "),
        ("colour=red", "toy.yaml: colour: unknown key; allowed: "),
        ("scales.smok.n_bits=[1]", "toy.yaml: scales.smok: unknown scale; did you mean 'smoke'? "),
        ("a\nb=1", "toy.yaml: a b: unknown key; "),
    ],
)
def test_bad_overrides(override, expected, load):
    if expected is None:
        assert load(GOOD, override).n_bits == (1,)
    else:
        assert expected in message(load, GOOD, override)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"n_bit": [1]}, "n_bit: unknown key; did you mean 'n_bits'? allowed: data, "),
        ({"data": {"dim": 4, "fiel": "x"}}, "data.fiel: unknown key; did you mean 'file'? allowed: dim, file"),
        ({"encoders": [{"name": "lsh", "parms": {}}]}, "encoders.lsh.parms: unknown key; did you mean 'params'? "),
        ({"encoders": [{"name": "a", "label": "b", "params": 1}]}, "encoders.b.params: found 1; "),
        ({"encoders": [{"label": "b"}]}, "encoders.b.name: this key is required"),
        ({"encoders": [{}]}, "encoders.0.name: this key is required"),
        ({"encoders": [3]}, "encoders.0: found 3; "),
        ({"data": {}}, "data.dim: this key is required"),
        ({"n_bits": [8, "many"]}, "n_bits.1: found 'many'; input should be a valid integer"),
        ({"n_bits": [8, 2.5]}, "n_bits.1: found 2.5; input should be a valid integer"),
        ({"n_bits": [0]}, "n_bits.0: found 0; input should be greater than 0"),
        ({"n_bits": [2**31]}, "n_bits.0: found 2147483648; input should be less than 2147483648"),
        ({"n_bits": [True]}, "n_bits.0: found True; "),
        ({"n_bits": []}, "n_bits: list should have at least 1 item"),
        ({"n_bits": 64}, "n_bits: found 64; input should be a valid list"),
        ({"name": "../out"}, "name: found '../out'; "),
        ({"experiment": "tuy"}, "experiment: found 'tuy'; did you mean 'toy'? allowed: toy"),
        ({"n_rows": 3}, "n_rows: found 3; n_bits needs more"),
        ({"scales": [1]}, "scales: must map a scale to keys and their values"),
        ({"scales": {"smoke": 1}}, "scales: must map a scale to keys and their values"),
        ({"scales": {"smok": {}}}, "scales.smok: unknown scale; did you mean 'smoke'? allowed: paper, quick, smoke"),
        ({"scales": {"quick": {"title.x": 1}}}, "scales.quick: title.x: 'title' has no keys"),
    ],
)
def test_bad_content(change, expected, load):
    found = message(load, GOOD | change)
    assert re.match(rf".*toy\.yaml: {re.escape(expected)}", found), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title: x", "experiment: this key is required"),
        ("n_bits: [1, 2", "line 1: expected ',' or ']'"),
        ("n_bits: [1]\nn_bits: [2]\n", "line 2: key 'n_bits' given twice"),
        ("a: &x [1]\nb: *x\n", "line 2: aliases are not allowed"),
        ("a: {b: &x [1], c: [*x, *x]}", "line 1: aliases are not allowed"),
        ("? [a]\n: 1", "line 1: keys are words"),
        ("1: 2", "line 1: keys are words, found 1"),
        ("just words", "must hold keys and values, found str"),
        ("", "must hold keys and values, found NoneType"),
        ("a: \x00", "not YAML"),
        ("a: 2020-13-45", "not YAML"),
        ("a: !!python/object/apply:os.system [x]", "line 1: could not determine a constructor"),
        ("[" * 1500, "not YAML"),
        ("a: x\n" * (1 << 18), "larger than 1 MiB"),
    ],
)
def test_bad_files(text, expected, load):
    assert expected in message(load, text)


def test_files_that_cannot_be_read(tmp_path, load):
    load(GOOD)
    for path, expected in (
        (tmp_path / "tox.yaml", f"tox.yaml: no such file; did you mean '{tmp_path / 'toy.yaml'}'?"),
        (tmp_path, "not a file"),
    ):
        with pytest.raises(InputError) as raised:
            load_config(path, "quick", (), {"toy": ToyConfig})
        assert expected in str(raised.value)
    (tmp_path / "toy.yaml").write_bytes(b"title: \xff")
    with pytest.raises(InputError, match="cannot be read"):
        load_config(tmp_path / "toy.yaml", "quick", (), {"toy": ToyConfig})


words = st.sampled_from([*GOOD, *GOOD["data"], "name", "label", "params", "smoke", "x.y", "a\nb", ""])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(change=st.dictionaries(words, values, max_size=3), key=words, value=values)
def test_whatever_is_written_is_a_configuration_or_one_line(change, key, value, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_text(yaml.safe_dump(GOOD | change), encoding="utf-8")
    for overrides in ((), (f"{key}={yaml.safe_dump(value, default_flow_style=True)}",)):
        try:
            load_config(path, "smoke", overrides, {"toy": ToyConfig})
        except InputError as error:
            assert len(str(error).splitlines()) == 1


def test_values_that_were_read_are_written_as_yaml(load):
    config = load(GOOD).model_dump(mode="json")
    assert yaml.safe_load(as_yaml(config)) == config
