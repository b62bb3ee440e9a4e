"""Rows of timing experiments: encoding and training."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from cbe_bench.core.results import Row, Spec


@dataclass(frozen=True, kw_only=True)
class TimingSpec(Spec):
    """One method at one dimension, code length and batch size on one machine."""

    encoder: str
    params: dict[str, Any]
    n_features: int
    n_bits: int
    batch: int
    threads: int
    dtype: str
    environment: str
    device: str = "cpu"
    """Where the vectors are: cpu for NumPy arrays and compiled kernels, or as `kernels.devices` names it."""
    rounds: int = 1
    """Independent rounds, each in a new process if there are several."""


@dataclass(frozen=True, kw_only=True)
class TimingRow(TimingSpec, Row):
    """How long encoding takes: microseconds per vector, and what is needed beforehand."""

    type: ClassVar[str] = "timing"

    encode_us_per_vector: float = math.nan
    """The median of the samples, over rounds the median of those."""
    encode_us_quartiles: tuple[float, float] = (math.nan, math.nan)
    samples_us: tuple[float, ...] = ()
    rounds_us: tuple[float, ...] = ()
    """The median of each round."""
    calls_per_sample: int = 0
    fit_s: float = math.nan
    """Seconds to draw or train the parameters."""
    plan_s: float = math.nan
    """Seconds to build the FFT plans and tables, once."""
    parameter_bytes: int = 0
    device_model: str = ""
    """What the maker calls the device, if it is not the processor."""
    device_is_gpu: bool = False
    transfer_us_per_vector: float = math.nan
    """Microseconds to copy a vector to the device and its code back; no part of the encode time."""

    @property
    def method(self) -> str:
        """What tables and figures call the method, wherever it was timed."""
        return self.label.removesuffix(f" on {self.device}")

    @property
    def relative_iqr(self) -> float:
        """The interquartile range relative to the median."""
        low, high = self.encode_us_quartiles
        return (high - low) / self.encode_us_per_vector


@dataclass(frozen=True, kw_only=True)
class LearningSpec(Spec):
    """The training of one method at one dimension, code length and size of the training set on one machine."""

    encoder: str
    params: dict[str, Any]
    n_features: int
    n_bits: int
    n_train: int
    threads: int
    environment: str
    rounds: int = 1
    """Independent rounds, each in a new process if there are several."""


@dataclass(frozen=True, kw_only=True)
class LearningRow(LearningSpec, Row):
    """How long training takes."""

    type: ClassVar[str] = "learning"

    fit_s: float = math.nan
    """The median of the samples, over rounds the median of those."""
    samples_s: tuple[float, ...] = ()
    rounds_s: tuple[float, ...] = ()
    """The median of each round."""


def encode_rows(rows: Iterable[Row]) -> list[TimingRow]:
    """Return the rows of encode times."""
    return [row for row in rows if isinstance(row, TimingRow)]


def learning_rows(rows: Iterable[Row]) -> list[LearningRow]:
    """Return the rows of training times that ended well."""
    return [row for row in rows if isinstance(row, LearningRow) and row.ok]
