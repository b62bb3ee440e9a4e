"""Files cached between runs in the user's cache directory, and files that appear whole or not at all."""

import errno
import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cbe_bench.core.locks import CAN_CLAIM, claim_file

logger = logging.getLogger(__name__)

_TEMPORARY = ".cbe-bench-"
"""How the names of temporary files begin."""
_MOST_BYTES = 1 << 30
"""A file in the cache is smaller."""
_NO_SPACE = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""What the system says where a file cannot grow."""


def cache_directory() -> Path:
    """Return where exact neighbours and file hashes are cached (CBE_BENCH_CACHE overrides).

    A user without a home directory has no cache: the place returned is one where nothing can be written.
    """
    chosen = os.environ.get("CBE_BENCH_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    with suppress(RuntimeError):
        path = user_cache_path("cbe-bench")
        if path.is_absolute():  # some versions return ~/.cache as it stands
            return path
    return Path(os.devnull) / "cbe-bench"


def write_cache(path: Path, content: bytes) -> None:
    """Write a file that can be recomputed; where it cannot be written, log a warning and go without it.

    Parameters
    ----------
    path : Path
        The cache file.
    content : bytes
        What the file holds, after the line with its hash.
    """
    try:
        write_checked(path, content)
    except OSError as error:
        logger.warning("%s could not be cached for the next run: %s", path.name, error.strerror or error)


def write_checked(path: Path, content: bytes) -> None:
    """Write a file that begins with a line with the hash of the rest.

    Parameters
    ----------
    path : Path
        The file, replaced whole.
    content : bytes
        What follows the line with the hash.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(_hash(content) + b"\n" + content)


def read_checked(path: Path) -> bytes | None:
    """Return what `write_cache` or `write_checked` wrote; None where there is nothing, or where it was damaged."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        found, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if found == _hash(content) else None


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it becomes `path` in one step at the end, and vanishes on an error.

    What a killed process left in the folder of `path` is removed. An error for want of space names `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    with _temporary_file(path) as temporary:
        try:
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            if error.errno is not None and error.errno in _NO_SPACE and error.filename in (None, str(temporary)):
                raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
            raise


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files that no process claims any more."""
    for path in folder.glob(f"{_TEMPORARY}*") if CAN_CLAIM else ():
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR)
            try:
                if claim_file(handle):
                    path.unlink()
            finally:
                os.close(handle)


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """Give a new, empty file beside `path`, with its suffix, claimed as long as this process lives."""
    while True:
        temporary = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}{path.suffix}")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if not CAN_CLAIM:
            os.close(handle)
            break
        if claim_file(handle) and temporary.exists():  # before that another process may take it for an abandoned one
            break
        os.close(handle)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        if CAN_CLAIM:
            os.close(handle)
