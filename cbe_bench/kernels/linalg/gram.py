"""Gram matrices: the inner products of all pairs of rows, of real vectors by BLAS, of packed codes by counting bits.

Half of a Gram matrix is computed and mirrored.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.hamming import inner_products
from cbe_bench.kernels.parallel import for_slices, slices

Gram = NDArray[np.float32]

_STRIP = 1024
"""Rows of a Gram matrix computed before they are mirrored."""
_COLUMNS = 512
"""Columns of a strip in one product."""


def code_gram(codes: Codes, n_bits: int) -> Gram:
    """Return the inner products of packed codes taken as -1 and +1: whole numbers, exact.

    Parameters
    ----------
    codes : uint8 array of shape (n, n_bytes)
        Packed codes.
    n_bits : int
        The code length.

    Returns
    -------
    float32 array of shape (n, n)
    """
    return _mirrored(len(codes), lambda rows, others: inner_products(codes[rows], codes[others], n_bits))


def real_gram(X: NDArray[np.float32]) -> Gram:
    """Return the inner products of real rows: symmetric, each in error by at most d u |x| |y|, u = 2^-24."""

    def strip(rows: slice, others: slice) -> Gram:
        Y = X[others]
        out = np.empty((rows.stop - rows.start, len(Y)), np.float32)

        def multiply(part: slice) -> None:
            np.matmul(X[rows], Y[part].T, out=out[:, part])

        for_slices(multiply, len(Y), _COLUMNS, blas=True)
        return out

    return _mirrored(len(X), strip)


def _mirrored(n: int, strip: Callable[[slice, slice], Gram]) -> Gram:
    """Return a symmetric matrix from what gives a strip of its rows, from the diagonal on."""
    gram = np.empty((n, n), np.float32)
    for rows in slices(n, _STRIP):
        gram[rows, rows.start :] = strip(rows, slice(rows.start, n))
        square = gram[rows, rows]
        square[:] = np.triu(square) + np.triu(square, 1).T  # BLAS may round the two halves otherwise
        gram[rows.stop :, rows] = gram[rows, rows.stop :].T
    return gram
