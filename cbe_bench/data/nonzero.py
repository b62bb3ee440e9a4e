"""Features less their rows of zeros, which have no direction: codes of them mean nothing."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features, Matrix, check_values
from cbe_bench.kernels.linalg.products import squared_norms
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 27
_LARGE_BYTES = 1 << 30


def without_zeros(features: Features, message: Callable[[str], None] = lambda text: None) -> Features:
    """Return features less their rows of zeros; the same object where there are none.

    All rows are read once; which hold only zeros is cached as long as the content is the same.

    Parameters
    ----------
    features : Features
        The features of a file.
    message : callable
        Takes a line before the rows of a large file are read.

    Raises
    ------
    InputError
        If a row holds NaN or infinity, or if all hold only zeros.
    """
    name = hashlib.sha256(f"zeros {features.content_hash()}".encode()).hexdigest()[:24]
    cached = cache_directory() / "zeros" / name
    known = read_checked(cached)
    if known is not None:
        zeros = np.frombuffer(known, "<i8").astype(np.int64)
    else:
        if (n_bytes := 4 * features.n_rows * features.n_features) > _LARGE_BYTES:
            message(f"checking all rows of {features.source}, {human_bytes(n_bytes)} of float32")
        zeros = _zeros(features)
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
        self._features, self._left_out = features, left_out
        self._before = left_out - np.arange(len(left_out))
        """How many of the rows that stay precede each that is left out."""
        self.name, self.kind = features.name, features.kind
        self.n_rows, self.n_features = features.n_rows - len(left_out), features.n_features
        database = features.n_rows - features.own_queries
        self.own_queries = features.own_queries - int(np.count_nonzero(left_out >= database))

    @property
    def source(self) -> str:
        return self._features.source

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        return self._features.read(rows + np.searchsorted(self._before, rows, side="right"))

    def content_hash(self) -> str:
        return hashlib.sha256(f"{self._features.content_hash()} without rows of zeros".encode()).hexdigest()

    def stamp(self) -> list[int]:
        return self._features.stamp()

    def labels(self) -> NDArray | None:
        found = self._features.labels()
        return None if found is None else np.delete(found, self._left_out)

    def describe(self) -> dict[str, Any]:
        return self._features.describe()

    def close(self) -> None:
        self._features.close()
