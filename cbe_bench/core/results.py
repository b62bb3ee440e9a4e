"""Result rows: one JSON object a line, appended the moment a cell ends, never rewritten.

A row says all that decided its value, and its key is a hash over just that. A later row of the same key
replaces an earlier one when read. A last line torn by a crash is ignored and does not spoil the next.

An experiment is a folder with its rows and a file that says what it was: its title, its configuration, the command that
makes it again, and which of the rows are its own. A folder of results has one such folder for each experiment.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError

Row = dict[str, Any]

ROWS_FILE, ABOUT_FILE = "rows.jsonl", "experiment.json"


@dataclass(frozen=True, kw_only=True)
class About:
    """What an experiment that has been run was."""

    title: str
    experiment: str
    """Its kind: retrieval, angles, time, ..."""
    scale: str
    command: str
    """What to type to make it again."""
    config: Row
    """Its configuration with every key, defaults included."""
    labels: dict[str, str]
    """The keys of its rows, and what tables and figures call the method of each."""


@dataclass(frozen=True)
class Experiment:
    """Results of one experiment, as they lie in a folder: only its own rows, each with its `label`."""

    folder: Path
    about: About
    rows: list[Row]

    @property
    def name(self) -> str:
        """What the experiment is called: the name of its folder."""
        return self.folder.name


def write_about(folder: Path, about: About) -> None:
    """Say in the folder of an experiment what it was."""
    with whole_file(folder / ABOUT_FILE) as temporary:
        temporary.write_text(json.dumps(vars(about), indent=1) + "\n")


def load_experiment(folder: Path) -> Experiment:
    """Read the experiment in a folder."""
    path = folder / ABOUT_FILE
    try:
        about = About(**json.loads(path.read_text()))
    except FileNotFoundError:
        raise InputError(f"{folder}: holds no experiment: there is no {ABOUT_FILE}") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: does not describe an experiment ({error})") from None
    rows = load_rows(folder / ROWS_FILE)
    return Experiment(folder, about, [{**r, "label": about.labels[r["key"]]} for r in rows if r["key"] in about.labels])


def load_experiments(folder: Path) -> list[Experiment]:
    """Read all experiments of a folder of results, by name."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return [load_experiment(path.parent) for path in sorted(folder.glob(f"*/{ABOUT_FILE}"))]


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
