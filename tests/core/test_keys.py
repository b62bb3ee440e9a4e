"""The key of a row depends on everything that decides its value: on every field of every spec of every kind."""

import types
import typing
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from cbe_bench.core.results import Row, Spec
from cbe_bench.evaluators.base import experiment_kinds


def two_values(annotation):
    """Return two different values of a type."""
    if annotation is Any:
        return 1, 2
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return two_values(inner[0])
    if origin is typing.Literal:
        return inner[0], inner[1] if len(inner) > 1 else None
    if origin is dict:
        return tuple({"name": value} for value in two_values(inner[1]))
    if origin is tuple:
        one, other = two_values(inner[0])
        return (one, one), (one, other)
    return {str: ("a", "b"), int: (1, 2), float: (1.5, 2.5), bool: (False, True)}[annotation]


def spec_classes():
    rows = dict.fromkeys(row for kind in experiment_kinds().values() for row in kind.row_classes)
    return [next(base for base in row.__mro__ if issubclass(base, Spec) and not issubclass(base, Row)) for row in rows]


def sample(cls):
    hints = typing.get_type_hints(cls)
    return cls(**{field.name: two_values(hints[field.name])[0] for field in fields(cls)})


CASES = [(cls, field.name) for cls in dict.fromkeys(spec_classes()) for field in fields(cls)]


@pytest.mark.parametrize(("cls", "name"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_every_field_changes_the_key(cls, name):
    one = sample(cls)
    first, second = two_values(typing.get_type_hints(cls)[name])
    assert one.key("1") == sample(cls).key("1") == replace(one, **{name: first}).key("1")
    assert one.key("1") != replace(one, **{name: second}).key("1")


def test_every_kind_of_rows_has_a_spec_of_its_own():
    classes = spec_classes()
    assert len(set(classes)) == len(classes) >= len(experiment_kinds())
    assert all(fields(cls) for cls in classes)


@pytest.mark.parametrize("cls", dict.fromkeys(spec_classes()))
def test_the_code_changes_the_key(cls):
    assert sample(cls).key("1") != sample(cls).key("2")


@dataclass(frozen=True, kw_only=True)
class ToySpec(Spec):
    params: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class OtherSpec(Spec):
    params: dict[str, Any]


def test_keys_of_nested_values():
    key = ToySpec(params={"a": 1, "b": [1, 2]}).key("1")
    assert ToySpec(params={"b": [1, 2], "a": 1}).key("1") == key, "the order of parameters does not count"
    assert ToySpec(params={"a": 1, "b": [2, 1]}).key("1") != key
    assert ToySpec(params={"a": True, "b": [1, 2]}).key("1") != key
    assert OtherSpec(params={"a": 1, "b": [1, 2]}).key("1") != key, "nor are kinds mixed up"


def test_keys_are_the_same_on_every_machine():
    assert ToySpec(params={"a": 1, "b": [0.5, None, "x"]}).key("1") == "e258abc7655806574dd06396"
