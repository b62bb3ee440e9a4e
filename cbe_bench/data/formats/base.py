"""What the readers have in common: where malformed content becomes one line, and arrays mapped from a file."""

import hashlib
import mmap
from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import as_path
from cbe_bench.data.features import FileFeatures, Matrix
from cbe_bench.data.formats.checks import MissingPartError, check_regular_file, check_shape, readable
from cbe_bench.kernels.parallel import slices

_SLICE_BYTES = 1 << 22
"""Bytes converted at once; rows far apart bring as many pages into memory as there are rows, each with neighbours."""
LABEL_NAMES = ("labels", "label")
_MAX_LABEL_LENGTH = 1000


class StoredFeatures(FileFeatures):
    """Features in a file that may be malformed; a subclass opens it in `_open` and reads rows in `_read`.

    Parameters
    ----------
    path : str or Path
        The file.
    name : str, optional
        What the data are called; default: the stem of the file name.
    part : str, optional
        Which matrix of the file to take, where it can hold several.
    """

    def __init__(self, path: str | Path, name: str | None = None, part: str | None = None) -> None:
        self.path = as_path(path)
        check_regular_file(self.path, self.is_folder)
        self.name, self.part = name or self.path.stem, part
        try:
            with readable(self.path):
                self._open()
                check_shape(self.path, self.n_rows, self.n_features)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _open(self) -> None:
        """Open the file and set `n_rows` and `n_features`."""

    @abstractmethod
    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows."""

    def _read_labels(self) -> NDArray | list[str] | None:
        return None

    def _describe(self) -> dict[str, Any]:
        return {}

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, sorted and without repetition, as float32 (n, n_features)."""
        if not len(rows):
            return np.empty((0, self.n_features), np.float32)
        if rows[0] < 0 or rows[-1] >= self.n_rows:
            raise InputError(f"{self.path}: rows {rows[0]}..{rows[-1]} asked for; there are {self.n_rows:,}")
        with readable(self.path, f"rows {rows[0]}..{rows[-1]} cannot be read"):
            return self._read(rows)

    def labels(self) -> NDArray | None:
        """Return the label of every row, or None if the file has none."""
        with readable(self.path, "the labels cannot be read"):
            found = self._read_labels()
            return None if found is None else check_labels(self.path, found, self.n_rows)

    def describe(self) -> dict[str, Any]:
        """Return the type of the values and what the file says about itself."""
        with readable(self.path, "its description cannot be read"):
            return self._describe()

    def content_hash(self) -> str:
        """Return the hash of the file's bytes and, where one was selected, of the name of the matrix."""
        with readable(self.path, "cannot be read"):
            whole = super().content_hash()
        return whole if self.part is None else hashlib.sha256(f"{whole} {self.part}".encode()).hexdigest()

    def close(self) -> None:
        """Close the file, opened completely or not."""


