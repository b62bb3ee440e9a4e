"""Rows of experiments on angles: of simulated pairs, and of features.

Tables of a row are tuples of tuples: one line for each angle, one column for each code length.
"""

import math
from collections.abc import Container, Iterable, Sized
from dataclasses import dataclass
from typing import ClassVar

from cbe_bench.core.results import Row, Spec

Values = tuple[float, ...]
Counts = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SimulationSpec(Spec):
    """One method on one kind of pair: all angles and all code lengths."""

    data: str = "simulated pairs"
    data_kind: str = "simulated"
    method: str
    pair: str
    n_features: int
    n_bits: tuple[int, ...]
    """Code lengths, rising."""
    angles_rad: Values
    draws: int
    delta: float
    """The probability at which Theorem 2 is taken."""
    seed: int


@dataclass(frozen=True, kw_only=True)
class SimulationRow(SimulationSpec, Row):
    """What the draws say of the fraction of differing bits."""

    type: ClassVar[str] = "simulation"

    flatness: Values = ()
    """rho of the pair at each angle, as the embedding sees it, averaged over draws."""
    mean: Values = ()
    """The mean fraction at the longest code, for each angle."""
    variance: tuple[Values, ...] = ()
    kurtosis: tuple[Values, ...] = ()
    n_beyond_2_sigma: Counts = ()
    """Draws off by more than two standard deviations of independent bits at the longest code, for each angle."""
    n_beyond_3_sigma: Counts = ()
    n_beyond_theorem2: tuple[Counts, ...] = ()
    """Draws off by more than Theorem 2 allows."""

    def check(self) -> None:
        """Raise ValueError unless there is a value for each angle, and in tables for each code length."""
        by_angle = (self.flatness, self.mean, self.n_beyond_2_sigma, self.n_beyond_3_sigma)
        tables = (self.variance, self.kurtosis, self.n_beyond_theorem2)
        _check_table("angles_rad", (*by_angle, *tables), len(self.angles_rad), when=self.ok)
        _check_table("n_bits", [line for table in tables for line in table], len(self.n_bits), when=self.ok)


@dataclass(frozen=True, kw_only=True)
class ProductsSpec(Spec):
    """Products of the vectors of a pair, one of them shifted, under random sign flips."""

    data: str = "simulated pairs"
    data_kind: str = "simulated"
    pair: str
    n_features: int
    shifts: Counts
    thresholds: Values
    """Products are compared with these times the flatness of the shifted vector."""
    draws: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class ProductsRow(ProductsSpec, Row):
    """How many products are large: one line for each shifted vector and shift, one column for each threshold."""

    type: ClassVar[str] = "products"

    flatness: Values = ()
    """rho of each shifted vector: the first of the pair, then the second."""
    n_above: tuple[Counts, ...] = ()
    n_beyond: tuple[Counts, ...] = ()
    """Products of either sign."""

    def check(self) -> None:
        """Raise ValueError unless there is a value for each vector and shift, and each threshold."""
        tables = (self.n_above, self.n_beyond)
        _check_table("shifts", tables, len(self.flatness) * len(self.shifts), when=self.ok)
        _check_table("thresholds", [line for table in tables for line in table], len(self.thresholds), when=self.ok)


@dataclass(frozen=True, kw_only=True)
class FeaturesSpec(Spec):
    """One draw of one encoder on all pairs of a sample of features."""

    method: str
    data_hash: str
    """The identity of the features."""
    n_rows: int
    """Rows that the sample is drawn from."""
    n_vectors: int
    """Rows of the sample."""
    n_features: int
    n_bits: tuple[int, ...]
    """Code lengths, rising."""
    draw: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class FeaturesRow(FeaturesSpec, Row):
    """How far angles from codes are off, for each code length, over all pairs."""

    type: ClassVar[str] = "features"

    mean_error_over_pi: Values = ()
    worst_error_over_pi: Values = ()
    n_pairs: int = 0
    flatness_range: tuple[float, float] = (math.nan, math.nan)
    angle_range_rad: tuple[float, float] = (math.nan, math.nan)
    fraction_with_hypothesis: Values = ()
    """Fraction of pairs that meet the hypothesis of the corollary to Theorem 2, for each code length."""

    def check(self) -> None:
        """Raise ValueError unless there is a value for each code length."""
        values = (self.mean_error_over_pi, self.worst_error_over_pi, self.fraction_with_hypothesis)
        _check_table("n_bits", values, len(self.n_bits), when=self.ok)


def _check_table(of: str, lines: Iterable[Sized], length: int, *, when: bool) -> None:
    """Raise ValueError unless all lines have a length."""
    if when and any(len(line) != length for line in lines):
        raise ValueError(f"not a value for each of {of}")


def simulations(rows: Iterable[Row]) -> list[SimulationRow]:
    """Return the rows of simulated pairs that ended well."""
    return [row for row in rows if isinstance(row, SimulationRow) and row.ok]


def products_rows(rows: Iterable[Row]) -> list[ProductsRow]:
    """Return the rows of products that ended well."""
    return [row for row in rows if isinstance(row, ProductsRow) and row.ok]


def features_rows(rows: Iterable[Row]) -> list[FeaturesRow]:
    """Return the rows of features that ended well."""
    return [row for row in rows if isinstance(row, FeaturesRow) and row.ok]


def select(
    rows: Iterable[SimulationRow], methods: Container[str] | None = None, pairs: Container[str] | None = None
) -> list[SimulationRow]:
    """Return the simulations of some methods and of some kinds of pairs; None selects all.

    Parameters
    ----------
    rows : iterable of SimulationRow
        The simulations to choose from.
    methods : container of str or None
        The names of the methods.
    pairs : container of str or None
        The names of the kinds of pairs.

    Returns
    -------
    list of SimulationRow
    """
    return [row for row in rows if (methods is None or row.method in methods) and (pairs is None or row.pair in pairs)]
