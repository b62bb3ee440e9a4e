"""What learning a circulant matrix needs to know of its data, frequency by frequency.

With x_i the rows of the data, sign flips applied, R = circ(r), b_i the signs of R x_i and hats for spectra:

    m_f = sum_i |x_i^_f|^2          c_f = sum_i conj(x_i^_f) b_i^_f

Two rows are transformed as one complex vector, u = x_1 + i x_2. Multiplying its spectrum by that of r, which is real,
gives y_1 + i y_2, and the signs of both parts v = b_1 + i b_2. The correlation of u with v has the real part
corr(x_1, b_1) + corr(x_2, b_2), so c_f is the even part (G_f + conj(G_-f)) / 2 of G, the sum of conj(u^) v^ over the
pairs, and m_f likewise that of the sum of |u^|^2. The two rows are never separated again: a pair costs three
transforms, and the state is O(d). The spectra of the first rows, as many as a fixed amount of memory holds, are
cached from the first pass to the next: those rows cost two.

Transforms and the sums over a block of some dozens of rows are in single precision, the sums over blocks in double.
Blocks, whose size depends only on d, are added up in their order, so that the result is the same whatever the number
of threads.
"""

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from cbe_bench.encoders._circulant_opt_passes import Buffers, PairTransform, Spectra, Sums, Wanted, add_statistics
from cbe_bench.kernels.fft.circulant_long import Shape, matrix_shape
from cbe_bench.kernels.fft.column_fft import column_plan
from cbe_bench.kernels.fft.fftw import complex_plans
from cbe_bench.kernels.fft.four_step import PADDING, lane_twiddles
from cbe_bench.kernels.memory import Scratch, aligned_empty
from cbe_bench.kernels.parallel import for_slices, thread_count
from cbe_bench.kernels.simd.complex import WIDTH
from cbe_bench.kernels.simd.vector import LANES

_BLOCK_ROWS = 64
"""Rows whose sums are added up at once: enough that adding the sums of blocks costs little beside."""
_LEAST_VALUES, _MOST_VALUES = 1 << 18, 1 << 21
"""Short rows are more to a block, long ones fewer, so that it holds about this many numbers."""
_MANY_BLOCKS = 1 << 16
"""Up to this length each thread has memory for the sums of several blocks."""
_CACHED_BYTES = 980 << 20
"""Spectra that are cached, at most; never more than an eighth of the memory that may be used."""

