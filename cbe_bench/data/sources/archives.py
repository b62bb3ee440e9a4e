"""Packages as archives: their members are read, nothing is installed, imported, run or unpickled.

An archive can announce, or expand to, any size. What is read is bounded by what the data set is known to need: see
`max_bytes`.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats.checks import check_regular_file, readable

Members = dict[str, bytes]

_OVERHEAD = 2
"""An archive may hold this many times what is wanted of it, apart from the headers of its members."""
_HEADER_BYTES = 1 << 22
_COMPRESSED: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": gzip.open,  # type: ignore[dict-item]
    b"\xfd7zXZ": lzma.open,
    b"BZh": bz2.open,
}


def read_members(path: Path, wanted: Callable[[str], bool], max_bytes: int) -> Members:
    """Return members of an archive; a folder is an archive too.

    Parameters
    ----------
    path : Path
        A zip archive, a tar archive, compressed or not, a Debian package, or a folder.
    wanted : callable
        Whether a member is wanted, by its name.
    max_bytes : int
        The most that all wanted members hold together.

    Returns
    -------
    dict of str to bytes
        The content of the wanted members by name, in the order they are stored.
    """
    if not path.is_dir():
        check_regular_file(path)
    members: Members = {}
    left = max_bytes
    with readable(path, "cannot be read as an archive"):
        for name, size, read in _members(path, wanted, max_bytes):
            left -= size
            if left < 0:
                raise InputError(f"{path}: holds more than the {human_bytes(max_bytes)} it should")
            members[name] = read(size)
    return members


def decompress(content: bytes, max_bytes: int, name: str) -> bytes:
    """Return a gzip file's content, or raise InputError where it is more than `max_bytes`."""
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        found = file.read(max_bytes + 1)
    if len(found) > max_bytes:
        raise InputError(f"{name}: expands to more than the {human_bytes(max_bytes)} it should")
    return found


Found = Iterator[tuple[str, int, Callable[[int], bytes]]]
"""Name, size and a way to read each wanted member."""


def _members(path: Path, wanted: Callable[[str], bool], max_bytes: int) -> Found:
    if path.is_dir():
        for file in sorted(file for file in path.rglob("*") if file.is_file() and wanted(file.name)):
            yield str(file.relative_to(path)), file.stat().st_size, partial(_read_file, file)
    elif zipfile.is_zipfile(path):
        yield from _zip_members(path, wanted)
    else:
        with path.open("rb") as opened:
            content = _debian_data(opened) if opened.read(8) == b"!<arch>\n" else opened
            yield from _tar_members(content, wanted, _OVERHEAD * max_bytes + _HEADER_BYTES)


def _read_file(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def _zip_members(path: Path, wanted: Callable[[str], bool]) -> Found:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if wanted(member.filename) and not member.is_dir():
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{member.filename} is compressed in an unusual way")
                with archive.open(member) as file:
                    yield member.filename, member.file_size, file.read


def _tar_members(file: IO[bytes], wanted: Callable[[str], bool], most_bytes: int) -> Found:
    """Read a tar archive as a stream that must end after so many bytes."""
    file.seek(0)
    magic = file.read(6)
    file.seek(0)
    content = next((unpack(file) for start, unpack in _COMPRESSED.items() if magic.startswith(start)), file)
    with tarfile.open(fileobj=_Bounded(content, most_bytes), mode="r|") as archive:  # type: ignore[call-overload]
        for member in archive:
            if member.isfile() and wanted(member.name):
                found = archive.extractfile(member)
                yield member.name, member.size, found.read


class _Bounded:
    """A stream that raises an error rather than give more bytes than allowed."""

    def __init__(self, file: IO[bytes], most_bytes: int) -> None:
        self._file, self._left = file, most_bytes

    def read(self, size: int) -> bytes:
        content = self._file.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise ValueError("it expands without end")
        return content


def _debian_data(file: IO[bytes]) -> IO[bytes]:
    """Return the data part of a Debian package: an `ar` archive of files behind headers of 60 bytes."""
    file.seek(8)
    while header := file.read(60):
        size = int(header[48:58])
        if header.startswith(b"data.tar"):
            return io.BytesIO(file.read(max(0, size)))
        file.seek(max(0, size + size % 2), io.SEEK_CUR)
    raise ValueError("a Debian package without data")
