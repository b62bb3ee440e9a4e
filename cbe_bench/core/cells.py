"""What the runner works with: cells, the experiments they are of, and the job of running them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from cbe_bench.core import environment
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import ROWS_FILE, Description, Row, RowTypes, Spec

BASE_BYTES = 400 << 20
"""The interpreter, its libraries and a few blocks of data."""
OPERATIONS_PER_SECOND = 5e10
"""What one core does of a matrix product; estimates of time rest on it and are rough."""

Metrics = Mapping[str, Any]
"""The fields of a row that evaluating a cell gives."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One thing to evaluate."""

    spec: Spec
    """Everything that decides its value."""
    row_class: type[Row]
    code: str
    """The version of the code that computes the value."""
    label: str
    """What tables and figures call it."""
    title: str
    """What a person reads while it runs."""
    memory_bytes: int
    """An estimate of the memory it needs."""
    seconds: float
    """An estimate of the time it takes."""
    group: Hashable = None
    """Cells of a group have one context."""

    @property
    def key(self) -> str:
        """The key of its row."""
        return self.spec.key(self.code)

    def excess(self, limit: int) -> str:
        """Say why the cell cannot run within a memory limit; an empty string where it can."""
        if self.memory_bytes <= limit:
            return ""
        needs, has = environment.human_bytes(self.memory_bytes), environment.human_bytes(limit)
        return f"needs about {needs}, the memory limit is {has}"


class Workload(Protocol):
    """What the runner needs to know of an experiment."""

    stages: ClassVar[tuple[str, ...]]
    timed_stages: ClassVar[tuple[str, ...]]
    """Those of which the values are times."""

    def row_types(self) -> RowTypes:
        """Return the classes of its rows."""

    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage, given the rows of earlier ones.

        Parameters
        ----------
        stage : str
            One of `stages`.
        rows : sequence of Row
            The rows on disk when the stage begins.
        """

    def expected_cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage as `cells` does, foreseen where earlier stages have not run yet."""

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> Any:
        """Return what the cells of a group have in common.

        Parameters
        ----------
        cells : sequence of Cell
        reporter : Reporter
        """

    def evaluate(self, cell: Cell, context: Any, progress: Progress) -> Metrics:
        """Return the metrics of a cell.

        Parameters
        ----------
        cell : Cell
        context : object
            What `prepare` returned for the group of the cell.
        progress : Progress
        """

    def summarise(self, row: Any) -> str:
        """Say in a few words what a row found."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run of an experiment: where its rows go, what it may use, what is run again."""

    folder: Path
    description: Description
    """Without labels: these are those of the cells."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Name and kind of the features: fields of every row."""
    resources: Resources = field(default_factory=Resources)
    rerun: str | None = None
    """None, failed or all: which of the cells that ended are run again."""
    timeout: float | None = None
    """Seconds after which a cell is given up."""

    @property
    def rows_file(self) -> Path:
        """Where rows are appended."""
        return self.folder / ROWS_FILE
