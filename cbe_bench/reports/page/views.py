"""Experiments as the page shows them: data, figures, tables, and how to run each again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from cbe_bench.core.config import as_yaml
from cbe_bench.core.environment import human_bytes
from cbe_bench.core.report import save_table
from cbe_bench.core.results import DESCRIPTION_FILE, OK, ROWS_FILE, Results
from cbe_bench.evaluators.base import Experiment, experiment_class
from cbe_bench.evaluators.configs import config_folders
from cbe_bench.reports.page.figures import draw_missing
from cbe_bench.reports.page.grid import Grid, grid_of

KIND_NAMES = {
    "real": "real data",
    "user": "your file",
    "synthetic": "synthetic",
    "simulated": "simulated",
    "machine": "timing",
}
"""What the badge of each kind of data says."""
_REAL_FIRST = ("real", "user", "simulated", "machine", "synthetic")


def sorted_kinds(kinds: set[str]) -> list[str]:
    """Return kinds of data, real ones first."""
    return sorted(kinds, key=lambda kind: (_REAL_FIRST.index(kind) if kind in _REAL_FIRST else 99, kind))


@dataclass(frozen=True)
class FigureView:
    """A figure of an experiment, as a file."""

    name: str
    path: Path
    caption: str
    folded: bool
    links: list[Path]
    """Its numbers and its other forms."""
    inline: bool
    """Whether the page has it, or only links to it."""


@dataclass(frozen=True)
class TableView:
    """A table of an experiment, from its rows."""

    caption: str
    folded: bool
    grid: Grid
    links: list[Path]
    """Its export as CSV."""


@dataclass(frozen=True)
class ExperimentView:
    """One experiment that has been run."""

    results: Results
    open_tables: tuple[str, ...] = ()
    """Tables that are shown first and unfolded."""

    @property
    def kind(self) -> type[Experiment]:
        """The class of its kind."""
        return experiment_class(self.results.kind)

    @property
    def name(self) -> str:
        """The name of its folder, and of its anchor."""
        return self.results.name

    @property
    def title(self) -> str:
        """What it is called."""
        return self.results.description.title

    @property
    def kinds(self) -> list[str]:
        """The kinds of data its rows are about, real ones first."""
        return sorted_kinds({row.data_kind for row in self.results.rows if row.data_kind} or {"machine"})

    @property
    def data(self) -> str:
        """Which data its rows are about, in a line."""
        return self.kind.describe_data(self.results) if self.results.rows else "no cell has ended yet"

    @property
    def seeds(self) -> list[int]:
        """The seeds of its rows."""
        return sorted({row.seed for row in self.results.rows if hasattr(row, "seed")})

    @property
    def seconds(self) -> float:
        """How long its cells took, together."""
        return sum(row.wall_s for row in self.results.rows)

    @property
    def peak(self) -> int:
        """The most bytes the process had held when one of its cells ended."""
        return max((row.peak_memory_bytes for row in self.results.rows), default=0)

    @property
    def memory(self) -> str:
        """The same as a person writes it."""
        return human_bytes(self.peak) if self.peak else "memory not known"

    @property
    def ends(self) -> dict[str, int]:
        """How many of its cells ended in which way."""
        found = [row.status for row in self.results.rows]
        return {status: found.count(status) for status in dict.fromkeys(sorted(found, key=lambda end: end != OK))}

    @property
    def missing_cells(self) -> int:
        """How many of its cells have not been run, as where a run was interrupted."""
        return len(self.results.description.labels) - len(self.results.rows)

    @property
    def config(self) -> str:
        """Its configuration as YAML."""
        return as_yaml(self.results.description.config)

    @cached_property
    def environments(self) -> dict[str, dict[str, Any]]:
        """The machines and libraries its rows came from."""
        try:
            known = json.loads((self.results.folder / "environments.json").read_text())
        except (OSError, ValueError):
            known = {}
        return {name: known.get(name, {}) for name in dict.fromkeys(row.environment for row in self.results.rows)}

    @cached_property
    def _report(self) -> Any:
        return self.kind.report(self.results)

    @cached_property
    def figures(self) -> list[FigureView]:
        """Its figures; what has no file yet is drawn now."""
        found = []
        for figure in self._report.figures:
            path = draw_missing(figure, self.results.folder)
            if path is not None:
                links = [self._numbers(figure.table or figure.name)]
                links += [path.with_suffix(suffix) for suffix in (".png", ".pdf", ".svg")]
                here = [link for link in links if link.is_file()]
                found.append(FigureView(figure.name, path, figure.caption, figure.folded, here, figure.inline))
        return found

    def _numbers(self, name: str) -> Path:
        """Return the file of a table, written now where it is missing."""
        path = self.results.folder / f"{name}.csv"
        table = next((table for table in self._report.tables if table.name == name), None)
        if table and not path.is_file():
            save_table(table.frame, path.with_suffix(""), table.digits)
        return path

    @cached_property
    def tables(self) -> list[TableView]:
        """Its tables that the page shows."""
        shown = sorted((table for table in self._report.tables if table.shown), key=self._is_closed)
        return [
            TableView(
                caption=table.caption,
                folded=table.folded and table.name not in self.open_tables,
                grid=grid_of(table.frame),
                links=[path for path in (self.results.folder / f"{table.name}.csv",) if path.is_file()],
            )
            for table in shown
        ]

    def _is_closed(self, table: Any) -> bool:
        return table.name not in self.open_tables

    def table(self, name: str) -> Grid | None:
        """Return one of its tables."""
        frame = self._report.table(name)
        return None if frame is None else grid_of(frame)

    @property
    def files(self) -> list[Path]:
        """Everything in its folder that can be read elsewhere."""
        first = [self.results.folder / name for name in (ROWS_FILE, DESCRIPTION_FILE)]
        return [path for path in (*first, *sorted(self.results.folder.glob("*.csv"))) if path.is_file()]


@dataclass(frozen=True)
class Section:
    """A section of the page: a part of the paper with the experiments beside it."""

    anchor: str
    title: str
    lead: str
    """What the paper shows there, in a sentence or two."""
    experiments: list[ExperimentView] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Experiments that have not been run, and the command of each."""


