"""Every s-th value of a circulant product, for less than the price of all of them.

With x read as phases, x_p[t] = x[t s + p], the values at every s-th place are a sum of short convolutions, and only
these values are transformed back. Short vectors with few phases are multiplied many at a time (`polyphase_vectors`),
others one by one (`polyphase_columns`). A length that does not suit is padded, as for all values.
"""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.fft.fftw import good_length, has_small_factors
from cbe_bench.kernels.fft.packed_real import periodic_extension
from cbe_bench.kernels.fft.polyphase_columns import (
    ColumnsPlan,
    columns_buffers,
    columns_plan,
    multiply_columns,
    row_length,
)
from cbe_bench.kernels.fft.polyphase_vectors import (
    GROUP,
    VectorsPlan,
    multiply_vectors,
    vectors_buffers,
    vectors_plan,
)
from cbe_bench.kernels.fft.row_product import RowProduct
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.output import Output, part_of
from cbe_bench.kernels.parallel import for_slices, slice_size

_LONGEST_GROUPED, _LARGEST_GROUPED_STRIDE = 1 << 12, 8
"""Vectors up to this length, which stay in cache, and stride are multiplied many at a time."""
_LONGEST_COLUMN = 1 << 12
"""Rows of a matrix of which thirty-two columns stay in cache."""
_TASK_VALUES = 1 << 18
"""Values of X worth a thread of their own."""


def row_stride(d: int, n_bits: int) -> int:
    """Return the distance s of `n_bits` rows of a circulant matrix that are cheap to multiply by: a power of two.

    The largest one up to d / n_bits, or one that is half or a quarter of it if that divides d and spares padding.
    """
    largest = 1 << ((d // n_bits).bit_length() - 1) if n_bits <= d else 1
    divisor = min(largest, d & -d)
    return divisor if 4 * divisor >= largest and has_small_factors(d // divisor, (2, 3, 5)) else largest


def strided_bytes(d: int, stride: int) -> int:
    """Estimate the bytes of the product of every stride-th row, in double precision; for all rows, none."""
    if stride == 1 or not suits_polyphase(d, stride):
        return 0
    if _is_grouped(d, stride):
        return 1024 * padded_length(d, 2 * stride)
    length, outputs = padded_length(d, row_length(stride)), row_length(stride) // stride
    return 8 * outputs * length + 128 * length


def suits_polyphase(d: int, stride: int) -> bool:
    """Tell whether phases are short enough to stay in cache."""
    return _is_grouped(d, stride) or (stride >= 4 and d <= _LONGEST_COLUMN * row_length(stride))


def _is_grouped(d: int, stride: int) -> bool:
    return d <= _LONGEST_GROUPED and stride <= _LARGEST_GROUPED_STRIDE


class StridedCirculantProduct(RowProduct):
    """Multiply rows by every s-th row of circ(r) diag(signs).

    Parameters
    ----------
    r : array of shape (d,)
        First column of the circulant matrix.
    signs : int8 array of shape (d,)
        The sign flips, -1 and +1.
    stride : int
        s: a power of two, from 4 on where d is above 4,096.
    dtype : float32 or float64
        Precision of the product.
    """

    def __init__(self, r: NDArray, signs: NDArray, stride: int, dtype: type | np.dtype = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        grouped = _is_grouped(len(r), stride)
        self.length = padded_length(len(r), 2 * stride if grouped else row_length(stride))
        if self.length > len(r):
            r = periodic_extension(r, self.length)
        signs = np.ascontiguousarray(signs, np.int8)
        make_plan = vectors_plan if grouped else columns_plan
        self._plan: VectorsPlan | ColumnsPlan = make_plan(r, signs, stride, self.dtype)
        self._scratch = Scratch()

    def _multiply(self, X: NDArray, out: Output) -> None:
        plan = self._plan
        step = GROUP if isinstance(plan, VectorsPlan) else 1
        steps = -(-len(X) // step)

        def work(some: slice) -> None:
            part = slice(some.start * step, some.stop * step)
            if isinstance(plan, VectorsPlan):
                multiply_vectors(X[part], plan, vectors_buffers(plan, self._scratch, self.dtype), part_of(out, part))
            else:
                multiply_columns(X[part], plan, columns_buffers(plan, self._scratch, self.dtype), part_of(out, part))

        for_slices(work, steps, slice_size(steps, _TASK_VALUES // (step * self.length)))


def padded_length(d: int, multiple: int) -> int:
    """Return d, or the length it is padded to: a multiple of `multiple`, and that of a product of 2, 3 and 5."""
    if d % multiple == 0 and has_small_factors(d // multiple, (2, 3, 5)):
        return d
    return multiple * good_length(-(-(2 * d - 1) // multiple), 1)
