"""Features in a column of a Parquet file: lists of numbers, all of one length.

Rows are decoded in batches, forwards; a row group is never in memory as a whole.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import is_url
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.base import LABEL_NAMES, StoredFeatures, choose_part
from cbe_bench.data.formats.checks import STREAMED, check_expansion, check_shape
from cbe_bench.data.formats.parquet_footer import read_footer
from cbe_bench.data.formats.registry import Append, reader, writer

_USUAL_NAMES = ("features", "embedding", "embeddings", "vector", "vectors", "emb")
_BATCH_BYTES = 1 << 25


def _pyarrow(path: Path, doing: str) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{path}: {doing} Parquet needs pyarrow: pip install 'cbe-bench[parquet]'") from None
    return pyarrow


class ParquetFeatures(StoredFeatures):
    """A column of lists of equal length, or of fixed-size lists; a column of labels is taken where there is one."""

    _file: Any = None

    def _open(self) -> None:
        self._pa = _pyarrow(self.path, "reading")
        footer = read_footer(self.path)
        opened = self.path.open("rb") if is_url(self.path) else self.path
        self._file = self._pa.parquet.ParquetFile(opened, page_checksum_verification=True)
        schema = self._file.schema_arrow
        lists = [field.name for field in schema if self._is_vector(field.type)]
        self._column = choose_part(self.path, lists, self.part, _USUAL_NAMES, "column")
        self._values = str(schema.field(self._column).type)
        self.n_rows = sum(footer.group_rows)
        if min(footer.group_rows, default=0) < 0 or not self.n_rows:
            raise InputError(f"{self.path}: has no rows")
        self._begin = np.concatenate([[0], np.cumsum(footer.group_rows)]).astype(np.int64)
        self._check_size(footer.n_values)
        self._cursor: Iterator[Matrix] | None = None
        self._batch, self._batch_first = np.empty((0, 0), np.float32), 0
        self._group = -1
        self.n_features = 0
        self.n_features = self._vectors(next(self._batches(0, 1)), 0).shape[1]
        check_shape(self.path, self.n_rows, self.n_features)

    def _is_vector(self, kind: Any) -> bool:
        types = self._pa.types
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type))

    def _check_size(self, n_values: Counter[str]) -> None:
        """Compare the values announced with the size of the file: runs of equal values take few bytes."""
        size = self.path.stat().st_size
        check_expansion(self.path, f"column {self._column}", 8 * n_values[self._column], size, STREAMED)
        for name in LABEL_NAMES:
            check_expansion(self.path, f"column {name}", 8 * n_values[name], size)

    def _batches(self, group: int, n_rows: int) -> Iterator[Any]:
        """Yield the lists of a row group in batches."""
        for batch in self._file.iter_batches(n_rows, [group], [self._column], use_threads=False):
            yield batch.column(0)

    def _vectors(self, column: Any, first: int) -> Matrix:
        """Return lists as rows, checked to be of one length."""
        if column.null_count:
            bad = first + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(f"{self.path}: row {bad} of column {self._column} is missing")
        values = column.flatten().to_numpy(zero_copy_only=False)
        lengths = self._lengths(column)
        width = self.n_features or int(lengths[0])
        if (lengths != width).any() or not width or len(values) != width * len(column):
            bad = int(np.flatnonzero(lengths != width)[0]) if (lengths != width).any() else 0
            raise InputError(
                f"{self.path}: row {bad + first} of column {self._column} has {lengths[bad]} values, others {width}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float32).reshape(-1, width)

    def _lengths(self, column: Any) -> NDArray[np.int64]:
        if self._pa.types.is_fixed_size_list(column.type):
            return np.full(len(column), column.type.list_size)
        return np.diff(column.offsets.to_numpy()).astype(np.int64)

    def _advance_to(self, row: int) -> None:
        """Decode batches until one holds the row, from the beginning of its row group where it lies behind."""
        group = int(np.searchsorted(self._begin, row, side="right")) - 1
        if self._cursor is None or group != self._group or row < self._batch_first:
            at_once = max(1, _BATCH_BYTES // (4 * self.n_features))
            self._cursor, self._group = self._batches(group, at_once), group
            self._batch_first, self._batch = int(self._begin[group]), np.empty((0, self.n_features), np.float32)
        while row >= self._batch_first + len(self._batch):
            self._batch_first += len(self._batch)
            column = next(self._cursor, None)
            if column is None:
                raise InputError(f"{self.path}: row {row} of column {self._column} is missing")
            self._batch = self._vectors(column, self._batch_first)

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        out = np.empty((len(rows), self.n_features), np.float32)
        done = 0
        while done < len(rows):
            self._advance_to(int(rows[done]))
            stop = int(np.searchsorted(rows, self._batch_first + len(self._batch)))
            out[done:stop] = self._batch[rows[done:stop] - self._batch_first]
            done = stop
        return out

    def _read_labels(self) -> NDArray | list[str] | None:
        found = [name for name in LABEL_NAMES if name in self._file.schema_arrow.names]
        if not found:
            return None
        column = self._file.read(columns=found[:1], use_threads=False).column(0).combine_chunks()
        if self._pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count:
            bad = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(f"{self.path}: row {bad} of column {found[0]} is missing")
        types = self._pa.types
        if types.is_string(column.type) or types.is_large_string(column.type):
            return list(map(str, column.to_pylist()))
        labels: NDArray = column.to_numpy(zero_copy_only=False)
        return labels

    def _describe(self) -> dict[str, Any]:
        return {"column": self._column, "values": self._values}

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._cursor = None
            self._file.close(force=True)


@reader(".parquet", has_parts=True, by_url=True)
def open_parquet(path: Path, name: str | None, part: str | None) -> Features:
    """Open a column of lists."""
    return ParquetFeatures(path, name, part)


@writer(".parquet", keeps_labels=True)
@contextmanager
def write_parquet(path: Path, features: Features) -> Iterator[Append]:
    """Write a column of fixed-size float32 lists and one of labels."""
    pa = _pyarrow(path, "writing")
    labels = features.labels()
    fields = [("features", pa.list_(pa.float32(), features.n_features))]
    if labels is not None:
        fields.append(("label", pa.array(labels[:1]).type))
    schema = pa.schema(fields)

    def append(rows: Matrix, first: int) -> None:
        columns = [pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), features.n_features)]
        if labels is not None:
            columns.append(pa.array(labels[first : first + len(rows)]))
        file.write_table(pa.table(columns, schema=schema))

    with pa.parquet.ParquetWriter(path, schema) as file:
        yield append
