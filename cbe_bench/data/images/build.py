"""Files of VLAD features, made from images in parts, on all cores; a making that is interrupted goes on later.

The features lie in one piece at a known place of the HDF5 file, which is laid out completely, visual words included,
before the first row is computed. Rows are then written straight to their place, and a note beside the unfinished
file says how many are. Neither a kill nor a power cut can damage more than rows that will be written anew.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cbe_bench
from cbe_bench.core.cache import read_checked, write_checked
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Progress
from cbe_bench.data.dataset import choose_rows
from cbe_bench.data.features import Matrix
from cbe_bench.data.formats.hdf5_access import create_file, fixed_strings
from cbe_bench.data.images.dense_sift import DESCRIPTOR, dense_sift
from cbe_bench.data.images.readers import ImageReader
from cbe_bench.data.images.vlad import learn_words, vlad
from cbe_bench.kernels.parallel import for_slices, slices

_VERSION = 2
"""Part of the recipe: to be raised by any change that changes the numbers."""
_IMAGES_AT_ONCE = 16
_PART_BYTES = 1 << 28
"""Bytes of features between two notes of how far the making is."""
_DESCRIPTORS_A_WORD = 500
_IMAGES_FOR_WORDS = 4_000


def make_vlad(
    images: ImageReader, path: Path, n_words: int, *, rows: int | None = None, seed: int = 0, progress: Progress
) -> int:
    """Write the VLAD features of images to `path`; return how many images show nothing and have only zeros.

    `rows` takes that many images, drawn by the seed; by default all.
    """
    chosen = choose_rows(len(images.labels), rows, seed)
    recipe = _recipe(images, n_words, chosen, seed)
    part = _Part(path, recipe)
    if part.rows_done is None:
        words = _words(images, chosen, n_words, seed)
        part.lay_out(words, images.labels[chosen], {**images.provenance, "classes": list(images.classes)})
    done, empty = part.rows_done or 0, part.empty_rows
    for some in slices(len(chosen), max(_IMAGES_AT_ONCE, _PART_BYTES // (4 * DESCRIPTOR * n_words))):
        if some.start < done:
            continue
        empty += _fill(part, images, chosen[some], some.start)
        part.note(some.stop, empty)
        progress(some.stop / len(chosen))
    part.finish()
    return empty


def _recipe(images: ImageReader, n_words: int, chosen: NDArray[np.int64], seed: int) -> dict[str, Any]:
    """Return all that decides the content of the file; with the hash of the words, its identity."""
    return {
        "version": _VERSION,
        "side": images.side,
        "words": n_words,
        "seed": seed,
        "rows": len(chosen),
        "n_features": DESCRIPTOR * n_words,
        "labels": hashlib.sha256(images.labels[chosen].tobytes()).hexdigest(),
        "images": images.provenance.get("images_sha256", images.provenance.get("source")),
    }


def _words(images: ImageReader, chosen: NDArray[np.int64], n_words: int, seed: int) -> Matrix:
    """Learn the visual words from descriptors of images drawn by the seed."""
    rng = np.random.default_rng([seed, n_words])
    count = min(_IMAGES_FOR_WORDS, len(chosen))
    drawn = np.sort(rng.choice(chosen, count, replace=False))
    each = -(-_DESCRIPTORS_A_WORD * n_words // count)
    found: list[Matrix] = []
    for part in slices(count, 256):
        for descriptors in dense_sift(images.read(drawn[part])):
            shown = descriptors[descriptors.any(axis=1)]
            found.append(shown[rng.permutation(len(shown))[:each]])
    descriptors = np.concatenate(found)
    if len(descriptors) < n_words:
        raise InputError(f"{len(descriptors):,} descriptors in {count:,} images; {n_words} words need more")
    return learn_words(descriptors, n_words, seed)


def _fill(part: "_Part", images: ImageReader, rows: NDArray[np.int64], first: int) -> int:
    """Compute and write some rows; return how many have only zeros."""
    empty: list[int] = []

    def describe(some: slice) -> None:
        features = vlad(dense_sift(images.read(rows[some])), part.words)
        empty.append(int((~features.any(axis=1)).sum()))
        part.write(features, first + some.start)

    for_slices(describe, len(rows), _IMAGES_AT_ONCE, blas=True)
    return sum(empty)


def forget_note(path: Path) -> None:
    """Remove the note beside a complete file: whoever gave the file its name was killed before removing it."""
    _note_of(path).unlink(missing_ok=True)


def _note_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.part.json")


class _Part:
    """A file of features that is not complete yet, and the note that says how far it is."""

    def __init__(self, path: Path, recipe: dict[str, Any]) -> None:
        self._target, self._recipe = path, recipe
        self._path = path.with_name(f".{path.name}.part")
        self._note = _note_of(path)
        self.rows_done: int | None = None
        self.empty_rows = 0
        noted = json.loads(read_checked(self._note) or b"{}")
        if noted.get("recipe") == recipe:
            with suppress(OSError, KeyError):  # the file is gone or damaged
                self._open()
                self.rows_done, self.empty_rows = noted["rows"], noted["empty"]

    def lay_out(self, words: Matrix, labels: NDArray[np.int16], attributes: dict[str, Any]) -> None:
        """Create the file with everything but the features, for which room is reserved."""
        import h5py

        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._note.unlink(missing_ok=True)
        with create_file(self._path, 4 * len(labels) * words.size + words.nbytes + labels.nbytes) as file:
            layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            layout.set_obj_track_times(False)  # equal content, equal bytes
            space = h5py.h5s.create_simple((len(labels), words.size))
            h5py.h5d.create(file.id, b"features", h5py.h5t.IEEE_F32LE, space, layout)
            file["words"], file["labels"] = words, labels
            made = {
                "recipe": json.dumps(self._recipe),
                "words_sha256": hashlib.sha256(words.tobytes()).hexdigest(),
                "made_by": f"cbe-bench {cbe_bench.__version__}",
            }
            file.attrs.update(fixed_strings({**attributes, **made}))
        self._open()
        self.note(0, 0)

    def _open(self) -> None:
        import h5py

        with h5py.File(self._path, "r") as file:
            self.words: Matrix = file["words"][:]
            self._offset = file["features"].id.get_offset()
        self._handle = os.open(self._path, os.O_WRONLY)

    def write(self, features: Matrix, first: int) -> None:
        """Write rows to their place; may be called from many threads."""
        content = np.ascontiguousarray(features, dtype="<f4").data.cast("B")
        place = self._offset + first * features.shape[1] * 4
        while content:
            written = os.pwrite(self._handle, content, place)
            content, place = content[written:], place + written

    def note(self, rows: int, empty: int) -> None:
        """Note that all rows before `rows` are written."""
        os.fsync(self._handle)
        write_checked(self._note, json.dumps({"recipe": self._recipe, "rows": rows, "empty": empty}).encode())

    def finish(self) -> None:
        """Give the complete file its name."""
        os.close(self._handle)
        self._path.replace(self._target)
        self._note.unlink()
