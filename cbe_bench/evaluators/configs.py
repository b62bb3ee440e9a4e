"""Configurations common to several kinds of experiments: on features, and with a list of encoders."""

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, ValidatorFunctionWrapHandler, WrapValidator, field_validator

from cbe_bench.core.config import SCALES, BaseConfig, Positive, Scale, Seed, Strict
from cbe_bench.core.config import load_config as load
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.remote import as_path, is_url
from cbe_bench.data.splits import PROTOCOLS
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.registry import encoder_class, encoder_classes
from cbe_bench.evaluators.base import experiment_kinds
from cbe_bench.evaluators.own_file import adapt_to_own_file

_CHECKOUT = Path(__file__).parents[2] / "configs"
_PACKAGED = Path(__file__).parents[1] / "configs"


def _read_path(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    return as_path(value) if is_url(value) else read(value)


FeatureFile = Annotated[Path, WrapValidator(_read_path), PlainSerializer(str, when_used="json")]


class DataConfig(Strict):
    """Which features an experiment uses."""

    name: str
    """What they are called in tables and figures."""
    file: FeatureFile | None = None
    """The feature file, relative to the working directory, or its URL."""
    dataset: str | None = None
    """Which HDF5 dataset, Parquet column or .npz array of the file, where it holds several."""
    dim: Positive
    """Dimensions of its vectors."""
    keep_dims: Positive | None = None
    """Use only this many dimensions, drawn by the seed; all of them where there are no more."""
    synthetic: bool = True
    """Use a synthetic surrogate of the same shape where the file is absent."""
    own: bool = False
    """Whether it is a user's own file, asked for by name."""
    build_at: tuple[Scale, ...] = ("paper",)
    """The scales at which the whole suite builds the file where it is absent, if it is one it knows how to build."""


class FeaturesConfig(BaseConfig):
    """The keys of experiments on features."""

    data: DataConfig

    @property
    def n_features(self) -> int:
        """Dimensions of the vectors an encoder sees."""
        return min(self.data.keep_dims or self.data.dim, self.data.dim)

    @property
    def rows_needed(self) -> int:
        """Rows that a synthetic surrogate must have."""
        raise NotImplementedError

    def rows_used(self, n_classes: int) -> int:
        """Return how many rows of a file with this many classes the experiment takes."""
        return self.rows_needed

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        if self.data.file is None and not self.data.synthetic:
            yield "data.file: required where data.synthetic is false"


class EncoderConfig(Strict):
    """One line of a figure: a method and its parameters."""

    name: str
    label: str
    """What it is called in tables and figures; its name unless given."""
    params: dict[str, Any] = Field(default_factory=dict)
    n_train: Positive | None = None
    """Rows this method is trained on, where they are fewer than those of the others."""
    n_seeds: Positive | None = None
    """Only the first so many seeds are run: for a method that takes long."""


def unique(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return values none of which is given twice, entries by their label."""
    names = [getattr(value, "label", value) for value in values]
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{', '.join(repeated)} given more than once")
    return values


class EncodersConfig(FeaturesConfig):
    """The keys of experiments on a list of encoders."""

    protocol: Literal["paper", "released-code"] = "paper"
    n_bits: Annotated[tuple[Positive, ...], Field(min_length=1)]
    """Code lengths; a method that cannot have one of them is left out there."""
    center: bool = False
    """Encode vectors less the mean of the training set where an encoder does not say whether; not so in the paper."""
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    encoders: Annotated[tuple[EncoderConfig, ...], Field(min_length=1)]

    _unique = field_validator("n_bits", "seeds", "encoders")(unique)

    @classmethod
    def expand(cls, tree: dict[str, Any]) -> None:
        """Write out bare names of encoders, and entries with a grid of parameters."""
        if isinstance(tree.get("encoders"), list):
            tree["encoders"] = [full for entry in tree["encoders"] for full in full_encoders(entry)]

    def params_of(self, entry: EncoderConfig) -> dict[str, Any]:
        """Return the parameters of an encoder: those its protocol sets take the place of its own."""
        protocol = PROTOCOLS[self.protocol]
        centred = self.center and not protocol.centre and entry.name in encoder_classes()
        params = ({"center": True} if centred else {}) | entry.params | protocol.params_for(entry.name)
        extra = dict(protocol.extra_iterations).get(entry.name, 0)
        if extra:
            asked = params.get("max_iter", encoder_class(entry.name)().get_params()["max_iter"])
            params["max_iter"] = asked + extra if isinstance(asked, int) else asked
        return params

    def seeds_of(self, entry: EncoderConfig) -> tuple[int, ...]:
        """Return the seeds that a method is run with."""
        return self.seeds[: entry.n_seeds]

    def lengths(self, entry: EncoderConfig) -> list[int]:
        """Return the code lengths that a method can have."""
        return [n_bits for n_bits in self.n_bits if not self._problem(entry, n_bits)]

    @property
    def lengths_left_out(self) -> str:
        """Say which methods cannot have which code lengths; an empty string where all can."""
        lines = []
        for entry in self.encoders:
            able = self.lengths(entry)
            missing = [f"{n_bits:,}" for n_bits in self.n_bits if n_bits not in able]
            lines += [f"{entry.label} at {', '.join(missing)} bits"] if missing else []
        return f"; left out: {', '.join(lines)}" if lines else ""

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        seen: dict[str, str] = {}
        for entry in self.encoders:
            settings = repr((entry.name, sorted(self.params_of(entry).items()), entry.n_train))
            if settings in seen:
                yield f"encoders.{entry.label}: the same method and parameters as encoders.{seen[settings]}"
            seen[settings] = entry.label
            try:
                json.dumps(entry.params)
            except TypeError as error:
                yield f"encoders.{entry.label}.params: {str(error).lower()}"
            try:
                self._check_encoder(entry)
            except InputError as error:
                yield f"encoders.{entry.label}: {error}"

    def _check_encoder(self, entry: EncoderConfig) -> None:
        if {"n_bits", "random_state"} & entry.params.keys():
            raise InputError("n_bits and random_state are set by the keys n_bits and seeds")
        if not self.lengths(entry):
            raise InputError(self._problem(entry, self.n_bits[0]))

    def _problem(self, entry: EncoderConfig, n_bits: int) -> str:
        """Say why a method cannot have a code length; an empty string where it can."""
        try:
            self._make(entry, n_bits)
        except InputError as error:
            return str(error)
        return ""

    def _make(self, entry: EncoderConfig, n_bits: int) -> None:
        """Raise InputError unless a method can have a code length."""
        make_encoder(entry.name, n_bits=n_bits, **self.params_of(entry)).check_params(self.n_features)


def full_encoders(entry: Any) -> list[Any]:
    """Return the entries that a bare name, an entry, or an entry with a grid stands for.

    A grid maps parameters to lists of values, `n_train` among them; null leaves a parameter as it is.
    """
    if isinstance(entry, str):
        return [{"name": entry, "label": entry}]
    if not isinstance(entry, dict) or "name" not in entry:
        return [entry]
    grid = entry.get("grid")
    if not isinstance(grid, dict):
        return [{"label": entry["name"], **entry}]
    if not all(isinstance(values, list) and values for values in grid.values()):
        raise InputError(f"encoders.{entry['name']}.grid: must map parameters to lists of values")
    return [_grid_entry(entry, dict(zip(grid, values, strict=True))) for values in product(*grid.values())]


def _grid_entry(entry: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    chosen = {name: value for name, value in chosen.items() if value is not None}
    base = {"params": {}, **{key: value for key, value in entry.items() if key != "grid"}}
    rows = {"n_train": chosen.pop("n_train")} if "n_train" in chosen else {}
    words = [f"{name} = {value}" for name, value in (chosen | rows).items()]
    label = ", ".join([*([entry["label"]] if "label" in entry else []), *words])
    params = base["params"] | chosen if isinstance(base["params"], dict) else base["params"]
    return {**base, **rows, "label": label or entry["name"], "params": params}


def find_config(name: str | Path) -> Path:
    """Return the file of a configuration: a path, or the name of one that comes with the suite."""
    path = Path(name)
    if path.is_file():
        return path
    for folder in (Path("configs"), *config_folders()):
        candidate = folder / f"{path.stem}.yaml"
        if candidate.is_file() and path.parent in (Path(), Path("configs")):
            return candidate
    known = {file.stem for folder in config_folders() for file in folder.glob("*.yaml")}
    nearby = {str(file) for file in path.parent.glob("*.yaml")} if path.suffix else known
    raise InputError(f"{name}: no such configuration; {did_you_mean(str(name), nearby or known)}")


def config_folders() -> list[Path]:
    """Return the folders of the configurations that come with the suite: beside the package, or within it."""
    return [folder for folder in (_CHECKOUT, _PACKAGED) if folder.is_dir()]


def load_config(name: str | Path, scale: str = "quick", overrides: Iterable[str] = ()) -> Any:
    """Read the configuration of an experiment of any kind; see `core.config.load_config`.

    Parameters
    ----------
    name : str or Path
        The name of a configuration of the suite, or a file.
    scale : str
        One of `SCALES`.
    overrides : iterable of str
        Dotted keys and their values as YAML: ``data.file=x.h5``.

    Returns
    -------
    BaseConfig
        Of the class of its kind of experiment.

    Raises
    ------
    InputError
        With the first problem.
    """
    if scale not in SCALES:
        raise InputError(f"scale: found {scale!r}; {did_you_mean(scale, SCALES)}")
    classes = {kind: cls.config_class for kind, cls in experiment_kinds().items()}
    return load(find_config(name), scale, overrides, classes, adapt_to_own_file)
