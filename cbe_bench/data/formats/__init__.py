"""Feature files in every form, opened by what they are called.

`.h5 .hdf5` (own, ann-benchmarks, sparse), `.npy`, `.fvecs .bvecs` (every row behind its length), `.fbin .u8bin .i8bin`
(two numbers, then all rows), `.parquet` (a column of lists), `.npz` (sparse rows as scipy saves them).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.data.features import Features, FileFeatures, Matrix, first_line

_BIN_TYPES = {".fbin": "<f4", ".u8bin": "u1", ".i8bin": "i1"}
_VECS_TYPES = {".fvecs": "<f4", ".bvecs": "u1"}


class ArrayFeatures(FileFeatures):
    """Rows of an array that is mapped from a file and read as it is used."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        super().__init__(path, name)
        try:
            self._array = self._map()
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path}: cannot be read as {path.suffix} ({first_line(error)})") from None
        if not all(self._array.shape):
            raise InputError(f"{path}: has shape {self._array.shape}; it is empty")
        self.n_rows, self.n_features = map(int, self._array.shape)

    def _map(self) -> NDArray:
        raise NotImplementedError

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows as float32."""
        with np.errstate(over="ignore"):
            return self._array[rows].astype(np.float32)

    def describe(self) -> dict[str, Any]:
        """Return the type of the values."""
        return {"values": str(self._array.dtype)}

    def close(self) -> None:
        """Let the file go."""
        del self._array


class NpyFeatures(ArrayFeatures):
    """A two-dimensional array in NumPy's own format."""

    def _map(self) -> NDArray:
        array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2:
            raise InputError(f"{self.path}: has shape {array.shape}; it must be rows x dimensions")
        if array.dtype.kind not in "fiu":
            raise InputError(f"{self.path}: is {array.dtype}; allowed: real numbers")
        return array


class BinFeatures(ArrayFeatures):
    """The number of rows and of dimensions as 4-byte integers, then all values."""

    def _map(self) -> NDArray:
        kind = np.dtype(_BIN_TYPES[self.path.suffix.lower()])
        size = self.path.stat().st_size
        if size < 8:
            raise InputError(f"{self.path}: {size} bytes; it must begin with two 4-byte numbers")
        rows, dims = map(int, np.fromfile(self.path, "<u4", 2))
        needed = 8 + rows * dims * kind.itemsize
        if size != needed:
            raise InputError(f"{self.path}: {size:,} bytes; the {rows:,} x {dims:,} values announced need {needed:,}")
        if not rows * dims:
            return np.empty((rows, dims), kind)
        return np.memmap(self.path, kind, "r", offset=8, shape=(rows, dims))


class VecsFeatures(ArrayFeatures):
    """Rows one after the other, each behind its length as a 4-byte integer."""

    def _map(self) -> NDArray:
        kind = np.dtype(_VECS_TYPES[self.path.suffix.lower()])
        size = self.path.stat().st_size
        dims = int(np.fromfile(self.path, "<i4", 1)[0]) if size >= 4 else 0
        if not 0 < dims < 2**27:
            raise InputError(f"{self.path}: the first row announces {dims} values")
        record = 4 + dims * kind.itemsize
        if size % record:
            raise InputError(f"{self.path}: {size:,} bytes are no whole number of rows of {dims:,} values")
        self._records = np.memmap(self.path, [("length", "<i4"), ("row", kind, (dims,))], "r")
        array: NDArray = self._records["row"]
        return array

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, all of which must have one length."""
        lengths = self._records["length"][rows]
        if (lengths != self.n_features).any():
            bad = int(np.flatnonzero(lengths != self.n_features)[0])
            raise InputError(f"{self.path}: row {rows[bad]} has {lengths[bad]} values, the first {self.n_features}")
        return super().read(rows)

    def close(self) -> None:
        """Let the file go."""
        super().close()
        del self._records


class SparseNpzFeatures(FileFeatures):
    """Sparse rows as `scipy.sparse.save_npz` writes them."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        from scipy import sparse

        super().__init__(path, name)
        try:
            self._matrix = sparse.csr_matrix(sparse.load_npz(path))
            self._matrix.check_format()
        except Exception as error:
            raise InputError(f"{path}: cannot be read as a sparse matrix ({first_line(error)})") from None
        self.n_rows, self.n_features = map(int, self._matrix.shape)
        if not self.n_rows * self.n_features:
            raise InputError(f"{path}: has shape {self._matrix.shape}; it is empty")

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, zeros filled in."""
        dense: Matrix = self._matrix[rows].toarray().astype(np.float32)
        return dense

    def describe(self) -> dict[str, Any]:
        """Return the type of the values."""
        return {"values": f"sparse {self._matrix.dtype}"}


def _hdf5(path: Path, name: str | None) -> Features:
    from cbe_bench.data.formats.hdf5 import open_hdf5

    return open_hdf5(path, name)


def _parquet(path: Path, name: str | None) -> Features:
    from cbe_bench.data.formats.parquet import ParquetFeatures

    return ParquetFeatures(path, name)


_READERS: dict[str, Callable[[Path, str | None], Features]] = {
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".npy": NpyFeatures,
    ".npz": SparseNpzFeatures,
    ".parquet": _parquet,
    **dict.fromkeys(_BIN_TYPES, BinFeatures),
    **dict.fromkeys(_VECS_TYPES, VecsFeatures),
}


def open_features(path: str | Path, name: str | None = None) -> Features:
    """Open a feature file in whatever form its name says."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InputError(f"{path}: unknown form {suffix!r}; {did_you_mean(suffix, _READERS)}")
    return _READERS[suffix](path, name)
