"""The configuration of retrieval experiments."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from cbe_bench.core.config import Positive, Scales
from cbe_bench.core.errors import did_you_mean
from cbe_bench.evaluators.configs import EncodersConfig, unique


class RetrievalConfig(EncodersConfig):
    """How well codes find exact neighbours."""

    sizes: ClassVar[Scales] = {
        "smoke": {"n_database": 1_000, "n_train": 500, "n_queries": 50, "time_budget_s": 0.02},
        "quick": {"n_database": 2_500, "n_train": 1_500, "n_queries": 400, "time_budget_s": 0.1},
        "paper": {"n_database": 100_000, "n_train": 10_000, "n_queries": 500},
    }

    experiment: Literal["retrieval"]
    n_database: Positive
    n_train: Positive
    """Rows of the database that make the training set."""
    n_queries: Positive
    n_neighbours: Positive = 10
    """Exact neighbours of a query."""
    depth: Annotated[int, Field(ge=10, strict=True)] = 100
    """Recall is measured up to this many retrieved rows."""
    fixed: Annotated[tuple[Literal["bits", "time"], ...], Field(min_length=1)] = ("bits",)
    """What methods have in common: the code length, the encode time, or one after the other."""
    time_reference: str = "cbe-rand"
    """The label of the method whose encode time, at each code length, the others get."""
    time_budget_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.3
    """Seconds for which the times of a method and the reference are sampled, at each code length tried."""
    auc: bool = False
    """Also measure the averaged AUC of retrieving rows of the same label."""
    sweep: str | None = None
    """A parameter that encoders differ in: recall is drawn against it."""

    _unique_fixed = field_validator("fixed")(unique)

    @property
    def rows_needed(self) -> int:
        """Rows that a synthetic surrogate must have."""
        return self.n_database + self.n_queries

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        if self.n_train > self.n_database:
            yield f"n_train: found {self.n_train}; the database it is drawn from has {self.n_database} rows"
        labels = [entry.label for entry in self.encoders]
        if "time" in self.fixed and self.time_reference not in labels:
            yield f"time_reference: found {self.time_reference!r}; {did_you_mean(self.time_reference, labels)}"
        for entry in self.encoders:
            if entry.n_train is not None and entry.n_train > self.n_train:
                yield f"encoders.{entry.label}.n_train: found {entry.n_train}; the training set has {self.n_train} rows"
        least = max(self.n_neighbours, self.depth)
        if self.n_database < least:
            yield f"n_database: found {self.n_database}; n_neighbours and depth need at least {least} rows"
