"""Blocks of rows as units of work: what is read, encoded and stored at once, here or on other machines.

What a block holds depends only on the shape of the file. Encoding it needs nothing but the task and its number, so
that a block may be encoded anywhere, twice, or again after a failure, with the same result.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.remote import as_path
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats import open_features
from cbe_bench.encoders import Encoder
from cbe_bench.kernels.bits import Codes
from cbe_bench.vectors.rows import prepare

_BLOCK_BYTES = 1 << 25
_MOST_ROWS = 1 << 17


def block_rows(n_features: int) -> int:
    """Return the rows of a block: 32 MiB of them in single precision, at most 131,072."""
    return min(_MOST_ROWS, max(1, _BLOCK_BYTES // (4 * n_features)))


@dataclass(frozen=True)
class EncodedBlock:
    """Codes of a block, and the rows they belong to."""

    codes: Codes
    rows: NDArray[np.int64]


class Task(Protocol):
    """Work that is done block by block: reading a block, then computing with what was read."""

    def read(self, number: int) -> Any:
        """Return what a block holds."""

    def compute(self, number: int, content: Any) -> Any:
        """Return the result of a block.

        Parameters
        ----------
        number : int
            The number of the block.
        content : object
            What `read` returned for it.

        Returns
        -------
        object
            The result of the block.
        """


@dataclass(frozen=True)
class EncodeTask:
    """Encode blocks of the rows of a file.

    Attributes
    ----------
    path : str
        The file.
    part : str or None
        Which matrix of it.
    metric : str
        What vectors are compared by.
    encoder : Encoder
        The fitted encoder.
    """

    path: str
    part: str | None
    metric: str
    encoder: Encoder

    def read(self, number: int) -> Matrix:
        """Return the rows of a block."""
        features = _opened(self.path, self.part)
        return features.read(_rows(features, number))

    def compute(self, number: int, content: Matrix) -> EncodedBlock:
        """Return the codes of a block."""
        features = _opened(self.path, self.part)
        found = prepare(content, _rows(features, number), self.metric, features.source)
        known = self.metric == "cosine" and len(found.vectors) > 0  # finite, of unit length
        return EncodedBlock(self.encoder.encode(found.vectors, check_input=not known), found.rows)


def _rows(features: Features, number: int) -> NDArray[np.int64]:
    size = block_rows(features.n_features)
    return np.arange(number * size, min((number + 1) * size, features.n_rows))


def _opened(path: str, part: str | None) -> Features:
    """Return the features of a file, opened once as long as the file does not change."""
    status = as_path(path).stat()
    return _open(path, part, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _open(path: str, part: str | None, size: int, modified_ns: int) -> Features:
    return open_features(path, part=part)


Run = Callable[[Task, Sequence[int]], Iterator[tuple[int, Any]]]
"""Does a task for blocks of the given numbers and yields (number, result), in any order."""


def run_here(task: Task, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Run the task for all blocks in this process; the next block is read while one is computed.

    Parameters
    ----------
    task : Task
        Reads and computes a block.
    numbers : sequence of int
        The numbers of the blocks.

    Yields
    ------
    number : int
        The number of a block, in the order given.
    result : object
        What the task computed.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="cbe-bench-read") as reader:
        ahead = reader.submit(task.read, numbers[0]) if numbers else None
        for place, number in enumerate(numbers):
            assert ahead is not None
            content = ahead.result()
            ahead = reader.submit(task.read, numbers[place + 1]) if place + 1 < len(numbers) else None
            yield number, task.compute(number, content)


def saved_block(path: Path) -> EncodedBlock | None:
    """Return a block that `save_block` wrote, or None if there is none or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as members:  # checked by their CRC
            return EncodedBlock(members["codes"], members["rows"])
    except Exception:  # whatever a damaged archive makes a parser raise: the block is encoded again
        return None


def save_block(path: Path, block: EncodedBlock) -> None:
    """Write a block to a file, whole or not at all.

    Parameters
    ----------
    path : Path
        The file, in NumPy's npz format.
    block : EncodedBlock
        The codes and the numbers of their rows.
    """
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, codes=block.codes, rows=block.rows)
