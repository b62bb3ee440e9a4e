"""Features in a column of a Parquet file, read by row groups."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import FileFeatures, Matrix, first_line

_USUAL_NAMES = ("features", "embedding", "embeddings", "vector", "vectors", "emb")
_LABEL_NAMES = ("labels", "label")


class ParquetFeatures(FileFeatures):
    """A column of lists of equal length, or of fixed-size lists; a column of labels is taken where there is one."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        super().__init__(path, name)
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise InputError(f"{path}: reading Parquet needs pyarrow: pip install 'cbe-bench[parquet]'") from None
        try:
            self._file = pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read as Parquet ({first_line(error)})") from None
        self._column = self._choose(pa)
        self.n_rows = self._file.metadata.num_rows
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        self._begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._group: tuple[int, Matrix] | None = None
        if not self.n_rows:
            raise InputError(f"{path}: has no rows")
        self.n_features = 0
        self.n_features = self._read_group(0).shape[1]

    def _choose(self, pa: Any) -> str:
        """Return the column of features: the only one with lists of numbers, or the one with a usual name."""
        schema = self._file.schema_arrow
        is_list = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        is_number = (pa.types.is_floating, pa.types.is_integer)
        lists = [
            field.name
            for field in schema
            if any(is_kind(field.type) for is_kind in is_list)
            and any(is_kind(field.type.value_type) for is_kind in is_number)
        ]
        usual = [name for name in _USUAL_NAMES if name in lists]
        if len(lists) != 1 and not usual:
            found = ", ".join(lists) if lists else f"only {', '.join(schema.names)}"
            raise InputError(
                f"{self.path}: one column must hold lists of numbers, or be called {', '.join(_USUAL_NAMES)}; "
                f"there are {found}"
            )
        self._values = str(schema.field(usual[0] if usual else lists[0]).type)
        return usual[0] if usual else lists[0]

    def _read_group(self, group: int) -> Matrix:
        if self._group is None or self._group[0] != group:
            column = self._file.read_row_group(group, columns=[self._column]).column(0).combine_chunks()
            if column.null_count:
                bad = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0] + self._begin[group])
                raise InputError(f"{self.path}: row {bad} of column {self._column} is missing")
            values = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
            width = self.n_features or (len(values) // len(column) if len(column) else 0)
            lengths = np.asarray(column.value_lengths()) if hasattr(column, "value_lengths") else np.array([width])
            if (lengths != width).any() or not width:
                bad = int(np.flatnonzero(lengths != width)[0]) if width else 0
                raise InputError(
                    f"{self.path}: row {bad + self._begin[group]} of column {self._column} has {lengths[bad]} values, "
                    f"others {width}"
                )
            self._group = (group, values.reshape(-1, width))
        return self._group[1]

    def read(self, rows: NDArray[np.int64]) -> Matrix:
        """Return the given rows, one row group after the other."""
        out = np.empty((len(rows), self.n_features), np.float32)
        groups = np.searchsorted(self._begin, rows, side="right") - 1
        for group in np.unique(groups):
            here = groups == group
            out[here] = self._read_group(int(group))[rows[here] - self._begin[group]]
        return out

    def labels(self) -> NDArray | None:
        """Return the column of labels, if there is one."""
        found = [name for name in _LABEL_NAMES if name in self._file.schema_arrow.names]
        if not found:
            return None
        labels: NDArray = self._file.read(columns=found[:1]).column(0).to_numpy()
        return labels

    def describe(self) -> dict[str, Any]:
        """Return the column and its type."""
        return {"column": self._column, "values": self._values}

    def close(self) -> None:
        """Close the file."""
        self._file.close()
