"""The configuration of timing experiments."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from cbe_bench.core.config import BaseConfig, Positive
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders import encoder_classes, make_encoder
from cbe_bench.encoders.device import takes_device_arrays
from cbe_bench.evaluators.configs import EncoderConfig, full_encoders, unique
from cbe_bench.evaluators.timers import TIMED_PARAMS
from cbe_bench.evaluators.times.device import HOST
from cbe_bench.evaluators.timing.paper import ENCODE_MS
from cbe_bench.kernels.devices import find_device

_MOST_BITS = 1 << 31


def parse_dims(text: str) -> tuple[int, ...]:
    """Read dimensions: 2^15..2^27 (every power of two), paper (those of Table 2), or a list such as 768,2^20."""
    if text.strip() == "paper":
        return tuple(ENCODE_MS)
    dims: list[int] = []
    for item in text.split(","):
        ends = [_number(end, item) for end in item.split("..")]
        if len(ends) == 1:
            dims += ends
        elif len(ends) == 2 and all(end & (end - 1) == 0 for end in ends) and ends[0] <= ends[1]:
            dims += [2**power for power in range(ends[0].bit_length() - 1, ends[1].bit_length())]
        else:
            raise ValueError(f"{item}: a range goes from one power of two up to another, as in 2^15..2^27")
    return tuple(sorted(set(dims)))


def _number(text: str, item: str) -> int:
    match = re.fullmatch(r"\s*(\d[\d_]{0,9})\s*(?:(?:\^|\*\*)\s*(\d{1,2}))?\s*", text)
    base, power = (int(match[1]), int(match[2] or 1)) if match else (0, 1)
    value = base**power if power <= 31 or base <= 1 else 0
    if not 1 <= value < 2**31:
        raise ValueError(f"{item}: write 768, 2^20, 2^15..2^27, paper or a list of these; found {text!r}")
    return value


def parse_bits(text: str, d: int) -> list[int]:
    """Read code lengths that may depend on the dimension: d, d/4, 2d, 512 or a list of these.

    Parameters
    ----------
    text : str
        The code lengths, separated by commas.
    d : int
        The dimension.

    Returns
    -------
    list of int
        Ascending, without repetitions.
    """
    lengths = []
    for item in text.split(","):
        match = re.fullmatch(r"\s*(\d{0,9})\s*\*?\s*d\s*(?:/\s*(\d{1,9}))?\s*|\s*(\d{1,10})\s*", item)
        if not match or (match[2] and int(match[2]) == 0):
            raise ValueError(f"{item}: write 512, d, d/4, 2d or a list of these")
        value = int(match[3]) if match[3] else int(match[1] or 1) * d // int(match[2] or 1)
        if value < 1:
            raise ValueError(f"{item}: is no bit at d = {d}")
        lengths.append(value)
    return sorted(set(lengths))


class TimingConfig(BaseConfig):
    """How long encoding, or training, takes."""

    experiment: Literal["timing"]
    dims: Annotated[tuple[Positive, ...], Field(min_length=1)]
    """Dimensions: a list, or as in 2^15..2^27, paper, 768,2^20."""
    n_bits: str = "d"
    """Code lengths: 512, d, d/4, 2d, or a list of these separated by commas."""
    encoders: Annotated[tuple[EncoderConfig, ...], Field(min_length=1)]
    n_train: tuple[Positive, ...] = ()
    """Time training instead, on as many rows as each of these says."""
    batch: Positive = 1
    """Vectors of a call: 1 is latency, more is throughput."""
    threads: Positive = 1
    """Threads, pinned to as many cores."""
    device: str = HOST
    """A device that every method is timed on as well, such as cuda, cupy or jax; cpu for none."""
    budget_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0
    """Seconds for which a cell is sampled, in each round."""
    rounds: Positive = 1
    """Independent rounds: a single one in this process, several in a new process each."""

    _unique = field_validator("dims", "encoders", "n_train")(unique)

    @classmethod
    def expand(cls, tree: dict[str, Any]) -> None:
        """Write out bare names of encoders, and entries with a grid of parameters."""
        if isinstance(tree.get("encoders"), list):
            tree["encoders"] = [full for entry in tree["encoders"] for full in full_encoders(entry)]

    @staticmethod
    def params_of(entry: EncoderConfig) -> dict[str, Any]:
        """Return the parameters that an encoder is timed with."""
        return TIMED_PARAMS.get(entry.name, {}) | entry.params

    @field_validator("dims", mode="before")
    @classmethod
    def _read_dims(cls, value: object) -> object:
        return parse_dims(str(value)) if isinstance(value, str | int) else value

    @field_validator("n_bits", mode="before")
    @classmethod
    def _read_bits(cls, value: object) -> object:
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        parse_bits(text, 1 << 30)
        return text

    def lengths(self, d: int) -> list[int]:
        """Return the code lengths at a dimension."""
        return parse_bits(self.n_bits, d)

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        classes = encoder_classes()
        if self.device != HOST:
            yield from self._device_problems()
        for entry in self.encoders:
            if entry.name not in classes:
                yield f"encoders: unknown encoder {entry.name!r}; {did_you_mean(entry.name, classes)}"
                continue
            for d in self.dims:
                yield from self._problems_at(entry, d)

    def _device_problems(self) -> Iterable[str]:
        try:
            find_device(self.device)
        except InputError as error:
            yield str(error)
        able = {name for name, cls in encoder_classes().items() if takes_device_arrays(cls)}
        for name in (entry.name for entry in self.encoders):
            if name in encoder_classes() and name not in able:
                yield f"encoders: {name} encodes on no device; those that do: {', '.join(sorted(able))}"

    def _problems_at(self, entry: EncoderConfig, d: int) -> Iterable[str]:
        try:
            for n_bits in self.lengths(d):
                if n_bits > _MOST_BITS:
                    yield f"n_bits: {n_bits:,} bits at d = {d:,}; at most {_MOST_BITS:,} are timed"
                make_encoder(entry.name, n_bits=n_bits, **self.params_of(entry)).check_params(d)
        except InputError as error:
            yield f"encoders.{entry.label}: {error}"
        except ValueError as error:
            yield f"n_bits: {error}"
