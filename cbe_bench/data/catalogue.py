"""The data sets the suite knows by name: image sets, features made from them, synthetic stand-ins."""

from dataclasses import dataclass
from pathlib import Path

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.data.images.dense_sift import DESCRIPTOR
from cbe_bench.data.images.sources import IMAGE_SETS, ImageSet
from cbe_bench.data.synthetic import SyntheticFeatures

_WORDS = (200, 400)


@dataclass(frozen=True)
class Entry:
    """A data set by name, and the file it lies in, in a folder of data sets."""

    name: str
    title: str
    kind: str
    rows: int
    size: str
    licence: str
    file: str
    get: str
    """The command that brings it here."""


@dataclass(frozen=True)
class VladSet:
    """Features of a known image set."""

    images: ImageSet
    n_words: int


@dataclass(frozen=True)
class StandIn:
    """A synthetic set with the shape of one that is not public."""

    name: str
    rows: int
    dim: int

    def features(self, rows: int | None = None, seed: int = 0) -> SyntheticFeatures:
        """Return the features, of any number of rows."""
        return SyntheticFeatures(self.name, rows or self.rows, self.dim, seed)


VLAD_SETS = {
    f"{images.name}-vlad{DESCRIPTOR * n_words}": VladSet(images, n_words)
    for images in IMAGE_SETS.values()
    for n_words in _WORDS
}
STAND_INS = {
    known.name: known
    for known in (
        StandIn("flickr25600", 100_500, 25_600),
        StandIn("imagenet25600", 100_500, 25_600),
        StandIn("imagenet51200", 100_500, 51_200),
        StandIn("flickr2048", 100_500, 2_048),
    )
}


def images_file(name: str) -> str:
    """Return what the file of an image set is called."""
    return f"{name}-images.h5"


def entries() -> list[Entry]:
    """List every data set that is known by name."""
    found = []
    for images in IMAGE_SETS.values():
        size = f"{images.n_classes} classes"
        get = f"data fetch {images.name}"
        file = images_file(images.name)
        found.append(Entry(images.name, images.title, "real", images.count, size, images.licence, file, get))
    for name, made in VLAD_SETS.items():
        title, size = f"VLAD of {made.images.name}", f"d = {DESCRIPTOR * made.n_words:,}"
        licence, get = made.images.licence, f"data make {name}"
        found.append(Entry(name, title, "real", made.images.count, size, licence, f"{name}.h5", get))
    for name, stand_in in STAND_INS.items():
        title, size = f"stands in for the paper's {name}", f"d = {stand_in.dim:,}"
        found.append(Entry(name, title, "synthetic", stand_in.rows, size, "-", f"{name}.h5", "made as it is read"))
    return found


def find_entry(name: str) -> Entry:
    """Return the data set of a name, or tell the nearest."""
    known = {entry.name: entry for entry in entries()}
    if name not in known:
        raise InputError(f"unknown data set {name!r}; {did_you_mean(name, known)}")
    return known[name]


def hint(file: Path) -> str:
    """Say how a file that is not there can be had, if it is one the suite knows how to make."""
    made = {entry.file: entry.get for entry in entries() if entry.kind == "real"}
    return f"; to make it: cbe-bench {made[file.name]}" if file.name in made else ""
