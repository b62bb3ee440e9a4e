"""Experiment configurations: YAML in, frozen and wholly validated objects out.

Every message about a bad configuration comes from here: one line with the file, the key, what was found and what
is allowed.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from cbe_bench.data.splits import PROTOCOLS
from cbe_bench.encoders import make_encoder
from cbe_bench.errors import InputError, did_you_mean

SCALES: dict[str, dict[str, int]] = {
    "smoke": {"database": 1_000, "learn": 500, "queries": 50},
    "quick": {"database": 10_000, "learn": 5_000, "queries": 500},
    "paper": {"database": 100_000, "learn": 10_000, "queries": 500},
}
"""Sizes of the three parts of a split at each scale; a configuration may set others."""

Positive = Annotated[int, Field(gt=0, lt=2**31, strict=True)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataConfig(_Strict):
    """Which features an experiment uses."""

    name: str
    """What they are called in tables and figures."""
    file: Path | None = None
    """The feature file, relative to the working directory."""
    dim: Positive
    """Dimensions of its vectors."""
    keep_dims: Positive | None = None
    """Use only this many dimensions, chosen at random by seed; all of them where there are no more."""
    stand_in: bool = True
    """Use synthetic features of the same shape where the file is absent."""


class EncoderConfig(_Strict):
    """One line of a figure: a method and its parameters."""

    name: str
    label: str
    """What it is called in tables and figures; its name unless given."""
    params: dict[str, Any] = {}


class Config(_Strict):
    """One experiment."""

    name: Annotated[str, Field(pattern=r"^[\w][\w.-]*$")]
    """The folder its results go to; the name of its file unless given."""
    title: str
    experiment: Literal["retrieval"]
    data: DataConfig
    protocol: Literal["paper", "released-code"] = "paper"
    database: Positive
    learn: Positive
    queries: Positive
    neighbours: Positive = 10
    """True neighbours of a query."""
    depth: Annotated[int, Field(ge=10, strict=True)] = 100
    """Recall is taken up to this many retrieved rows."""
    bits: Annotated[tuple[Positive, ...], Field(min_length=1)]
    seeds: Annotated[tuple[Annotated[int, Field(ge=0, strict=True)], ...], Field(min_length=1)]
    encoders: Annotated[tuple[EncoderConfig, ...], Field(min_length=1)]

    @field_validator("bits", "seeds", "encoders")
    @classmethod
    def _no_repetition(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [getattr(value, "label", value) for value in values]
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{', '.join(repeated)} given more than once")
        return values

    @property
    def n_features(self) -> int:
        """Dimensions of the vectors an encoder sees."""
        return min(self.data.keep_dims or self.data.dim, self.data.dim)


def load_config(path: str | Path, scale: str = "quick", overrides: Iterable[str] = ()) -> Config:
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
    tree: dict[str, Any] = {"name": Path(path).stem, **SCALES[scale], **raw}
    _expand_encoders(tree)
    for key, value in special.get(scale, {}).items():
        _set(tree, key, value, f"{path}: scales.{scale}")
    own_file = dict(chosen).get("data.file")
    if (
        own_file is not None
    ):  # asked for by name, it is meant: nothing stands in for it, and results are called after it
        stem = Path(str(own_file)).stem
        for key, value in (("name", stem), ("title", stem), ("data.name", stem), ("data.stand_in", False)):
            _set(tree, key, value, "--set")
    for key, value in chosen:
        if not key.startswith("scales."):
            _set(tree, key, value, "--set")
    _expand_encoders(tree)
    return _validate(tree, path)


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


def _validate(tree: dict[str, Any], path: str | Path) -> Config:
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{path}: {_one_line(error)}") from None
    for problem in _problems(config):
        raise InputError(f"{path}: {problem}")
    return config


def _full_encoder(entry: Any) -> Any:
    """Take a bare name for an encoder without parameters."""
    if isinstance(entry, str):
        return {"name": entry, "label": entry}
    if isinstance(entry, dict) and "name" in entry:
        return {"label": entry["name"], **entry}
    return entry


def _one_line(error: ValidationError) -> str:
    """Tell the first of pydantic's findings as file: key: found, allowed."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        inner: dict[str, type[BaseModel]] = {"data": DataConfig, "encoders": EncoderConfig}
        model = inner[str(first["loc"][0])] if len(first["loc"]) > 1 else Config
        return f"{key}: unknown key; {did_you_mean(str(first['loc'][-1]), model.model_fields)}"
    if first["type"] == "missing":
        return f"{key}: this key is required"
    message = first["msg"].removeprefix("Value error, ").replace("tuple", "list").split(" or instance of")[0]
    found = "" if isinstance(first["input"], dict | list | tuple) else f"found {first['input']!r}; "
    return f"{key}: {found}{message[0].lower()}{message[1:]}"


def _problems(config: Config) -> Iterable[str]:
    """Find what is well-formed but cannot work."""
    data = config.data
    if data.file is None and not data.stand_in:
        yield "data.file: required where data.stand_in is false"
    if config.learn > config.database:
        yield f"learn: found {config.learn}; the database it is drawn from has {config.database} rows"
    least = max(config.neighbours, config.depth)
    if config.database < least:
        yield f"database: found {config.database}; neighbours and depth need at least {least} rows"
    settings = [(entry.name, repr(sorted(entry.params.items()))) for entry in config.encoders]
    for place, entry in enumerate(config.encoders):
        if settings.index(settings[place]) < place:
            yield f"encoders.{place}: the same method and parameters as encoders.{settings.index(settings[place])}"
        try:
            json.dumps(entry.params)
        except TypeError as error:
            yield f"encoders.{place}.params: {str(error).lower()}"
        try:
            for n_bits in config.bits:
                params = PROTOCOLS[config.protocol].params_for(entry.name) | entry.params
                if "n_bits" in params or "random_state" in params:
                    raise InputError("n_bits and random_state are set by the keys bits and seeds")
                make_encoder(entry.name, n_bits=n_bits, **params).check_params(config.n_features)
        except InputError as error:
            yield f"encoders.{place}: {error}"
