"""Packages as archives: their members are read, nothing is installed, imported, run or unpickled."""

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from cbe_bench.core.errors import InputError

Members = dict[str, bytes]


def read_members(path: Path, wanted: Callable[[str], bool]) -> Members:
    """Return the content of the wanted members by name, in the order they are stored; a folder is an archive too."""
    try:
        return {name: content for name, content in _members(path, wanted) if wanted(name)}
    except (OSError, EOFError, ValueError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{path}: cannot be read as an archive ({error})") from None


def _members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        yield from ((str(file.relative_to(path)), file.read_bytes()) for file in files if wanted(file.name))
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist() if wanted(name))
    elif path.suffix == ".deb":
        yield from _tar_members(io.BytesIO(_debian_data(path)), wanted)
    else:
        with path.open("rb") as file:
            yield from _tar_members(file, wanted)


def _tar_members(file: io.IOBase, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=file, mode="r:*") as archive:
        for member in archive:
            if member.isfile() and wanted(member.name):
                content = archive.extractfile(member)
                assert content is not None
                yield member.name, content.read()


def _debian_data(path: Path) -> bytes:
    """Return the data part of a Debian package: an `ar` archive of files behind headers of 60 bytes."""
    content = path.read_bytes()
    if not content.startswith(b"!<arch>\n"):
        raise ValueError("not a Debian package")
    place = 8
    while place < len(content):
        header = content[place : place + 60]
        size = int(header[48:58])
        if header[:16].startswith(b"data.tar"):
            return content[place + 60 : place + 60 + size]
        place += 60 + size + size % 2
    raise ValueError("a Debian package without data")
