"""What a kind of experiment is, and the registry of all kinds.

A kind is one folder of this package with a module `experiment`, or a module that the entry-point group
``cbe_bench.experiments`` names: a class decorated with `register`, with its configuration, its rows, its claims, and
how cells are listed and evaluated. The runner, the command line, the page and the table of claims take it from there.
"""

import importlib
import logging
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import cbe_bench.evaluators
from cbe_bench.core.claims import DIRECTION, NOT_TESTED, VACUOUS, Claim, Verdict
from cbe_bench.core.config import SCALES, BaseConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.plugins import load_plugins
from cbe_bench.core.progress import Progress, Reporter
from cbe_bench.core.report import Report
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import (
    DATA_KINDS,
    DESCRIPTION_FILE,
    Results,
    Row,
    RowTypes,
    load_description,
    load_results,
)
from cbe_bench.core.runner import Cell, Metrics
from cbe_bench.data.features import Features

logger = logging.getLogger(__name__)

ENTRY_POINTS = "cbe_bench.experiments"
_KINDS: dict[str, type["Experiment"]] = {}
AnyExperiment = TypeVar("AnyExperiment", bound=type["Experiment"])


class Measurement(NamedTuple):
    """A value that runs can be compared by, with its interval of noise."""

    subject: str
    """What was measured: the method and what distinguishes its cells, seeds aside."""
    metric: str
    value: float
    low: float
    high: float


class Experiment(ABC):
    """An experiment: a configuration applied to features.

    Parameters
    ----------
    config : BaseConfig
        An instance of the `config_class` of the kind.
    features : Features or None
        The features it runs on; None for a kind that needs none.
    resources : Resources
        The threads and the memory it may use.
    """

    kind: ClassVar[str]
    config_class: ClassVar[type[BaseConfig]]
    row_classes: ClassVar[tuple[type[Row], ...]]
    claims: ClassVar[tuple[Claim, ...]] = ()
    judged_from: ClassVar[str] = SCALES[-1]
    """The smallest scale whose results suffice to judge claims by; smaller ones say which way they point."""
    stages: ClassVar[tuple[str, ...]] = ("cells",)
    """Cells of a later stage may depend on the rows of earlier ones."""
    timed_stages: ClassVar[tuple[str, ...]] = ()
    """Stages of which the values are times: their cells run in this process, alone, whatever workers there are."""

    def __init__(self, config: Any, features: Features | None, resources: Resources) -> None:
        self.config, self.resources = config, resources
        self._features = features

    @property
    def features(self) -> Features:
        """The features it runs on."""
        assert self._features is not None, f"experiments of kind {self.kind} have no features"
        return self._features

    @property
    def data(self) -> dict[str, str]:
        """The name and the kind of its features, as its rows have them; nothing for a kind that needs none."""
        return {} if self._features is None else {"data": self._features.name, "data_kind": self._features.kind}

    @property
    @abstractmethod
    def headline(self) -> str:
        """Say in a line what is to be run."""

    @abstractmethod
    def cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage, given the rows there are.

        Parameters
        ----------
        stage : str
            One of `stages`.
        rows : sequence of Row
            The rows on disk when the stage begins.

        Returns
        -------
        list of Cell
        """

    def expected_cells(self, stage: str, rows: Sequence[Any]) -> list[Cell]:
        """List the cells of a stage as far as can be foreseen where earlier stages have not run yet.

        Parameters
        ----------
        stage : str
            One of `stages`.
        rows : sequence of Row
            The rows on disk now.

        Returns
        -------
        list of Cell
        """
        return self.cells(stage, rows)

    def prepare(self, cells: Sequence[Cell], reporter: Reporter) -> Any:
        """Return what the cells of a group have in common.

        Parameters
        ----------
        cells : sequence of Cell
            The cells of the group.
        reporter : Reporter
            Where progress is reported.

        Returns
        -------
        object
            Handed to `evaluate` as `context`.
        """
        return None

    @abstractmethod
    def evaluate(self, cell: Cell, context: Any, progress: Progress) -> Metrics:
        """Return the metrics of a cell: fields of its row.

        Parameters
        ----------
        cell : Cell
            What is measured.
        context : object
            What `prepare` returned for its group.
        progress : Progress
            Called with the progress of the cell, from 0 to 1.

        Returns
        -------
        Metrics
        """

    @abstractmethod
    def summarise(self, row: Any) -> str:
        """Say in a few words what a row found."""

    @classmethod
    @abstractmethod
    def report(cls, results: Results) -> Report:
        """Return the tables and figures of some results."""

    @classmethod
    def describe_data(cls, results: Results) -> str:
        """Say in a line which data the results are about."""
        names = {row.data: DATA_KINDS.get(row.data_kind, row.data_kind) for row in results.rows if row.data}
        return "; ".join(f"{name} ({kind})" for name, kind in names.items())

    @classmethod
    def measurements(cls, results: Results) -> Iterator[Measurement]:
        """Yield what two runs can be compared by."""
        return iter(())

    @classmethod
    def row_types(cls) -> RowTypes:
        """Return the classes of its rows by what their lines are called."""
        return {row.type: row for row in cls.row_classes}


def register(cls: AnyExperiment) -> AnyExperiment:
    """Make a kind of experiment known to the suite."""
    known = _KINDS.setdefault(cls.kind, cls)
    if known is not cls:
        raise ValueError(f"two experiments are of kind {cls.kind!r}: {known.__name__} and {cls.__name__}")
    return cls


def experiment_kinds() -> dict[str, type[Experiment]]:
    """Return the classes of all kinds of experiments, those of other packages included."""
    for module in pkgutil.walk_packages(cbe_bench.evaluators.__path__, f"{cbe_bench.evaluators.__name__}."):
        if module.name.endswith(".experiment"):
            importlib.import_module(module.name)
    load_plugins(ENTRY_POINTS)
    return dict(sorted(_KINDS.items()))


def experiment_class(kind: str) -> type[Experiment]:
    """Return the class of a kind of experiment."""
    kinds = experiment_kinds()
    if kind not in kinds:
        raise InputError(f"no experiment is of kind {kind!r}; there are {', '.join(kinds)}")
    return kinds[kind]


def load_experiment(folder: Path) -> Results:
    """Read the results of the experiment in a folder."""
    kind = load_description(folder).kind
    if kind not in experiment_kinds():
        raise InputError(f"{folder / DESCRIPTION_FILE}: no experiment is of kind {kind!r}")
    return load_results(folder, experiment_class(kind).row_types())


def load_experiments(folder: Path) -> list[Results]:
    """Read all experiments of a folder of results, by name; rows that cannot be used are counted in one warning."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    found = [load_experiment(path.parent) for path in sorted(folder.glob(f"*/{DESCRIPTION_FILE}"))]
    if old := [one for one in found if one.unused]:
        of = f"{len(old)} experiments" if len(old) > 1 else old[0].name
        rows = sum(one.unused for one in old)
        logger.warning("%s: %d rows of %s were made by another version and are not used", folder, rows, of)
    return found


