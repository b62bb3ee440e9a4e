"""``.fbin .u8bin .i8bin`` of the big-ann benchmarks: two 4-byte integers, rows and dimensions, then all values."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features
from cbe_bench.data.formats.base import ArrayFeatures
from cbe_bench.data.formats.npy import write_values
from cbe_bench.data.formats.registry import Append, reader, writer

_TYPES = {".fbin": "<f4", ".u8bin": "u1", ".i8bin": "i1"}


class BinFeatures(ArrayFeatures):
    """The number of rows and of dimensions as 4-byte integers, then all values."""

    def _map(self) -> NDArray:
        dtype = np.dtype(_TYPES[self.path.suffix.lower()])
        size = self.path.stat().st_size
        if size < 8:
            raise InputError(f"{self.path}: {size} bytes; it must begin with two 4-byte numbers")
        rows, dims = map(int, np.fromfile(self.path, "<u4", 2))
        needed = 8 + rows * dims * dtype.itemsize
        if size != needed:
            raise InputError(f"{self.path}: {size:,} bytes; the {rows:,} x {dims:,} values announced need {needed:,}")
        if not rows * dims:
            return np.empty((rows, dims), dtype)
        return np.memmap(self.path, dtype, "r", offset=8, shape=(rows, dims))


@reader(*_TYPES)
def open_bin(path: Path, name: str | None, part: str | None) -> Features:
    """Open a file of the big-ann benchmarks."""
    return BinFeatures(path, name)


@writer(".fbin")
@contextmanager
def write_fbin(path: Path, features: Features) -> Iterator[Append]:
    """Write float32 values behind the shape."""
    if features.n_rows >= 1 << 32:
        raise InputError(f"{features.source}: {features.n_rows:,} rows; .fbin holds fewer than {1 << 32:,}")
    with path.open("wb") as file:
        write_values(file, np.array([features.n_rows, features.n_features], "<u4"))
        yield lambda rows, first: write_values(file, rows.astype("<f4", copy=False))
