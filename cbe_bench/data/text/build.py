"""Files of TF-IDF features: sparse rows in HDF5, written a block of texts at a time.

Signed counts are written first; once all texts have been counted and the rarity of every dimension is known, they
are replaced by their weighted values, in place.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Progress
from cbe_bench.data.dataset import choose_rows
from cbe_bench.data.sources.built import built_file
from cbe_bench.data.text.corpora import StoredTexts
from cbe_bench.data.text.tfidf import count_ngrams, inverse_frequencies, weigh
from cbe_bench.kernels.parallel import slices

_VERSION = 1
"""Part of the recipe: to be raised by any change that changes the numbers."""
_TEXTS_AT_ONCE = 512
_CHUNK = 1 << 16
_COUNTING = 0.9
"""The fraction of the time that counting takes."""


def make_tfidf(
    texts: StoredTexts, path: Path, n_features: int, *, rows: int | None = None, seed: int = 0, progress: Progress
) -> None:
    """Write the TF-IDF features of texts to `path`; `rows` takes that many texts, drawn by the seed.

    How rare an n-gram is, is counted in all texts: a row is the same however many are taken.
    """
    chosen = choose_rows(len(texts.labels), rows, seed)
    recipe = {
        "version": _VERSION,
        "texts": texts.provenance["texts_sha256"],
        "rows": len(chosen),
        "n_features": n_features,
        "seed": seed,
        "labels": hashlib.sha256(texts.labels[chosen].tobytes()).hexdigest(),
    }
    with built_file(path, recipe, texts.provenance) as file:
        file["labels"] = texts.labels[chosen]
        group = file.create_group("features")
        group.attrs["shape"] = (len(chosen), n_features)
        for name, kind in (("data", "<f4"), ("indices", "<i4")):
            group.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(_CHUNK,))
        begin, frequencies = _write_counts(group, texts, chosen, n_features, progress)
        group["indptr"] = begin
        _weigh_in_place(group, begin, inverse_frequencies(frequencies, len(texts.labels)))
    progress(1.0)


def _write_counts(
    group: Any, texts: StoredTexts, chosen: NDArray[np.int64], n_features: int, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write the counts of some texts; return where each begins, and in how many of all each dimension occurs."""
    lengths: list[NDArray] = []
    frequencies = np.zeros(n_features, np.int64)
    for some in slices(len(texts.labels), _TEXTS_AT_ONCE):
        every = count_ngrams(texts.read(np.arange(some.start, some.stop)), n_features)
        frequencies += np.bincount(every.indices, minlength=n_features)
        here = chosen[slice(*np.searchsorted(chosen, [some.start, some.stop]))]
        counts = every[here - some.start]
        lengths.append(np.diff(counts.indptr))
        if not lengths[-1].all():
            raise InputError(f"text {here[int(np.argmin(lengths[-1]))]} has no n-grams")
        for name, values in (("data", counts.data), ("indices", counts.indices)):
            first = group[name].shape[0]
            group[name].resize((first + len(values),))
            group[name][first:] = values
        progress(_COUNTING * some.stop / len(texts.labels))
    return np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64), frequencies


def _weigh_in_place(group: Any, begin: NDArray[np.int64], inverse: NDArray[np.int64]) -> None:
    for here, first in _parts(begin):
        counts, indices = group["data"][here], group["indices"][here]
        group["data"][here] = weigh(counts, indices, first, inverse)


def _parts(begin: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield which values some rows have, and where each of the rows begins among them."""
    for some in slices(len(begin) - 1, _TEXTS_AT_ONCE):
        first = begin[some.start : some.stop + 1]
        yield slice(int(first[0]), int(first[-1])), first - first[0]
