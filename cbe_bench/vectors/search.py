"""Codes of a file searched block by block, in this process or on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.nearest import AsymmetricSearch, HammingSearch, merge
from cbe_bench.vectors.blocks import Run
from cbe_bench.vectors.code_file import CodeFile

_BLOCKS_AT_ONCE = 8
"""Blocks of a file, 8 MiB each, that are searched as a unit."""

Nearest = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Keys, smaller is better, and positions of the nearest codes, each of shape (n_queries, k)."""


@dataclass(frozen=True)
class SearchTask:
    """Search some blocks of a file of codes for all queries.

    Attributes
    ----------
    path : str
        The file.
    queries : array
        Packed codes, uint8, or real projections of shape (n_queries, n_bits).
    k : int
        Neighbours of each query.
    """

    path: str
    queries: NDArray
    k: int

    def read(self, number: int) -> range:
        """Return the numbers of the blocks of a unit."""
        n_blocks = len(_opened(self.path).parts())
        return range(number * _BLOCKS_AT_ONCE, min((number + 1) * _BLOCKS_AT_ONCE, n_blocks))

    def compute(self, number: int, content: range) -> Nearest:
        """Return the nearest codes of a unit."""
        file = _opened(self.path)
        if self.queries.dtype == np.uint8:
            hamming = HammingSearch(self.queries, self.k)
            for block in content:
                hamming.add(file.read(block), file.part(block).start)
            return hamming.nearest()
        asymmetric = AsymmetricSearch(self.queries, self.k)
        for block in content:
            asymmetric.add(file.read(block), file.part(block).start)
        return asymmetric.negated()


def code_search(
    file: CodeFile, queries: NDArray, k: int, run: Run, rows_done: Callable[[int, int, int], None]
) -> Nearest:
    """Return the nearest codes of each query, exactly, equal ones in order of row.

    Parameters
    ----------
    file : CodeFile
        The codes.
    queries : array
        Packed codes, uint8, or real projections of shape (n_queries, n_bits).
    k : int
        Neighbours of each query, at most the number of codes.
    run : callable
        Where units of blocks are searched.
    rows_done : callable
        Takes how many codes were searched, of how many, and zero.
    """
    best: Nearest | None = None
    units = range(-(-len(file.parts()) // _BLOCKS_AT_ONCE))
    unit_rows = file.block_rows * _BLOCKS_AT_ONCE
    done = 0
    for number, found in run(SearchTask(str(file.path.absolute()), queries, k), units):
        best = found if best is None else merge(*best, *found)
        done += min(unit_rows, file.n_codes - number * unit_rows)
        rows_done(done, file.n_codes, 0)
    assert best is not None
    return best


def _opened(path: str) -> CodeFile:
    status = Path(path).stat()
    return _open(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _open(path: str, size: int, modified_ns: int) -> CodeFile:
    return CodeFile(path)
