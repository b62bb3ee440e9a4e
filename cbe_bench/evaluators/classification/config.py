"""The configuration of classification experiments."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from cbe_bench.core.config import Positive, Scales
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.evaluators.classification.rows import ORIGINAL
from cbe_bench.evaluators.configs import EncodersConfig, unique


class ClassificationConfig(EncodersConfig):
    """How accurate linear classifiers of codes are, beside those of the features themselves."""

    sizes: ClassVar[Scales] = {
        "smoke": {"train_per_class": 4, "validation_per_class": 2, "test_per_class": 2},
        "quick": {"train_per_class": 8, "validation_per_class": 4, "test_per_class": 4},
        "paper": {"train_per_class": 100, "validation_per_class": 50, "test_per_class": 50},
    }

    experiment: Literal["classification"]
    protocol: Literal["paper"] = "paper"
    classes: Annotated[int, Field(ge=2, strict=True)] | None = None
    """Classes used, drawn once for all seeds; all of them where there are no more."""
    train_per_class: Positive
    """Rows of each class that classifiers, and data-dependent encoders, are trained on."""
    validation_per_class: Positive
    """Rows of each class that C is chosen on."""
    test_per_class: Positive
    """Rows of each class that accuracy is measured on."""
    costs: Annotated[tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...], Field(min_length=1)]
    """Values of C to choose from, for vectors of unit length."""

    _unique_costs = field_validator("costs")(unique)

    @property
    def rows_per_class(self) -> int:
        """Rows of each class for training, validation and test together."""
        return self.train_per_class + self.validation_per_class + self.test_per_class

    @property
    def rows_needed(self) -> int:
        """Rows that a synthetic surrogate must have."""
        return SyntheticFeatures.rows_for(self.rows_per_class)

    def rows_used(self, n_classes: int) -> int:
        """Return how many rows of a file with this many classes the experiment takes."""
        return SyntheticFeatures.rows_for(self.rows_per_class, n_classes)

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        if any(entry.label == ORIGINAL for entry in self.encoders):
            yield f"encoders: {ORIGINAL!r} is the label of the features themselves, which are always run"
