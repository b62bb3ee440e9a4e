"""What a file may not do to its reader: one clear line instead of a traceback, and no more memory than it can hold."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError, printable

MAX_FEATURES = 1 << 27
"""Dimensions of the longest vectors that are read; a row of them is 512 MiB."""
STREAMED = 1032
"""No deflate stream expands more; the ratio allowed where rows are read in blocks."""
WHOLE = 100
"""The ratio allowed for what is read as a whole."""
_ALWAYS_ALLOWED_BYTES = 1 << 26


class MissingPartError(InputError):
    """A file holds no matrix of the name that was asked for."""


@contextmanager
def readable(path: Path, failure: str | None = None) -> Iterator[None]:
    """Raise InputError, in one line, for whatever a library raises on a malformed file.

    Parameters
    ----------
    path : Path
        The file, for messages.
    failure : str, optional
        What failed; by default that the file cannot be read as its suffix says.

    Raises
    ------
    InputError
        From within the block, for any exception but MemoryError.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        failure = failure or f"cannot be read as {path.suffix.lower()}"
        reason = printable(str(error).strip().split("\n")[0]) or type(error).__name__
        raise InputError(f"{printable(path)}: {failure} ({reason})") from None


def check_regular_file(path: Path, is_folder: bool = False) -> None:
    """Raise InputError unless a path is that of a regular file, or of a folder: a FIFO or a device would never end."""
    try:
        mode = path.stat().st_mode
    except InputError:
        raise
    except (OSError, ValueError):
        raise InputError(f"{printable(path)}: no such file") from None
    if is_folder:
        if not stat.S_ISDIR(mode):
            raise InputError(f"{printable(path)}: not a folder")
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"{printable(path)}: a folder, not a file")
    if not stat.S_ISREG(mode):
        raise InputError(f"{printable(path)}: not a regular file")


def check_shape(source: object, n_rows: int, n_features: int) -> None:
    """Raise InputError for a matrix without values or with vectors that are too long.

    Parameters
    ----------
    source : object
        The file, for messages.
    n_rows, n_features : int
        The shape of the matrix.

    Raises
    ------
    InputError
        If it is empty or has more than `MAX_FEATURES` dimensions.
    """
    if n_rows < 1 or n_features < 1:
        raise InputError(f"{source}: has shape ({n_rows}, {n_features}); it is empty")
    if n_features > MAX_FEATURES:
        raise InputError(f"{source}: has {n_features:,} dimensions; allowed: up to {MAX_FEATURES:,}")


def check_expansion(source: object, what: str, n_bytes: int, stored_bytes: int, ratio: int = WHOLE) -> None:
    """Raise InputError where a few stored bytes announce far more in memory.

    Parameters
    ----------
    source : object
        What the message begins with.
    what : str
        The part of the file that announces the size.
    n_bytes : int
        Bytes it takes once it is read.
    stored_bytes : int
        Bytes of the file that hold it.
    ratio : int
        How many times the stored bytes are allowed; 64 MiB always are.
    """
    if n_bytes > max(_ALWAYS_ALLOWED_BYTES, ratio * stored_bytes):
        raise InputError(
            f"{source}: {what} announces {human_bytes(n_bytes)}; a file of {human_bytes(stored_bytes)} cannot hold it"
        )
