"""Experiments as the page tells them: data, figures, tables, and all that is needed to make them again."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.results import ABOUT_FILE, ROWS_FILE, Experiment, Row
from cbe_bench.reports import classification, tables
from cbe_bench.reports.page.cells import Grid, grid_of, read_grid
from cbe_bench.reports.page.outline import FIGURES, PARTS, TABLES, Part, Shown, command_for
from cbe_bench.reports.timing import table2

KIND_NAMES = {
    "real": "real data",
    "user": "your file",
    "synthetic": "synthetic",
    "simulated": "simulated",
    "machine": "timing",
}
"""What the badge of each kind of data says."""
_LABELS: dict[str, Callable[[list[Row]], str]] = {
    "retrieval": tables.data_label,
    "classification": classification.data_label,
}
"""How the data of a kind of experiment are told in a line."""
_REAL_FIRST = ("real", "user", "simulated", "machine", "synthetic")


def sorted_kinds(kinds: set[str]) -> list[str]:
    """Return kinds of data, real ones first."""
    return sorted(kinds, key=lambda kind: (_REAL_FIRST.index(kind) if kind in _REAL_FIRST else 99, kind))


@dataclass(frozen=True)
class Picture:
    """A figure of an experiment."""

    path: Path
    shown: Shown
    links: list[Path]
    """Its numbers and its form for print, where they are there."""


@dataclass(frozen=True)
class Table:
    """A table of an experiment."""

    path: Path
    shown: Shown
    grid: Grid


@dataclass(frozen=True)
class Section:
    """One experiment that has been run."""

    experiment: Experiment
    opened: tuple[str, ...] = ()
    """Tables that are shown first and open."""

    @property
    def name(self) -> str:
        """The name of its folder, and of its anchor."""
        return self.experiment.name

    @property
    def title(self) -> str:
        """What it is called."""
        return self.experiment.about.title

    @property
    def kinds(self) -> list[str]:
        """The kinds of data its rows are about, real ones first."""
        rows = self.experiment.rows
        return sorted_kinds({row["data_kind"] for row in rows if "data_kind" in row} or {"machine"})

    @property
    def data(self) -> str:
        """Which data its rows are about, in a line."""
        rows = [row for row in self.experiment.rows if "data" in row]
        if not rows:
            return "random unit vectors: the time of encoding does not depend on what is encoded"
        if self.experiment.about.experiment in _LABELS:
            return _LABELS[self.experiment.about.experiment](rows)
        names = dict.fromkeys(f"{row['data']} ({KIND_NAMES.get(row['data_kind'], row['data_kind'])})" for row in rows)
        return "; ".join(names)

    @property
    def seeds(self) -> list[int]:
        """The seeds of its rows."""
        return sorted({row["seed"] for row in self.experiment.rows if "seed" in row})

    @property
    def seconds(self) -> float:
        """How long its cells took, together."""
        return sum(map(row_seconds, self.experiment.rows))

    @property
    def peak(self) -> int:
        """The most bytes the process had held when one of its cells ended; zero where no row tells."""
        return max((row.get("peak_memory_bytes", 0) for row in self.experiment.rows), default=0)

    @property
    def memory(self) -> str:
        """The same as a person writes it."""
        return human_bytes(self.peak) if self.peak else "memory not known"

    @property
    def ends(self) -> dict[str, int]:
        """How many of its cells ended in which way."""
        found = [row["status"] for row in self.experiment.rows]
        return {status: found.count(status) for status in dict.fromkeys(sorted(found, key=lambda end: end != "ok"))}

    @property
    def config(self) -> str:
        """Its configuration as YAML."""
        return yaml.safe_dump(self.experiment.about.config, sort_keys=False, default_flow_style=None, width=100)

    @cached_property
    def environments(self) -> dict[str, dict[str, Any]]:
        """The machines and libraries its rows came from."""
        try:
            known = json.loads((self.experiment.folder / "environments.json").read_text())
        except (OSError, ValueError):
            known = {}
        used = dict.fromkeys(row["environment"] for row in self.experiment.rows if "environment" in row)
        return {name: known.get(name, {}) for name in used}

    @cached_property
    def pictures(self) -> list[Picture]:
        """Its figures, those of its kind in their order."""
        found = []
        for shown, path in self._files(FIGURES, ".png"):
            beside = (path.with_name(f"{shown.numbers or shown.stem}.csv"), path.with_suffix(".pdf"))
            found.append(Picture(path, shown, [other for other in beside if other.is_file()]))
        return found

    @cached_property
    def tables(self) -> list[Table]:
        """Its tables, those of its kind in their order."""
        found = [Table(path, self._unfolded(shown), read_grid(path)) for shown, path in self._files(TABLES, ".csv")]
        return sorted(found, key=lambda table: table.shown.stem not in self.opened)

    @property
    def table2(self) -> Grid:
        """Table 2 of the paper, from the rows of a timing experiment."""
        return grid_of(table2(self.experiment.rows))

    @property
    def files(self) -> list[Path]:
        """Everything in its folder that can be read elsewhere."""
        first = [self.experiment.folder / name for name in (ROWS_FILE, ABOUT_FILE)]
        return [path for path in (*first, *sorted(self.experiment.folder.glob("*.csv"))) if path.is_file()]

    def _unfolded(self, shown: Shown) -> Shown:
        return replace(shown, folded=False) if shown.stem in self.opened else shown

    def _files(self, table: dict[str, tuple[Shown, ...]], suffix: str) -> list[tuple[Shown, Path]]:
        """Return the files to show: of a kind that is not in the table, all there are."""
        folder, kind = self.experiment.folder, self.experiment.about.experiment
        unknown = (Shown(path.stem, path.stem, folded=True) for path in sorted(folder.glob(f"*{suffix}")))
        wanted = ((shown, (folder / shown.stem).with_suffix(suffix)) for shown in table.get(kind, tuple(unknown)))
        return [(shown, path) for shown, path in wanted if path.is_file()]


def row_seconds(row: Row) -> float:
    """Return how long a cell took; that of a timed one is the sum of what was timed."""
    if row["experiment"] != "time":
        return float(row.get("seconds", 0.0))
    sampled = sum(row.get("samples", ())) * row.get("calls_per_sample", 1) * row.get("batch", 1)
    return float(sampled + row.get("fit_seconds", 0.0) + row.get("prepare_seconds", 0.0))


@dataclass(frozen=True)
class Chapter:
    """A part of the paper with what there is beside it."""

    part: Part
    sections: list[Section]
    missing: dict[str, str] = field(default_factory=dict)
    """Experiments that have not been run, and the command of each."""


def chapters(experiments: list[Experiment], scale: str) -> tuple[list[Chapter], list[Section]]:
    """Return the parts of the paper with their experiments, real data first, and the experiments of no part."""
    left = [Section(experiment) for experiment in experiments]
    found = []
    for part in PARTS:
        places = {section.name: place for section in left if (place := part.place(section.name)) is not None}
        mine = [Section(section.experiment, part.opened) for section in left if section.name in places]
        left = [section for section in left if section.name not in places]
        mine.sort(key=lambda section: (section.kinds[0] == "synthetic", places[section.name]))
        absent = [name.rstrip("*") for i, name in enumerate(part.experiments) if i not in places.values()]
        found.append(Chapter(part, mine, {name: command_for(name, scale) for name in absent}))
    return found, left
