"""Feature files: opened lazily, read by rows, never loaded whole.

A source of features knows its size and reads any sorted set of rows as float32. Bad content is told when it is
read, with the rows that hold it.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cbe_bench.cache import cache_directory, remember
from cbe_bench.errors import InputError

Matrix = NDArray[np.float32]

_LARGEST_GAP = 8
"""Rows read in vain rather than starting another read."""
_LARGEST_CHUNK_CACHE = 1 << 30


class Features(ABC):
    """A matrix of features that may be larger than memory.

    Attributes
    ----------
    name : str
        What the data are called in tables and figures.
    kind : str
        "user", "real" or "synthetic"; shown beside every result.
    n_rows, n_features : int
        The shape.
    """

    name: str
    kind: str
    n_rows: int
    n_features: int

    @abstractmethod
    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, sorted and without repetition, as float32."""

    @property
    def source(self) -> str:
        """What an error message calls the data: its file, where there is one."""
        return self.name

    @abstractmethod
    def content_hash(self) -> str:
        """Return a name for the content: equal only for equal data."""

    def close(self) -> None:  # noqa: B027 - most sources have nothing to close
        """Let go of the file, if there is one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class HDF5Features(Features):
    """An HDF5 file with ``/features`` (rows x dimensions, float16, float32 or float64) and optional ``/labels``."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        import h5py

        self.path = Path(path)
        self.name = name or self.path.stem
        if not self.path.is_file():
            raise InputError(f"{path}: no such file")
        try:
            self._file = h5py.File(self.path, "r")
        except OSError as error:
            raise InputError(f"{path}: cannot be read as HDF5 ({_first_line(error)})") from None
        try:
            self._open_features(h5py)
        except BaseException:
            self._file.close()
            raise

    def _open_features(self, h5py: Any) -> None:
        data = self._file.get("features")
        if not isinstance(data, h5py.Dataset):
            found = ", ".join(f"/{name}" for name in self._file) or "nothing"
            raise InputError(f"{self.path}: no dataset /features; the file holds {found}")
        if data.ndim != 2:
            raise InputError(f"{self.path}: /features has shape {data.shape}; it must be rows x dimensions")
        if data.dtype.kind != "f" or data.dtype.itemsize not in (2, 4, 8):
            raise InputError(f"{self.path}: /features is {data.dtype}; allowed: float16, float32, float64")
        if not all(data.shape):
            raise InputError(f"{self.path}: /features has shape {data.shape}; it is empty")
        self.n_rows, self.n_features = map(int, data.shape)
        kind = self._file.attrs.get("kind", "user")
        self.kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if self.kind not in ("user", "real", "synthetic"):
            raise InputError(f"{self.path}: attribute kind is {self.kind!r}; allowed: user, real, synthetic")
        self._data = self._with_room_for_chunks(h5py, data)
        labels = self._file.get("labels")
        if labels is not None and not isinstance(labels, h5py.Dataset):
            raise InputError(f"{self.path}: /labels is not a dataset")
        if labels is not None and labels.shape != (self.n_rows,):
            raise InputError(f"{self.path}: /labels has shape {labels.shape}; {self.n_rows} rows need ({self.n_rows},)")

    def _with_room_for_chunks(self, h5py: Any, data: Any) -> Any:
        """Open the dataset with a cache that holds one row of chunks, so that no chunk is unpacked twice."""
        if data.chunks is None:
            return data
        row_of_chunks = data.chunks[0] * -(-self.n_features // data.chunks[1]) * data.chunks[1] * data.dtype.itemsize
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_chunk_cache(10_007, min(2 * row_of_chunks, _LARGEST_CHUNK_CACHE), 1.0)
        return h5py.Dataset(h5py.h5d.open(self._file.id, b"features", access))

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows as float32; rows that lie close together are read in one go."""
        out = np.empty((len(rows), self.n_features), np.float32)
        breaks = np.flatnonzero(np.diff(rows) > _LARGEST_GAP) + 1
        try:
            for part in np.split(np.arange(len(rows)), breaks):
                wanted = rows[part]
                run = self._data[wanted[0] : wanted[-1] + 1]
                with np.errstate(over="ignore"):
                    out[part] = run[wanted - wanted[0]]
        except OSError as error:
            raise InputError(f"{self.path}: rows {rows[0]}..{rows[-1]} cannot be read ({_first_line(error)})") from None
        return out

    @property
    def source(self) -> str:
        """The path of the file."""
        return str(self.path)

    def labels(self) -> NDArray | None:
        """Return the label of every row, or None if the file has none."""
        return self._file["labels"][:] if "labels" in self._file else None

    def content_hash(self) -> str:
        """Return the hash of the file's bytes, remembered as long as its size and time do not change."""
        return file_hash(self.path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, computed once for each size and time of change."""
    status = path.stat()
    identity = [str(path.resolve()), status.st_size, status.st_mtime_ns]
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:24]
    kept = cache_directory() / "hashes" / name
    if kept.is_file() and re.fullmatch(r"[0-9a-f]{64}", known := kept.read_text()):
        return known
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    remember(kept, digest.encode())
    return digest


def check_values(block: Matrix, rows: NDArray[np.int64], source: str) -> NDArray:
    """Return the l2 norm of each row, or tell which rows hold NaN, infinity or nothing but zeros."""
    norms = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
    for bad, what in ((~np.isfinite(norms), "NaN or infinite values"), (norms == 0, "only zeros")):
        if bad.any():
            found = rows[bad]
            listed = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
            which = f"row {listed} holds" if len(found) == 1 else f"rows {listed} hold"
            raise InputError(f"{source}: {which} {what} ({len(found)} of the {len(rows)} rows read)")
    return norms


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
