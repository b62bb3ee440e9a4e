"""Result rows: one JSON object a line, appended the moment a cell ends, never rewritten.

A row says all that decided its value, and its key is a hash over just that. A later row of the same key
replaces an earlier one when read. A last line torn by a crash is ignored and does not spoil the next.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from cbe_bench.errors import InputError

Row = dict[str, Any]


def cell_key(identity: Row) -> str:
    """Hash all that decides a cell's value."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]


def append_row(path: Path, row: Row) -> None:
    """Add a row to the file, on disk when this returns."""
    line = json.dumps(row, sort_keys=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def load_rows(path: Path) -> list[Row]:
    """Read the latest row of every key, in the order the keys first appeared; no file means no rows."""
    if not path.is_file():
        return []
    rows: dict[str, Row] = {}
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            continue  # torn by a crash
        if not isinstance(row, dict) or not {"key", "status"} <= row.keys():
            raise InputError(f"{path}: line {number} is not a result row")
        rows[row["key"]] = row
    return list(rows.values())
