"""Statistics of a feature file, and whether it can be used: one pass over all rows."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.data.features import Features, Matrix
from cbe_bench.kernels.parallel import for_slices, slices

_BLOCK_BYTES = 1 << 27
_ROWS_NAMED = 5
_SUMMED_ROWS = 256
"""Rows added up at once."""
_SAMPLED = 5_000
_SAMPLE_BYTES = 1 << 29
"""Rows sampled to compare the labels of neighbours, and the memory for them."""


@dataclass
class Findings:
    """What one pass over a feature file found."""

    n_rows: int
    n_features: int
    not_finite: list[int] = field(default_factory=list)
    """Rows with NaN or infinite values."""
    zero: list[int] = field(default_factory=list)
    """Rows with nothing but zeros."""
    duplicates: list[int] = field(default_factory=list)
    """Rows equal to an earlier one."""
    norms: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    """Least, median and largest l2 norm of the other rows."""
    flatness: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    """Least, median and largest rho = max|x| / ||x||."""
    nonzero: float = np.nan
    """Fraction of values that are not zero."""
    mean_energy: float = np.nan
    """||mean||^2 of the rows scaled to unit length: 1 where all have one direction, 0 where they lie around zero."""
    labels: dict[str, int] | None = None
    """Rows of each label."""
    same_label: float = np.nan
    """Fraction of rows, of a sample, whose nearest other row of the sample has their label."""
    sampled: int = 0

    @property
    def problems(self) -> list[str]:
        """Why the file cannot be used, a line each."""
        found = ((self.not_finite, "NaN or infinite values"), (self.zero, "only zeros"))
        return [f"{_listed(rows)} {what}" for rows, what in found if rows]


def inspect(features: Features, progress: Progress = no_progress) -> Findings:
    """Read all rows once and return their statistics.

    Parameters
    ----------
    features : Features
        The rows.
    progress : callable, optional
        Called with the fraction of rows read, after every block.

    Returns
    -------
    Findings
        Unusable and duplicate rows, norms, flatness, density, labels.
    """
    findings = Findings(features.n_rows, features.n_features)
    digests = np.empty(features.n_rows, np.uint64)
    lengths, flatness, filled = [], [], 0
    total = np.zeros(features.n_features)
    for part in slices(features.n_rows, max(1, _BLOCK_BYTES // (4 * features.n_features))):
        block = features.read(np.arange(part.start, part.stop))
        norms, largest, nonzero = _measure(block, digests[part])
        finite = np.isfinite(norms)
        findings.not_finite += (part.start + np.flatnonzero(~finite)).tolist()
        findings.zero += (part.start + np.flatnonzero(norms == 0)).tolist()
        usable = finite & (norms > 0)
        lengths.append(norms[usable])
        flatness.append(largest[usable] / norms[usable])
        filled += int(nonzero.sum())
        for some in slices(len(block), _SUMMED_ROWS):
            total += (1 / norms[some][usable[some]]) @ block[some][usable[some]]
        progress(part.stop / features.n_rows)
    findings.duplicates = _repeated(digests)
    findings.norms, findings.flatness = _range(lengths), _range(flatness)
    findings.mean_energy = float(total @ total) / max(1, sum(map(len, lengths))) ** 2
    findings.nonzero = filled / (features.n_rows * features.n_features)
    labels = features.labels()
    if labels is not None:
        names, counts = np.unique(labels, return_counts=True)
        findings.labels = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
        if not findings.problems:
            findings.sampled, findings.same_label = _nearest_labels(features, labels)
    return findings


def _measure(block: Matrix, digests: NDArray[np.uint64]) -> tuple[NDArray, NDArray, NDArray]:
    """Return norm, largest coordinate and number of non-zero values of each row, and write its digest."""
    n = len(block)
    norms, largest, nonzero = np.empty(n), np.empty(n), np.empty(n, np.int64)

    def measure(some: slice) -> None:
        rows = block[some]
        with np.errstate(invalid="ignore", over="ignore"):
            norms[some] = _norms(rows)
            largest[some] = np.abs(rows).max(axis=1)
            nonzero[some] = np.count_nonzero(rows, axis=1)
        shortened = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
        digests[some] = np.frombuffer(shortened, np.uint64)

    for_slices(measure, n, 64)
    return norms, largest, nonzero


def _norms(rows: Matrix) -> NDArray[np.float64]:
    """Return the l2 norm of each row, in double precision: squares of large float32 values overflow."""
    norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return norms


def _repeated(digests: NDArray[np.uint64]) -> list[int]:
    """Return the positions of digests that have appeared before."""
    again = np.ones(len(digests), bool)
    again[np.unique(digests, return_index=True)[1]] = False
    return np.flatnonzero(again).tolist()


def _nearest_labels(features: Features, labels: NDArray) -> tuple[int, float]:
    """Return how many rows were sampled, and how often the nearest of the others, by angle, has a row's label."""
    count = min(features.n_rows, _SAMPLED, max(2, _SAMPLE_BYTES // (4 * features.n_features)))
    rows = np.sort(np.random.default_rng(0).choice(features.n_rows, count, replace=False))
    X = features.read(rows)
    X /= _norms(X)[:, None]
    nearest = np.empty(count, np.int64)

    def search(some: slice) -> None:
        closeness = X[some] @ X.T
        closeness[np.arange(len(closeness)), np.arange(some.start, some.stop)] = -np.inf
        nearest[some] = closeness.argmax(axis=1)

    for_slices(search, count, 256, blas=True)
    return count, float(np.mean(labels[rows] == labels[rows][nearest]))


def _range(parts: list[NDArray]) -> tuple[float, float, float]:
    values = np.concatenate(parts)
    if not len(values):
        return (np.nan, np.nan, np.nan)
    return float(values.min()), float(np.median(values)), float(values.max())


def _listed(rows: list[int]) -> str:
    named = ", ".join(map(str, rows[:_ROWS_NAMED])) + (", ..." if len(rows) > _ROWS_NAMED else "")
    return f"row {named} holds" if len(rows) == 1 else f"rows {named} ({len(rows):,} in all) hold"
