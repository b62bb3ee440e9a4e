"""All experiments of the suite, in order: the data they need, each configuration, the times, the page.

Every step is a command of its own. Memory is given back between them, a step that fails leaves the others alone, and
each goes on where it stopped when it is started again.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cbe_bench.config import BaseConfig, ClassificationConfig, load_config
from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.data.catalogue import hint, vlad_sets
from cbe_bench.data.formats import open_features
from cbe_bench.data.synthetic import SyntheticFeatures

ORDER = (
    *("angles", "cifar10", "fashion", "mnist", "cifar10-51200", "flickr", "imagenet25600", "imagenet51200"),
    *("cifar10-2048", "flickr2048", "cifar10-fbe", "fbe", "convergence", "lambda", "semisup"),
    *("classification", "classification-cifar10", "classification-imagenet"),
)
"""Experiments by name, in the order they run; others follow by name."""
MADE = {
    "smoke": ("cifar10-vlad25600",),
    "quick": ("cifar10-vlad25600", "fashion-mnist-vlad25600", "quickdraw-vlad25600"),
    "paper": tuple(vlad_sets()),
}
"""Real features that are made where experiments name them and they are absent."""
TIMES: dict[str, dict[str, list[str]]] = {
    "smoke": {
        "time": ["--dims", "2^10..2^12", "--budget", "0.05"],
        "growth": ["--dims", "2^8..2^11", "--bits", "d/4,d/2,d,2d,4d", "--batch", "16", "--budget", "0.02"],
    },
    "quick": {
        "time": ["--dims", "paper", "--methods", "lsh,bilinear-rand,cbe-rand,hd3", "--budget", "1"],
        "growth": ["--dims", "2^10..2^14", "--bits", "d/4,d/2,d,2d,4d", "--batch", "16", "--budget", "0.05"],
    },
    "paper": {
        "time": ["--dims", "2^15..2^27", "--budget", "10"],
        "growth": ["--dims", "2^10..2^14", "--bits", "d/4,d/2,d,2d,4d", "--batch", "16", "--budget", "1"],
    },
}
"""What is timed at each scale, by the name of the experiment."""
SECONDS_FILE = "reproduce.json"
_UNKNOWN = 60.0
"""Seconds of a step that nothing is known of."""


@dataclass(frozen=True)
class Step:
    """One command of the suite."""

    name: str
    arguments: tuple[str, ...]
    """What follows `cbe-bench`."""
    needs: Path | None = None
    """A file without which it cannot run."""
    optional: bool = False
    """Whether the suite goes on without it: images that cannot be had."""

    def missing(self) -> str:
        """Say what the step lacks; nothing where it can run."""
        return f"{self.needs} is not here{hint(self.needs)}" if self.needs and not self.needs.exists() else ""


def suite(configs: Sequence[Path], scale: str, out: Path) -> list[Step]:
    """List the steps for some configurations at a scale; a bad configuration is told before anything runs."""
    ordered = sorted(configs, key=lambda path: (_place(path.stem), path.stem))
    settings = {path: load_config(path, scale) for path in ordered}
    return [
        *_data_steps(list(settings.values()), scale),
        *(_experiment(path, config, scale, out) for path, config in settings.items()),
        *(
            Step(name, ("time", *arguments, "--out", str(out / scale), "--name", name))
            for name, arguments in TIMES[scale].items()
        ),
        Step("report", ("report", str(out / scale))),
    ]


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _experiment(path: Path, config: BaseConfig, scale: str, out: Path) -> Step:
    needs = config.data.file if not config.data.stand_in else None
    return Step(str(path), ("run", str(path), "--scale", scale, "--out", str(out)), needs)


def _data_steps(settings: Sequence[BaseConfig], scale: str) -> Iterator[Step]:
    """List the real features to be made, with as many rows as the experiments use of them."""
    rows: dict[Path, int] = {}
    for config in settings:
        file = config.data.file
        if file is not None and file.stem in MADE[scale]:
            rows[file] = max(rows.get(file, 0), _rows_used(config, vlad_sets()[file.stem].images.n_classes))
    for file, needed in rows.items():
        count = vlad_sets()[file.stem].rows
        wanted = needed if 2 * needed < count else count
        if not _has_rows(file, wanted):
            some = ["--rows", str(wanted)] if wanted < count else []
            arguments = ("data", "make", file.stem, *some, "--out", str(file), "--folder", str(file.parent), "--force")
            said = f", {wanted:,} of {count:,} rows" if some else ""
            yield Step(f"data {file.stem}{said}", arguments, optional=True)


def _rows_used(config: BaseConfig, n_classes: int) -> int:
    """Return how many rows of a file with so many classes an experiment takes."""
    if isinstance(config, ClassificationConfig):
        return SyntheticFeatures.rows_for(config.train + config.validation + config.test, n_classes)
    return config.rows_needed


def _has_rows(file: Path, wanted: int) -> bool:
    """Tell whether a file is there and has the rows, or is one that this suite did not make and must leave alone."""
    if not file.exists():
        return False
    try:
        with open_features(file) as features:
            return features.n_rows >= wanted or "recipe" not in features.describe()
    except InputError:
        return True  # the experiments will tell what is wrong with it


def forecasts(steps: Sequence[Step], *files: Path) -> dict[str, float]:
    """Return the seconds each step is likely to take, from files of earlier ones, the first known counting."""
    known: dict[str, float] = {}
    for file in reversed(files):
        known |= load_seconds(file)
    return {step.name: known.get(step.name, _UNKNOWN) for step in steps}


def load_seconds(file: Path) -> dict[str, float]:
    """Read how long steps took; nothing where that is not known."""
    try:
        return {str(name): float(value) for name, value in json.loads(file.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_seconds(file: Path, name: str, seconds: float) -> None:
    """Note how long a step took; one that only looked up what it had done earlier took as long as it did then."""
    known = load_seconds(file)
    known[name] = round(max(seconds, known.get(name, 0.0)), 1)
    with whole_file(file) as temporary:
        temporary.write_text(json.dumps(known, indent=1) + "\n")


@contextmanager
def alone(folder: Path, message: Callable[[str], None]) -> Iterator[int]:
    """Hold a folder of results for one run of the suite, waiting for another to end; give the handle to pass on.

    Steps that are passed the handle hold the folder too, should whoever started them be killed.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message(f"another run is at work in {folder}: waiting for it to end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)
