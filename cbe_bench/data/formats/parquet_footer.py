"""What the footer of a Parquet file announces, read before the file is opened.

The footer is a struct in Thrift's compact protocol. pyarrow ends the process on some damaged ones when it is asked for
the number of values of a column, and that number decides how much memory reading takes; so it is read here.
"""

import struct
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from cbe_bench.core.errors import InputError

_MAX_FOOTER_BYTES = 1 << 25
_MAX_DEPTH = 16
_GROUPS, _COLUMNS, _GROUP_ROWS = 4, 1, 3
_CHUNK_FILE, _CHUNK_METADATA, _CHUNK_PATH, _CHUNK_VALUES = 1, 3, 3, 5
"""Field numbers of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData in parquet.thrift."""


class Footer(NamedTuple):
    """Rows of each row group, and values of each column in all of them."""

    group_rows: list[int]
    n_values: Counter[str]


def read_footer(path: Path) -> Footer:
    """Return the sizes that the footer of a file announces; malformed footers raise InputError or IndexError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = struct.unpack("<I", end[:4])[0] if len(end) == 8 and end[4:] == b"PAR1" else 0
        if not 0 < length <= min(size - 12, _MAX_FOOTER_BYTES):
            raise InputError(f"{path}: cannot be read as .parquet (no footer of 1 to {_MAX_FOOTER_BYTES:,} bytes)")
        file.seek(size - 8 - length)
        metadata = _Thrift(file.read(length)).struct()
    group_rows, n_values = [], Counter[str]()
    for group in metadata.get(_GROUPS, ()):
        group_rows.append(int(group[_GROUP_ROWS]))
        for chunk in group[_COLUMNS]:
            if chunk.get(_CHUNK_FILE):
                raise InputError(f"{path}: a column is stored in another file; only the file itself is read")
            column = chunk[_CHUNK_METADATA]
            n_values[column[_CHUNK_PATH][0].decode(errors="replace")] += max(0, int(column[_CHUNK_VALUES]))
    return Footer(group_rows, n_values)


class _Thrift:
    """Bytes in the compact protocol, read from the beginning."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80 or shift > 63:
                return value
            shift += 7

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._content):
            raise IndexError("the footer ends early")
        return self._content[self._at - count : self._at]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by number."""
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            kind = header & 0x0F
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise IndexError("the footer is nested too deeply")
        if kind in (1, 2, 3):  # a boolean in a list takes a byte
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            header = self._byte()
            count = header >> 4 if header >> 4 < 15 else self._varint()
            return [self._value(header & 0x0F, depth + 1) for _ in range(count)]
        if kind == 12:
            return self.struct(depth + 1)
        raise IndexError(f"the footer has a value of type {kind}")
