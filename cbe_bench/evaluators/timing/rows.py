"""Rows of timing experiments."""

import math
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


@dataclass(frozen=True, kw_only=True)
class TimingRow(TimingSpec, Row):
    """How long encoding takes: microseconds per vector, and what is needed beforehand."""

    type: ClassVar[str] = "timing"

    encode_us_per_vector: float = math.nan
    """The median of the samples."""
    encode_us_quartiles: tuple[float, float] = (math.nan, math.nan)
    samples_us: tuple[float, ...] = ()
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
    def relative_iqr(self) -> float:
        """The interquartile range relative to the median."""
        low, high = self.encode_us_quartiles
        return (high - low) / self.encode_us_per_vector
