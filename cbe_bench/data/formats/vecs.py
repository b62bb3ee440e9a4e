"""``.fvecs .bvecs`` of the TEXMEX collection: rows one after the other, each behind its length."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.base import ArrayFeatures
from cbe_bench.data.formats.checks import MAX_FEATURES
from cbe_bench.data.formats.npy import write_values
from cbe_bench.data.formats.registry import Append, reader, writer

_TYPES = {".fvecs": "<f4", ".bvecs": "u1"}


def _record(dims: int, dtype: str) -> np.dtype:
    return np.dtype([("length", "<i4"), ("row", dtype, (dims,))])


class VecsFeatures(ArrayFeatures):
    """Rows one after the other, each behind its length as a 4-byte integer."""

    def _map(self) -> NDArray:
        size = self.path.stat().st_size
        dims = int(np.fromfile(self.path, "<i4", 1)[0]) if size >= 4 else 0
        if not 0 < dims <= MAX_FEATURES:
            raise InputError(f"{self.path}: the first row announces {dims} values")
        record = _record(dims, _TYPES[self.path.suffix.lower()])
        if size % record.itemsize:
            raise InputError(f"{self.path}: {size:,} bytes are no whole number of rows of {dims:,} values")
        self._records = np.memmap(self.path, record, "r")
        array: NDArray = self._records["row"]
        return array

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        lengths = self._records["length"][rows]
        if (lengths != self.n_features).any():
            bad = int(np.flatnonzero(lengths != self.n_features)[0])
            raise InputError(f"{self.path}: row {rows[bad]} has {lengths[bad]} values, the first {self.n_features}")
        return super()._read(rows)

    def close(self) -> None:
        """Let go of the mapped file."""
        super().close()
        self.__dict__.pop("_records", None)


@reader(*_TYPES)
def open_vecs(path: Path, name: str | None, part: str | None) -> Features:
    """Open a file of the TEXMEX collection."""
    return VecsFeatures(path, name)


@writer(".fvecs")
@contextmanager
def write_fvecs(path: Path, features: Features) -> Iterator[Append]:
    """Write float32 rows, each behind its length."""
    with path.open("wb") as file:
        yield lambda rows, first: write_values(file, _records(rows, "<f4"))


@writer(".bvecs")
@contextmanager
def write_bvecs(path: Path, features: Features) -> Iterator[Append]:
    """Write rows of bytes, each behind its length; other values are refused."""

    def append(rows: Matrix, first: int) -> None:
        is_byte = (rows >= 0) & (rows <= 255) & (rows == np.rint(rows))
        if not is_byte.all():
            bad = first + int(np.flatnonzero(~is_byte.all(axis=1))[0])
            raise InputError(f"{features.source}: row {bad} holds values that are no whole numbers from 0 to 255")
        write_values(file, _records(rows, "u1"))

    with path.open("wb") as file:
        yield append


def _records(rows: Matrix, dtype: str) -> NDArray:
    """Put the length of each row before it."""
    records = np.empty(len(rows), _record(rows.shape[1], dtype))
    records["length"], records["row"] = rows.shape[1], rows
    return records
