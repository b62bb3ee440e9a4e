"""YAML files and dotted keys: read with one clear line for whatever is wrong."""

import re
from pathlib import Path
from typing import Any

import yaml

from cbe_bench.core.errors import InputError, did_you_mean

_MOST_BYTES = 1 << 20
"""A configuration is a page of text; a larger file is something else."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file of keys and values."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES >> 20} MiB; it is no configuration")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = [str(other) for other in sorted(path.parent.glob("*.yaml"))]
        raise InputError(f"{path}: no such file; {did_you_mean(str(path), others)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
    raw = _parse(text, str(path))
    if not isinstance(raw, dict):
        raise InputError(f"{path}: must hold keys and values, found {type(raw).__name__}")
    return raw


def read_override(text: str) -> tuple[str, Any]:
    """Read `key=value`, the value as YAML; an equals sign after a space is part of a label such as `lam = 2`."""
    match = re.match(r"(.*?\S)=(.*)", text, re.DOTALL) or re.match(r"(.*?)=(.*)", text, re.DOTALL)
    key = match[1].strip() if match else ""
    if not match or not key.strip("."):
        raise InputError(f"--set {text}: must be key=value")
    return key, _parse(match[2], f"--set {key}")


def _parse(text: str, where: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise InputError(f"{where}:{line} {' '.join(str(error.problem).split())}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{where}: not YAML ({(str(error).splitlines() or [type(error).__name__])[0]})") from None


class _Loader(yaml.SafeLoader):
    """A YAML loader that takes no key twice and no aliases, with which a small file describes a huge one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                problem = f"keys are words, found {key!r}"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def set_key(tree: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set a dotted key: data.file, encoders.itq.params.n_iter.

    In a list, an entry is named by its label or name, dots in them included, or by its position, counted from 0.

    Parameters
    ----------
    tree : dict
        The values, changed in place.
    key : str
        The dotted key.
    value : object
        Its new value.
    where : str
        What to name in messages.

    Raises
    ------
    InputError
        If the key leads to no place in the tree.
    """
    place: Any = tree
    name, dot, rest = _first_name(place, str(key))
    while dot:
        place = _step_into(place, name, where, key)
        name, dot, rest = _first_name(place, rest)
    if isinstance(place, list):
        place[_position(place, name, where, key)] = value
    else:
        place[name] = value


def _first_name(place: Any, key: str) -> tuple[str, str, str]:
    """Cut a dotted key into its first name, the dot and the rest; empty where there is none."""
    names = sorted(entry_names(place), key=len, reverse=True) if isinstance(place, list) else []
    for name in names:
        if f"{key}.".startswith(f"{name}."):
            return name, key[len(name) :][:1], key[len(name) + 1 :]
    return key.partition(".")


def _step_into(place: Any, name: str, where: str, key: str) -> Any:
    inner = place[_position(place, name, where, key)] if isinstance(place, list) else place.setdefault(name, {})
    if not isinstance(inner, dict | list):
        raise InputError(f"{where}: {key}: {name!r} has no keys")
    return inner


def entry_names(entries: list[Any]) -> list[str]:
    """Return what the places of a list are called: labels or names of entries, words, else their positions."""
    entries = [
        entry.get("label", entry.get("name", place)) if isinstance(entry, dict) else entry
        for place, entry in enumerate(entries)
    ]
    return [entry if isinstance(entry, str) else str(place) for place, entry in enumerate(entries)]


def _position(entries: list[Any], name: str, where: str, key: str) -> int:
    names = entry_names(entries)
    if name in names:
        return names.index(name)
    if name.isdigit() and int(name) < len(entries):
        return int(name)
    raise InputError(f"{where}: {key}: there is no {name!r}; {did_you_mean(name, names)}")
