"""Configurations: YAML in, frozen and validated objects out.

Every message about a bad configuration comes from here: one line with the file, the key, what was found and what is
allowed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.yaml_files import entry_names, read_override, read_yaml, set_key

Scale = Literal["smoke", "quick", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "paper")
Scales = Mapping[str, Mapping[str, Any]]
Positive = Annotated[int, Field(gt=0, lt=2**31, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]


class Strict(BaseModel):
    """A part of a configuration: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BaseConfig(Strict):
    """The keys of every experiment."""

    sizes: ClassVar[Scales] = {scale: {} for scale in SCALES}
    """Keys that each scale sets; a configuration may set others."""

    name: Annotated[str, Field(pattern=r"^[\w][\w.-]*$")]
    """The folder of its results; the name of its file unless given."""
    title: str
    experiment: str
    """Its kind."""
    section: str = ""
    """The section of the page it stands in."""
    order: float = 0.0
    """Its place in the suite, and on the page within its section."""
    in_suite: tuple[Scale, ...] = SCALES
    """The scales at which the whole suite runs it; others only where it is asked for by name."""

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        return ()

    @classmethod
    def expand(cls, tree: dict[str, Any]) -> None:
        """Write short forms out, in place, before values are set by dotted keys and validated."""


def load_config(
    path: Path,
    scale: str,
    overrides: Iterable[str],
    classes: Mapping[str, type[BaseConfig]],
    adapt: Callable[[dict[str, Any], dict[str, Any]], None] = lambda tree, chosen: None,
) -> BaseConfig:
    """Read an experiment at a scale, with `key=value` overrides, or raise InputError.

    Values are taken, the later over the earlier, from the sizes of the scale, the file, the file's `scales` section
    and the overrides.

    Parameters
    ----------
    path : Path
        The file.
    scale : str
        One of `SCALES`.
    overrides : iterable of str
        Dotted keys and their values as YAML: ``data.file=x.h5``.
    classes : mapping
        The class of configuration of each kind of experiment.
    adapt : callable
        Given the tree of values and the overrides, changes the tree before the overrides are set.
    """
    raw = read_yaml(path)
    chosen = dict(read_override(override) for override in overrides)
    for key, value in chosen.items():
        if key.startswith("scales."):
            set_key(raw, key, value, "--set")
    by_scale = _scales(raw.pop("scales", None) or {}, path)
    cls = _class_of(raw, path, classes)
    tree: dict[str, Any] = {"name": path.stem, **cls.sizes.get(scale, {}), **raw}
    cls.expand(tree)
    for key, value in by_scale.get(scale, {}).items():
        set_key(tree, key, value, f"{path}: scales.{scale}")
    adapt(tree, chosen)
    for key, value in chosen.items():
        if not key.startswith("scales."):
            set_key(tree, key, value, "--set")
    cls.expand(tree)
    return validate(cls, tree, path)


def _scales(found: Any, path: Path) -> dict[str, dict[str, Any]]:
    if not isinstance(found, dict) or not all(isinstance(part, dict) for part in found.values()):
        raise InputError(f"{path}: scales: must map a scale to keys and their values")
    for name in found:
        if name not in SCALES:
            raise InputError(f"{path}: scales.{name}: unknown scale; {did_you_mean(str(name), SCALES)}")
    return found


def _class_of(raw: dict[str, Any], path: Path, classes: Mapping[str, type[BaseConfig]]) -> type[BaseConfig]:
    if "experiment" not in raw:
        raise InputError(f"{path}: experiment: this key is required")
    kind = str(raw["experiment"])
    if kind not in classes:
        raise InputError(f"{path}: experiment: found {kind!r}; {did_you_mean(kind, classes)}")
    return classes[kind]


def validate(cls: type[BaseConfig], tree: dict[str, Any], path: Path | str) -> BaseConfig:
    """Return the configuration of a tree of values, or raise InputError with the first problem.

    Parameters
    ----------
    cls : type
        The class of configuration.
    tree : dict
        The values, as read from YAML.
    path : Path or str
        The file, for messages.

    Returns
    -------
    BaseConfig
        An instance of `cls`.

    Raises
    ------
    InputError
        With the first problem, in one line.
    """
    try:
        config = cls.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{path}: {_one_line(error, cls, tree)}") from None
    for problem in config.problems():
        raise InputError(f"{path}: {problem}")
    return config


def _one_line(error: ValidationError, cls: type[BaseModel], tree: dict[str, Any]) -> str:
    """Write the first of pydantic's findings, unknown keys before others, as key: found, allowed."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key = ".".join(_names(first["loc"], tree))
    if first["type"] == "extra_forbidden":
        allowed = _model_at(cls, first["loc"][:-1]).model_fields
        return f"{key}: unknown key; {did_you_mean(str(first['loc'][-1]), allowed)}"
    if first["type"] == "missing":
        return f"{key}: this key is required"
    message = first["msg"].removeprefix("Value error, ").split(" or instance of")[0]
    message = (message[0].lower() + message[1:]).replace("tuple", "list")
    found = "" if isinstance(first["input"], dict | list | tuple) else f"found {first['input']!r}; "
    return f"{key}: {found}{message}"


def _names(place: tuple[int | str, ...], tree: Any) -> Iterator[str]:
    """Yield the parts of a dotted key, as `set_key` takes it, of a place in a tree: entries of lists by their label."""
    for part in place:
        try:
            inner = tree[part]
        except (KeyError, IndexError, TypeError):
            inner = None
        yield entry_names(tree)[int(part)] if isinstance(tree, list) and isinstance(inner, dict) else str(part)
        tree = inner


def _model_at(cls: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model of the part of a configuration at a place: names of keys and positions in lists."""
    for name in place:
        if isinstance(name, str) and name in cls.model_fields:
            cls = _inner_model(cls.model_fields[name].annotation) or cls
    return cls


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_inner_model(inner) for inner in getattr(annotation, "__args__", ()))
    return next((model for model in found if model), None)


def as_yaml(config: Mapping[str, Any]) -> str:
    """Return a configuration as YAML."""
    return yaml.safe_dump(dict(config), sort_keys=False, default_flow_style=None, width=100)
