"""Features in HDF5 files, in three layouts.

- Our own: `/features` (rows x dimensions), optional `/labels`, attribute `kind`.
- That of ann-benchmarks: `/train` is the database, `/test` the queries, `/neighbors` their true neighbours.
- Sparse rows: a group `/features` with `data`, `indices`, `indptr` and the attribute `shape`.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import FileFeatures, Matrix, first_line

_LARGEST_GAP = 8
"""Rows read in vain rather than starting another read."""
_LARGEST_CHUNK_CACHE = 1 << 30
_KINDS = ("user", "real", "synthetic")


def open_hdf5(path: Path, name: str | None) -> "HDF5Features":
    """Open a file in whichever of the layouts it has."""
    with _opened(path) as file:
        found = set(file)
        sparse = isinstance(file.get("features"), h5py.Group)
    if "features" not in found and "train" in found:
        return AnnBenchmarksFeatures(path, name)
    return SparseHDF5Features(path, name) if sparse else HDF5Features(path, name)


def _opened(path: Path) -> h5py.File:
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"{path}: cannot be read as HDF5 ({first_line(error)})") from None


class HDF5Features(FileFeatures):
    """An HDF5 file with ``/features`` (rows x dimensions, float16, float32 or float64) and optional ``/labels``."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        super().__init__(path, name)
        self._file = _opened(self.path)
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        self._data = self._matrix("features", "f")
        self.n_rows, self.n_features = map(int, self._data.shape)
        self._open_extras()

    def _matrix(self, key: str, kinds: str) -> Any:
        """Open a dataset of real numbers in rows."""
        data = self._file.get(key)
        if not isinstance(data, h5py.Dataset):
            found = ", ".join(f"/{name}" for name in self._file) or "nothing"
            raise InputError(f"{self.path}: no dataset /{key}; the file holds {found}")
        if data.ndim != 2:
            raise InputError(f"{self.path}: /{key} has shape {data.shape}; it must be rows x dimensions")
        if data.dtype.kind not in kinds or data.dtype.itemsize not in (1, 2, 4, 8):
            raise InputError(f"{self.path}: /{key} is {data.dtype}; allowed: float16, float32, float64")
        if not all(data.shape):
            raise InputError(f"{self.path}: /{key} has shape {data.shape}; it is empty")
        return self._with_room_for_chunks(data)

    def _open_extras(self) -> None:
        """Check the attribute `kind` and the labels."""
        kind = self._file.attrs.get("kind", "user")
        self.kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if self.kind not in _KINDS:
            raise InputError(f"{self.path}: attribute kind is {self.kind!r}; allowed: {', '.join(_KINDS)}")
        labels = self._file.get("labels")
        if labels is not None and not isinstance(labels, h5py.Dataset):
            raise InputError(f"{self.path}: /labels is not a dataset")
        if labels is not None and labels.shape != (self.n_rows,):
            raise InputError(f"{self.path}: /labels has shape {labels.shape}; {self.n_rows} rows need ({self.n_rows},)")

    def _with_room_for_chunks(self, data: Any) -> Any:
        """Open a dataset with a cache that holds one row of chunks, so that no chunk is unpacked twice."""
        if data.chunks is None:
            return data
        row_of_chunks = data.chunks[0] * -(-data.shape[1] // data.chunks[1]) * data.chunks[1] * data.dtype.itemsize
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_chunk_cache(10_007, min(2 * row_of_chunks, _LARGEST_CHUNK_CACHE), 1.0)
        return h5py.Dataset(h5py.h5d.open(self._file.id, data.name.encode(), access))

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows as float32; rows that lie close together are read in one go."""
        out = np.empty((len(rows), self.n_features), np.float32)
        try:
            self._read(self._data, rows, out)
        except OSError as error:
            raise InputError(f"{self.path}: rows {rows[0]}..{rows[-1]} cannot be read ({first_line(error)})") from None
        return out

    @staticmethod
    def _read(data: Any, rows: NDArray[np.int64], out: Matrix) -> None:
        breaks = np.flatnonzero(np.diff(rows) > _LARGEST_GAP) + 1
        for part in np.split(np.arange(len(rows)), breaks):
            wanted = rows[part]
            if len(wanted):
                run = data[wanted[0] : wanted[-1] + 1]
                with np.errstate(over="ignore"):
                    out[part] = run[wanted - wanted[0]]

    def labels(self) -> NDArray | None:
        """Return the label of every row, or None if the file has none."""
        return self._file["labels"][:] if "labels" in self._file else None

    def describe(self) -> dict[str, Any]:
        """Return the type of the values and the attributes of the file."""
        attributes = {name: _readable(value) for name, value in self._file.attrs.items()}
        return {"values": str(self._data.dtype), **attributes}

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class AnnBenchmarksFeatures(HDF5Features):
    """A file of ann-benchmarks: the rows of ``/train``, then those of ``/test``, which are the queries."""

    def _open(self) -> None:
        self._data, self._test = self._matrix("train", "fiu"), None
        self.n_rows, self.n_features = map(int, self._data.shape)
        self._n_train = self.n_rows
        kind = _readable(self._file.attrs.get("point_type", "float"))
        if kind != "float":
            raise InputError(f"{self.path}: its points are {kind}; only real vectors can be encoded")
        if "test" in self._file:
            self._test = self._matrix("test", "fiu")
            if self._test.shape[1] != self.n_features:
                raise InputError(
                    f"{self.path}: /test has {self._test.shape[1]:,} dimensions, /train {self.n_features:,}"
                )
            self.own_queries = int(self._test.shape[0])
            self.n_rows += self.own_queries
        self._check_neighbours()
        self._open_extras()

    def _check_neighbours(self) -> None:
        found = self._file.get("neighbors")
        if found is not None and (found.ndim != 2 or len(found) != self.own_queries):
            raise InputError(f"{self.path}: /neighbors has shape {found.shape}; there are {self.own_queries} queries")

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return rows of /train and, behind them, of /test."""
        cut = int(np.searchsorted(rows, self._n_train))
        out = np.empty((len(rows), self.n_features), np.float32)
        try:
            self._read(self._data, rows[:cut], out[:cut])
            self._read(self._test, rows[cut:] - self._n_train, out[cut:])
        except OSError as error:
            raise InputError(f"{self.path}: rows {rows[0]}..{rows[-1]} cannot be read ({first_line(error)})") from None
        return out

    def own_neighbours(self) -> NDArray[np.int64] | None:
        """Return the neighbours the file states."""
        if "neighbors" not in self._file:
            return None
        found = self._file["neighbors"][:].astype(np.int64)
        if found.size and not 0 <= found.min() <= found.max() < self._n_train:
            raise InputError(f"{self.path}: /neighbors names rows beyond the {self._n_train:,} of /train")
        return found


class SparseHDF5Features(HDF5Features):
    """Sparse rows in an HDF5 group: their values, the dimensions these belong to, and where each row begins."""

    def _open(self) -> None:
        group = self._file["features"]
        missing = {"data", "indices", "indptr"} - set(group)
        if missing:
            raise InputError(f"{self.path}: /features has no {', '.join(sorted(missing))}; sparse rows need them")
        self._begin: NDArray[np.int64] = group["indptr"][:].astype(np.int64)
        shape = group.attrs.get("shape")
        self.n_rows = len(self._begin) - 1
        if shape is None or len(shape) != 2 or shape[0] != self.n_rows:
            raise InputError(f"{self.path}: /features has the attribute shape = {shape}; {self.n_rows} rows need it")
        self.n_features = int(shape[1])
        check_row_starts(self._begin, group["data"].size, str(self.path))
        self._data, self._dimensions = group["data"], group["indices"]
        self._open_extras()

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, zeros filled in."""
        out = np.zeros((len(rows), self.n_features), np.float32)
        for place, row in zip(out, rows, strict=True):
            part = slice(self._begin[row], self._begin[row + 1])
            at = self._dimensions[part]
            if len(at) and not 0 <= at.min() <= at.max() < self.n_features:
                raise InputError(f"{self.path}: row {row} has a value at dimension {at.max()} of {self.n_features}")
            place[at] = self._data[part]
        return out


def check_row_starts(begin: NDArray[np.int64], n_values: int, source: str) -> None:
    """Raise InputError unless the rows of a sparse matrix begin one after the other and end with the values."""
    if len(begin) < 2 or begin[0] != 0 or (np.diff(begin) < 0).any() or begin[-1] != n_values:
        raise InputError(f"{source}: indptr does not cut {n_values:,} values into rows")


def _readable(value: Any) -> Any:
    """Return an attribute as plain Python."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [_readable(item) for item in value.tolist()]
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value.item() if isinstance(value, np.generic) else value
