"""Dense SIFT: gradient histograms on a grid, for many small images at once.

A descriptor covers 4 x 4 cells of an image and holds, for each cell, how strong the gradients in eight directions are.
A gradient counts for its two nearest directions and its nearest cells, by linear interpolation; cells far from the
centre count less. Descriptors of three sizes are taken every few pixels. Each is freed of its few strongest entries
and scaled to unit sum of squares by taking the square roots of its fractions ("RootSIFT"), rounded to multiples of
1/2048; one without gradients is zero.

Interpolating between cells is a triangular filter, the same for all descriptors, so the direction maps are filtered
once at every cell centre, rows first, columns second, and descriptors only collect what they need.

Descriptors are the same bits on every processor: additions run in a fixed order, products are not fused with sums, and
of functions only the square root is used, which IEEE arithmetic rounds correctly.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

DESCRIPTOR = 128
UNIT = 2048
"""Entries of a descriptor are whole numbers, multiples of one over this."""
_DIRECTIONS = 8
_CELLS = 4
_CELL_SIZES = (4, 6, 8)
_STEP = 4
_STRONGEST = 0.2
"""Entries of a descriptor of unit length are cut off here."""
_LEAST_CONTRAST = 0.02
"""A descriptor of less than this length, for images between 0 and 1, shows nothing."""

Images = NDArray[np.float32]


@dataclass(frozen=True)
class _Grid:
    """Descriptors of one size: the filter taps at each cell centre, and which centres each descriptor uses."""

    first: NDArray[np.int64]
    taps: NDArray[np.float32]
    centres: NDArray[np.int64]
    """Row or column of each descriptor along an axis, and the four cell centres it uses."""


def dense_sift(images: Images) -> NDArray[np.float32]:
    """Return the (images, descriptors, 128) descriptors of square images with values from 0 to 1.

    Entries are whole numbers, in units of 1/2048.
    """
    size = images.shape[1]
    grids = [_grid(size, cell) for cell in _CELL_SIZES if _CELLS * cell <= size]
    count = sum(len(grid.centres) ** 2 for grid in grids)
    out = np.empty((len(images), count, DESCRIPTOR), np.float32)
    place = 0
    maps = np.empty((size, size, _DIRECTIONS), np.float32)
    weights = _cell_weights()
    first_places = []
    for grid in grids:
        first_places.append(place)
        place += len(grid.centres) ** 2
    for image, descriptors in zip(images, out, strict=True):
        _direction_maps(image, maps)
        for grid, begin in zip(grids, first_places, strict=True):
            _describe(maps, grid.first, grid.taps, grid.centres, weights, descriptors[begin:])
    return out


def count_descriptors(side: int) -> int:
    """Return how many descriptors a square image of this side has."""
    return sum(len(range(0, side - _CELLS * cell + 1, _STEP)) ** 2 for cell in _CELL_SIZES if _CELLS * cell <= side)


def _grid(size: int, cell: int) -> _Grid:
    """Lay descriptors with cells of this size over an axis of the image."""
    offsets = np.arange(0, size - _CELLS * cell + 1, _STEP)
    positions = offsets[:, None] + cell * np.arange(_CELLS)
    distinct, centres = np.unique(positions, return_inverse=True)
    first = distinct - cell // 2
    at = first[:, None] + np.arange(2 * cell)
    taps = np.maximum(0, 1 - np.abs(at - (distinct[:, None] + (cell - 1) / 2)) / cell) / cell
    inside = (at >= 0) & (at < size)
    taps[~inside] = 0
    # taps beyond the border weigh nothing; they are read within
    shift = np.clip(first, 0, size - 2 * cell) - first
    taps = np.stack([np.roll(row, -by) for row, by in zip(taps, shift, strict=True)])
    return _Grid(first + shift, taps.astype(np.float32), centres.reshape(positions.shape))


def _cell_weights() -> NDArray[np.float32]:
    """Return how much each of the 4 x 4 cells counts: a Gaussian two cells wide, to six digits."""
    axis = np.exp(-0.5 * ((np.arange(_CELLS) - (_CELLS - 1) / 2) / 2) ** 2)
    return np.outer(axis, axis).round(6).astype(np.float32)


@njit(nogil=True, cache=True)
def _direction_maps(image, maps):  # type: ignore[no-untyped-def]
    """Split the gradient of every pixel between its two nearest directions."""
    size = len(image)
    maps[:] = 0
    for y in range(size):
        above, below = max(y - 1, 0), min(y + 1, size - 1)
        for x in range(size):
            left, right = max(x - 1, 0), min(x + 1, size - 1)
            dx, dy = image[y, right] - image[y, left], image[below, x] - image[above, x]
            strength = np.sqrt(dx * dx + dy * dy)
            if strength > 0:
                direction = _eighths(dx, dy)
                whole = np.int32(direction)
                share = direction - np.float32(whole)
                maps[y, x, whole & 7] += strength * (np.float32(1) - share)
                maps[y, x, (whole + 1) & 7] += strength * share


@njit(nogil=True, cache=True)
def _eighths(dx, dy):  # type: ignore[no-untyped-def]
    """Return the direction of a gradient in eighths of a circle, from 0 to 8, within 2e-5.

    atan(t) for t from 0 to 1 is a polynomial (Abramowitz and Stegun 4.4.49); the rest is symmetry.
    """
    across, along = abs(dy), abs(dx)
    t = min(across, along) / max(across, along)
    t2 = t * t
    angle = np.float32(0.0208351) * t2 + np.float32(-0.0851330)
    angle = angle * t2 + np.float32(0.1801410)
    angle = angle * t2 + np.float32(-0.3302995)
    angle = (angle * t2 + np.float32(0.9998660)) * t * np.float32(4 / np.pi)
    if across > along:
        angle = np.float32(2) - angle
    if dx < 0:
        angle = np.float32(4) - angle
    return np.float32(8) - angle if dy < 0 else angle


@njit(nogil=True, cache=True)
def _describe(maps, first, taps, centres, weights, out):  # type: ignore[no-untyped-def]
    """Write the descriptors of one size, top row first."""
    size, places, length = len(maps), len(first), taps.shape[1]
    by_row = maps.reshape(size, size * 8)
    rows = np.zeros((places, size * 8), np.float32)
    for p in range(places):
        for t in range(length):
            weight, y = taps[p, t], first[p] + t
            for x in range(size * 8):
                rows[p, x] += weight * by_row[y, x]
    cells = np.zeros((places, places, 8), np.float32)
    for p in range(places):
        for q in range(places):
            for t in range(length):
                weight, x = taps[q, t], 8 * (first[q] + t)
                for o in range(8):
                    cells[p, q, o] += weight * rows[p, x + o]
    n = len(centres)
    for i in range(n):
        for j in range(n):
            descriptor = out[i * n + j]
            for a in range(4):
                for b in range(4):
                    for o in range(8):
                        descriptor[(a * 4 + b) * 8 + o] = weights[a, b] * cells[centres[i, a], centres[j, b], o]
            _normalise(descriptor)


@njit(nogil=True, cache=True)
def _normalise(descriptor):  # type: ignore[no-untyped-def]
    """Cut off the strongest entries and take square roots of fractions; clear what shows nothing."""
    length = np.sqrt(_total(descriptor, descriptor))
    if length < np.float32(_LEAST_CONTRAST):
        descriptor[:] = 0
        return
    most = np.float32(_STRONGEST) * length
    for i in range(DESCRIPTOR):
        descriptor[i] = min(descriptor[i], most)
    total = _total(descriptor, np.ones_like(descriptor))
    for i in range(DESCRIPTOR):
        root = np.float32(UNIT) * np.sqrt(descriptor[i] / total)
        descriptor[i] = np.float32(np.int32(root + np.float32(0.5)))


@njit(nogil=True, cache=True)
def _total(x, y):  # type: ignore[no-untyped-def]
    """Return the sum of 128 products, as eight sums side by side in a fixed order."""
    sums = np.zeros(8, np.float32)
    for first in range(0, DESCRIPTOR, 8):
        for o in range(8):
            sums[o] += x[first + o] * y[first + o]
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
