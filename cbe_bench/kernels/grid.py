"""Directions on a grid: vectors as small integers a coordinate, and their inner products with queries.

The grid of B bits has the values y in {-L + 1/2, .., -1/2, 1/2, .., L - 1/2}, L = 2^(B - 1), in every coordinate. Only
the direction of y counts, so the best y for v is the one with the largest <y, v> / ||y||. It is round(t |v|), for some
scale t, with the signs of v: as t grows past l / |v_j| the coordinate j goes from level l - 1 to level l. Codes hold
c = y + L - 1/2 >= 0 as B bit planes, each packed as `kernels.bits` packs signs; with one bit, c is the sign.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.hamming import popcount
from cbe_bench.kernels.parallel import for_slices, slice_size

_SCALES, _RATIO = 24, 1.18
"""Scales that are tried first, and their ratio; critical values are then swept between the neighbours of the best."""
_LEAST_ROWS = 16


def grid_codes(V: NDArray, n_bits: int) -> tuple[Codes, NDArray[np.float32]]:
    """Return the codes of the grid points y in the directions of the rows v of V, and <y, v>.

    Parameters
    ----------
    V : array of shape (n, d)
        The vectors.
    n_bits : int
        Bits a coordinate, 1 to 8.

    Returns
    -------
    planes : uint8 array of shape (n, n_bits, ceil(d / 8))
        Bit planes of c, the lowest bit first.
    products : float32 array of shape (n,)
        <y, v>, at least zero.
    """
    planes = np.zeros((len(V), n_bits, -(-V.shape[1] // 8)), np.uint8)
    products = np.empty(len(V), np.float32)
    for_slices(lambda rows: _grid_codes(V[rows], planes[rows], products[rows]), len(V), slice_size(len(V), _LEAST_ROWS))
    return planes, products


def plane_sums(planes: Codes) -> NDArray[np.int64]:
    """Return the sum of the c of each row."""
    counts = np.bitwise_count(planes).sum(axis=2, dtype=np.int64)
    return counts @ (1 << np.arange(planes.shape[1]))


def real_products(planes: Codes, W: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return <c, w> for all queries w and all codes c; equal codes have equal products.

    Parameters
    ----------
    planes : uint8 array of shape (n, bits, n_bytes)
        The bit planes of the codes, the lowest bit first.
    W : float32 array of shape (n_queries, d)
        The queries.

    Returns
    -------
    float32 array of shape (n_queries, n)
    """
    queries = AsymmetricQueries(W)
    products = np.zeros((len(W), len(planes)), np.float32)
    for bit in range(planes.shape[1]):
        products += (queries.steps[:, None] * 2.0**bit * queries.sums(planes[:, bit])).astype(np.float32)
    return products


def integer_products(planes: Codes, query_planes: Codes) -> NDArray[np.int64]:
    """Return <c, q> for all integer queries q and all codes c, by counting common ones.

    Parameters
    ----------
    planes : uint8 array of shape (n, bits, n_bytes)
        The bit planes of the codes, the lowest bit first.
    query_planes : uint8 array of shape (n_queries, query bits, n_bytes)
        Those of the queries.

    Returns
    -------
    int64 array of shape (n_queries, n)
    """
    out = np.empty((len(query_planes), len(planes)), np.int64)
    words, query_words = _as_words(planes), _as_words(query_planes)

    def scan(rows: slice) -> None:
        _count_common(words[rows], query_words, out[:, rows])

    for_slices(scan, len(planes), slice_size(len(planes), 1024))
    return out


def _as_words(planes: Codes) -> NDArray[np.uint64]:
    words = np.zeros((*planes.shape[:2], -(-planes.shape[2] // 8)), np.uint64)
    words.view(np.uint8)[..., : planes.shape[2]] = planes
    return words


@njit(nogil=True, cache=True)
def _grid_codes(V, planes, products):  # type: ignore[no-untyped-def]
    n, d = V.shape
    n_bits = planes.shape[1]
    half = 1 << (n_bits - 1)
    sizes, levels = np.empty(d, np.float32), np.zeros(d, np.int64)
    for i in range(n):
        for j in range(d):
            sizes[j] = abs(V[i, j])
        products[i] = _best_levels(sizes, half - 1, levels) if half > 1 else 0.5 * sizes.sum()
        for j in range(d):
            code = half + levels[j] if V[i, j] >= 0 else half - 1 - levels[j]
            for bit in range(n_bits):
                planes[i, bit, j >> 3] |= np.uint8(((code >> bit) & 1) << (j & 7))


@njit(nogil=True, cache=True)
def _best_levels(sizes, top, levels):  # type: ignore[no-untyped-def]
    """Write the levels 0..top of the best grid point and return its inner product with the sizes."""
    levels[:] = 0
    largest, mean = sizes.max(), sizes.mean()
    if largest == 0:
        return 0.0
    scale, best_scale, best = 1 / largest, 1 / largest, -1.0
    last = 2 * (top + 1) / mean
    ratio = max(_RATIO, (last / scale) ** (1 / _SCALES))
    while scale < last * ratio:
        product, square = _at_scale(sizes, scale, top)
        if product * product / square > best:
            best, best_scale = product * product / square, scale
        scale *= ratio
    low, high = best_scale / ratio, best_scale * ratio
    return _sweep(sizes, low, high, top, levels)


@njit(nogil=True, cache=True, fastmath=True)
def _at_scale(sizes, scale, top):  # type: ignore[no-untyped-def]
    """Return <y, v> and ||y||^2 of the grid point at one scale."""
    product, square = 0.0, 0.0
    for size in sizes:
        y = min(np.floor(size * scale), top) + 0.5
        product += y * size
        square += y * y
    return product, square


@njit(nogil=True, cache=True)
def _sweep(sizes, low, high, top, levels):  # type: ignore[no-untyped-def]
    """Pass all critical scales from low to high in order; write the best levels and return their inner product."""
    product, square, count = 0.0, 0.0, 0
    for j in range(len(sizes)):
        levels[j] = min(int(sizes[j] * low), top)
        product += (levels[j] + 0.5) * sizes[j]
        square += (levels[j] + 0.5) ** 2
        count += min(int(sizes[j] * high), top) - levels[j]
    scales, places = np.empty(count, np.float64), np.empty(count, np.int64)
    event = 0
    for j in range(len(sizes)):
        for level in range(levels[j] + 1, min(int(sizes[j] * high), top) + 1):
            scales[event], places[event] = level / sizes[j], j
            event += 1
    order = np.argsort(scales)
    best, best_product, best_count, counted = product * product / square, product, 0, levels.copy()
    for event in range(count):
        j = places[order[event]]
        counted[j] += 1
        product += sizes[j]
        square += 2.0 * counted[j]
        if product * product / square > best:
            best, best_product, best_count = product * product / square, product, event + 1
    for event in range(best_count):
        levels[places[order[event]]] += 1
    return best_product


@njit(nogil=True, cache=True)
def _count_common(words, queries, out):  # type: ignore[no-untyped-def]
    for i in range(words.shape[0]):
        for q in range(queries.shape[0]):
            total = 0
            for bit in range(words.shape[1]):
                for other in range(queries.shape[1]):
                    common = 0
                    for w in range(words.shape[2]):
                        common += popcount(words[i, bit, w] & queries[q, other, w])
                    total += common << (bit + other)
            out[q, i] = total
