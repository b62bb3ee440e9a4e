"""Datasets of an HDF5 file that lie in the file itself and hold no more than it can.

A link can lead to another file, a virtual dataset or external storage can read one, and a few bytes can announce a
matrix of any size. None of these is followed.
"""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import as_path, is_url
from cbe_bench.data.formats.checks import STREAMED, check_expansion, readable
from cbe_bench.data.formats.hdf5_probe import probe, read_strings
from cbe_bench.data.formats.hdf5_remote import RemoteFile

_MAX_ATTRIBUTE_BYTES = 1 << 16
_MAX_NAMES = 10_000
_UNCHECKED_BYTES = 1 << 26
"""Bytes that a compressed chunk may at worst expand to without being looked at first."""
_CHECKSUM_BYTES = 4
_DESCRIPTION_BYTES = 1 << 20
"""Bytes reserved for all of a file but its values."""
_PLAIN_TYPES = (h5py.h5t.TypeStringID, h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID)
_COMPRESSING = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SZIP, h5py.h5z.FILTER_LZF}


def open_file(path: Path) -> Any:
    """Open an HDF5 file for reading."""
    with readable(path, "cannot be read as HDF5"):
        if is_url(path):
            return h5py.File(RemoteFile(path), "r")
        probe(path)
        return h5py.File(path, "r")


