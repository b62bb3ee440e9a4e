"""What learning a circulant matrix needs to know of its data, frequency by frequency.

With x_i the rows of the data, sign flips applied, R = circ(r), b_i the signs of R x_i and hats for spectra:

    m_f = sum_i |x_i^_f|^2          c_f = sum_i conj(x_i^_f) b_i^_f

Two rows ride in one complex transform, u = x_1 + i x_2. Multiplying its spectrum by that of r, which is real,
gives y_1 + i y_2, and the signs of both parts v = b_1 + i b_2. The correlation of u with v has the real part
corr(x_1, b_1) + corr(x_2, b_2), so c_f is the even part (G_f + conj(G_-f)) / 2 of G, the sum of conj(u^) v^ over the
pairs, and m_f likewise that of the sum of |u^|^2. Nothing need be taken apart row by row: a pair costs three
transforms, and the state is O(d). Of the first rows, as far as a fixed amount of memory reaches, the spectra are
kept from the first pass to the next: those cost two.

Transforms and the sums over a block of some dozens of rows are in single precision, the sums over blocks in double.
Blocks, whose size depends on d alone, are added up in their order, so that the result is the same whatever the number
of threads.
"""

import threading
from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.fft.columns import column_plan
from cbe_bench.kernels.fft.fftw import aligned_empty, complex_plans
from cbe_bench.kernels.fft.fourstep import Shape, matrix_shape
from cbe_bench.kernels.fft.paired import add_statistics
from cbe_bench.kernels.fft.passes import PADDING, turn_tables
from cbe_bench.kernels.parallel import for_slices, thread_count
from cbe_bench.kernels.simd.emit import LANES, WIDTH

_BLOCK_ROWS = 64
"""Rows whose sums are added up at once: enough that adding the sums of blocks costs little beside."""
_LEAST_VALUES, _MOST_VALUES = 1 << 18, 1 << 21
"""Short rows are more to a block, long ones fewer, so that it holds about this many numbers."""
_MANY_BLOCKS = 1 << 16
"""Up to this length there is room for the sums of several blocks a thread."""
_KEPT_BYTES = 980 << 20
"""Spectra that are kept, at most; never more than an eighth of the memory that may be used."""

Rows = Callable[[slice], NDArray]
Sums = tuple[NDArray[np.float64], NDArray[np.complex128]]


