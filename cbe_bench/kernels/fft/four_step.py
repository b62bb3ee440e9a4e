"""The circulant product of one long vector in three passes over it: the four-step Fourier transform and its inverse.

As in `packed_real`, d real numbers are h = d/2 complex ones. Here h = n1 n2, the vector is an n1 x n2 matrix, and a
transform is done as transforms down the columns, multiplication by twiddle factors, and transforms along the rows.
Frequency k1 + n1 k2 then lies at (k1, k2), and it is left there: nothing is ever transposed. The mirror image of row
k1 is row n1 - k1, so the two are transformed, multiplied and transformed back while they are in cache:

1. `columns_forward`, sixteen columns at a time: sign flip, transform, twiddle
2. `rows_multiply`, rows k1 and n1 - k1 at a time: transform, multiply by the spectrum of r, transform back
3. `columns_inverse`, sixteen columns at a time: twiddle, transform back, write

For only every s-th value, passes 2 and 3 cost less. The complex number at every s/2-th place has such a value for its
real part; to have only those, products whose frequencies coincide are added up, which shortens the rows by s/2.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.fft.column_fft import ColumnPlan, column_fft, column_plan
from cbe_bench.kernels.fft.fftw import ComplexPlans, complex_plans, forward, inverse
from cbe_bench.kernels.output import row_of, write_pair, write_vector
from cbe_bench.kernels.simd.complex import (
    WIDTH,
    complex_vector,
    conj,
    deinterleave,
    interleave,
    load_interleaved,
    load_planes,
    load_reversed,
    load_split,
    store_interleaved,
    store_reversed,
    store_split,
    swap,
)
from cbe_bench.kernels.simd.vector import (
    LANES,
    inline,
    load,
    load_int8,
    prefetch,
    prefetch_to_write,
    store,
)

PADDING = 16
"""Complex numbers between rows, so that a column does not fall into one set of the cache."""


class FourStep(NamedTuple):
    """Plans and twiddle factors for h = n1 n2 complex numbers.

    Column j of row k1 is multiplied by exp(-2 pi i k1 j / h) = lane[k1, j mod 16] block[k1] ^ (j // 16).
    """

    columns: ColumnPlan
    rows: ComplexPlans
    lane_re: NDArray
    lane_im: NDArray
    block: NDArray[np.complex128]
    row_re: NDArray
    """exp(-2 pi i k2 / n2), its real part."""
    row_im: NDArray


def four_step(n1: int, n2: int, dtype: np.dtype) -> FourStep:
    """Plan transforms of n1 n2 complex numbers."""
    lane_re, lane_im, block = lane_twiddles(n1, n2, dtype)
    row = np.exp(-2j * np.pi * np.arange(n2) / n2)
    return FourStep(
        column_plan(n1, dtype.name),
        complex_plans(n2, dtype.name),
        lane_re,
        lane_im,
        block,
        row.real.astype(dtype),
        row.imag.astype(dtype),
    )


def lane_twiddles(n1: int, n2: int, dtype: np.dtype) -> tuple[NDArray, NDArray, NDArray[np.complex128]]:
    """Return exp(-2 pi i k1 j / h) for j < 16, real and imaginary parts, and in double precision for j = 16."""
    factors = np.exp(-2j * np.pi * np.outer(np.arange(n1), np.arange(LANES + 1)) / (n1 * n2))
    lanes = factors[:, :LANES].ravel()
    return lanes.real.astype(dtype), lanes.imag.astype(dtype), factors[:, LANES].copy()


@inline
def twiddle(lane_re, lane_im, k1, factor):  # type: ignore[no-untyped-def]
    """Return the twiddle factors of sixteen columns of row k1; `factor` is that of the first."""
    return load_planes(lane_re, lane_im, k1 * LANES) * factor


@njit(nogil=True, cache=True)
def _first_factors(block, step):  # type: ignore[no-untyped-def]
    """Return the twiddle factors of the first column of a block: those of one block to the power of its number."""
    factors = np.empty_like(step)
    for k1 in range(step.shape[0]):
        factors[k1] = np.exp(1j * (np.angle(step[k1]) * block))
    return factors


@inline
def load_flipped(x, signs, i):  # type: ignore[no-untyped-def]
    """Return the sixteen complex numbers of x[i : i + 32] times signs[i : i + 32]."""
    u, v = load(x, i), load(x, i + LANES)
    return deinterleave(u * load_int8(signs, i, u), v * load_int8(signs, i + LANES, v))


@njit(nogil=True, cache=True)
def load_last(x, signs, start):  # type: ignore[no-untyped-def]
    """Return sixteen complex numbers of a vector that ends among or before them: zeros follow."""
    last = np.zeros(WIDTH, x.dtype)
    inside = max(x.shape[0] - start, 0)
    last[:inside] = x[start : start + inside] * signs[start : start + inside]
    return load_interleaved(last, 0)


@njit(nogil=True, cache=True, forceinline=True)
def columns_forward(x, signs, plan, work, buffers, first, last):  # type: ignore[no-untyped-def]
    """Pass 1 over column blocks first..last-1: sign flip, transform down the columns, twiddle.

    Parameters
    ----------
    x, signs : array of shape (at most 2 h,)
        A vector and its sign flips; zeros follow.
    plan : FourStep
    work : array of shape (n1, 2 n2 + padding)
        The result, interleaved.
    buffers : array
        Two rows of n1 split vectors.
    first, last : int
        The column blocks.
    """
    n1, row, n2 = work.shape[0], work.shape[1], plan.row_re.shape[0]
    flat = work.reshape(-1)  # a view of a row for every block would cost more than the block
    a, b = buffers[0], buffers[1]
    factors = _first_factors(first, plan.block)
    for block in range(first, last):
        column = block * LANES
        for j1 in range(n1):
            start = 2 * (j1 * n2 + column)
            if start + WIDTH <= x.shape[0]:
                store_split(a, j1 * WIDTH, load_flipped(x, signs, start))
                prefetch(x, start + WIDTH)
                prefetch(x, start + WIDTH + LANES)
            else:
                store_split(a, j1 * WIDTH, load_last(x, signs, start))
            prefetch_to_write(flat, j1 * row + 2 * column)
            prefetch_to_write(flat, j1 * row + 2 * column + LANES)
        z = b if column_fft(a, b, plan.columns) else a
        for k1 in range(n1):
            w = twiddle(plan.lane_re, plan.lane_im, k1, factors[k1])
            factors[k1] *= plan.block[k1]
            store_interleaved(flat, k1 * row + 2 * column, load_split(z, k1 * WIDTH) * w)


@njit(nogil=True, cache=True, forceinline=True)
def rows_multiply(work, spectrum, plan, back, buffers, first, last):  # type: ignore[no-untyped-def]
    """Pass 2 over rows first..last-1 and their mirror images: transform, multiply by the spectrum, transform back.

    If rows are shorter on the way back, frequencies that coincide there are added up.

    The image of entry k of row k1 is entry n2 - 1 - k of row n1 - k1; in row 0 it is entry n2 - k, for k = 0 the entry
    itself, which is repeated at the end.

    Parameters
    ----------
    work, spectrum : array of shape (n1, 2 n2 + padding)
        From pass 1, overwritten, and that of r.
    plan, back : FourStep
        Of the ways there and back.
    buffers : array
        Four rows.
    first, last : int
        The rows.
    """
    n1, row, n2 = work.shape[0], work.shape[1], plan.row_re.shape[0]
    flat, p = work.reshape(-1), spectrum.reshape(-1)
    a, b, c, d = buffers[0], buffers[1], buffers[2], buffers[3]
    for k1 in range(first, last):
        mirror = (n1 - k1) % n1
        forward(plan.rows, flat, k1 * row, a, 0)
        if mirror == k1:
            a[2 * n2], a[2 * n2 + 1] = a[0], a[1]
            image = a
        else:
            forward(plan.rows, flat, mirror * row, b, 0)
            image = b
        factor = np.exp(-2j * np.pi * k1 / (n1 * n2))
        for k in range(0, n2, LANES):
            j = 2 * (n2 - k - LANES + (k1 == 0))
            products = _multiply_mirrored(
                load_interleaved(a, 2 * k),
                conj(load_reversed(image, j)),
                load_interleaved(p, k1 * row + 2 * k),
                conj(load_reversed(p, mirror * row + j)),
                load_planes(plan.row_re, plan.row_im, k) * factor,
            )
            store_interleaved(c, 2 * k, products[0])
            store_reversed(d, j, conj(products[1]))
        _fold(c, n2, back.row_re.shape[0])
        inverse(back.rows, c, 0, flat, k1 * row)
        if mirror != k1:
            _fold(d, n2, back.row_re.shape[0])
            inverse(back.rows, d, 0, flat, mirror * row)


@inline
def _fold(z, n, shorter):  # type: ignore[no-untyped-def]
    """Add up the n complex numbers of z that are `shorter` apart."""
    for first in range(2 * shorter, 2 * n, 2 * shorter):
        for k in range(0, 2 * shorter, LANES):
            store(z, k, load(z, k) + load(z, first + k))


@inline
def _multiply_mirrored(z, z_mirror, p, p_mirror, w):  # type: ignore[no-untyped-def]
    """Return the product of two spectra of packed real vectors at a frequency, and the conjugate of its mirror image.

    P Z - q and P~ Z~ - q with q = (1 + w) / 4 (P - P~) (Z - Z~), where ~ is the conjugate at the mirrored frequency and
    w = exp(-2 pi i k / h).
    """
    quarter = complex_vector((w.re + 1.0) * 0.25, w.im * 0.25)
    q = quarter * ((p - p_mirror) * (z - z_mirror))
    return p * z - q, p_mirror * z_mirror - q


@njit(nogil=True, cache=True, forceinline=True)
def columns_inverse(work, plan, real, buffers, first, last, out, following):  # type: ignore[no-untyped-def]
    """Pass 3 over column blocks first..last-1: twiddle, transform back, write to the output, or real parts only.

    The vector `following`, which comes next, is brought into the cache meanwhile.

    Parameters
    ----------
    work, plan, buffers, first, last
        See `columns_forward`.
    real : bool
        Whether to write real parts only.
    out : Output
        Of one row.
    following : array
        May be empty.
    """
    n1, row, n2 = work.shape[0], work.shape[1], plan.row_re.shape[0]
    flat = work.reshape(-1)
    a, b = buffers[0], buffers[1]
    factors = _first_factors(first, plan.block)
    for block in range(first, last):
        column = block * LANES
        for k1 in range(n1):
            w = twiddle(plan.lane_re, plan.lane_im, k1, factors[k1])
            factors[k1] *= plan.block[k1]
            start = k1 * row + 2 * column
            prefetch(flat, start + WIDTH)
            prefetch(flat, start + WIDTH + LANES)
            store_split(a, k1 * WIDTH, swap(load_interleaved(flat, start) * conj(w)))
        z = b if column_fft(a, b, plan.columns) else a
        for j1 in range(n1):
            start = 2 * (j1 * n2 + column)
            if start < following.shape[0]:
                prefetch(following, start)
                prefetch(following, start + LANES)
            y = swap(load_split(z, j1 * WIDTH))
            if real:
                write_vector(out, start // 2, y.re)
            else:
                u, v = interleave(y)
                write_pair(out, start, u, v)


@njit(nogil=True, cache=True)
def multiply_vectors(X, signs, spectrum, plans, real, work, buffers, out):  # type: ignore[no-untyped-def]
    """All three passes over each row of X; plans are those of both ways, buffers those of columns and of rows."""
    plan, back = plans
    n1, n2, n2_back = work.shape[0], plan.row_re.shape[0], back.row_re.shape[0]
    of_columns, of_rows = buffers
    for i in range(X.shape[0]):
        following = X[i + 1] if i + 1 < X.shape[0] else X[i][:0]
        columns_forward(X[i], signs, plan, work, of_columns, 0, n2 // LANES)
        rows_multiply(work, spectrum, plan, back, of_rows, 0, n1 // 2 + 1)
        columns_inverse(work, back, real, of_columns, 0, n2_back // LANES, row_of(out, i), following)


@njit(nogil=True, cache=True)
def rows_spectrum(work, plan, buffers, first, last, spectrum):  # type: ignore[no-untyped-def]
    """Finish the transform of r along rows first..last-1, divided by h so that nothing need be scaled later."""
    n1, n2 = work.shape[0], plan.row_re.shape[0]
    flat, row = work.reshape(-1), buffers[0]
    for k1 in range(first, last):
        forward(plan.rows, flat, k1 * work.shape[1], row, 0)
        spectrum[k1, : 2 * n2] = row[: 2 * n2] / (n1 * n2)
        spectrum[k1, 2 * n2 : 2 * n2 + 2] = spectrum[k1, :2]
