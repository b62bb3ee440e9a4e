"""Experiment configurations: YAML in, frozen and wholly validated objects out.

Every message about a bad configuration comes from here: one line with the file, the key, what was found and what
is allowed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from cbe_bench.config.models import EXPERIMENTS, SCALES, BaseConfig, DataConfig, EncoderConfig
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.data.formats import open_features


def load_config(path: str | Path, scale: str = "quick", overrides: Iterable[str] = ()) -> BaseConfig:
    """Read an experiment at a scale, with `key=value` overrides, or raise InputError.

    Values are taken, the later over the earlier, from the scale's sizes, the file, the file's `scales` section
    and the overrides.
    """
    raw = _read_yaml(Path(path))
    chosen = [_read_override(override) for override in overrides]
    for key, value in chosen:
        if key.startswith("scales."):
            _set(raw, key, value, "--set")
    special = raw.pop("scales", None) or {}
    if not isinstance(special, dict) or not all(isinstance(part, dict) for part in special.values()):
        raise InputError(f"{path}: scales: must map a scale to keys and their values")
    for name in special:
        if name not in SCALES:
            raise InputError(f"{path}: scales.{name}: unknown scale; {did_you_mean(str(name), SCALES)}")
    model = _model(raw, path)
    tree: dict[str, Any] = {"name": Path(path).stem, **model.sizes[scale], **raw}
    _expand_encoders(tree)
    for key, value in special.get(scale, {}).items():
        _set(tree, key, value, f"{path}: scales.{scale}")
    own_file = dict(chosen).get("data.file")
    if own_file is not None:
        _take_own_file(tree, Path(str(own_file)), dict(chosen))
    for key, value in chosen:
        if not key.startswith("scales."):
            _set(tree, key, value, "--set")
    _expand_encoders(tree)
    return _validate(model, tree, path)


def _take_own_file(tree: dict[str, Any], file: Path, chosen: dict[str, Any]) -> None:
    """Make an experiment one on a file that was asked for by name.

    It is meant: nothing stands in for it, and results are called after it. Its dimensions are those it has; numbers of
    bits that were made for others keep their relation to them.
    """
    for key, value in (("name", file.stem), ("title", file.stem), ("data.name", file.stem), ("data.stand_in", False)):
        _set(tree, key, value, "--set")
    data = tree.get("data")
    if "data.dim" in chosen or not isinstance(data, dict):
        return
    with open_features(file) as features:
        before, data["dim"] = data.get("dim"), features.n_features
    bits = tree.get("bits")
    if "bits" not in chosen and isinstance(before, int) and isinstance(bits, list):
        seen = min(before, data.get("keep_dims") or before)
        now = min(data["dim"], data.get("keep_dims") or data["dim"])
        tree["bits"] = sorted({max(1, round(value * now / seen)) for value in bits if isinstance(value, int)})


def _model(raw: dict[str, Any], path: str | Path) -> type[BaseConfig]:
    """Return what describes the kind of experiment."""
    if "experiment" not in raw:
        raise InputError(f"{path}: experiment: this key is required")
    kind = str(raw["experiment"])
    if kind not in EXPERIMENTS:
        raise InputError(f"{path}: experiment: found {kind!r}; {did_you_mean(kind, EXPERIMENTS)}")
    return EXPERIMENTS[kind]


def _read_override(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: must be key=value")
    try:
        return key, yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        raise InputError(f"--set {text}: {value!r} is not a YAML value") from None


def _expand_encoders(tree: dict[str, Any]) -> None:
    """Write a bare name of an encoder out as an entry with its label."""
    if isinstance(tree.get("encoders"), list):
        tree["encoders"] = [_full_encoder(entry) for entry in tree["encoders"]]


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        others = [str(other) for other in sorted(path.parent.glob("*.yaml"))]
        raise InputError(f"{path}: no such file; {did_you_mean(str(path), others)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    try:
        raw = yaml.load(text, Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise InputError(f"{path}: line {line}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: must hold keys and values, found {type(raw).__name__}")
    return raw


class _UniqueKeys(yaml.SafeLoader):
    """A YAML loader that takes no key twice."""

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


def _set(tree: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set a dotted key, list positions as numbers: data.file, encoders.0.params.rows."""
    *path, last = str(key).split(".")
    place: Any = tree
    for name in path:
        try:
            place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
        except (IndexError, ValueError):
            place = None
        if not isinstance(place, dict | list):
            raise InputError(f"{where}: {key}: there is nothing under {name!r}")
    try:
        place[int(last) if isinstance(place, list) else last] = value
    except (IndexError, ValueError):
        raise InputError(f"{where}: {key}: there is no position {last!r}") from None


def _validate(model: type[BaseConfig], tree: dict[str, Any], path: str | Path) -> BaseConfig:
    try:
        config = model.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{path}: {_one_line(error, model)}") from None
    for problem in config.problems():
        raise InputError(f"{path}: {problem}")
    return config


def _full_encoder(entry: Any) -> Any:
    """Take a bare name for an encoder without parameters."""
    if isinstance(entry, str):
        return {"name": entry, "label": entry}
    if isinstance(entry, dict) and "name" in entry:
        return {"label": entry["name"], **entry}
    return entry


def _one_line(error: ValidationError, whole: type[BaseConfig]) -> str:
    """Tell the first of pydantic's findings as file: key: found, allowed."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        inner: dict[str, type[BaseModel]] = {"data": DataConfig, "encoders": EncoderConfig}
        model = inner[str(first["loc"][0])] if len(first["loc"]) > 1 else whole
        return f"{key}: unknown key; {did_you_mean(str(first['loc'][-1]), model.model_fields)}"
    if first["type"] == "missing":
        return f"{key}: this key is required"
    message = first["msg"].removeprefix("Value error, ").replace("tuple", "list").split(" or instance of")[0]
    found = "" if isinstance(first["input"], dict | list | tuple) else f"found {first['input']!r}; "
    return f"{key}: {found}{message[0].lower()}{message[1:]}"
