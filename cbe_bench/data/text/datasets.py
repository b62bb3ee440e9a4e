"""Texts that are fetched, and the TF-IDF features made from them."""

from collections.abc import Iterable
from pkgutil import resolve_name

from pydantic import PositiveInt

from cbe_bench.data.dataset import Build, Dataset, Extent
from cbe_bench.data.sources.archives import Members
from cbe_bench.data.sources.fetched import RawSet
from cbe_bench.data.text.corpora import LabelledTexts, StoredTexts, store_texts


class TextSet(RawSet):
    """Labelled texts that are fetched, and the TF-IDF features made from them."""

    content = "texts or labels"
    unit = "texts"

    family: str = "text (TF-IDF)"
    reader: str = "cbe_bench.data.text.corpora:csv_table"
    columns: tuple[str, str]
    """The names of the column of texts and of that of labels."""
    tfidf_dims: tuple[PositiveInt, ...] = ()
    """Numbers of dimensions; each gives a set of features."""

    def parse(self, members: Members) -> LabelledTexts:
        """Return the texts that members of an archive hold."""
        found: LabelledTexts = resolve_name(self.reader)(members, *self.columns, self.class_names)
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

    def extent(self, rows: int | None) -> Extent:
        """Return how large its file will be."""
        return Extent(rows or self.rows, self.dims)

    def build(self, build: Build) -> None:
        """Fetch the texts where they are not here, and compute their features."""
        from cbe_bench.data.text.build import make_tfidf

        texts = StoredTexts(self.texts.stored(build))
        make_tfidf(texts, build.out, self.dims, rows=build.rows, seed=build.seed, progress=build.progress)
