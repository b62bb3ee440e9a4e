"""The configuration of experiments on angles."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from cbe_bench.core.config import Positive, Seed
from cbe_bench.evaluators.configs import FeaturesConfig, unique


class AnglesConfig(FeaturesConfig):
    """How well codes estimate angles: of simulated pairs of vectors, and of all pairs of some features."""

    experiment: Literal["angles"]
    dims: Annotated[tuple[Positive, ...], Field(min_length=1)]
    """Dimensions in which pairs of all kinds are simulated, for all methods: powers of two, as hd3 takes them."""
    draws: Annotated[int, Field(ge=10, strict=True)]
    """Independent draws of every embedding."""
    flat_dims: tuple[Positive, ...] = ()
    """Further dimensions, for cbe-rand on the flattest pair only: there Theorem 1 begins to say something."""
    flat_draws: Annotated[int, Field(ge=10, strict=True)] = 1_000
    vectors: Annotated[int, Field(ge=2, strict=True)]
    """Rows of the features of which all pairs are compared; all rows where there are no more."""
    feature_draws: Positive
    """Draws of every encoder of the features."""
    seed: Seed = 0

    _unique = field_validator("dims", "flat_dims")(unique)

    @property
    def rows_needed(self) -> int:
        """Rows that a synthetic surrogate must have."""
        return self.vectors

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        for key in ("dims", "flat_dims"):
            for d in getattr(self, key):
                if d < 2 or d & (d - 1):
                    yield f"{key}: found {d}; pairs are simulated in 2, 4, 8, ... dimensions"
