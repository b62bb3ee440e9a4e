"""Image sets that are fetched, and the VLAD features made from them."""

from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any

from pydantic import PositiveInt

from cbe_bench.core.resources import available_cores
from cbe_bench.data.dataset import Build, Dataset, Extent, dense_extent
from cbe_bench.data.images.dense_sift import DESCRIPTOR, count_descriptors
from cbe_bench.data.images.parsers import LabelledImages, cifar10_batch_md5
from cbe_bench.data.images.readers import SIDE, StoredImages, store_images
from cbe_bench.data.sources.archives import Members
from cbe_bench.data.sources.fetched import RawSet

DENSE_SIDE = 128
"""Pixels along each side of images that are described densely: 2,195 descriptors instead of 371."""


_RATED_WORDS = 200
"""Visual words that the rates below are for, with images of `SIDE` pixels."""
_IMAGE_S = 0.002
"""Seconds of a core for the features of an image, reading and writing included; roughly."""
_SIFT_PART = 0.4
"""The part of it that its descriptors take, see results/reference/speed/vlad.csv; the rest grows with the words."""
_WORDS_S = 15.0
"""Seconds of a core to learn the words; the time grows with descriptors and words, and descriptors with words."""


class ImageSet(RawSet):
    """Labelled images that are fetched, and the VLAD features made from them."""

    content = "images or labels"
    unit = "images"

    batch_md5: tuple[str, ...] = ()
    """MD5 sums of the files the set was published in, where they can be written again from its images."""
    vlad_words: tuple[PositiveInt, ...] = ()
    """Numbers of visual words; each gives a set of features."""
    dense_vlad_words: tuple[PositiveInt, ...] = ()
    """The same for features of images enlarged to `DENSE_SIDE`, which have several times as many descriptors."""

    def parse(self, members: Members) -> LabelledImages:
        """Return the images that members of an archive hold."""
        found: LabelledImages = resolve_name(self.reader)(members, self.class_names)
        return found

    def is_original(self, found: LabelledImages) -> bool:
        """Return whether images and labels are those of the original set."""
        return super().is_original(found) and (not self.batch_md5 or cifar10_batch_md5(found) == list(self.batch_md5))

    def derived(self) -> "Iterable[Dataset]":
        """Return the VLAD features of these images."""
        for n_words in self.vlad_words:
            yield self._features(n_words, SIDE, "")
        for n_words in self.dense_vlad_words:
            yield self._features(n_words, DENSE_SIDE, "-dense")

    def _features(self, n_words: int, side: int, suffix: str) -> "VladSet":
        return VladSet(
            name=f"{self.name}-vlad{DESCRIPTOR * n_words}{suffix}",
            title=f"VLAD of {self.name}, {side} x {side}",
            family=self.family if side == SIDE else f"denser {self.family}",
            rows=self.rows,
            licence=self.licence,
            images=self,
            n_words=n_words,
            side=side,
        )

    def build(self, build: Build) -> None:
        """Fetch the images and write them to one file."""
        images, source = self.fetch(build.given, build.say)
        store_images(build.out, images, **self.provenance(source))
        count = f"{len(images.labels):,} images with the content of the original {self.title}"
        build.say(f"wrote {build.out}: {count}")


class VladSet(Dataset):
    """VLAD features of a known image set."""

    images: ImageSet
    n_words: PositiveInt
    side: PositiveInt = SIDE
    """Pixels that images are enlarged to, along each side, before they are described."""

    @property
    def n_classes(self) -> int:
        """How many classes the images have."""
        return self.images.n_classes

    @property
    def size(self) -> str:
        """The dimensions of a row."""
        return f"d = {DESCRIPTOR * self.n_words:,}"

    def extent(self, rows: int | None) -> Extent:
        """Return how large its file will be."""
        return vlad_extent(rows or self.rows, self.n_words, self.side)

    def build(self, build: Build) -> None:
        """Fetch the images where they are not here, and compute their features."""
        build_vlad(StoredImages(self.images.stored(build), self.side), self.n_words, build)


def vlad_extent(n_images: int, n_words: int, side: int = SIDE) -> Extent:
    """Return how large a file of VLAD features will be, and how long it will take: learning the words, then the images.

    Parameters
    ----------
    n_images, n_words : int
        Images that are described, and visual words.
    side : int
        Pixels along each side of an image.
    """
    descriptors, words = count_descriptors(side) / count_descriptors(SIDE), n_words / _RATED_WORDS
    image = _IMAGE_S * descriptors * (_SIFT_PART + (1 - _SIFT_PART) * words)
    seconds = (_WORDS_S * words**2 + image * n_images) / available_cores()
    return dense_extent(n_images, DESCRIPTOR * n_words, seconds)


def build_vlad(images: Any, n_words: int, build: Build) -> None:
    """Compute the VLAD features of images and write them to a file.

    Parameters
    ----------
    images : ImageReader
        The labelled images.
    n_words : int
        The number of visual words.
    build : Build
        The output file, the number of rows, the seed and where to report.
    """
    from cbe_bench.data.images.build import make_vlad

    empty = make_vlad(images, build.out, n_words, rows=build.rows, seed=build.seed, progress=build.progress)
    if empty:
        build.say(f"{empty:,} images have no gradients: their rows are zero, and data check names them")
