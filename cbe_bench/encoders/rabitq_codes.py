"""What RaBitQ stores: bit planes of grid points, and two numbers a row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.grid import integer_products, plane_sums, real_products
from cbe_bench.kernels.parallel import slices

_VALUES = 1 << 22
"""Values of grid points in memory at once."""


@dataclass(frozen=True)
class RaBitQCodes:
    """Codes of rows, and two numbers for each.

    Attributes
    ----------
    planes : uint8 array of shape (n, bits_per_dim, bytes)
        The bit planes of the grid points, the lowest bit first.
    factors : float32 array of shape (n,)
        f = ||v||^2 / <y, v>, by which <y, w> becomes the estimate of an inner product.
    offsets : float32 array of shape (n,)
        ||x - c||^2 or <x, c>, for the metric "l2" or "ip".
    """

    planes: Codes
    factors: NDArray[np.float32]
    offsets: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.factors)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes and the numbers."""
        return self.planes.nbytes + self.factors.nbytes + self.offsets.nbytes


def concatenated(parts: Sequence[RaBitQCodes]) -> RaBitQCodes:
    """Return the codes of all rows of some parts, one after the other."""
    planes, factors, offsets = zip(*((part.planes, part.factors, part.offsets) for part in parts), strict=True)
    return RaBitQCodes(np.concatenate(planes), np.concatenate(factors), np.concatenate(offsets))


def grid_lengths(planes: Codes, n_dims: int) -> NDArray[np.float64]:
    """Return ||y|| of all codes.

    Parameters
    ----------
    planes : uint8 array of shape (n, bits_per_dim, n_bytes)
        The bit planes, the lowest bit first.
    n_dims : int
        The dimension of the grid points y.

    Returns
    -------
    float64 array of shape (n,)
    """
    n_bits = planes.shape[1]
    squares = np.empty(len(planes))
    for part in slices(len(planes), max(1, _VALUES // n_dims)):
        bits = np.unpackbits(planes[part], axis=2, count=n_dims, bitorder="little").astype(np.float32)
        y = np.einsum("b,nbj->nj", 2.0 ** np.arange(n_bits, dtype=np.float32), bits) - (2**n_bits - 1) / 2
        squares[part] = np.einsum("nj,nj->n", y, y)
    return np.sqrt(squares)


def grid_products(
    W: NDArray[np.float32], planes: Codes, query_bits: int | None, dither: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return <y, w> = <c, w> - (2^B - 1)/2 * sum of w for all queries and all codes of B bits a dimension.

    Parameters
    ----------
    W : float32 array of shape (n_queries, n_dims)
        The rotated queries.
    planes : uint8 array of shape (n, bits_per_dim, n_bytes)
        The bit planes, the lowest bit first.
    query_bits : int or None
        Round queries to this many bits a dimension; None leaves them real.
    dither : float32 array of shape (n_dims,)
        What is added to a query before it is rounded down.

    Returns
    -------
    float32 array of shape (n_queries, n)
    """
    if query_bits is None:
        sums, products = W.sum(axis=1), real_products(planes, W)
    else:
        low, step, whole = _rounded(W, query_bits, dither)
        sums = low * W.shape[1] + step * whole.sum(axis=1, dtype=np.int64)
        ones = [np.packbits((whole >> bit) & 1, axis=1, bitorder="little") for bit in range(query_bits)]
        common = integer_products(planes, np.stack(ones, axis=1))
        products = (step[:, None] * common + low[:, None] * plane_sums(planes)).astype(np.float32)
    products -= ((2 ** planes.shape[1] - 1) / 2 * sums).astype(np.float32)[:, None]
    return products


def _rounded(
    W: NDArray[np.float32], query_bits: int, dither: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint8]]:
    """Return low, step and q with w about low + step q, q of `query_bits` bits a dimension."""
    top = 2**query_bits - 1
    low = W.min(axis=1)
    step = np.maximum((W.max(axis=1) - low) / top, np.finfo(np.float32).tiny)
    whole = np.floor((W - low[:, None]) / step[:, None] + dither)
    return low, step, np.clip(whole, 0, top).astype(np.uint8)