Rows = Callable[[slice], NDArray]
Totals = tuple[NDArray[np.float64], NDArray[np.complex128]]


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
    stride : int
        Distance of the rows of R whose signs are the code.

    Attributes
    ----------
    d : int
        Length of a row.
    n_signs : int
        Signs of all codes together.
    """

    def __init__(self, X: NDArray, signs: NDArray, n_bits: int, cache_bytes: int = 0, stride: int = 1) -> None:
        self.d = d = len(signs)
        self.n_signs = len(X) * n_bits
        self._X, self._cache_bytes = X, cache_bytes
        self._shape = n1, n2 = matrix_shape(2 * d) or Shape(1, d)
        width = 2 * LANES * -(-n2 // LANES)
        self._row = width + 2 * PADDING
        mask = np.zeros(d, np.float32)
        mask[: n_bits * stride : stride] = 1
        lane_re, lane_im, _ = lane_twiddles(n1, n2, np.dtype(np.float32))
        self._plan = PairTransform(
            np.ascontiguousarray(signs, np.float32),
            mask,
            n2,
            column_plan(n1, "float32"),
            complex_plans(n2, "float32"),
            lane_re,
            lane_im,
            np.exp(-2j * np.pi * np.outer(np.arange(0, n2, LANES), np.arange(n1)) / d).astype(np.complex64),
        )
        self._scratch = Scratch()
        self._cached = np.empty((0, n1, width), np.float32)

    def first(self, spectrum: NDArray) -> Totals:
        """Return m, and c as `correlations` does, in one pass; spectra are cached for those to come."""
        shape = self._cached.shape[1:]
        n_pairs = min(-(-len(self._X) // 2), self._cache_bytes // (4 * prod(shape)))
        self._cached = aligned_empty((n_pairs, *shape), np.float32)
        wanted = Wanted(True, True, self._in_transform_order(spectrum))
        return self._totals(self._X.__getitem__, len(self._X), wanted, Spectra(self._cached, False))

    def correlations(self, spectrum: NDArray) -> NDArray[np.complex128]:
        """Return c for R = circ(r), `spectrum` being that of r at the frequencies 0..d/2."""
        wanted = Wanted(False, True, self._in_transform_order(spectrum))
        return self._totals(self._X.__getitem__, len(self._X), wanted, Spectra(self._cached, True))[1]

    def difference_powers(self, pairs: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the sum of |x_i^ - x_j^|^2 over pairs (i, j) of rows."""

        def differences(part: slice) -> NDArray:
            difference: NDArray = self._X[pairs[part, 0]] - self._X[pairs[part, 1]]
            return difference

        wanted = Wanted(True, False, np.empty((0, self._row), np.float32))
        return self._totals(differences, len(pairs), wanted, Spectra(self._cached[:0], False))[0]

    def _totals(self, rows: Rows, n_rows: int, wanted: Wanted, spectra: Spectra) -> Totals:
        """Add up the sums of all blocks of rows, some blocks at once, in their order."""
        n1, _ = self._shape
        blocks, some = _blocks(n_rows, self.d), _blocks_at_once(self.d, thread_count())
        side_by_side = min(some, max(1, len(blocks)))
        sums = Sums(
            np.zeros((side_by_side, n1 if wanted.powers else 0, self._row // 2), np.float32),
            np.zeros((side_by_side, n1 if wanted.correlations else 0, self._row), np.float32),
        )
        totals = tuple(np.zeros(array.shape[1:]) for array in sums)

        def add(numbers: slice) -> None:
            for number in range(numbers.start, numbers.stop):
                block = blocks[first + number]
                some_rows = np.ascontiguousarray(rows(block), np.float32)
                some_spectra = spectra._replace(cached=spectra.cached[block.start // 2 : -(-block.stop // 2)])
                own_sums = Sums(sums.powers[number], sums.correlations[number])
                for array in own_sums:
                    array[:] = 0
                add_statistics(some_rows, self._plan, wanted, some_spectra, self._buffers(), own_sums)

        for first in range(0, len(blocks), some):
            count = min(some, len(blocks) - first)
            for_slices(add, count, 1)
            for number in range(count):
                for total, array in zip(totals, sums, strict=True):
                    total += array[number]
        return self._even_part(totals[0]), self._even_part(totals[1].view(np.complex128))

    def _in_transform_order(self, spectrum: NDArray) -> NDArray[np.float32]:
        """Return a whole spectrum, in the order in which the transforms leave theirs, from half of it."""
        n1, n2 = self._shape
        mirrored = spectrum[1 : (self.d + 1) // 2][::-1].conj()
        out = np.zeros((n1, self._row), np.float32)
        out.view(np.complex64)[:, :n2] = np.concatenate([spectrum, mirrored]).reshape(n2, n1).T
        return out

    def _even_part(self, sums: NDArray) -> NDArray:
        """Return (G_f + conj(G_-f)) / 2 for f = 0..d/2 from G as the transforms leave it."""
        whole = sums[:, : self._shape.n2].T.reshape(-1)
        half = len(whole) // 2 + 1
        even: NDArray = (whole[:half] + np.roll(whole[::-1], 1)[:half].conj()) / 2
        return even

    def _buffers(self) -> Buffers:
        """Return this thread's memory."""
        n1 = self._shape.n1
        shapes = ((n1, self._row), (n1, self._row), (self._row,), (2, n1 * WIDTH))
        named = zip(Buffers._fields, shapes, strict=True)
        return Buffers(*(self._scratch.array(name, shape, np.float32) for name, shape in named))


def _blocks(n_rows: int, d: int) -> list[slice]:
    """Cut rows into blocks: even numbers of rows, decided only by d."""
    size = min(max(_BLOCK_ROWS, _LEAST_VALUES // d), max(2, _MOST_VALUES // d)) // 2 * 2
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


def _blocks_at_once(d: int, n_threads: int) -> int:
    """Return how many blocks are summed at the same time."""
    return n_threads * (8 if d <= _MANY_BLOCKS else 1)


def spectrum_cache_bytes(memory_limit: int) -> int:
    """Return the memory for spectra cached from one pass to the next, of all that may be used."""
    return min(_CACHED_BYTES, memory_limit // 8)


def statistics_bytes(d: int, n_rows: int, cache_bytes: int, n_threads: int, *, pairs: bool) -> int:
    """Estimate the bytes that statistics, also of pairs of rows, take beside the rows, in single precision.

    Parameters
    ----------
    d : int
        Length of a row.
    n_rows : int
        Rows of the training set.
    cache_bytes : int
        The most bytes of cached spectra.
    n_threads : int
        The number of threads.
    pairs : bool
        Whether pairs of rows are used too.

    Returns
    -------
    int
    """
    length = d + 2 * LANES * (1 + d // LANES**2)
    sums, scratch = 12 * length * (_blocks_at_once(d, n_threads) + 4), 20 * length * n_threads
    differences = 12 * max(_MOST_VALUES, 2 * d) * n_threads if pairs else 0  # and the two rows of each
    return sums + scratch + differences + min(cache_bytes, 4 * d * (n_rows + 1)) + 100 * length
