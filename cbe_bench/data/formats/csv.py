"""``.csv``: a row of numbers a line, separated by commas, with or without a line of column names.

A column called ``label`` or ``labels`` holds the labels. One pass finds where the lines begin; rows are parsed when
they are read.
"""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError, printable
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.base import LABEL_NAMES, StoredFeatures
from cbe_bench.data.formats.registry import Append, reader, writer
from cbe_bench.kernels.parallel import slices

_CHUNK_BYTES = 1 << 24
_MAX_LINE_BYTES = 1 << 26
_MAX_COLUMNS = 1 << 20
_RUN_GAP = 8
"""Lines parsed in vain rather than starting another run."""


class CSVFeatures(StoredFeatures):
    """Lines of numbers, all of one length."""

    def _open(self) -> None:
        self._starts = _line_starts(self.path)
        if len(self._starts) < 2:
            raise InputError(f"{self.path}: has no lines")
        longest = int(np.diff(self._starts).max())
        if longest > _MAX_LINE_BYTES:
            raise InputError(f"{self.path}: a line of {longest:,} bytes; allowed: up to {_MAX_LINE_BYTES:,}")
        if self._lines(0, 1).count(b",") >= _MAX_COLUMNS:
            raise InputError(f"{self.path}: more than {_MAX_COLUMNS:,} columns; store such rows in another format")
        first = self._lines(0, 1).decode("utf-8-sig", "replace").strip().split(",")
        names = [name.strip().strip('"') for name in first]
        self._has_header = not all(map(_is_number, names))
        self._label_column = next((i for i, name in enumerate(names) if name.lower() in LABEL_NAMES), None)
        self._n_columns = len(names)
        self.n_rows = len(self._starts) - 1 - self._has_header
        self.n_features = self._n_columns - (self._label_column is not None)

    def _lines(self, first: int, last: int) -> bytes:
        """Return the bytes of the lines from `first` up to `last`."""
        with self.path.open("rb") as file:
            file.seek(int(self._starts[first]))
            return file.read(int(self._starts[last] - self._starts[first]))

    def _parse(self, first: int, last: int, columns: list[int], dtype: Any) -> Any:
        """Return some columns of the rows from `first` up to `last`."""
        import pandas as pd

        content = self._lines(first + self._has_header, last + self._has_header)
        where = f"{self.path}: rows {first}..{last - 1}"
        try:
            with np.errstate(over="ignore"):
                table = pd.read_csv(
                    io.BytesIO(content),
                    header=None,
                    dtype=dtype,
                    skip_blank_lines=False,
                    quoting=csv.QUOTE_NONE,
                    keep_default_na=False,
                    na_values=["nan", "NaN"],
                    encoding_errors="replace",
                )
        except ValueError as error:
            raise InputError(f"{where}: not all numbers ({printable(str(error).split(chr(10))[0])})") from None
        if table.shape != (last - first, self._n_columns):
            raise InputError(f"{where}: {table.shape[1]} columns, the first row has {self._n_columns}")
        return table.iloc[:, columns]

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        columns = [i for i in range(self._n_columns) if i != self._label_column]
        dtype: Any = np.float32 if self._label_column is None else dict.fromkeys(columns, np.float32)
        out = np.empty((len(rows), self.n_features), np.float32)
        for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) > _RUN_GAP) + 1):
            wanted = rows[run]
            found = self._parse(int(wanted[0]), int(wanted[-1]) + 1, columns, dtype)
            out[run] = found.to_numpy(np.float32)[wanted - wanted[0]]
        return out

    def _read_labels(self) -> NDArray | list[str] | None:
        if self._label_column is None:
            return None
        rows_at_once = max(1, _CHUNK_BYTES // (8 * self._n_columns))
        labels: list[str] = []
        for part in slices(self.n_rows, rows_at_once):
            labels += map(str, self._parse(part.start, part.stop, [self._label_column], str).iloc[:, 0])
        try:
            return np.array(list(map(int, labels)), np.int64)
        except (ValueError, OverflowError):
            return labels

    def _describe(self) -> dict[str, Any]:
        return {"values": "text"}


def _line_starts(path: Path) -> NDArray[np.int64]:
    """Return the offset of every line and, last, that of the end; blank lines at the end do not count."""
    size = path.stat().st_size
    ends, last_byte, place = [np.zeros(1, np.int64)], b"\n", 0
    with path.open("rb") as file:
        while content := file.read(_CHUNK_BYTES):
            ends.append(np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n")) + place + 1)
            place, last_byte = place + len(content), content[-1:]
    starts = np.concatenate(ends)
    return starts if last_byte == b"\n" else np.append(starts, size)


def _plain(label: str, features: Features) -> str:
    if set(label) & set(',"\r\n'):
        raise InputError(f"{features.source}: label {label!r} has a comma, quote or line break; .csv cannot hold it")
    return label


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@reader(".csv")
def open_csv(path: Path, name: str | None, part: str | None) -> Features:
    """Open a table of numbers."""
    return CSVFeatures(path, name)


@writer(".csv", keeps_labels=True)
@contextmanager
def write_csv(path: Path, features: Features) -> Iterator[Append]:
    """Write nine significant digits, which give every float32 back; with labels, a line of names stands first."""
    labels = features.labels()

    def append(rows: Matrix, first: int) -> None:
        for i, row in enumerate(rows.tolist(), first):
            label = [] if labels is None else [_plain(str(labels[i]), features)]
            file.write(",".join([*label, *(f"{value:.9g}" for value in row)]) + "\n")

    with path.open("w", encoding="utf-8") as file:
        if labels is not None:
            file.write(",".join(["label", *(f"x{i}" for i in range(features.n_features))]) + "\n")
        yield append
