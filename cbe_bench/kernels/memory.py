"""Memory for intermediate results."""

import math
import threading

import numpy as np
from numpy.typing import DTypeLike, NDArray

_ALIGNMENT = 4096
"""Bytes of a page: where arrays lie relative to one another, which decides some per cent of speed, never varies."""


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Return an uninitialised array that begins at a page.

    Parameters
    ----------
    shape : tuple of int
        Of the array.
    dtype : dtype
        Of the array.

    Returns
    -------
    array
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + _ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % _ALIGNMENT
    return memory[first : first + n_bytes].view(dtype).reshape(shape)


class Scratch:
    """Arrays for intermediate results, cached between calls, for every thread its own."""

    def __init__(self) -> None:
        self._local = threading.local()

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
        """Return this thread's array of that name, with the values left in it; a new one for another shape or dtype.

        Parameters
        ----------
        name : str
            The name of the array.
        shape : tuple of int
            Of the array.
        dtype : dtype
            Of the array.

        Returns
        -------
        array
        """
        cached: NDArray | None = self._local.__dict__.get(name)
        if cached is None or cached.shape != shape or cached.dtype != dtype:
            cached = self._local.__dict__[name] = aligned_empty(shape, dtype)
        return cached
