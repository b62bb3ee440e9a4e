"""NumPy's ``.npy``: a header in text, then the values of one array."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, printable
from cbe_bench.core.remote import is_url
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.base import ArrayFeatures, StoredFeatures, check_real
from cbe_bench.data.formats.registry import Append, reader, writer
from cbe_bench.kernels.parallel import slices

_GAP_BYTES = 1 << 16
"""Bytes fetched in vain rather than asking again."""
_RANGE_BYTES, _RANGES_AT_ONCE = 1 << 23, 32
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
    """Read the header at the beginning of a file.

    Parameters
    ----------
    file : binary file
        At the beginning of the array; left at the first value.
    source : object
        The file, for messages.

    Returns
    -------
    Header
        Shape, order, dtype and length of the header.

    Raises
    ------
    InputError
        If it is no such header, or the array holds pickled objects or no values.
    """
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
    """Map the values behind a header that is `offset` bytes into a file.

    Parameters
    ----------
    path : Path
        The file.
    header : Header
        As read by `read_header`.
    offset : int
        Where the header begins, in bytes.

    Returns
    -------
    array
        Read-only memory map of the shape and dtype of the header.
    """
    if not header.data_bytes:
        return np.empty(header.shape, header.dtype)
    start = offset + header.n_bytes
    return np.memmap(path, header.dtype, "r", offset=start, shape=header.shape, order=header.order)


class NpyFeatures(ArrayFeatures):
    """A two-dimensional array in NumPy's own format."""

    def _map(self) -> NDArray:
        with self.path.open("rb") as file:
            header = read_header(file, self.path)
        check_size(self.path, header)
        return map_array(self.path, header, 0)


class RemoteNpyFeatures(StoredFeatures):
    """An array in NumPy's format that is read by URL: ranges of bytes, several at once."""

    path: Any

    def _open(self) -> None:
        with self.path.open() as file:
            self._header = read_header(file, self.path)
        check_size(self.path, self._header)
        if len(self._header.shape) != 2 or self._header.fortran_order:
            order = " in column order" * self._header.fortran_order
            raise InputError(f"{self.path}: has shape {self._header.shape}{order}; it must be rows x dimensions")
        check_real(self.path, self._header.dtype)
        self.n_rows, self.n_features = self._header.shape

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        dtype, out = self._header.dtype, np.empty((len(rows), self.n_features), np.float32)
        width = self.n_features * dtype.itemsize
        far = (np.diff(rows) - 1) * width > _GAP_BYTES
        long = np.diff(rows // max(1, _RANGE_BYTES // width)) > 0
        runs = np.split(np.arange(len(rows)), np.flatnonzero(far | long) + 1)
        for some in slices(len(runs), _RANGES_AT_ONCE):
            wanted = [rows[run] for run in runs[some]]
            starts = [self._header.n_bytes + int(one[0]) * width for one in wanted]
            ends = [self._header.n_bytes + int(one[-1] + 1) * width for one in wanted]
            for run, own, content in zip(runs[some], wanted, self.path.ranges(starts, ends), strict=True):
                values = np.frombuffer(content, dtype).reshape(int(own[-1] - own[0]) + 1, self.n_features)
                with np.errstate(over="ignore", invalid="ignore"):
                    out[run] = values[own - own[0]]
        return out

    def _describe(self) -> dict[str, Any]:
        return {"values": str(self._header.dtype)}


def check_size(path: Path, header: Header) -> None:
    """Raise InputError where a file is shorter than its header announces."""
    size, needed = path.stat().st_size, header.n_bytes + header.data_bytes
    if size < needed:
        raise InputError(
            f"{path}: {size:,} bytes; the values announced, {header.shape} of {header.dtype}, need {needed:,}"
        )


@reader(".npy", by_url=True)
def open_npy(path: Path, name: str | None, part: str | None) -> Features:
    """Open an array in NumPy's format."""
    return RemoteNpyFeatures(path, name) if is_url(path) else NpyFeatures(path, name)


@writer(".npy")
@contextmanager
def write_npy(path: Path, features: Features) -> Iterator[Append]:
    """Write float32 values in row order."""
    with path.open("wb") as file:
        write_header(file, features)
        yield lambda rows, first: write_values(file, rows.astype("<f4", copy=False))


def write_header(file: IO[bytes], features: Features) -> None:
    """Write the header of a float32 array with the shape of some features.

    Parameters
    ----------
    file : binary file
        Open for writing.
    features : Features
        Gives the shape (n_rows, n_features).
    """
    header = {"descr": "<f4", "fortran_order": False, "shape": (features.n_rows, features.n_features)}
    np.lib.format.write_array_header_1_0(file, header)


def write_values(file: IO[bytes], array: NDArray) -> None:
    """Write the bytes of an array.

    Parameters
    ----------
    file : binary file
        Open for writing.
    array : array
        Written in row order, in its own dtype.
    """
    file.write(np.ascontiguousarray(array).data)
