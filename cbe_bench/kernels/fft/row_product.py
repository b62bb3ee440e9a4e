"""What the circulant products of all lengths offer: real values, or packed signs, of the product of each row."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.output import Output, Values, signs_output


class RowProduct(ABC):
    """Multiplies rows by a matrix."""

    dtype: np.dtype
    """Precision of the product."""

    @abstractmethod
    def _multiply(self, X: NDArray, out: Output) -> None:
        """Write the products of the rows of X, in C order and of the precision of the product."""

    def project(self, X: NDArray, out: NDArray) -> None:
        """Write the first values of the product of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        out : array of shape (n, k)
            Where the values go.
        """
        self._multiply(np.ascontiguousarray(X, self.dtype), Values(out))

    def encode(self, X: NDArray, n_bits: int, out: NDArray[np.uint8], thresholds: NDArray | None = None) -> None:
        """Write the signs of the first `n_bits` values of the product of each row, or of them less thresholds.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows.
        n_bits : int
            Bits of a code.
        out : uint8 array of shape (n, bytes of a code)
            Where the packed bits go.
        thresholds : array of shape (n_bits,) or None
            What the values are compared with, in the precision of the product; None means zero.
        """
        self._multiply(np.ascontiguousarray(X, self.dtype), signs_output(out, n_bits, thresholds))
