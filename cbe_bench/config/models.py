"""What an experiment may say: one class for each kind of experiment, its keys with their types and defaults."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.data.splits import PROTOCOLS
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.encoders import make_encoder

Scales = dict[str, dict[str, Any]]
Positive = Annotated[int, Field(gt=0, lt=2**31, strict=True)]
ORIGINAL = "original"
"""What classification calls the features themselves."""
Seed = Annotated[int, Field(ge=0, strict=True)]


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
    learn: Positive | None = None
    """Rows this method learns from, where they are fewer than the others'."""


def _no_repetition(values: tuple[Any, ...]) -> tuple[Any, ...]:
    names = [getattr(value, "label", value) for value in values]
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{', '.join(repeated)} given more than once")
    return values


class BaseConfig(_Strict):
    """What all experiments say."""

    sizes: ClassVar[Scales]
    """Keys that each scale sets; a configuration may set others."""

    name: Annotated[str, Field(pattern=r"^[\w][\w.-]*$")]
    """The folder its results go to; the name of its file unless given."""
    title: str
    experiment: str
    data: DataConfig

    @property
    def n_features(self) -> int:
        """Dimensions of the vectors an encoder sees."""
        return min(self.data.keep_dims or self.data.dim, self.data.dim)

    @property
    def rows_needed(self) -> int:
        """Rows a stand-in must have."""
        raise NotImplementedError

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        if self.data.file is None and not self.data.stand_in:
            yield "data.file: required where data.stand_in is false"


class Config(BaseConfig):
    """What experiments on a list of encoders say."""

    protocol: Literal["paper", "released-code"] = "paper"
    bits: Annotated[tuple[Positive, ...], Field(min_length=1)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    encoders: Annotated[tuple[EncoderConfig, ...], Field(min_length=1)]

    _unique = field_validator("bits", "seeds", "encoders")(_no_repetition)

    def params_of(self, entry: EncoderConfig) -> dict[str, Any]:
        """Return the parameters of an encoder, those its protocol sets included."""
        return PROTOCOLS[self.protocol].params_for(entry.name) | entry.params

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        settings = [(entry.name, repr(sorted(entry.params.items())), entry.learn) for entry in self.encoders]
        for place, entry in enumerate(self.encoders):
            if settings.index(settings[place]) < place:
                yield f"encoders.{place}: the same method and parameters as encoders.{settings.index(settings[place])}"
            try:
                json.dumps(entry.params)
            except TypeError as error:
                yield f"encoders.{place}.params: {str(error).lower()}"
            try:
                self._check_encoder(entry)
            except InputError as error:
                yield f"encoders.{place}: {error}"

    def _check_encoder(self, entry: EncoderConfig) -> None:
        if {"n_bits", "random_state"} & entry.params.keys():
            raise InputError("n_bits and random_state are set by the keys bits and seeds")
        for n_bits in self.bits:
            make_encoder(entry.name, n_bits=n_bits, **self.params_of(entry)).check_params(self.n_features)


class RetrievalConfig(Config):
    """How well codes find true neighbours."""

    sizes = {
        "smoke": {"database": 1_000, "learn": 500, "queries": 50, "time_budget": 0.02},
        "quick": {"database": 2_500, "learn": 1_500, "queries": 400, "time_budget": 0.1},
        "paper": {"database": 100_000, "learn": 10_000, "queries": 500},
    }

    experiment: Literal["retrieval"]
    database: Positive
    learn: Positive
    queries: Positive
    neighbours: Positive = 10
    """True neighbours of a query."""
    depth: Annotated[int, Field(ge=10, strict=True)] = 100
    """Recall is taken up to this many retrieved rows."""
    fixed: Annotated[tuple[Literal["bits", "time"], ...], Field(min_length=1)] = ("bits",)
    """What methods have in common: the bits of a code, the time it takes to make, or either in turn."""
    time_reference: str = "cbe-rand"
    """The label of the method whose time, at each number of bits, the others have."""
    time_budget: Annotated[float, Field(gt=0)] = 0.3
    """Seconds that the time of a method and that of the reference are sampled for, at each number of bits tried."""
    auc: bool = False
    """Also take the averaged area under the curve of retrieving rows of the same label."""
    sweep: str | None = None
    """A parameter that encoders differ in: recall is drawn against it."""

    @property
    def rows_needed(self) -> int:
        """Rows a stand-in must have."""
        return self.database + self.queries

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        if self.learn > self.database:
            yield f"learn: found {self.learn}; the database it is drawn from has {self.database} rows"
        labels = [entry.label for entry in self.encoders]
        if "time" in self.fixed and self.time_reference not in labels:
            yield f"time_reference: found {self.time_reference!r}; {did_you_mean(self.time_reference, labels)}"
        for place, entry in enumerate(self.encoders):
            if entry.learn is not None and entry.learn > self.learn:
                yield f"encoders.{place}.learn: found {entry.learn}; the learning set has {self.learn} rows"
        least = max(self.neighbours, self.depth)
        if self.database < least:
            yield f"database: found {self.database}; neighbours and depth need at least {least} rows"


class ClassificationConfig(Config):
    """How well linear classifiers of codes do, beside those of the features themselves."""

    sizes = {
        "smoke": {"train": 4, "validation": 2, "test": 2},
        "quick": {"train": 8, "validation": 4, "test": 4},
        "paper": {"train": 100, "validation": 50, "test": 50},
    }

    experiment: Literal["classification"]
    protocol: Literal["paper"] = "paper"
    classes: Annotated[int, Field(ge=2, strict=True)] | None = None
    """Classes used, drawn once for all seeds; all of them where there are no more."""
    train: Positive
    """Rows of each class that classifiers are trained on, and learned encoders with them."""
    validation: Positive
    """Rows of each class that the cost is chosen on."""
    test: Positive
    """Rows of each class that accuracy is taken on."""
    costs: Annotated[tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...], Field(min_length=1)]
    """Values of C to choose from, for vectors of unit length."""

    _unique_costs = field_validator("costs")(_no_repetition)

    @property
    def rows_needed(self) -> int:
        """Rows a stand-in must have."""
        return SyntheticFeatures.rows_for(self.train + self.validation + self.test)

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        if any(entry.label == ORIGINAL for entry in self.encoders):
            yield f"encoders: {ORIGINAL!r} is what the features themselves are called; they are always run"


EXPERIMENTS: dict[str, type[BaseConfig]] = {
    "retrieval": RetrievalConfig,
    "classification": ClassificationConfig,
}
SCALES = tuple(RetrievalConfig.sizes)
