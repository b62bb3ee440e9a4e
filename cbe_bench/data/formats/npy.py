"""NumPy's ``.npy``: a header in text, then the values of one array."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, printable
from cbe_bench.data.features import Features
from cbe_bench.data.formats.base import ArrayFeatures
from cbe_bench.data.formats.registry import Append, reader, writer

_READ_HEADER = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Header(NamedTuple):
    """What the header of an array says, and how many bytes it takes."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype
    n_bytes: int

    @property
    def order(self) -> Literal["F", "C"]:
        """The order of the values, as NumPy names it."""
        return "F" if self.fortran_order else "C"

    @property
    def data_bytes(self) -> int:
        """Bytes of the values."""
        count = self.dtype.itemsize
        for length in self.shape:
            count *= length
        return count


def read_header(file: IO[bytes], source: object) -> Header:
    """Read the header at the beginning of a file; objects, which only a pickle can hold, are refused."""
    try:
        version = np.lib.format.read_magic(file)
        with warnings.catch_warnings(action="ignore"):
            shape, fortran_order, dtype = _READ_HEADER[version](file)
    except Exception as error:
        reason = printable(str(error).split("\n")[0])
        raise InputError(f"{source}: cannot be read as a NumPy array ({reason})") from None
    if dtype.hasobject:
        raise InputError(f"{source}: holds pickled objects, which are never loaded; allowed: real numbers")
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise InputError(f"{source}: has shape {shape} of {dtype}; it must hold values")
    return Header(shape, fortran_order, dtype, file.tell())


def map_array(path: Path, header: Header, offset: int) -> NDArray:
    """Map the values behind a header that is `offset` bytes into a file."""
    if not header.data_bytes:
        return np.empty(header.shape, header.dtype)
    start = offset + header.n_bytes
    return np.memmap(path, header.dtype, "r", offset=start, shape=header.shape, order=header.order)


class NpyFeatures(ArrayFeatures):
    """A two-dimensional array in NumPy's own format."""

    def _map(self) -> NDArray:
        with self.path.open("rb") as file:
            header = read_header(file, self.path)
        size, needed = self.path.stat().st_size, header.n_bytes + header.data_bytes
        if size < needed:
            raise InputError(
                f"{self.path}: {size:,} bytes; the values announced, {header.shape} of {header.dtype}, need {needed:,}"
            )
        return map_array(self.path, header, 0)


@reader(".npy")
def open_npy(path: Path, name: str | None, part: str | None) -> Features:
    """Open an array in NumPy's format."""
    return NpyFeatures(path, name)


@writer(".npy")
@contextmanager
def write_npy(path: Path, features: Features) -> Iterator[Append]:
    """Write float32 values in row order."""
    with path.open("wb") as file:
        write_header(file, features)
        yield lambda rows, first: write_values(file, rows.astype("<f4", copy=False))


def write_header(file: IO[bytes], features: Features) -> None:
    """Write the header of a float32 array with the shape of some features."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (features.n_rows, features.n_features)}
    np.lib.format.write_array_header_1_0(file, header)


def write_values(file: IO[bytes], array: NDArray) -> None:
    """Write the bytes of an array."""
    file.write(np.ascontiguousarray(array).data)