def create_file(path: Path, n_bytes: int) -> Any:
    """Create an HDF5 file; raise OSError if the values do not fit on the disk.

    The HDF5 library is left in a broken state, up to a crash, where it cannot write; so the space is reserved first.

    Parameters
    ----------
    path : Path
        The file, overwritten.
    n_bytes : int
        The bytes of all values to be written.

    Returns
    -------
    h5py.File
        Open for writing.
    """
    if hasattr(os, "posix_fallocate"):
        with path.open("wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, n_bytes + _DESCRIPTION_BYTES)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from None
    return h5py.File(path, "w")


def names(group: Any) -> list[str]:
    """List the members of a group."""
    if len(group) > _MAX_NAMES:
        raise InputError(f"{group.file.filename}: {len(group):,} datasets; allowed: up to {_MAX_NAMES:,}")
    return list(group)


def find(group: Any, key: str) -> Any:
    """Return the group or dataset called `key`, or None.

    Parameters
    ----------
    group : h5py.Group or h5py.File
        Where to look.
    key : str
        Names separated by slashes.

    Returns
    -------
    h5py.Group, h5py.Dataset or None

    Raises
    ------
    InputError
        If a name on the way is a soft or external link.
    """
    found = group
    for name in key.strip("/").split("/"):
        link = found.get(name, getlink=True) if isinstance(found, h5py.Group) else None
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise InputError(f"{group.file.filename}: /{key} is a link to another place; only the file itself is read")
        found = found[name]
    return found


def matrices(file: Any) -> list[str]:
    """List the two-dimensional datasets of a file by path, those in groups of the first level included."""
    found = []
    for name in names(file):
        if isinstance(file.get(name, getlink=True), h5py.HardLink):
            item = file[name]
            inner = names(item) if isinstance(item, h5py.Group) else []
            found += [f"{name}/{member}" for member in inner if _is_matrix(find(item, member))]
            found += [name] if _is_matrix(item) else []
    return found


def _is_matrix(item: Any) -> bool:
    return isinstance(item, h5py.Dataset) and item.id.rank == 2


def check_storage(data: Any, *, whole: bool) -> Any:
    """Return a dataset whose values are all in the file and in proportion to it, or raise InputError.

    Parameters
    ----------
    data : h5py.Dataset
        As opened.
    whole : bool
        Whether it will be read as a whole, or in blocks of rows.
    """
    path = as_path(data.file.filename)
    plist = data.id.get_create_plist()
    layout = plist.get_layout()
    if layout == h5py.h5d.VIRTUAL or plist.get_external_count():
        raise InputError(f"{path}: {data.name} is stored in other files; only the file itself is read")
    filters = _filters(data)
    if len(set(filters)) < len(filters) or len(_COMPRESSING.intersection(filters)) > 1:
        raise InputError(f"{path}: {data.name} is compressed more than once")
    n_bytes, size = _count(data.shape) * data.dtype.itemsize, path.stat().st_size
    if layout == h5py.h5d.CHUNKED:
        check_expansion(path, f"a chunk of {data.name}", _count(data.chunks) * data.dtype.itemsize, size)
        if n_bytes:
            check_expansion(path, data.name, n_bytes, size, **({} if whole else {"ratio": STREAMED}))
    elif n_bytes > size:
        raise InputError(f"{path}: {data.name} announces {n_bytes:,} bytes; the file has {size:,}")
    return data


class CheckedDataset:
    """A dataset read in slices along its first axis, whose compressed chunks cannot expand beyond their size.

    HDF5 inflates a chunk to the end before it looks at its size. So no chunk may be stored in more bytes than it has,
    and those that could take more than 64 MiB are inflated here first, once, up to their size and no further.
    """

    def __init__(self, data: Any) -> None:
        self._data = data
        self.shape: tuple[int, ...] = data.shape
        self.dtype: np.dtype = data.dtype
        self._chunk_bytes = _count(data.chunks) * data.dtype.itemsize if data.chunks else 0
        self._large: set[tuple[int, ...]] | None = None
        """Offsets of the chunks that have to be inflated before they are read for the first time."""

    def __getitem__(self, part: slice) -> NDArray:
        if self._large is None:
            self._large = set()
            if self._chunk_bytes and _COMPRESSING.intersection(_filters(self._data)):
                self._data.id.chunk_iter(self._note)
        reached = [one for one in self._large if one[0] < part.stop and part.start < one[0] + self._data.chunks[0]]
        for offset in reached:
            self._inflate(offset)
            self._large.remove(offset)
        values: NDArray = self._data[part]
        return values

    def _note(self, chunk: Any) -> None:
        if chunk.size > self._chunk_bytes + self._chunk_bytes // 64 + (1 << 16):
            found = f"a chunk of {self._data.name} is stored in {chunk.size:,} bytes"
            raise InputError(f"{self._data.file.filename}: {found}; its values are {self._chunk_bytes:,}")
        if chunk.size * STREAMED > _UNCHECKED_BYTES and self._large is not None:
            self._large.add(tuple(map(int, chunk.chunk_offset)))

    def _inflate(self, offset: tuple[int, ...]) -> None:
        _, stored = self._data.id.read_direct_chunk(offset)
        if h5py.h5z.FILTER_DEFLATE in _filters(self._data):
            most = self._chunk_bytes + _CHECKSUM_BYTES
            if len(zlib.decompressobj().decompress(stored, most + 1)) > most:
                found = f"a chunk of {self._data.name} expands to more than {human_bytes(self._chunk_bytes)}"
                raise InputError(f"{self._data.file.filename}: {found}")


def _filters(data: Any) -> list[int]:
    plist = data.id.get_create_plist()
    return [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]


def read_labels(data: Any) -> NDArray | list[str]:
    """Return labels, numbers or strings, of fixed or variable length."""
    if isinstance(data, h5py.Dataset) and _is_variable_string(data.id.get_type()):
        check_storage(data, whole=True)
        if is_url(path := as_path(data.file.filename)):
            raise InputError(f"{path}: {data.name} holds strings of variable length, which are not read by URL")
        return read_strings(path, data.name)
    return read_whole(data, "iufbS")


def read_whole(data: Any, kinds: str) -> NDArray:
    """Return all values of a dataset of one of the given kinds of type.

    Parameters
    ----------
    data : h5py object
        Expected to be a dataset of at least one dimension.
    kinds : str
        The allowed `dtype.kind` characters.

    Returns
    -------
    array
        Of the shape of the dataset.

    Raises
    ------
    InputError
        If it is no such dataset, or its storage is refused.
    """
    path, what = data.file.filename, f"{data.name} is no array of values that can be used here"
    if not isinstance(data, h5py.Dataset) or data.id.rank == 0:
        raise InputError(f"{path}: {what}")
    check_storage(data, whole=True)
    if data.dtype.kind not in kinds:
        raise InputError(f"{path}: {what}")
    return CheckedDataset(data)[0 : data.shape[0]]


def attributes(item: Any) -> dict[str, Any]:
    """Return the attributes of a file or group that are numbers or strings, as plain Python; long ones are left out."""
    is_local = isinstance(item, h5py.File) and not is_url(item.filename)
    found: dict[str, Any] = dict(probe(Path(item.filename))) if is_local else {}
    for name in list(item.attrs)[:_MAX_NAMES]:
        opened = item.attrs.get_id(name)
        kind = opened.get_type()
        small = max(opened.get_storage_size(), _count(opened.shape or ())) <= _MAX_ATTRIBUTE_BYTES
        if small and isinstance(kind, _PLAIN_TYPES) and not _is_variable_string(kind):
            found[name] = _plain(item.attrs[name])
    return found


def fixed_strings(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes to be written, strings as ones of fixed length: others are read in a child process."""

    def fixed(value: Any) -> Any:
        if isinstance(value, str):
            return np.bytes_(value.encode(errors="replace"))
        return np.array([fixed(item) for item in value]) if isinstance(value, list | tuple) else value

    return {name: fixed(value) for name, value in found.items()}


def _is_variable_string(kind: Any) -> bool:
    return isinstance(kind, h5py.h5t.TypeStringID) and bool(kind.is_variable_str())


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    return value.item() if isinstance(value, np.generic) else value


def _count(shape: tuple[int, ...]) -> int:
    product = 1
    for length in shape:
        product *= int(length)
    return product
