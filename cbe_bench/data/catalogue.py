"""The data sets the suite knows by name: image sets, VLAD features of them, synthetic surrogates.

A data set is one YAML file in `datasets/`: its type and the fields of that type. What must be fetched names a function
that parses the files. Other packages add data sets through the entry-point group ``cbe_bench.datasets``, whose entries
name a `Dataset`, a YAML file or a folder of them; the type of a YAML file may be any subclass of `Dataset`, written as
``module:Class``.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal

import yaml
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.plugins import load_plugins
from cbe_bench.data.images.dense_sift import DESCRIPTOR
from cbe_bench.data.images.sources import ImageSource, get_images
from cbe_bench.data.view import Tick


@dataclass(frozen=True)
class Build:
    """What is asked for when a data set is built, and who hears of the progress."""

    out: Path
    """The file to write."""
    folder: Path
    """Where data sets are stored."""
    say: Callable[[str], None]
    tick: Tick
    rows: int | None = None
    """Rows to draw; None takes all."""
    seed: int = 0
    given: str | None = None
    """A path or address of the images, given by the user."""


class Dataset(BaseModel):
    """A data set by name, and how its file is built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ClassVar[Literal["real", "synthetic"]] = "real"

    name: str
    title: str
    rows: PositiveInt
    licence: str = "-"

    @property
    def size(self) -> str:
        """How large a row is, in words."""
        return "-"

    @property
    def file(self) -> str:
        """The name of its file in the folder of data sets."""
        return f"{self.name}.h5"

    @property
    def source(self) -> str:
        """Where it comes from: the command that builds it."""
        return f"data make {self.name}"

    def derived(self) -> "Iterable[Dataset]":
        """Return the data sets that are made from this one."""
        return ()

    @abstractmethod
    def build(self, build: Build) -> None:
        """Write the data set to a file, whole or not at all."""


class SyntheticSet(Dataset):
    """A synthetic surrogate with the shape of a set that is not public."""

    kind = "synthetic"

    dims: PositiveInt

    @property
    def size(self) -> str:
        """The dimensions of a row."""
        return f"d = {self.dims:,}"

    @property
    def source(self) -> str:
        """It needs no file."""
        return "generated as it is read"

    def build(self, build: Build) -> None:
        """Write the rows that would otherwise be generated as they are read."""
        from cbe_bench.data.formats.convert import convert
        from cbe_bench.data.synthetic import SyntheticFeatures

        if build.given is not None:
            raise InputError(f"{self.name}: a synthetic set has no source; --from is for images")
        convert(SyntheticFeatures(self.name, build.rows or self.rows, self.dims, build.seed), build.out, build.tick)


class ImageSet(ImageSource, Dataset):
    """Labelled images that are fetched, and the VLAD features made from them."""

    vlad_words: tuple[PositiveInt, ...] = ()
    """Numbers of visual words; each gives a set of features."""

    @property
    def size(self) -> str:
        """The number of classes."""
        return f"{self.n_classes} classes"

    @property
    def file(self) -> str:
        """The name of the file of images."""
        return f"{self.name}-images.h5"

    @property
    def source(self) -> str:
        """The command that fetches the images."""
        return f"data fetch {self.name}"

    def derived(self) -> "Iterable[Dataset]":
        """Return the VLAD features of these images."""
        for n_words in self.vlad_words:
            yield VladSet(
                name=f"{self.name}-vlad{DESCRIPTOR * n_words}",
                title=f"VLAD of {self.name}",
                rows=self.rows,
                licence=self.licence,
                images=self,
                n_words=n_words,
            )

    def build(self, build: Build) -> None:
        """Fetch the images and write them to one file."""
        from cbe_bench.data.images.readers import store_images

        images, source = get_images(self, build.given, build.say)
        store_images(build.out, images, kind="real", title=self.title, source=source, licence=self.licence)
        count = f"{len(images.labels):,} images with the content of the original {self.title}"
        build.say(f"wrote {build.out}: {count}")


class VladSet(Dataset):
    """VLAD features of a known image set."""

    images: ImageSet
    n_words: PositiveInt

    @property
    def size(self) -> str:
        """The dimensions of a row."""
        return f"d = {DESCRIPTOR * self.n_words:,}"

    def build(self, build: Build) -> None:
        """Fetch the images where they are not here, and compute their features."""
        from cbe_bench.data.images.readers import StoredImages

        stored = build.folder / self.images.file
        if not stored.is_file() or build.given is not None:
            self.images.build(replace(build, out=stored))
        build_vlad(StoredImages(stored), self.n_words, build)


def build_vlad(images: Any, n_words: int, build: Build) -> None:
    """Compute the VLAD features of images and write them to a file."""
    from cbe_bench.data.images.build import make_vlad

    empty = make_vlad(images, build.out, n_words, rows=build.rows, seed=build.seed, tick=build.tick)
    if empty:
        build.say(f"{empty:,} images have no gradients: their rows are zero, and data check names them")


_TYPES: dict[str, type[Dataset]] = {"images": ImageSet, "synthetic": SyntheticSet}
_FOLDER = Path(__file__).with_name("datasets")


def load_dataset(path: Path) -> Dataset:
    """Return the data set that a YAML file describes; its name is that of the file."""
    fields = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(fields, dict) or "type" not in fields:
        raise InputError(f"{path}: a data set needs the key type; allowed: {', '.join(_TYPES)}, module:Class")
    kind = fields.pop("type")
    if kind not in _TYPES and ":" not in str(kind):
        raise InputError(f"{path}: type: found {kind!r}; {did_you_mean(str(kind), _TYPES)}, module:Class")
    try:
        found: Dataset = (_TYPES.get(kind) or resolve_name(kind))(**{"name": path.stem, **fields})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return found


def _load(added: Any) -> list[Dataset]:
    """Return the data sets that an entry point names."""
    if isinstance(added, Dataset):
        return [added]
    paths = sorted(Path(added).glob("*.yaml")) if Path(added).is_dir() else [Path(added)]
    return list(map(load_dataset, paths))


@cache
def datasets() -> dict[str, Dataset]:
    """Return every data set that is known, by name: images first, then what is made from them, then synthetic ones."""
    sources = [_FOLDER, *load_plugins("cbe_bench.datasets").values()]
    found = [dataset for source in sources for dataset in _load(source)]
    found += [dataset for parent in found for dataset in parent.derived()]
    return {
        dataset.name: dataset for dataset in sorted(found, key=lambda known: (known.kind, known.source, known.name))
    }


def find_dataset(name: str) -> Dataset:
    """Return the data set of a name, or raise InputError with the nearest."""
    known = datasets()
    if name not in known:
        raise InputError(f"unknown data set {name!r}; {did_you_mean(name, known)}")
    return known[name]


def image_sets() -> dict[str, ImageSet]:
    """Return the image sets by name."""
    return {name: known for name, known in datasets().items() if isinstance(known, ImageSet)}


def vlad_sets() -> dict[str, VladSet]:
    """Return the VLAD features of image sets by name."""
    return {name: known for name, known in datasets().items() if isinstance(known, VladSet)}


def hint(file: Path) -> str:
    """Return how a file that is not there can be built, if it is that of a known data set."""
    commands = {known.file: known.source for known in datasets().values() if known.kind == "real"}
    return f"; to make it: cbe-bench {commands[file.name]}" if file.name in commands else ""
