"""Features in HDF5 files, in three layouts.

- Our own: `/features` (rows x dimensions), optional `/labels`, attribute `kind`.
- That of ann-benchmarks: `/train` is the database, `/test` the queries, `/neighbors` their exact neighbours.
- Sparse rows: a group `/features` with `data`, `indices`, `indptr` and the attribute `shape`.

Any other dataset of real numbers in rows can be selected by its path.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, printable
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.base import LABEL_NAMES, StoredFeatures, choose_part
from cbe_bench.data.formats.checks import check_shape, readable
from cbe_bench.data.formats.hdf5_access import (
    CheckedDataset,
    attributes,
    check_storage,
    create_file,
    find,
    fixed_strings,
    matrices,
    names,
    open_file,
    read_labels,
    read_whole,
)
from cbe_bench.data.formats.registry import Append, reader, writer
from cbe_bench.data.formats.sparse import check_coordinates, check_row_pointers

_LARGEST_GAP = 8
"""Rows read in vain rather than starting another read."""
_LARGEST_CHUNK_CACHE = 1 << 30
_SLICE_BYTES = 1 << 26
_VALUES_AT_ONCE = 1 << 20
_USUAL_NAMES = ("features", "embeddings", "vectors")
_KINDS = ("user", "real", "synthetic")


@reader(".h5", ".hdf5", has_parts=True, by_url=True)
def open_hdf5(path: Path, name: str | None = None, part: str | None = None) -> "HDF5Features":
    """Open a file in any of the layouts."""
    with open_file(path) as file, readable(path, "cannot be read as HDF5"):
        found = set(names(file))
        is_sparse = "features" in found and isinstance(find(file, "features"), h5py.Group)
    if part is None and "features" not in found and "train" in found:
        return AnnBenchmarksFeatures(path, name)
    return SparseHDF5Features(path, name) if is_sparse and part is None else HDF5Features(path, name, part)


class HDF5Features(StoredFeatures):
    """An HDF5 file with ``/features`` (rows x dimensions, float16, float32 or float64) and optional ``/labels``."""

    _file: Any = None

    def _open(self) -> None:
        self._file = open_file(self.path)
        self._attributes = attributes(self._file)
        self._open_matrices()
        self._open_extras()

    def _open_matrices(self) -> None:
        key = self.part.strip("/") if self.part else "features"
        if find(self._file, key) is None:
            key = choose_part(self.path, matrices(self._file), self.part and key, _USUAL_NAMES, "dataset")
        self._data = self._matrix(key, "f" if key == "features" else "fiub")
        self.n_rows, self.n_features = map(int, self._data.shape)

    def _matrix(self, key: str, kinds: str) -> CheckedDataset:
        """Open a dataset of real numbers in rows."""
        data = find(self._file, key)
        if not isinstance(data, h5py.Dataset):
            found = ", ".join(f"/{name}" for name in names(self._file)[:10]) or "nothing"
            raise InputError(f"{self.path}: no dataset /{key}; the file holds {found}")
        check_storage(data, whole=False)
        if data.ndim != 2:
            raise InputError(f"{self.path}: /{key} has shape {data.shape}; it must be rows x dimensions")
        if data.dtype.kind not in kinds or data.dtype.itemsize not in (1, 2, 4, 8):
            raise InputError(f"{self.path}: /{key} is {data.dtype}; allowed: float16, float32, float64")
        check_shape(f"{self.path}: /{key}", *data.shape)
        return self._with_chunk_cache(data)

    def _with_chunk_cache(self, data: Any) -> CheckedDataset:
        """Open a dataset with a cache that holds one row of chunks, so that no chunk is decompressed twice."""
        if data.chunks is None:
            return CheckedDataset(data)
        row_of_chunks = data.chunks[0] * -(-data.shape[1] // data.chunks[1]) * data.chunks[1] * data.dtype.itemsize
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_chunk_cache(10_007, min(2 * row_of_chunks, _LARGEST_CHUNK_CACHE), 1.0)
        return CheckedDataset(h5py.Dataset(h5py.h5d.open(self._file.id, data.name.encode(), access)))

    def _open_extras(self) -> None:
        """Check the attribute `kind` and the labels."""
        self.kind = str(self._attributes.get("kind", "user"))
        if self.kind not in _KINDS:
            raise InputError(f"{self.path}: attribute kind is {self.kind[:40]!r}; allowed: {', '.join(_KINDS)}")
        self._labels = None
        for name in LABEL_NAMES:
            if self._labels is None and self.part is None:
                self._labels = find(self._file, name)
        if self._labels is not None and not isinstance(self._labels, h5py.Dataset):
            raise InputError(f"{self.path}: /labels is not a dataset")
        if self._labels is not None and self._labels.shape != (self.n_rows,):
            raise InputError(
                f"{self.path}: /labels has shape {self._labels.shape}; {self.n_rows} rows need ({self.n_rows},)"
            )

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        out = np.empty((len(rows), self.n_features), np.float32)
        self._read_into(self._data, rows, out)
        return out

    def _read_into(self, data: CheckedDataset, rows: NDArray[np.int64], out: Matrix) -> None:
        """Read rows in slices; rows that lie close together are read in one go."""
        at_once = max(1, _SLICE_BYTES // (data.dtype.itemsize * self.n_features))
        breaks = np.flatnonzero((np.diff(rows) > _LARGEST_GAP) | (np.diff(rows // at_once) > 0)) + 1
        for part in np.split(np.arange(len(rows)), breaks):
            wanted = rows[part]
            if len(wanted):
                run = data[wanted[0] : wanted[-1] + 1]
                with np.errstate(over="ignore", invalid="ignore"):
                    out[part] = run[wanted - wanted[0]]

    def _read_labels(self) -> NDArray | list[str] | None:
        return None if self._labels is None else read_labels(self._labels)

    def _describe(self) -> dict[str, Any]:
        found = {printable(name): _decoded(value) for name, value in self._attributes.items()}
        return {"values": str(self._data.dtype), **found}

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class AnnBenchmarksFeatures(HDF5Features):
    """A file of ann-benchmarks: the rows of ``/train``, then those of ``/test``, which are the queries."""

    def _open_matrices(self) -> None:
        self._data = self._matrix("train", "fiu")
        self.n_rows, self.n_features = map(int, self._data.shape)
        self._n_train = self.n_rows
        kind = self._attributes.get("point_type", "float")
        if kind != "float":
            raise InputError(f"{self.path}: its points are {str(kind)[:40]}; only real vectors can be encoded")
        if find(self._file, "test") is not None:
            self._test = self._matrix("test", "fiu")
            if self._test.shape[1] != self.n_features:
                raise InputError(
                    f"{self.path}: /test has {self._test.shape[1]:,} dimensions, /train {self.n_features:,}"
                )
            self.own_queries = int(self._test.shape[0])
            self.n_rows += self.own_queries
        self._neighbours = find(self._file, "neighbors")
        shape: tuple[int, ...] = getattr(self._neighbours, "shape", ())
        if self._neighbours is not None and (len(shape) != 2 or shape[0] != self.own_queries):
            raise InputError(f"{self.path}: /neighbors has shape {shape}; there are {self.own_queries} queries")

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return rows of /train and, behind them, of /test."""
        cut = int(np.searchsorted(rows, self._n_train))
        out = np.empty((len(rows), self.n_features), np.float32)
        self._read_into(self._data, rows[:cut], out[:cut])
        if self.own_queries:
            self._read_into(self._test, rows[cut:] - self._n_train, out[cut:])
        return out

    def own_neighbours(self) -> NDArray[np.int64] | None:
        """Return the neighbours the file states."""
        if self._neighbours is None:
            return None
        with readable(self.path, "/neighbors cannot be read"):
            found = read_whole(self._neighbours, "iu").astype(np.int64)
            if found.size and not 0 <= found.min() <= found.max() < self._n_train:
                raise InputError(f"{self.path}: /neighbors names rows beyond the {self._n_train:,} of /train")
        return found


