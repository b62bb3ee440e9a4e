"""Features in a Zarr array, version 2 or 3 of the format: a folder with a file for each chunk.

The array lies in the folder itself or, in a group, in a folder within it that is selected by its name. Metadata are
checked before the library sees them: codecs that can run code, such as `pickle`, are never opened.
"""

import hashlib
import json
import os
import stat
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, printable
from cbe_bench.core.remote import RemotePath, is_url
from cbe_bench.data.features import Matrix
from cbe_bench.data.formats.base import StoredFeatures, check_real, choose_part
from cbe_bench.data.formats.checks import STREAMED, check_expansion, readable
from cbe_bench.data.formats.registry import reader

_COMPRESSORS = {"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"}
_CODECS = _COMPRESSORS | {"bytes", "crc32c", "numcodecs.shuffle", "sharding_indexed", "shuffle", "transpose"}
"""What values are decoded with; no other codec is opened."""
_LARGEST_METADATA = 1 << 20
_MOST_CHUNK_BYTES = 1 << 29
_SLICE_BYTES = 1 << 25
_USUAL_NAMES = ("features", "embeddings", "vectors")


@reader(".zarr", has_parts=True, is_folder=True, by_url=True)
def open_zarr(path: Path, name: str | None = None, part: str | None = None) -> "ZarrFeatures":
    """Open a folder that is an array or a group of arrays."""
    return ZarrFeatures(path, name, part)


class ZarrFeatures(StoredFeatures):
    """A Zarr array of real numbers (rows x dimensions)."""

    is_folder = True
    _array: Any = None
    _inside = ""
    """The folder of the array within that of its group."""

    def _open(self) -> None:
        folder = self._folder()
        metadata = _metadata(folder)
        unknown = sorted(_codecs(metadata) - _CODECS)
        if unknown:
            raise InputError(f"{self.path}: codec {printable(unknown[0])[:40]!r} is not read")
        try:
            import zarr
        except ImportError:
            raise InputError(f"{self.path}: reading Zarr needs zarr: pip install 'cbe-bench[zarr]'") from None
        self._inside = "" if folder == self.path else folder.name
        self._files = _files(folder)
        store: Any = zarr.storage.FsspecStore.from_url(str(folder), read_only=True) if is_url(folder) else str(folder)
        array = zarr.open_array(store, mode="r")
        if len(array.shape) != 2:
            raise InputError(f"{self.path}: has shape {tuple(array.shape)}; it must be rows x dimensions")
        check_real(self.path, array.dtype)
        self.n_rows, self.n_features = map(int, array.shape)
        self._read_rows = int((array.shards or array.chunks)[0])
        width = array.dtype.itemsize
        for shape in filter(None, (array.chunks, array.shards)):
            if width * int(np.prod(shape, dtype=object)) > _MOST_CHUNK_BYTES:
                raise InputError(f"{self.path}: has chunks of shape {tuple(shape)}; too large for memory")
        stored = sum(size for _, size, _ in self._files)
        check_expansion(self.path, "its shape", width * self.n_rows * self.n_features, stored, STREAMED)
        self._array = array

    def _folder(self) -> Path:
        """Return the folder of the array: the path itself, or one of those in a group."""
        if self.part is None and _is_array(self.path):
            return self.path
        found = {path.name: path for path in _folders(self.path) if _is_array(path)}
        matrices = sorted(name for name, path in found.items() if len(_metadata(path).get("shape", ())) == 2)
        return found[choose_part(self.path, matrices, self.part, _USUAL_NAMES, "array")]

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return rows, a few chunks at a time, each decoded once."""
        out = np.empty((len(rows), self.n_features), np.float32)
        in_memory = self._read_rows * self.n_features * self._array.dtype.itemsize
        at_once = self._read_rows * max(1, _SLICE_BYTES // in_memory)
        far = np.diff(rows) > self._read_rows
        breaks = np.flatnonzero(far | (np.diff(rows // at_once) > 0)) + 1
        for part in np.split(np.arange(len(rows)), breaks):
            wanted = rows[part]
            run = self._array[int(wanted[0]) : int(wanted[-1]) + 1]
            with np.errstate(over="ignore", invalid="ignore"):
                out[part] = run[wanted - wanted[0]]
        return out

    def _describe(self) -> dict[str, Any]:
        return {"values": str(self._array.dtype)}

    def stamp(self) -> list[int]:
        """Return the size of all files and the time of the last change."""
        return [sum(size for _, size, _ in self._files), max(changed for _, _, changed in self._files)]

    @cached_property
    def _hash(self) -> str:
        digest = hashlib.sha256()
        for name, size, _ in self._files:
            path = PurePosixPath(self._inside, name)
            digest.update(f"{path} {size}\n".encode())
            with (self.path / str(path)).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def content_hash(self) -> str:
        """Return a hash of the names and the bytes of all files of the array."""
        with readable(self.path, "cannot be read"):
            return self._hash


def _metadata(folder: Path) -> dict[str, Any]:
    """Return what an array says about itself, {} if the folder is none."""
    for name in ("zarr.json", ".zarray"):
        path = folder / name
        if path.exists():
            if not path.is_file() or path.stat().st_size > _LARGEST_METADATA:
                raise InputError(f"{printable(path)}: is no metadata of Zarr")
            found = json.loads(path.read_bytes().decode())
            if isinstance(found, dict):
                return found
    return {}


def _is_array(folder: Path) -> bool:
    found = _metadata(folder)
    return "shape" in found and found.get("node_type", "array") == "array"


def _codecs(metadata: Any) -> set[str]:
    """Return the names of all codecs of an array, those within others included."""
    found: set[str] = set()
    for codec in [*(metadata.get("codecs") or ()), *(metadata.get("filters") or ()), metadata.get("compressor")]:
        if codec is None:
            continue
        named = codec if isinstance(codec, dict) else {"name": codec}
        found.add(str(named.get("name", named.get("id"))))
        inside = named.get("configuration")
        if isinstance(inside, dict):
            found |= _codecs(inside) | _codecs({"codecs": inside.get("index_codecs")})
    return found


def _folders(group: Path) -> list[Path]:
    """Return the folders within a folder; links are not followed."""
    if is_url(group):
        return cast(list[Path], cast(RemotePath, group).folders())
    return [path for path in group.iterdir() if path.is_dir() and not path.is_symlink()]


def _files(folder: Path) -> list[tuple[str, int, int]]:
    """Return all files of an array by path within it, with sizes and times; a FIFO or a link elsewhere is refused."""
    if is_url(folder):
        return cast(RemotePath, folder).files()
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{printable(path)}: not a regular file")
            found.append((path.relative_to(folder), status.st_size, status.st_mtime_ns))
    return [(path.as_posix(), size, changed) for path, size, changed in sorted(found)]
