"""Feature files: opened lazily, read by rows, never loaded whole.

A source of features knows its size and reads any sorted set of rows as float32. Bad content is reported when it is
read, with the rows that hold it.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import cache_directory, read_checked, write_cache
from cbe_bench.core.errors import InputError
from cbe_bench.kernels.linalg.products import squared_norms

Matrix = NDArray[np.float32]

_SOURCES = ("images", "texts", "vectors")
"""Keys of a recipe that hold the hash of what features were built from."""


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
    own_queries : int
        How many of the last rows are meant as queries and belong to no database.
    """

    name: str
    kind: str = "user"
    n_rows: int
    n_features: int
    own_queries: int = 0

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

    def stamp(self) -> list[int]:
        """Return the size of what is read, in bytes, and the time of its last change; nothing where it has none."""
        return []

    def labels(self) -> NDArray | None:
        """Return the label of every row, or None if there are none."""
        return None

    def own_neighbours(self) -> NDArray[np.int64] | None:
        """Return, nearest first, the true neighbours of the own queries among all other rows, if they are known."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what the data say about themselves: type of values, where they come from."""
        return {}

    def close(self) -> None:  # noqa: B027 - most sources have nothing to close
        """Let go of the file, if there is one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FileFeatures(Features):
    """Features in a file, or in a folder of files, called after it unless a name is given."""

    is_folder: ClassVar[bool] = False

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or self.path.stem
        if not (self.path.is_dir() if self.is_folder else self.path.is_file()):
            raise InputError(f"{path}: no such file")

    @property
    def source(self) -> str:
        """The path of the file."""
        return str(self.path)

    def stamp(self) -> list[int]:
        """Return the size of the file and the time of its last change."""
        status = self.path.stat()
        return [status.st_size, status.st_mtime_ns]

    def content_hash(self) -> str:
        """Return the hash of the file's bytes, cached as long as its size and time do not change.

        Of features built from images, texts or vectors of known content it is the hash of the recipe, which names that
        content, and of the visual words instead: the same wherever they were built, whatever the version of the file
        format.
        """
        return self._recipe_hash() or file_hash(self.path)

    def _recipe_hash(self) -> str | None:
        described = self.describe()
        recipe, words = described.get("recipe"), described.get("words_sha256")
        if not isinstance(recipe, dict) or not any(_is_sha256(recipe.get(key)) for key in _SOURCES):
            return None
        if not _is_sha256(words) and ("images" in recipe or words is not None):
            return None
        if (recipe.get("rows"), recipe.get("n_features")) != (self.n_rows, self.n_features):
            return None
        return hashlib.sha256(json.dumps([recipe, words], sort_keys=True).encode()).hexdigest()


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, computed once for each size and time of change."""
    status = path.stat()
    identity = [str(path.resolve()), status.st_size, status.st_mtime_ns]
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:24]
    cached = cache_directory() / "hashes" / name
    if known := read_checked(cached):
        return known.decode()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    write_cache(cached, digest.encode())
    return digest


def check_values(block: Matrix, rows: NDArray[np.int64], source: str) -> NDArray:
    """Return the l2 norm of each row.

    Parameters
    ----------
    block : array of shape (n, n_features)
        Rows of the features.
    rows : int64 array of shape (n,)
        Their row numbers in the file, for messages.
    source : str
        The file, for messages.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    InputError
        With the numbers of the rows that hold NaN, infinity or only zeros.
    """
    norms = np.sqrt(squared_norms(block))
    for bad, what in ((~np.isfinite(norms), "NaN or infinite values"), (norms == 0, "only zeros")):
        if bad.any():
            found = rows[bad]
            listed = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
            which = f"row {listed} holds" if len(found) == 1 else f"rows {listed} hold"
            raise InputError(f"{source}: {which} {what} ({len(found)} of the {len(rows)} rows read)")
    return norms
