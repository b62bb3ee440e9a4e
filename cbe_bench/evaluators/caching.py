"""Rows of features that experiments read once: checked before a run, cached where memory allows."""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.features import Features, check_values
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 27


def check_rows(features: Features, rows: NDArray[np.int64]) -> None:
    """Read rows, sorted, once, so that bad ones end a run before it begins; synthetic data need no check."""
    if isinstance(features, SyntheticFeatures):
        return
    for part in slices(len(rows), max(1, _BLOCK_BYTES // (4 * features.n_features))):
        check_values(features.read(rows[part]), rows[part], features.source)


def cache_bytes(memory_limit: int, n_features: int, *n_rows: int) -> int:
    """Return the memory for cached rows: the first of some numbers of rows that fit a quarter of the limit, or none."""
    needed = (4 * n_features * n for n in n_rows)
    return next((size for size in needed if size <= memory_limit // 4), 0)
