"""Principal directions of a set of rows, exactly, from the smaller of two matrices.

With N rows of d features the directions are the eigenvectors of the d x d covariance or, where N < d, follow from
those of the N x N matrix of inner products; the other is never formed. Sums run over blocks of fixed size in double
precision, and decompositions on one thread, so that the result does not depend on the number of threads.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from cbe_bench.kernels.linalg.products import products
from cbe_bench.kernels.parallel import blas_threads, for_slices, slices

_BLOCK_VALUES = 1 << 23
_TILE = 128
_TASK_VALUES = 1 << 20

Array = NDArray[np.float64]


def principal_directions(X: NDArray, count: int) -> tuple[Array, Array]:
    """Return the mean of the rows and up to `count` orthonormal directions of largest variance, largest first.

    Directions without variance are left out, so there may be fewer, or none. The largest entry of each is positive.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    count : int
        The most directions.

    Returns
    -------
    mean : float64 array of shape (d,)
        The mean of the rows.
    directions : array of shape (at most count, d)
        The directions in rows.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    if len(X) < X.shape[1]:
        parts = slices(X.shape[1], max(1, _BLOCK_VALUES // len(X)))
        inner = _scatter((_centred(X, mean, slice(None), part).T for part in parts), len(X))
        directions = _onto_features(X, mean, parts, *_largest_eigenvectors(inner, count, X.shape))
    else:
        parts = slices(len(X), max(1, _BLOCK_VALUES // X.shape[1]))
        covariance = _scatter((_centred(X, mean, part, slice(None)) for part in parts), X.shape[1])
        directions = _largest_eigenvectors(covariance, count, X.shape)[1].T
    largest = np.abs(directions).argmax(axis=1)[:, None]
    directions = directions * np.sign(np.take_along_axis(directions, largest, axis=1))
    return mean, directions


def centred_products(X: NDArray, mean: NDArray, directions: NDArray) -> NDArray:
    """Return (X - mean) directions', on all cores, in the precision of X; no direction is longer than one.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    mean : array of shape (d,)
        Subtracted from each row.
    directions : array of shape (k, d)
        Of norm one at most.

    Returns
    -------
    array of shape (n, k)
        In the dtype of X.
    """
    mean, directions = mean.astype(X.dtype, copy=False), directions.astype(X.dtype, copy=False)
    out = np.empty((len(X), len(directions)), X.dtype)

    def multiply(part: slice) -> None:
        out[part] = products(X[part] - mean, directions, 1.0)

    for_slices(multiply, len(X), max(32, _TASK_VALUES // X.shape[1]), blas=True)
    return out


def _centred(X: NDArray, mean: Array, rows: slice, columns: slice) -> Array:
    return X[rows, columns] - mean[columns]


def _onto_features(X: NDArray, mean: Array, parts: list[slice], variances: Array, vectors: Array) -> Array:
    """Return, from eigenvectors of the inner products of rows, directions of features."""
    directions = np.empty((len(variances), X.shape[1]))
    weights = vectors / np.sqrt(variances)

    def fill(chosen: slice) -> None:
        for part in parts[chosen]:
            directions[:, part] = weights.T @ _centred(X, mean, slice(None), part)

    for_slices(fill, len(parts), 1, blas=True)
    return directions


def _scatter(blocks: Iterator[Array], side: int) -> Array:
    """Return the lower triangle of the sum of A' A over blocks A."""
    total = np.zeros((side, side))
    tiles = slices(side, _TILE)
    for block in blocks:

        def add(part: slice, block: Array = block) -> None:
            for tile in tiles[part]:
                total[tile, : tile.stop] += block[:, tile].T @ block[:, : tile.stop]

        for_slices(add, len(tiles), 1, blas=True)
    return total


def _largest_eigenvectors(matrix: Array, count: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the largest eigenvalues, those that rounding would leave of zero excepted, and their eigenvectors."""
    side = len(matrix)
    wanted = (max(0, side - count), side - 1)
    with blas_threads(1):
        values, vectors = eigh(matrix, lower=True, overwrite_a=True, check_finite=False, subset_by_index=wanted)
    real = np.flatnonzero(values > max(shape) * np.finfo(np.float64).eps * values[-1])[::-1]
    return values[real], vectors[:, real]
