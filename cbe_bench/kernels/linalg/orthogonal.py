"""Orthonormal matrices and the products that learning them needs, the same bits on any number of threads.

Of all matrices Q with orthonormal columns (or rows, if it is wide), the polar factor of M has the largest trace(Q' M).
Every method here that learns a rotation alternates between codes and such a factor.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import qr, svd

from cbe_bench.kernels.parallel import blas_threads, for_slices, slices

_TILE_COLUMNS = 128
BLOCKS_AT_ONCE = 64
"""Terms of a sum in memory at once."""


def polar(matrix: NDArray) -> NDArray:
    """Return U V' of the thin singular value decomposition U S V', in the precision of the matrix."""
    with blas_threads(1):
        U, _, Vt = svd(matrix, full_matrices=False, check_finite=False)  # NumPy's would be in double precision always
        factor: NDArray = U @ Vt
        return factor


def random_orthonormal(rng: np.random.Generator, shape: tuple[int, int], dtype: DTypeLike) -> NDArray:
    """Return a random matrix with orthonormal rows or columns, whichever are fewer, uniformly distributed.

    Parameters
    ----------
    rng : Generator
    shape : tuple of int
        Of the result.
    dtype : dtype
        Of the result.

    Returns
    -------
    array
        Of the given shape.
    """
    gaussian = rng.standard_normal((max(shape), min(shape))).astype(dtype)
    with blas_threads(1):
        columns, triangle = qr(gaussian, mode="economic", check_finite=False)
    columns *= np.where(np.diag(triangle) < 0, -1, 1).astype(dtype)
    return columns if columns.shape == shape else columns.T


def cross_products(a: NDArray, b: NDArray) -> NDArray:
    """Return a' b, the sum over the rows of both, on all cores.

    Parameters
    ----------
    a : array of shape (n, p)
    b : array of shape (n, q)

    Returns
    -------
    array of shape (p, q)
    """
    out = np.empty((a.shape[1], b.shape[1]), np.result_type(a, b))
    tiles = slices(a.shape[1], _TILE_COLUMNS)

    def multiply(part: slice) -> None:
        for tile in tiles[part]:
            np.matmul(a[:, tile].T, b, out=out[tile])

    for_slices(multiply, len(tiles), 1, blas=True)
    return out


def sum_over_blocks(work: Callable[[slice], NDArray], n: int, size: int) -> NDArray[np.float64]:
    """Add up `work` of slices of range(n), at most `size` long; slices and order do not depend on the threads.

    Parameters
    ----------
    work : callable
        Given a slice of range(n), returns an array of a fixed shape.
    n : int
        The length of the range.
    size : int
        The largest length of a slice.

    Returns
    -------
    float64 array
        Of the shape that `work` returns.
    """
    blocks = slices(n, size)
    total = np.zeros(())
    for first in range(0, len(blocks), BLOCKS_AT_ONCE):
        batch = blocks[first : first + BLOCKS_AT_ONCE]
        terms: list[NDArray] = [total] * len(batch)

        def compute(part: slice, batch: list[slice] = batch, terms: list[NDArray] = terms) -> None:
            for i in range(part.start, part.stop):
                terms[i] = work(batch[i])

        for_slices(compute, len(batch), 1, blas=True)
        for term in terms:
            total = total + term
    return total