class ArrayFeatures(StoredFeatures):
    """Rows of an array that is mapped from a file and read as it is used."""

    _array: NDArray

    def _open(self) -> None:
        self._array = self._map()
        if self._array.ndim != 2:
            raise InputError(f"{self.path}: has shape {self._array.shape}; it must be rows x dimensions")
        check_real(self.path, self._array.dtype)
        self.n_rows, self.n_features = map(int, self._array.shape)

    @abstractmethod
    def _map(self) -> NDArray:
        """Return the array (n_rows, n_features), mapped where possible."""

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        out = np.empty((len(rows), self.n_features), np.float32)
        if self._read_directly(rows, out):
            return out
        with np.errstate(over="ignore", invalid="ignore"):
            for part in slices(len(rows), max(1, _SLICE_BYTES // (4 * self.n_features))):
                some = rows[part]
                consecutive = some[-1] - some[0] + 1 == len(some)
                out[part] = self._array[some[0] : some[-1] + 1] if consecutive else self._array[some]
                release_pages(self._array)
        return out

    def _read_directly(self, rows: NDArray[np.int64], out: Matrix) -> bool:
        """Read rows that are stored as they are returned, without mapping them; return whether they are.

        A row that is mapped brings pages around it into memory, far more than its own.
        """
        array = self._array
        whole = isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.flags.c_contiguous
        if not whole or array.dtype != out.dtype:
            return False
        starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
        with self.path.open("rb", buffering=0) as file:
            for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
                file.seek(array.offset + int(rows[start]) * array.strides[0])  # type: ignore[attr-defined]
                left = out[start:stop].reshape(-1).view(np.uint8).data
                while left and (count := file.readinto(left)):
                    left = left[count:]
                if left:
                    raise InputError(f"{self.path}: ends early; it was changed while it was read")
        return True

    def _describe(self) -> dict[str, Any]:
        return {"values": str(self._array.dtype)}

    def close(self) -> None:
        """Let go of the mapped file."""
        self.__dict__.pop("_array", None)


def release_pages(array: NDArray) -> None:
    """Let go of the memory of an array that is mapped from a file: it is read again where it is used again."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        base.madvise(mmap.MADV_DONTNEED)


def check_real(source: object, dtype: np.dtype) -> None:
    """Raise InputError unless values of a type are real numbers.

    Parameters
    ----------
    source : object
        The file, for messages.
    dtype : dtype
        Real numbers are floating-point numbers, integers and booleans.

    Raises
    ------
    InputError
        For any other type, such as complex or structured ones.
    """
    if dtype.kind not in "fiub" or dtype.names is not None or dtype.subdtype is not None:
        raise InputError(f"{source}: is {dtype}; allowed: real numbers")


def check_labels(source: object, labels: "NDArray | list[str]", n_rows: int) -> NDArray:
    """Return labels as an array of numbers or strings, one for each row.

    Parameters
    ----------
    source : object
        The file, for messages.
    labels : array or list of str
        As read from the file.
    n_rows : int
        The number of rows of the features.

    Returns
    -------
    array of shape (n_rows,)
        Of numbers or strings.

    Raises
    ------
    InputError
        If labels have another type or shape, or one is too long.
    """
    if isinstance(labels, list):
        longest = max(map(len, labels), default=0)
        if longest > _MAX_LABEL_LENGTH:
            raise InputError(f"{source}: a label of {longest:,} characters; allowed: up to {_MAX_LABEL_LENGTH:,}")
        labels = np.array(labels)
    if labels.dtype.kind not in "iufbSU" or labels.shape != (n_rows,):
        found = f"{labels.dtype} of shape {labels.shape}"
        raise InputError(f"{source}: labels are {found}; {n_rows:,} rows need as many numbers or strings")
    return labels


def choose_part(source: object, candidates: list[str], part: str | None, usual: tuple[str, ...], what: str) -> str:
    """Return which of several matrices in a file holds the features.

    Parameters
    ----------
    source : object
        What the message begins with.
    candidates : list of str
        The matrices of the file.
    part : str or None
        The one the caller names.
    usual : tuple of str
        Names that are taken without being asked for, the first that is there.
    what : str
        What the format calls them: "dataset", "column" or "array".
    """
    if part is not None:
        if part in candidates:
            return part
        raise MissingPartError(f"{source}: no {what} {part!r} of rows x dimensions; {_listed(candidates)}")
    known = [name for name in usual if name in candidates]
    if not known and len(candidates) != 1:
        option = "column" if what == "column" else "dataset"
        raise InputError(
            f"{source}: no {what} called {', '.join(usual)}; {_listed(candidates)}"
            + (f"; choose with --{option} or the key data.dataset" if candidates else "")
        )
    return (known or candidates)[0]


def _listed(candidates: list[str]) -> str:
    shown = ", ".join(candidates[:10]) + (", ..." if len(candidates) > 10 else "")
    return f"found: {shown}" if candidates else "none found"
