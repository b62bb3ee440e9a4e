"""Labelled texts in one layout, whatever format they came in, and the file they are stored in."""

import csv
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats.checks import check_regular_file, readable
from cbe_bench.data.formats.hdf5_access import attributes, find, fixed_strings, open_file, read_whole
from cbe_bench.data.formats.sparse import check_row_pointers
from cbe_bench.data.sources.archives import Members


@dataclass(frozen=True)
class LabelledTexts:
    """Texts, the class of each, and the names of the classes."""

    texts: tuple[str, ...]
    labels: NDArray[np.int16]
    classes: tuple[str, ...]

    def content_hash(self) -> str:
        """Return the SHA-256 of texts and labels."""
        digest = hashlib.sha256(f"{len(self.texts)}".encode())
        for text in self.texts:
            content = text.encode()
            digest.update(f" {len(content)} ".encode())
            digest.update(content)
        digest.update(np.ascontiguousarray(self.labels, dtype="<i2").data)
        return digest.hexdigest()


def csv_table(members: Members, text: str, label: str, classes: tuple[str, ...]) -> LabelledTexts:
    """Read the one CSV member of an archive: a column of texts and one of class numbers, both named in its first line.

    Parameters
    ----------
    members : dict of str to bytes
        The member by name.
    text, label : str
        The names of the columns.
    classes : tuple of str
        The names of the classes, by their number.
    """
    if len(members) != 1:
        raise InputError(f"{len(members)} tables; expected one")
    [(name, content)] = members.items()
    table = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)
    missing = {text, label} - set(table.fieldnames or ())
    if missing:
        raise InputError(f"{name}: no column {', '.join(sorted(missing))}")
    texts, labels = [], []
    for row in table:
        texts.append(row[text])
        labels.append(int(row[label]))
    return LabelledTexts(tuple(texts), np.array(labels, np.int16), classes)


def store_texts(path: Path, texts: LabelledTexts, **provenance: str) -> None:
    """Write texts, labels and where they come from to one HDF5 file."""
    import h5py

    encoded = [text.encode() for text in texts.texts]
    with whole_file(path) as temporary, h5py.File(temporary, "w") as file:
        file["texts"] = np.frombuffer(b"".join(encoded), np.uint8)
        file["begin"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        file["labels"] = texts.labels
        found = {"classes": texts.classes, "texts_sha256": texts.content_hash(), **provenance}
        file.attrs.update(fixed_strings(found))


class StoredTexts:
    """Texts in a file that `store_texts` wrote.

    Attributes
    ----------
    labels : int16 array
        The class of each text.
    provenance : dict
        What a file made from these texts says about them.
    """

    def __init__(self, path: Path) -> None:
        check_regular_file(path)
        with readable(path, "cannot be read as stored texts"), open_file(path) as file:
            parts = [find(file, key) for key in ("texts", "begin", "labels")]
            if any(part is None for part in parts):
                raise InputError(f"{path}: no /texts, /begin and /labels; fetch the texts again")
            self._bytes, begin, self.labels = (
                read_whole(part, kinds) for part, kinds in zip(parts, ("u", "i", "i"), strict=True)
            )
            self._begin = check_row_pointers(path, begin, len(self.labels), self._bytes.size)
            self.provenance: dict[str, Any] = attributes(file)

    def read(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the given texts."""
        return [
            self._bytes[first:last].tobytes().decode()
            for first, last in zip(self._begin[rows], self._begin[rows + 1], strict=True)
        ]
