"""The circulant product: y = circ(r) (s * x) for many rows x, to real values or straight to packed signs.

circ(r)[i, j] = r[(i - j) mod d], so y is the circular convolution of r with s * x. For even d, one row is two complex
transforms of half its length (`packed_real`), on buffers that stay in cache between the sign flip at one end and the
packing of bits at the other. An odd d, or one with a large prime factor, becomes a product of a longer, even length:
x padded by zeros, r extended periodically. `circulant_long` is for rows too long for the cache.
"""

import threading
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.fftw import ComplexPlans, complex_plans, forward, good_length, has_small_factors, inverse
from cbe_bench.kernels.fft.packed_real import Spectrum, multiply_spectrum, periodic_extension, tables
from cbe_bench.kernels.fft.row_product import RowProduct
from cbe_bench.kernels.memory import Scratch, aligned_empty
from cbe_bench.kernels.output import Output, Signs, part_of, row_of, write_row
from cbe_bench.kernels.parallel import for_slices, slice_size
from cbe_bench.kernels.simd.vector import LANES
from cbe_bench.kernels.single import EncodeSingle, suits_single

_TASK_VALUES = 1 << 18
"""Values of X worth a thread of their own: about half a millisecond of work."""


class _Plan(NamedTuple):
    """What the product of one row needs."""

    signs: NDArray
    tables: NDArray
    fft: ComplexPlans


class CirculantProduct(RowProduct):
    """Multiply rows by circ(r) diag(signs).

    Parameters
    ----------
    r : array of shape (d,)
        First column of the circulant matrix.
    signs : array of shape (d,)
        The sign flips, -1 and +1.
    dtype : float32 or float64
        Precision of the product.
    """

    def __init__(self, r: NDArray, signs: NDArray, dtype: type | np.dtype = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        self.length = d = len(r)
        if d % 2 or not has_small_factors(d):
            self.length = good_length(2 * d - 1)
            r = periodic_extension(r, self.length)
        self._plan = _Plan(
            np.ascontiguousarray(signs, self.dtype),
            tables(np.asarray(r, np.float64)).astype(self.dtype).ravel(),
            complex_plans(self.length // 2, self.dtype.name),
        )
        self._scratch = Scratch()

    def single(self, n_bits: int) -> EncodeSingle:
        """Return a function that encodes one vector in single precision with little beside the work itself."""
        d, length, thread = len(self._plan.signs), self.length, threading.local()
        function, forward_plan, inverse_plan = self._plan.fft

        def encode(x: NDArray[np.float32], code: NDArray[np.uint8]) -> bool:
            try:
                memory = thread.memory
            except AttributeError:
                memory = thread.memory = self._memory(d)
            suits: bool = _encode_single(x, memory, length, function, forward_plan, inverse_plan, n_bits, code)
            return suits

        return encode

    def _memory(self, d: int) -> NDArray[np.float32]:
        """Return the sign flips, the tables and two buffers as one array, each at a multiple of sixteen numbers."""
        tables, _, _, end = _layout(d, self.length)
        memory = aligned_empty((end,), np.float32)
        memory[:d] = self._plan.signs
        memory[tables : tables + 2 * self.length] = self._plan.tables
        return memory

    def _multiply(self, X: NDArray, out: Output) -> None:

        def work(part: slice) -> None:
            a, b = (self._scratch.array(name, (self.length + 2,), self.dtype) for name in "ab")
            _multiply_rows(X[part], self._plan, a, b, part_of(out, part))

        for_slices(work, len(X), slice_size(len(X), _TASK_VALUES // self.length))


@njit(nogil=True, cache=True)
def _multiply_rows(X, plan, a, b, out):  # type: ignore[no-untyped-def]
    d, half = X.shape[1], plan.tables.shape[0] // 4
    product = a[: 2 * half]
    for i in range(X.shape[0]):
        for j in range(d):
            a[j] = X[i, j] * plan.signs[j]
        a[d:] = 0
        forward(plan.fft, a, 0, b, 0)
        b[2 * half], b[2 * half + 1] = b[0], b[1]
        multiply_spectrum(Spectrum(b, 0, half), plan.tables, 0, product, False)
        inverse(plan.fft, a, 0, b, 0)
        write_row(row_of(out, i), b)


@njit(nogil=True, cache=True)
def _layout(d, length):  # type: ignore[no-untyped-def]
    """Return where tables and two buffers begin behind d sign flips, and where the second ends: whole vectors each."""
    tables = -(-d // LANES) * LANES
    first = tables + -(-2 * length // LANES) * LANES
    second = first + (length // LANES + 2) * LANES
    return tables, first, second, second + (length // LANES + 2) * LANES


@njit(nogil=True, cache=True)
def _encode_single(x, memory, length, function, forward_plan, inverse_plan, n_bits, code):  # type: ignore[no-untyped-def]
    if not suits_single(x):
        return False
    d = x.shape[0]
    tables, first, second, _ = _layout(d, length)
    plan = _Plan(memory[:d], memory[tables : tables + 2 * length], ComplexPlans(function, forward_plan, inverse_plan))
    a, b = memory[first : first + length + 2], memory[second : second + length + 2]
    _multiply_rows(x.reshape(1, d), plan, a, b, Signs(code.reshape(1, code.shape[0]), n_bits))
    return True
