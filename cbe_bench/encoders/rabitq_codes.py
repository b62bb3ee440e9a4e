"""What RaBitQ stores: bit planes of grid points, and two numbers a row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.parallel import slices

_VALUES = 1 << 22
"""Values of grid points held at once."""


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
    """Return ||y|| of all codes."""
    n_bits = planes.shape[1]
    squares = np.empty(len(planes))
    for part in slices(len(planes), max(1, _VALUES // n_dims)):
        bits = np.unpackbits(planes[part], axis=2, count=n_dims, bitorder="little").astype(np.float32)
        y = np.einsum("b,nbj->nj", 2.0 ** np.arange(n_bits, dtype=np.float32), bits) - (2**n_bits - 1) / 2
        squares[part] = np.einsum("nj,nj->n", y, y)
    return np.sqrt(squares)
