"""Features less their rows of zeros, which have no direction: codes of them mean nothing."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features, Matrix, check_values
from cbe_bench.kernels.linalg.products import squared_norms
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 27


def without_zeros(features: Features) -> Features:
    """Return features less their rows of zeros; the same object where there are none.

    All rows are read once; which hold only zeros is cached as long as the content is the same.

    Parameters
    ----------
    features : Features
        The features of a file.

    Raises
    ------
    InputError
        If a row holds NaN or infinity, or if all hold only zeros.
    """
    name = hashlib.sha256(f"zeros {features.content_hash()}".encode()).hexdigest()[:24]
    cached = cache_directory() / "zeros" / name
    known = read_checked(cached)
    zeros = np.frombuffer(known, "<i8").astype(np.int64) if known is not None else _zeros(features)
    if known is None:
        write_cache(cached, zeros.astype("<i8").tobytes())
    if not len(zeros):
        return features
    if len(zeros) == features.n_rows:
        raise InputError(f"{features.source}: all {features.n_rows:,} rows hold only zeros")
    return _WithoutRows(features, zeros)


def _zeros(features: Features) -> NDArray[np.int64]:
    """Return the rows of zeros, having checked the others."""
    found = [np.empty(0, np.int64)]
    for part in slices(features.n_rows, max(1, _BLOCK_BYTES // (4 * features.n_features))):
        rows = np.arange(part.start, part.stop)
        block = features.read(rows)
        is_zero = squared_norms(block) == 0
        check_values(block[~is_zero] if is_zero.any() else block, rows[~is_zero], features.source)
        found.append(rows[is_zero])
    return np.concatenate(found)


class _WithoutRows(Features):
    """Features less some rows; the queries among the others are those of the file."""

    def __init__(self, features: Features, left_out: NDArray[np.int64]) -> None:
        self._features = features
        self._rows = np.setdiff1d(np.arange(features.n_rows), left_out)
        self.name, self.kind = features.name, features.kind
        self.n_rows, self.n_features = len(self._rows), features.n_features
        self.own_queries = int(np.count_nonzero(self._rows >= features.n_rows - features.own_queries))

    @property
    def source(self) -> str:
        return self._features.source

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        return self._features.read(self._rows[rows])

    def content_hash(self) -> str:
        return hashlib.sha256(f"{self._features.content_hash()} without rows of zeros".encode()).hexdigest()

    def stamp(self) -> list[int]:
        return self._features.stamp()

    def labels(self) -> NDArray | None:
        found = self._features.labels()
        return None if found is None else found[self._rows]

    def describe(self) -> dict[str, Any]:
        return self._features.describe()

    def close(self) -> None:
        self._features.close()
