"""Rows of features that an experiment reads: checked before it begins, and cached in memory where they fit."""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.data.features import Features, check_values
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 27


def check_rows(features: Features, rows: NDArray[np.int64]) -> None:
    """Read rows once, so that bad ones end a run before it begins; synthetic features need no check.

    Parameters
    ----------
    features : Features
        Where the rows are.
    rows : int64 array of shape (n_rows,)
        Positions, sorted and without repetition.

    Raises
    ------
    InputError
        Where rows hold NaN, infinity or nothing but zeros.
    """
    if isinstance(features, SyntheticFeatures):
        return
    for part in slices(len(rows), max(1, _BLOCK_BYTES // (4 * features.n_features))):
        check_values(features.read(rows[part]), rows[part], features.source)


def cached_bytes(memory_limit: int, n_features: int, *row_counts: int) -> int:
    """Return the memory for float32 rows that are cached: the first of some sets that takes at most half.

    Parameters
    ----------
    memory_limit : int
        The bytes the run may use.
    n_features : int
        The dimension of a row.
    *row_counts : int
        The number of rows of each set, in the order of preference.

    Returns
    -------
    int
        0 if no set fits.
    """
    sizes = (4 * n_features * n_rows for n_rows in row_counts)
    return next((size for size in sizes if size <= memory_limit // 2), 0)
