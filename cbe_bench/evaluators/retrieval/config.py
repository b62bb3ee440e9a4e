"""The configuration of retrieval experiments."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from cbe_bench.core.config import Positive, Scales
from cbe_bench.core.errors import did_you_mean
from cbe_bench.evaluators.configs import EncoderConfig, unique
from cbe_bench.evaluators.task import NeighboursConfig

SHORTEST = 16
"""Shorter codes are not timed."""


class RetrievalConfig(NeighboursConfig):
    """How well codes find exact neighbours."""

    sizes: ClassVar[Scales] = {
        "smoke": {**NeighboursConfig.sizes["smoke"], "time_budget_s": 0.02, "time_rounds": 1},
        "quick": {**NeighboursConfig.sizes["quick"], "time_budget_s": 0.05, "time_rounds": 1},
        "paper": NeighboursConfig.sizes["paper"],
    }

    experiment: Literal["retrieval"]
    fixed: Annotated[tuple[Literal["bits", "time"], ...], Field(min_length=1)] = ("bits",)
    """What methods have in common: the code length, the encode time, or one after the other."""
    time_reference: str = "cbe-rand"
    """The label of the method whose encode time, at each code length, the others get."""
    time_budget_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.3
    """Seconds for which the encode time of a method at a code length is sampled, in each round."""
    time_rounds: Positive = 5
    """Independent rounds of timing: a single one in this process, several in a new process each."""
    split_seed: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The seed of one split that all seeds have in common; otherwise each draws its own."""
    auc: bool = False
    """Also measure the averaged AUC of retrieving rows of the same label."""
    sweep: str | None = None
    """A parameter that encoders differ in: recall is drawn against it."""

    _unique_fixed = field_validator("fixed")(unique)

    def seed_of_split(self, seed: int) -> int:
        """Return the seed that decides the split, and the dimensions where some are drawn, of a seed."""
        return seed if self.split_seed is None else self.split_seed

    def ladder(self, entry: EncoderConfig) -> list[int]:
        """Return the code lengths at which a method is timed: those it can have of `n_bits` and halves of the least."""
        lengths = set(self.n_bits)
        while (half := min(lengths) // 2) >= SHORTEST:
            lengths.add(half)
        return sorted(n_bits for n_bits in lengths if not self._problem(entry, n_bits))

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        labels = [entry.label for entry in self.encoders]
        if "time" in self.fixed and self.time_reference not in labels:
            yield f"time_reference: found {self.time_reference!r}; {did_you_mean(self.time_reference, labels)}"
