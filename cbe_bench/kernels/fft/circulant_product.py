"""The circulant product in the form that is fastest for its length and stride."""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.fft.circulant import CirculantProduct
from cbe_bench.kernels.fft.circulant_long import LongCirculantProduct, matrix_shape
from cbe_bench.kernels.fft.circulant_strided import StridedCirculantProduct, suits_polyphase
from cbe_bench.kernels.fft.fftw import has_small_factors
from cbe_bench.kernels.fft.row_product import RowProduct

_SHORTEST_LONG = 1 << 14
"""Products from this length on are faster in passes over rows and columns."""


def circulant_product(r: NDArray, signs: NDArray, dtype: type | np.dtype, stride: int = 1) -> RowProduct:
    """Return circ(r) diag(signs), or every stride-th row of it, ready to multiply by.

    Parameters
    ----------
    r : array of shape (d,)
        First column of the circulant matrix.
    signs : int8 array of shape (d,)
        The sign flips, -1 and +1.
    dtype : float32 or float64
        Precision of the product.
    stride : int
        Distance of the rows: 1 or a power of two.
    """
    d = len(r)
    if stride > 1:
        if suits_polyphase(d, stride):
            return StridedCirculantProduct(r, signs, stride, dtype)
        return LongCirculantProduct(r, signs, dtype, stride)
    fits = matrix_shape(d) is not None or d % 2 or not has_small_factors(d) or d >= 16 * _SHORTEST_LONG
    return LongCirculantProduct(r, signs, dtype) if d >= _SHORTEST_LONG and fits else CirculantProduct(r, signs, dtype)
