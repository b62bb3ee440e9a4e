"""The data sets the suite knows by name: images and VLAD of them, texts and TF-IDF of them, embeddings, surrogates.

A data set is one YAML file in `datasets/`: its type and the fields of that type. What must be fetched names a function
that parses the files. Other packages add data sets through the entry-point group ``cbe_bench.datasets``, whose entries
name a `Dataset`, a YAML file or a folder of them; the type of a YAML file may be any subclass of `Dataset`, written as
``module:Class``.
"""

from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml
from pydantic import PositiveInt, ValidationError

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.plugins import load_plugins
from cbe_bench.data.dataset import Build, Dataset, Extent, dense_extent
from cbe_bench.data.embeddings.datasets import EmbeddingSet
from cbe_bench.data.images.datasets import ImageSet, VladSet, build_vlad
from cbe_bench.data.sources.fetched import FetchedSet
from cbe_bench.data.text.datasets import TextSet, TfidfSet

__all__ = [
    "Build",
    "Dataset",
    "EmbeddingSet",
    "FetchedSet",
    "ImageSet",
    "SyntheticSet",
    "TextSet",
    "TfidfSet",
    "VladSet",
    "build_vlad",
    "buildable_sets",
    "datasets",
    "fetched_sets",
    "find_dataset",
    "hint",
    "load_dataset",
]


class SyntheticSet(Dataset):
    """A synthetic surrogate with the shape of a set that is not public."""

    kind = "synthetic"

    family: str = "synthetic surrogates"
    dims: PositiveInt

    @property
    def size(self) -> str:
        """The dimensions of a row."""
        return f"d = {self.dims:,}"

    @property
    def source(self) -> str:
        """It needs no file."""
        return "generated as it is read"

    def extent(self, rows: int | None) -> Extent:
        """Return how large its file will be."""
        return dense_extent(rows or self.rows, self.dims)

    def build(self, build: Build) -> None:
        """Write the rows that would otherwise be generated as they are read."""
        from cbe_bench.data.formats.convert import convert
        from cbe_bench.data.synthetic import SyntheticFeatures

        if build.given is not None:
            raise InputError(f"{self.name}: a synthetic set has no source; --from is for what is fetched")
        convert(SyntheticFeatures(self.name, build.rows or self.rows, self.dims, build.seed), build.out, build.progress)


_TYPES: dict[str, type[Dataset]] = {
    "embeddings": EmbeddingSet,
    "images": ImageSet,
    "synthetic": SyntheticSet,
    "texts": TextSet,
}
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


def fetched_sets() -> dict[str, FetchedSet]:
    """Return the sets that are fetched, by name."""
    return {name: known for name, known in datasets().items() if isinstance(known, FetchedSet)}


def buildable_sets() -> dict[str, Dataset]:
    """Return the real sets by the names of their files."""
    return {known.file: known for known in datasets().values() if known.kind == "real"}


def hint(file: Path) -> str:
    """Return how a file that is not there can be built, if it is that of a known data set."""
    known = buildable_sets().get(file.name)
    return f"; to make it: cbe-bench {known.source}" if known else ""
