"""Matrix products that round the same way however their rows are cut into pieces.

BLAS adds up a product of a few rows in another order than one of many. On one thread, with few rows padded by
zeros, each value depends on its own row and column alone: codes then do not depend on batch sizes or threads.
"""

import numpy as np
from numpy.typing import NDArray

_LEAST_ROWS = 32


def products(a: NDArray, b: NDArray) -> NDArray:
    """Return a @ b.T; to be called from a task of `for_slices`, called with blas=True."""
    return (_at_least(a) @ _at_least(b).T)[: len(a), : len(b)]


def _at_least(rows: NDArray) -> NDArray:
    return np.pad(rows, ((0, _LEAST_ROWS - len(rows)), (0, 0))) if len(rows) < _LEAST_ROWS else rows