class CirculantStatistics:
    """Sums over the rows of X, flipped by `signs`, at the frequencies 0..d/2.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    signs : array of shape (d,)
        The sign flips, -1 and +1.
    n_bits : int
        Bits of a code, at most d; the other signs of R x count as zero.
    cache_bytes : int
        Memory for spectra cached from one pass to the next; the sums do not depend on it.

    Attributes
    ----------
    d : int
        Length of a row.
    n_signs : int
        Signs of all codes together.
    """

    def __init__(self, X: NDArray, signs: NDArray, n_bits: int, cache_bytes: int = 0) -> None:
        self.d = d = len(signs)
        self.n_signs = len(X) * n_bits
        self._X, self._n_bits, self._cache_bytes = X, n_bits, cache_bytes
        self._signs = np.ascontiguousarray(signs, np.float32)
        self._shape = n1, n2 = matrix_shape(2 * d) or Shape(1, d)
        width = 2 * LANES * -(-n2 // LANES)
        self._row = width + 2 * PADDING
        self._columns = column_plan(n1, "float32") if n1 > 1 else (np.empty(0, np.int64), *np.empty((2, 0), np.float32))
        near_re, near_im, _ = turn_tables(n1, n2, np.dtype(np.float32))
        far = np.exp(-2j * np.pi * np.outer(np.arange(0, n2, LANES), np.arange(n1)) / d)
        self._turns = (near_re, near_im, far.real.astype(np.float32), far.imag.astype(np.float32))
        self._memory = threading.local()
        self._kept = np.empty((0, n1, width), np.float32)

    def first(self, spectrum: NDArray) -> Sums:
        """Return m, and c as `correlations` does, in one pass; spectra are kept for those to come."""
        shape = self._kept.shape[1:]
        n_pairs = min(-(-len(self._X) // 2), self._cache_bytes // (4 * prod(shape)))
        self._kept = aligned_empty((n_pairs, *shape), np.float32)
        return self._sums(self._X.__getitem__, len(self._X), spectrum, with_powers=True, known=False)

    def correlations(self, spectrum: NDArray) -> NDArray[np.complex128]:
        """Return c for R = circ(r), `spectrum` being that of r at the frequencies 0..d/2."""
        return self._sums(self._X.__getitem__, len(self._X), spectrum, with_powers=False, known=True)[1]

    def difference_powers(self, pairs: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the sum of |x_i^ - x_j^|^2 over pairs (i, j) of rows."""

        def differences(part: slice) -> NDArray:
            difference: NDArray = self._X[pairs[part, 0]] - self._X[pairs[part, 1]]
            return difference

        return self._sums(differences, len(pairs), None, with_powers=True, known=False)[0]

    def _sums(self, rows: Rows, n_rows: int, spectrum: NDArray | None, *, with_powers: bool, known: bool) -> Sums:
        n1, n2 = self._shape
        blocks, some = _blocks(n_rows, self.d), _blocks_at_once(self.d)
        powers = np.zeros((min(some, max(1, len(blocks))), n1 if with_powers else 0, self._row // 2), np.float32)
        correlations = np.zeros((len(powers), n1 if spectrum is not None else 0, self._row), np.float32)
        totals = np.zeros(powers.shape[1:]), np.zeros(correlations.shape[1:])
        factors = np.empty((0, self._row), np.float32) if spectrum is None else self._laid_out(spectrum)
        kept = self._kept[:0] if spectrum is None else self._kept
        plans = tuple(complex_plans(n2, "float32"))

        def add(numbers: slice) -> None:
            for number in range(numbers.start, numbers.stop):
                block = blocks[first + number]
                some_rows = np.ascontiguousarray(rows(block), np.float32)
                tables = (self._signs, factors, self._n_bits, n2, plans, self._turns, self._columns)
                keeping = (kept[block.start // 2 : -(-block.stop // 2)], known)
                powers[number], correlations[number] = 0, 0
                add_statistics(some_rows, *tables, *keeping, *self._scratch(), powers[number], correlations[number])

        for first in range(0, len(blocks), some):
            count = min(some, len(blocks) - first)
            for_slices(add, count, 1)
            for number in range(count):
                totals[0][:] += powers[number]
                totals[1][:] += correlations[number]
        return self._even(totals[0]), self._even(totals[1].view(np.complex128))

    def _laid_out(self, spectrum: NDArray) -> NDArray[np.float32]:
        """Return a whole spectrum, in the order in which the transforms leave theirs, from half of it."""
        n1, n2 = self._shape
        mirrored = spectrum[1 : (self.d + 1) // 2][::-1].conj()
        out = np.zeros((n1, self._row), np.float32)
        out.view(np.complex64)[:, :n2] = np.concatenate([spectrum, mirrored]).reshape(n2, n1).T
        return out

    def _even(self, sums: NDArray) -> NDArray:
        """Return (G_f + conj(G_-f)) / 2 for f = 0..d/2 from G as the transforms leave it."""
        whole = sums[:, : self._shape.n2].T.reshape(-1)
        half = len(whole) // 2 + 1
        even: NDArray = (whole[:half] + np.roll(whole[::-1], 1)[:half].conj()) / 2
        return even

    def _scratch(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return this thread's memory: two spectra, a row of one, a block of columns."""
        if not hasattr(self._memory, "arrays"):
            n1 = self._shape.n1
            shapes = ((n1, self._row), (n1, self._row), (self._row,), (2, n1 * WIDTH))
            self._memory.arrays = tuple(aligned_empty(shape, np.float32) for shape in shapes)
            for array in self._memory.arrays:
                array[:] = 0
        work, own, row, columns = self._memory.arrays
        return work, own, row, columns


def _blocks(n_rows: int, d: int) -> list[slice]:
    """Cut rows into blocks: even numbers of rows, decided by d alone."""
    size = min(max(_BLOCK_ROWS, _LEAST_VALUES // d), max(2, _MOST_VALUES // d)) // 2 * 2
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


def _blocks_at_once(d: int) -> int:
    """Return how many blocks have their sums side by side."""
    return thread_count() * (8 if d <= _MANY_BLOCKS else 1)


def spectrum_cache_bytes(memory_limit: int) -> int:
    """Return the memory for spectra cached from one pass to the next, of all that may be used."""
    return min(_KEPT_BYTES, memory_limit // 8)


def statistics_bytes(d: int, n_rows: int, cache_bytes: int, *, pairs: bool) -> int:
    """Estimate the bytes that statistics, also of pairs of rows, take beside the rows, in single precision."""
    length = d + 2 * LANES * (1 + d // LANES**2)
    sums, scratch = 12 * length * (_blocks_at_once(d) + 4), 20 * length * thread_count()
    differences = 12 * max(_MOST_VALUES, 2 * d) * thread_count() if pairs else 0  # and the two rows of each
    return sums + scratch + differences + min(cache_bytes, 4 * d * (n_rows + 1)) + 100 * length
