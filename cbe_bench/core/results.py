"""Result rows: typed records, one JSON object a line, appended the moment a cell ends and never rewritten.

A cell is described by a `Spec`: everything that decides its value. The key of its row is a hash of the spec and of the
version of the code that computes it, so a row made for another spec, other data or by other code is never taken for
it. A later row of the same key replaces an earlier one when rows are read; a last line torn by a crash is skipped.

The results of an experiment are a folder with its rows and a description: its title, its configuration, the command
that runs it again, and the keys of its own rows.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError, first_line

ROWS_FILE, DESCRIPTION_FILE = "rows.jsonl", "experiment.json"
OK, SKIPPED, FAILED, TIMEOUT = "ok", "skipped", "failed", "timeout"
DATA_KINDS = {"synthetic": "synthetic surrogate", "real": "real data", "user": "user's file"}
"""Kinds of features, as they are called beside every result."""
_ATTACHED = ("label",)
"""Fields that are not stored: the description of the experiment has them."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything that decides the value of a cell; subclasses add the fields of their kind."""

    def key(self, code: str) -> str:
        """Return the hash of the spec, as computed by this version of the code."""
        content = [type(self).__name__, asdict(self), code]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, kw_only=True)
class RunMetadata:
    """How a row came about: the machine, the moment, the cost."""

    environment: str
    """The id of the machine and its libraries, described in environments.json."""
    threads: int
    peak_memory_bytes: int
    ended: str
    """UTC time in ISO format."""


@dataclass(frozen=True, kw_only=True)
class Row(RunMetadata):
    """What every row has; a kind of experiment adds its spec and its metrics.

    Metrics have defaults, NaN or nothing, which remain where the cell failed.
    """

    type: ClassVar[str]
    """What the lines of this class are called in the file."""

    key: str
    code: str
    """The version of the code that computed the value."""
    status: str
    """ok, skipped, failed or timeout."""
    reason: str = ""
    notes: tuple[str, ...] = ()
    """Warnings raised while the cell ran."""
    data: str = ""
    data_kind: str = ""
    """real, user, synthetic, or empty where no features were used."""
    wall_s: float = 0.0
    memory_estimate_bytes: int = 0
    """The memory the cell was expected to need."""
    label: str = ""
    """What tables and figures call it."""

    @property
    def ok(self) -> bool:
        """Whether the cell ended with a value."""
        return self.status == OK

    def check(self) -> None:
        """Raise ValueError where fields contradict each other; a kind whose tables rest on that says how."""

    def to_json(self) -> dict[str, Any]:
        """Return the row as it is stored: fields that have their default are left out."""
        default = {field.name: field.default for field in fields(self)}
        values = {
            name: value
            for name, value in asdict(self).items()
            if name not in _ATTACHED and not _same(value, default[name])
        }
        return {"type": self.type, **values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read a stored row; ValueError where it has other fields or types, or they contradict each other."""
        found = {name: value for name, value in values.items() if name != "type"}
        if unknown := found.keys() - {field.name for field in fields(cls)}:
            raise ValueError(f"unknown fields {', '.join(sorted(unknown))}")
        row: Self = _adapter(cls).validate_python(found)  # type: ignore[arg-type]
        row.check()
        return row


def _same(value: Any, other: Any) -> bool:
    """Return whether two values are equal; NaN is equal to NaN."""
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other) or (value != value and other != other)


@cache
def _adapter(cls: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


RowTypes = Mapping[str, type[Row]]
"""The classes of rows by what their lines are called."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What an experiment is."""

    name: str
    title: str
    kind: str
    """retrieval, classification, angles, timing, ..."""
    scale: str
    command: str
    """What to type to run it again."""
    section: str = ""
    """Where on the page it stands."""
    order: float = 0.0
    """Its place among the experiments of its section."""
    config: dict[str, Any]
    """Its configuration with every key, defaults included."""
    labels: dict[str, str]
    """The keys of its rows, in order, and what tables and figures call the method of each."""


@dataclass(frozen=True)
class Results:
    """The results of one experiment: its own rows only, each with its label."""

    folder: Path
    description: Description
    rows: list[Any]
    """Rows of the classes of its kind."""
    unused: int = 0
    """Rows in its file that another version of the suite made, which cannot be used."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def kind(self) -> str:
        """The kind of the experiment."""
        return self.description.kind


def write_description(folder: Path, description: Description) -> None:
    """Write what the experiment in a folder is.

    Parameters
    ----------
    folder : Path
        The folder of results, which must exist.
    description : Description
        Written as JSON.
    """
    with whole_file(folder / DESCRIPTION_FILE) as temporary:
        temporary.write_text(json.dumps(asdict(description), indent=1) + "\n")


def load_description(folder: Path) -> Description:
    """Read what the experiment in a folder is."""
    path = folder / DESCRIPTION_FILE
    try:
        values = asdict(Description(**json.loads(path.read_text())))  # no other fields
        description: Description = _adapter(Description).validate_python(values)
    except FileNotFoundError:
        raise InputError(f"{folder}: no experiment there: it has no {DESCRIPTION_FILE}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: does not describe an experiment ({first_line(error)})") from None
    return description


def load_results(folder: Path, types: RowTypes) -> Results:
    """Read the results in a folder.

    Parameters
    ----------
    folder : Path
        Holds the description and the rows.
    types : RowTypes
        The class of each type of row.

    Returns
    -------
    Results
        The rows whose key is in the description, in its order and with the labels it gives them.
    """
    description = load_description(folder)
    found, unused = _read_rows(folder / ROWS_FILE, types)
    rows = {row.key: row for row in found}
    own = [replace(rows[key], label=label) for key, label in description.labels.items() if key in rows]
    return Results(folder, description, own, unused)


def append_row(path: Path, row: Row) -> None:
    """Add a row to the file, on disk when this returns.

    Parameters
    ----------
    path : Path
        The file; created, as is its folder, if missing.
    row : Row
        Written as one line of JSON, on a line of its own even if the last one was torn by a crash.
    """
    line = json.dumps(row.to_json()) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def load_rows(path: Path, types: RowTypes) -> list[Row]:
    """Read the latest row of every key, in the order in which keys first appear; no file means no rows.

    Lines that do not fit the classes, as those of other versions of the suite, are counted in a warning and not used.

    Parameters
    ----------
    path : Path
        The file, with one row of JSON on each line.
    types : RowTypes
        The class of each type of row.

    Returns
    -------
    list of Row
    """
    rows, unused = _read_rows(path, types)
    if unused:
        logger.warning("%s: %d rows were made by another version and are not used", path, unused)
    return rows


def _read_rows(path: Path, types: RowTypes) -> tuple[list[Row], int]:
    """Return the latest row of every key, and how many lines do not fit the classes."""
    if not path.is_file():
        return [], 0
    rows: dict[str, Row] = {}
    foreign = 0
    for line in path.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue  # torn by a crash
        try:
            row = types[values["type"]].from_json(values)
        except (ValueError, KeyError, TypeError):
            foreign += 1
            continue
        rows[row.key] = row
    return list(rows.values()), foreign