class SparseHDF5Features(HDF5Features):
    """Sparse rows in an HDF5 group: their values, the dimensions these belong to, and where each row begins."""

    def _open_matrices(self) -> None:
        group = find(self._file, "features")
        missing = {"data", "indices", "indptr"} - set(names(group))
        if missing:
            raise InputError(f"{self.path}: /features has no {', '.join(sorted(missing))}; sparse rows need them")
        self._data, self._indices = (self._vector(group, key) for key in ("data", "indices"))
        if self._data.dtype.kind not in "fiub" or self._indices.dtype.kind not in "iu":
            raise InputError(
                f"{self.path}: /features has values of {self._data.dtype} at {self._indices.dtype} indices"
            )
        indptr = read_whole(find(group, "indptr"), "iu")
        shape = attributes(group).get("shape")
        if not isinstance(shape, list) or len(shape) != 2 or not all(isinstance(length, int) for length in shape):
            raise InputError(f"{self.path}: /features needs the attribute shape: rows and dimensions")
        self.n_rows, self.n_features = shape
        self._begin = check_row_pointers(self.path, indptr, self.n_rows, self._data.shape[0])
        if np.diff(self._begin).max(initial=0) > self.n_features:
            raise InputError(f"{self.path}: a row of /features has more values than its {self.n_features:,} dimensions")

    def _vector(self, group: Any, key: str) -> CheckedDataset:
        data = find(group, key)
        if not isinstance(data, h5py.Dataset) or data.id.rank != 1:
            raise InputError(f"{self.path}: /features/{key} must be a dataset of one dimension")
        return CheckedDataset(check_storage(data, whole=False))

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, zeros filled in; consecutive ones are read in one go, some values at a time."""
        out = np.zeros((len(rows), self.n_features), np.float32)
        breaks = (np.diff(rows) > 1) | (np.diff(self._begin[rows] // _VALUES_AT_ONCE) > 0)
        for part in np.split(np.arange(len(rows)), np.flatnonzero(breaks) + 1):
            self._fill(out[part[0] : part[-1] + 1], self._begin[rows[part[0]] : rows[part[-1]] + 2], int(rows[part[0]]))
        return out

    def _fill(self, out: Matrix, begin: NDArray[np.int64], first: int) -> None:
        """Write consecutive rows, which begin at these values of the file."""
        indices, values = self._indices[begin[0] : begin[-1]], self._data[begin[0] : begin[-1]]
        where = f"{self.path}: rows {first}..{first + len(out) - 1}"
        indices = check_coordinates(where, "indices", indices, int(begin[-1] - begin[0]), self.n_features)
        with np.errstate(over="ignore"):
            out[np.repeat(np.arange(len(out)), np.diff(begin)), indices] = values


def _decoded(value: Any) -> Any:
    """Return an attribute, parsed where it is JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


@writer(".h5", ".hdf5", keeps_labels=True)
@contextmanager
def write_hdf5(path: Path, features: Features) -> Iterator[Append]:
    """Write float32 values to ``/features`` and the labels to ``/labels``."""
    labels = features.labels()
    n_bytes = 4 * features.n_rows * features.n_features + (0 if labels is None else 4 * labels.nbytes)
    with create_file(path, n_bytes) as file:
        data = file.create_dataset("features", (features.n_rows, features.n_features), np.float32)
        if labels is not None:
            file["labels"] = np.char.encode(labels, "utf-8") if labels.dtype.kind == "U" else labels
        file.attrs.update(fixed_strings({"kind": features.kind, "source": features.name}))

        def append(rows: Matrix, first: int) -> None:
            data[first : first + len(rows)] = rows

        yield append
