"""The whole suite: the data it needs, each experiment, the claims and the page, as steps.

Every step is a command of its own: memory is given back between them, a step that fails does not stop the others, and
each resumes when it is started again.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cbe_bench.core.cache import whole_file
from cbe_bench.core.config import BaseConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import is_url
from cbe_bench.data.catalogue import buildable_sets, hint
from cbe_bench.data.formats import open_features
from cbe_bench.evaluators.configs import FeaturesConfig, load_config

SECONDS_FILE = "reproduce.json"
UNKNOWN_S = 60.0
"""Seconds of a step that nothing is known of."""


@dataclass(frozen=True)
class Step:
    """One command of the suite."""

    name: str
    arguments: tuple[str, ...]
    """What follows `cbe-bench`."""
    needs: Path | None = None
    """A file without which it cannot run."""
    makes: Path | None = None
    """The file of data that it builds."""
    optional: bool = False
    """Whether the suite continues without it: images that cannot be had."""

    @property
    def command(self) -> str:
        """What a person types for it."""
        return shlex.join(("cbe-bench", *self.arguments))

    def missing(self) -> str:
        """Say what the step lacks; an empty string where it can run."""
        return f"{self.needs} is absent{hint(self.needs)}" if self.needs and not self.needs.exists() else ""


def lacking(step: Step, steps: Sequence[Step]) -> str:
    """Return the file that a step lacks and that none of the steps builds; an empty string where there is none."""
    return str(step.needs) if step.missing() and step.needs not in [one.makes for one in steps] else ""


def suite(configs: Sequence[Path], scale: str, out: Path, *, whole: bool = True) -> list[Step]:
    """List the steps for some configurations at a scale; a bad configuration raises before anything runs.

    Parameters
    ----------
    configs : sequence of Path
        The configurations.
    scale : str
        One of `SCALES`.
    out : Path
        The folder of all results.
    whole : bool
        Leave out those that are not part of the suite at this scale.

    Returns
    -------
    list of Step
        The data first, then the experiments in their order, then the report.

    Raises
    ------
    InputError
        For a bad configuration.
    """
    loaded = {path: load_config(path, scale) for path in configs}
    settings = {path: config for path, config in loaded.items() if scale in config.in_suite or not whole}
    ordered = sorted(settings, key=lambda path: (settings[path].order, path.stem))
    return [
        *_data_steps([settings[path] for path in ordered], scale),
        *(_experiment(path, settings[path], scale, out) for path in ordered),
        Step("report", ("report", str(out / scale))),
    ]


def _experiment(path: Path, config: BaseConfig, scale: str, out: Path) -> Step:
    needs = config.data.file if isinstance(config, FeaturesConfig) and not config.data.synthetic else None
    return Step(path.stem, ("run", str(path), "--scale", scale, "--out", str(out)), needs)


def _data_steps(settings: Sequence[BaseConfig], scale: str) -> Iterator[Step]:
    """List the real features to be built, with as many rows as the experiments use of them."""
    known = buildable_sets()
    rows: dict[Path, int] = {}
    for config in settings:
        if not isinstance(config, FeaturesConfig) or scale not in config.data.build_at:
            continue
        file = config.data.file
        if file is not None and not is_url(file) and file.name in known:
            rows[file] = max(rows.get(file, 0), config.rows_used(known[file.name].n_classes or 1))
    for file, needed in rows.items():
        count = known[file.name].rows
        wanted = needed if 2 * needed < count else count
        if not _has_rows(file, wanted):
            some = ["--rows", str(wanted)] if wanted < count else []
            arguments = (
                "data",
                "make",
                known[file.name].name,
                *some,
                "--out",
                str(file),
                "--folder",
                str(file.parent),
                "--force",
            )
            part = f", {wanted:,} of {count:,} rows" if some else ""
            yield Step(f"data {file.stem}{part}", arguments, makes=file, optional=True)


def _has_rows(file: Path, wanted: int) -> bool:
    """Return whether a file exists with enough rows, or is one that this suite did not build and must not replace."""
    if not file.exists():
        return False
    try:
        with open_features(file) as features:
            return features.n_rows >= wanted or "recipe" not in features.describe()
    except InputError:
        return True  # the experiments report what is wrong with it


def estimates(steps: Sequence[Step], *files: Path) -> dict[str, float]:
    """Return the estimated seconds of each step, from files of earlier runs; the first file that knows a step counts.

    Parameters
    ----------
    steps : sequence of Step
        The steps to estimate.
    *files : Path
        Files of `store_seconds`.

    Returns
    -------
    dict of str to float
        By the name of the step.
    """
    known = _known_seconds(files)
    return {step.name: known.get(step.name, UNKNOWN_S) for step in steps}


def unknown_steps(steps: Sequence[Step], *files: Path) -> int:
    """Count the steps that no file of earlier runs knows."""
    known = _known_seconds(files)
    return sum(step.name not in known for step in steps)


def _known_seconds(files: Sequence[Path]) -> dict[str, float]:
    known: dict[str, float] = {}
    for file in reversed(files):
        known |= load_seconds(file)
    return known


def load_seconds(file: Path) -> dict[str, float]:
    """Read how long steps took; nothing where that is not known."""
    try:
        return {str(name): float(value) for name, value in json.loads(file.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def store_seconds(file: Path, name: str, seconds: float) -> None:
    """Store how long a step took; the longest time counts, for later runs may only find its cells done.

    Parameters
    ----------
    file : Path
        The file, which is replaced whole.
    name : str
        The name of the step.
    seconds : float
        The time it took.
    """
    known = load_seconds(file)
    known[name] = round(max(seconds, known.get(name, 0.0)), 1)
    with whole_file(file) as temporary:
        temporary.write_text(json.dumps(known, indent=1) + "\n")
