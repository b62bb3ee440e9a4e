"""Rows of classification experiments."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from cbe_bench.core.query_values import QueryValues
from cbe_bench.core.results import Row, Spec

ORIGINAL = "original"
"""The name of the features themselves among the encoders."""


@dataclass(frozen=True, kw_only=True)
class ClassificationSpec(Spec):
    """One encoder at one code length, or the features themselves, on the split of one seed."""

    encoder: str
    params: dict[str, Any]
    n_bits: int
    """Code length; of the features themselves, the bits of a vector of float32."""
    n_train: int
    """Training rows the encoder is fitted to, drawn from those of all classes; 0 where it is data-independent."""
    seed: int
    data_hash: str
    data_rows: int
    """Rows of the data: the split depends on it."""
    protocol: str
    n_features: int
    n_classes: int
    train_per_class: int
    validation_per_class: int
    test_per_class: int
    costs: tuple[float, ...]
    """Values of C to choose from, in ascending order."""


@dataclass(frozen=True, kw_only=True)
class ClassificationRow(ClassificationSpec, Row):
    """Accuracy of linear SVMs, a fraction, and what encoding and training take.

    Classifiers are trained on codes. Plain names are those of tests on real projections (asymmetric, as in the paper);
    names in _symmetric are those of tests on codes, which the features themselves do not have.
    """

    type: ClassVar[str] = "classification"

    bytes_per_vector: int = 0
    fit_s: float = math.nan
    """Seconds to draw or train the parameters of the encoder."""
    encode_cpu_us_per_vector: float = math.nan
    """Processor time of encoding, in batches."""
    train_s: float = math.nan
    """Seconds to train the classifiers of all classes and values of C."""
    accuracy: float = math.nan
    """Accuracy on the test rows, at the C that is best on the validation rows."""
    cost: float = math.nan
    """That C."""
    validation_accuracies: tuple[float, ...] = ()
    """Accuracy on the validation rows at every C."""
    test_accuracies: tuple[float, ...] = ()
    query_accuracy: QueryValues = ""
    """Of each test row 1 if it was classified right, 0 if not, at that C."""
    accuracy_symmetric: float = math.nan
    cost_symmetric: float = math.nan
    validation_accuracies_symmetric: tuple[float, ...] = ()
    test_accuracies_symmetric: tuple[float, ...] = ()
    query_accuracy_symmetric: QueryValues = ""
