"""Texts that are fetched, and the TF-IDF features made from them."""

from collections.abc import Iterable
from dataclasses import replace
from pkgutil import resolve_name

from pydantic import PositiveInt

from cbe_bench.data.dataset import Build, Dataset
from cbe_bench.data.sources.archives import Members
from cbe_bench.data.sources.fetched import FetchedSet
from cbe_bench.data.text.corpora import LabelledTexts, StoredTexts, store_texts


class TextSet(FetchedSet):
    """Labelled texts that are fetched, and the TF-IDF features made from them."""

    content = "texts or labels"

    family: str = "text (TF-IDF)"
    classes: tuple[str, ...]
    reader: str = "cbe_bench.data.text.corpora:csv_table"
    columns: tuple[str, str]
    """The names of the column of texts and of that of labels."""
    tfidf_dims: tuple[PositiveInt, ...] = ()
    """Numbers of dimensions; each gives a set of features."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def size(self) -> str:
        """The number of classes."""
        return f"{self.n_classes} classes"

    @property
    def file(self) -> str:
        """The name of the file of texts."""
        return f"{self.name}-texts.h5"

    @property
    def source(self) -> str:
        """The command that fetches the texts."""
        return f"data fetch {self.name}"

    def parse(self, members: Members) -> LabelledTexts:
        """Return the texts that members of an archive hold."""
        found: LabelledTexts = resolve_name(self.reader)(members, *self.columns, self.classes)
        return found

    def derived(self) -> "Iterable[Dataset]":
        """Return the TF-IDF features of these texts."""
        for dims in self.tfidf_dims:
            yield TfidfSet(
                name=f"{self.name}-tfidf{dims}",
                title=f"hashed TF-IDF of {self.name}",
                family=self.family,
                rows=self.rows,
                licence=self.licence,
                texts=self,
                dims=dims,
            )

    def build(self, build: Build) -> None:
        """Fetch the texts and write them to one file."""
        texts, source = self.fetch(build.given, build.say)
        store_texts(build.out, texts, **self.provenance(source))
        build.say(f"wrote {build.out}: {len(texts.texts):,} texts with the content of the original {self.title}")


class TfidfSet(Dataset):
    """Hashed TF-IDF features of a known set of texts."""

    texts: TextSet
    dims: PositiveInt

    @property
    def n_classes(self) -> int:
        """How many classes the texts have."""
        return self.texts.n_classes

    @property
    def size(self) -> str:
        """The dimensions of a row."""
        return f"d = {self.dims:,}"

    def build(self, build: Build) -> None:
        """Fetch the texts where they are not here, and compute their features."""
        from cbe_bench.data.text.build import make_tfidf

        stored = build.folder / self.texts.file
        if not stored.is_file() or build.given is not None:
            self.texts.build(replace(build, out=stored))
        make_tfidf(StoredTexts(stored), build.out, self.dims, rows=build.rows, seed=build.seed, tick=build.tick)
