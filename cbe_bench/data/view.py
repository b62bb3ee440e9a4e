"""Features as an experiment sees them: split, reduced to some dimensions, scaled for the metric, in blocks of rows."""

import hashlib
import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.data.features import Features, Matrix, check_values
from cbe_bench.data.splits import Protocol, Split
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 27

METRICS = ("cosine", "l2", "ip")
"""What neighbours are nearest by: the angle (rows are scaled to unit length), the distance, the inner product."""


class DatasetView:
    """The three parts of a split, prepared by a protocol and read in blocks.

    Parameters
    ----------
    features : Features
        Where the rows come from.
    split : Split
        Which rows are used for what.
    protocol : Protocol
        How they are prepared.
    seed : int
        Decides which dimensions are selected and their order.
    n_dims : int or None
        Select this many random dimensions; None selects all.
    cache_bytes : int
        Memory for prepared rows that need not be read again: the database if it fits, else the training
        set, else nothing.
    block_rows : int or None
        Rows of a block; by default as many as make 128 MiB.
    metric : {"cosine", "l2", "ip"}
        What neighbours are nearest by. Rows are scaled to unit length for "cosine", else used as they are.
    """

    def __init__(
        self,
        features: Features,
        split: Split,
        protocol: Protocol,
        *,
        seed: int,
        n_dims: int | None = None,
        cache_bytes: int = 0,
        block_rows: int | None = None,
        metric: str = "cosine",
    ) -> None:
        self.features, self.split, self.protocol, self.seed, self.metric = features, split, protocol, seed, metric
        self.n_features = n_dims or features.n_features
        self._dims = self._choose_dims()
        self._mean: NDArray | None = None
        self._database: dict[int, Matrix] = {}
        self._training_set: Matrix | None = None
        self._keeps_database, self._keeps_training_set = (
            0 < 4 * self.n_features * len(rows) <= cache_bytes for rows in (split.database, split.train_positions)
        )
        self._block_rows = block_rows or max(1, _BLOCK_BYTES // (4 * features.n_features))

    def _choose_dims(self) -> NDArray[np.int64] | None:
        whole = self.n_features == self.features.n_features
        if whole and not self.protocol.permute:
            return None
        order = np.random.default_rng([self.seed, self.features.n_features]).permutation(self.features.n_features)
        chosen = order[: self.n_features]
        return chosen if self.protocol.permute else np.sort(chosen)

    @property
    def as_stored(self) -> bool:
        """Whether rows are at most scaled to unit length: all their dimensions, not centred."""
        return self._dims is None and not self.protocol.centre

    def key(self) -> str:
        """Return a hash over all that decides the values of the three parts."""
        recipe = [self.features.content_hash(), repr(self.protocol), self.n_features, self.seed]
        recipe += [self.metric] if self.metric != "cosine" else []
        digest = hashlib.sha256(json.dumps(recipe).encode())
        for rows in (self.split.queries, self.split.database, self.split.train_positions):
            digest.update(np.ascontiguousarray(rows, dtype="<i8").tobytes())
        return digest.hexdigest()

    def queries(self) -> Matrix:
        """Return the queries."""
        return self._prepare(self.split.queries)

    def training_set(self, n_rows: int | None = None) -> Matrix:
        """Return the training set, or as many of its rows, drawn by the seed."""
        positions = self._training_positions(n_rows)
        if self._keeps_database:
            return self._kept_rows(positions)
        if not self._keeps_training_set:
            return self._prepare(self.split.database[positions])
        if self._training_set is None:
            self._training_set = self._prepare(self.split.database[self.split.train_positions])
        whole = len(positions) == len(self.split.train_positions)
        return (
            self._training_set if whole else self._training_set[np.searchsorted(self.split.train_positions, positions)]
        )

    def _kept_rows(self, positions: NDArray[np.int64]) -> Matrix:
        out = np.empty((len(positions), self.n_features), np.float32)
        for part, block in self.database_blocks():
            here = slice(*np.searchsorted(positions, [part.start, part.stop]))
            out[here] = block[positions[here] - part.start]
        return out

    def training_labels(self, n_rows: int | None = None) -> NDArray | None:
        """Return the labels of the training set, if there are any."""
        labels = self._labels()
        return None if labels is None else labels[self.split.database[self._training_positions(n_rows)]]

    def labels(self) -> tuple[NDArray, NDArray]:
        """Return the labels of queries and database."""
        labels = self._labels()
        if labels is None:
            raise InputError(f"{self.features.source}: has no labels")
        return labels[self.split.queries], labels[self.split.database]

    def _labels(self) -> NDArray | None:
        if not hasattr(self, "_all_labels"):
            self._all_labels = self.features.labels()
        return self._all_labels

    def _training_positions(self, n_rows: int | None) -> NDArray[np.int64]:
        """Return which rows of the database are the training set, in their order."""
        pool = self.split.train_positions
        if n_rows is None or n_rows >= len(pool):
            return pool
        return np.sort(np.random.default_rng([self.seed, n_rows]).choice(pool, n_rows, replace=False))

    def database_blocks(self, progress: Progress = no_progress) -> Iterator[tuple[slice, Matrix]]:
        """Yield the database as (positions, rows), block by block."""
        for part in slices(len(self.split.database), self._block_rows):
            yield part, self._database_block(part)
            progress(part.stop / len(self.split.database))

    def _database_block(self, part: slice) -> Matrix:
        if part.start in self._database:
            return self._database[part.start]
        block = self._prepare(self.split.database[part])
        if self._keeps_database:
            block.setflags(write=False)
            self._database[part.start] = block
        return block

    def _prepare(self, rows: NDArray[np.int64]) -> Matrix:
        block = self._read(rows)
        if self.protocol.centre:
            block -= self._mean_of_rows()
        norms = check_values(block, rows, self.features.source)
        if self.metric == "cosine":
            block /= norms[:, None]
        return block

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        block = self.features.read(rows)
        return block if self._dims is None else np.ascontiguousarray(block[:, self._dims])

    def _mean_of_rows(self) -> NDArray:
        """Return the mean of all rows of database and queries."""
        if self._mean is None:
            total, rows = np.zeros(self.n_features), np.sort(np.r_[self.split.database, self.split.queries])
            for part in slices(len(rows), self._block_rows):
                block = self._read(rows[part])
                check_values(block, rows[part], self.features.source)
                # one row after the other, so that the sum does not depend on the size of the blocks
                for row in block:
                    total += row
            self._mean = (total / len(rows)).astype(np.float32)
        return self._mean