def page_sections(results: Sequence[Results], scale: str) -> tuple[list[Section], list[ExperimentView]]:
    """Return the sections with their experiments, real data first, and the experiments of no section.

    Parameters
    ----------
    results : sequence of Results
        The experiments.
    scale : str
        Their scale, for the commands of experiments without results.

    Returns
    -------
    sections : list of Section
        In the order of the page.
    others : list of ExperimentView
        The experiments of no section.
    """
    outline: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "sections.yaml").read_text())
    left = list(results)
    sections = []
    for part in outline:
        mine = [one for one in left if one.description.section == part["anchor"]]
        left = [one for one in left if one not in mine]
        views = [ExperimentView(one, tuple(part.get("open", ()))) for one in mine]
        views.sort(key=lambda view: (view.kinds[0] == "synthetic", view.results.description.order, view.name))
        names = _configured(part["anchor"])
        absent = {name: command for name, command in names.items() if name not in {one.name for one in mine}}
        commands = {name: f"{command} --scale {scale}" for name, command in absent.items()}
        sections.append(Section(part["anchor"], part["title"], part["lead"], views, commands))
    return sections, [ExperimentView(one) for one in left]


def _configured(anchor: str) -> dict[str, str]:
    """Return the experiments of a section that come with the suite, by name, with their commands."""
    found: dict[float, str] = {}
    for folder in config_folders()[:1]:
        for path in sorted(folder.glob("*.yaml")):
            keys = yaml.safe_load(path.read_text())
            if keys.get("section") == anchor:
                found[keys.get("order", 0.0)] = path.stem
    return {found[order]: f"cbe-bench run configs/{found[order]}.yaml" for order in sorted(found)}