def all_claims() -> list[Claim]:
    """Return the claims of all kinds of experiments, in the order of the paper."""
    return sorted((claim for kind in experiment_kinds().values() for claim in kind.claims), key=lambda one: one.order)


def judge(results: Iterable[Results]) -> list[Verdict]:
    """Judge every claim by the results of its kind of experiment."""
    found = list(results)
    kinds = experiment_kinds()
    owner = {claim.id: cls for cls in kinds.values() for claim in cls.claims}
    small = {one.name: one.description.scale for one in found if one.description.scale in _below(kinds[one.kind])}
    verdicts = []
    for claim in all_claims():
        cls = owner[claim.id]
        mine = claim.verdicts([one for one in found if one.kind == cls.kind])
        verdicts += mine if claim.exact else [_not_judged(one, small) for one in mine]
    return verdicts


def _below(kind: type[Experiment]) -> tuple[str, ...]:
    """Return the scales that are too small for verdicts."""
    return SCALES[: SCALES.index(kind.judged_from)]


def _not_judged(verdict: Verdict, small: Mapping[str, str]) -> Verdict:
    """Return a verdict as it stands, or of too small an experiment only which way it points, if that much."""
    scale = next((small[name] for name in verdict.experiment.split(", ") if name in small), "")
    if not scale or verdict.outcome in (NOT_TESTED, VACUOUS):
        return verdict
    if scale == SCALES[0] or (math.isnan(verdict.least) and math.isnan(verdict.most)):
        outcome, why = NOT_TESTED, f"the {scale} scale is too small to judge by"
    else:
        outcome, why = DIRECTION, f"points {'as claimed' if verdict.points_as_claimed else 'the other way'}"
    return replace(verdict, outcome=outcome, found=f"{why}; {verdict.found}")
