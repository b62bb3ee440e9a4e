"""Feature files by URL: s3://bucket/x.npy and whatever else fsspec knows, named by the user and by no one else.

A `RemotePath` has of `pathlib.Path` what readers use. No file ever leads here: only a URL on the command line, in the
user's own configuration or in a call does. URLs that lead to yet another place are refused, and so are passwords in
them: fsspec takes credentials from the environment or from its own configuration.
"""

import hashlib
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from cbe_bench.core.errors import InputError, first_line

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://")
_PASSWORD = re.compile(r"://[^/]*:[^/]*@")
_ELSEWHERE = {
    "blockcache", "cached", "dir", "filecache", "generic", "libarchive", "reference", "simplecache", "tar", "zip"
}  # fmt: skip
"""Schemes of fsspec whose files say where to read."""
_CHANGING = ("ETag", "Content-MD5", "Digest", "Last-Modified")
"""What servers say of a file that changes with it: fsspec takes files by HTTP to be the same for ever."""
_READ_AHEAD_BYTES = 1 << 18


def is_url(path: object) -> bool:
    """Return whether a path is a URL."""
    return isinstance(path, RemotePath) or (isinstance(path, str) and _URL.match(path) is not None)


def as_path(path: object) -> Path:
    """Return a path, or for a URL a `RemotePath`, which can be read but not written; file:// is a path.

    Parameters
    ----------
    path : str, Path or RemotePath
        As the user gave it.

    Raises
    ------
    InputError
        If the URL is one that is not followed.
    """
    if not is_url(path):
        return Path(cast(Any, path))
    url = str(path)
    scheme, _, rest = url.partition("://")
    if scheme.lower() in ("file", "local"):
        return Path(unquote("/" + rest.partition("/")[2]))
    return cast(Path, path if isinstance(path, RemotePath) else RemotePath(url))


def local_path(path: object, what: str) -> Path:
    """Return a path on this machine, or raise InputError for a URL.

    Parameters
    ----------
    path : str, Path or RemotePath
        As the user gave it.
    what : str
        What is there, for the message.
    """
    found = as_path(path)
    if is_url(found):
        raise InputError(f"{found}: {what} must be a local file; only feature files are read by URL")
    return found


class _Status(NamedTuple):
    """What readers use of `os.stat_result`."""

    st_mode: int
    st_size: int
    st_mtime_ns: int
    """Another number whenever the content has changed, as far as the file system can tell."""


class RemotePath:
    """A file or a folder that fsspec can reach.

    Parameters
    ----------
    url : str
        With its scheme.
    """

    def __init__(self, url: str) -> None:
        scheme = url.partition("://")[0].lower()
        if _PASSWORD.search(url):
            raise InputError(f"{scheme}:// with a password: give credentials in the environment or to fsspec")
        if "::" in url or scheme in _ELSEWHERE:
            raise InputError(f"{url}: leads to another place; only a plain URL is read")
        self._url = url

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return self._url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(f"{self._url.rstrip('/')}/{name}")

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self._url.partition("://")[2])

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """What the name ends with."""
        return self._pure.suffix

    def absolute(self) -> "RemotePath":
        """Return the same: a URL depends on no working directory."""
        return self

    resolve = absolute

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError(f"{self}: needs fsspec: pip install 'cbe-bench[fsspec]'") from None
        try:
            found: tuple[Any, str] = url_to_fs(self._url)
        except (ImportError, ValueError) as error:
            raise InputError(f"{self}: fsspec cannot reach it ({first_line(error)})") from None
        return found

    @contextmanager
    def _reached(self) -> Iterator[tuple[Any, str]]:
        """Give the file system and the path in it; what goes wrong there is one line."""
        opened = self._opened
        try:
            yield opened
        except (InputError, FileNotFoundError, MemoryError):
            raise
        except Exception as error:
            raise InputError(f"{self}: cannot be reached ({type(error).__name__}: {first_line(error)})") from None

    def stat(self) -> _Status:
        """Return what kind of thing it is, its size, and a number that changes with it."""
        with self._reached() as (system, path):
            system.invalidate_cache()
            about = system.info(path)
            is_folder = about["type"] == "directory"
            changed = "" if is_folder else str([system.ukey(path), *map(about.get, _CHANGING)])
        kind = stat.S_IFDIR if is_folder else stat.S_IFREG
        return _Status(kind, int(about.get("size") or 0), _number(changed))

    def exists(self) -> bool:
        """Return whether there is a file or a folder."""
        with self._reached() as (system, path):
            return bool(system.exists(path))

    def is_file(self) -> bool:
        """Return whether there is a file."""
        with self._reached() as (system, path):
            return bool(system.isfile(path))

    def is_dir(self) -> bool:
        """Return whether there is a folder."""
        with self._reached() as (system, path):
            return bool(system.isdir(path))

    def open(self, mode: str = "rb") -> Any:
        """Open the file for reading; bytes are fetched as they are read, a little ahead."""
        with self._reached() as (system, path):
            return system.open(path, mode, block_size=_READ_AHEAD_BYTES)

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        with self._reached() as (system, path):
            return bytes(system.cat_file(path))

    def ranges(self, starts: list[int], ends: list[int]) -> list[bytes]:
        """Return several ranges of bytes, fetched at once where the file system can do so.

        Parameters
        ----------
        starts, ends : list of int
            Where each begins and ends.
        """
        with self._reached() as (system, path):
            return [bytes(one) for one in system.cat_ranges([path] * len(starts), starts, ends, on_error="raise")]

    def folders(self) -> list["RemotePath"]:
        """Return the folders within a folder."""
        with self._reached() as (system, path):
            inner = [PurePosixPath(one["name"]).name for one in system.ls(path) if one["type"] == "directory"]
        return [self / name for name in sorted(inner)]

    def files(self) -> list[tuple[str, int, int]]:
        """Return the files of a folder at any depth: path within it, size, and a number that changes with each."""
        with self._reached() as (system, path):
            found = system.find(path, detail=True)
            return sorted(
                (PurePosixPath(name).relative_to(path).as_posix(), int(about["size"]), _number(str(about)))
                for name, about in found.items()
            )


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])
