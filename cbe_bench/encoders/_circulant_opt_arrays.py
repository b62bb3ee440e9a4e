"""What learning a circulant matrix needs to know of data that another library holds; see `_circulant_opt_statistics`.

Transforms and the sums over a block of rows run on the device of the data, in single precision; the O(d) sums of a
block are added up on the host, in double. Blocks depend on the shape of the data alone.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.arrays import Array, Place, to_host
from cbe_bench.kernels.parallel import slices

_VALUES = 1 << 24
"""Numbers of a block of rows."""

Totals = tuple[NDArray[np.float64], NDArray[np.complex128]]


class ArrayStatistics:
    """Sums over the rows of X, flipped by `signs`, at the frequencies 0..d/2.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, on any device.
    signs : NumPy array of shape (d,)
        The sign flips, all times one power of two.
    n_bits : int
        Bits of a code, at most d; the other signs of R x count as zero.
    stride : int
        Distance of the rows of R whose signs are the code.

    Attributes
    ----------
    d : int
        Length of a row.
    n_signs : int
        Signs of all codes together.
    """

    def __init__(self, X: Array, signs: NDArray, n_bits: int, stride: int = 1) -> None:
        n_rows, self.d = X.shape
        self.n_signs = n_rows * n_bits
        self._X, self._place = X, Place.of(X)._replace(dtype="float32")
        self._xp = self._place.xp
        self._signs = self._place.put(signs)
        mask = np.zeros(self.d)
        mask[: n_bits * stride : stride] = 1
        self._mask = self._place.put(mask)

    def first(self, spectrum: NDArray) -> Totals:
        """Return m, and c as `correlations` does."""
        return self._total(self._powers, self._rows, self._X.shape[0]).real, self.correlations(spectrum)

    def correlations(self, spectrum: NDArray) -> NDArray[np.complex128]:
        """Return c for R = circ(r), `spectrum` being that of r at the frequencies 0..d/2."""
        on_device = self._place.put(spectrum)
        fft, where = self._xp.fft, self._xp.where

        def correlate(rows: Array) -> Array:
            transformed = fft.rfft(rows, axis=1)
            values = fft.irfft(transformed * on_device, n=self.d, axis=1)
            signs = where(values >= 0, self._mask, -self._mask)
            return self._xp.sum(self._xp.conj(transformed) * fft.rfft(signs, axis=1), axis=0)

        return self._total(correlate, self._rows, self._X.shape[0])

    def difference_powers(self, pairs: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the sum of |x_i^ - x_j^|^2 over pairs (i, j) of rows."""

        def differences(part: slice) -> Array:
            one, other = (self._xp.take(self._X, self._place.put(pairs[part, i]), axis=0) for i in (0, 1))
            return one - other

        return self._total(self._powers, differences, len(pairs)).real

    def _rows(self, part: slice) -> Array:
        return self._X[part, :]

    def _powers(self, rows: Array) -> Array:
        transformed = self._xp.fft.rfft(rows, axis=1)
        return self._xp.sum(self._xp.real(transformed) ** 2 + self._xp.imag(transformed) ** 2, axis=0)

    def _total(self, sums: Callable[[Array], Array], rows: Callable[[slice], Array], n_rows: int) -> NDArray:
        """Add up the sums over blocks of rows, flipped and in single precision."""
        total = np.zeros(self.d // 2 + 1, np.complex128)
        for part in slices(n_rows, max(1, _VALUES // self.d)):
            block = self._xp.astype(rows(part), self._xp.float32)
            total += to_host(sums(block * self._signs))
        return total
