"""Embeddings: vectors of a model that others ran, read from an archive as they are.

Values are stored in single precision, the precision every reader gives; a hash over them says that they are those of
the original.
"""

import hashlib
import io
from dataclasses import dataclass

import numpy as np
from pydantic import PositiveInt

from cbe_bench.core.errors import InputError
from cbe_bench.data.dataset import Build, Extent, choose_rows, dense_extent
from cbe_bench.data.features import Matrix
from cbe_bench.data.formats.npy import read_header
from cbe_bench.data.sources.archives import Members
from cbe_bench.data.sources.built import write_dense
from cbe_bench.data.sources.fetched import FetchedSet

_VERSION = 1
"""Part of the recipe: to be raised by any change that changes the numbers."""


@dataclass(frozen=True)
class Vectors:
    """Vectors as float32 rows (n, dimensions)."""

    values: Matrix

    def content_hash(self) -> str:
        """Return the SHA-256 of shape and values."""
        digest = hashlib.sha256(repr(self.values.shape).encode())
        digest.update(np.ascontiguousarray(self.values, dtype="<f4").data)
        return digest.hexdigest()


def npy(members: Members) -> Vectors:
    """Read the vectors of the one ``.npy`` member of an archive; nothing is unpickled."""
    if len(members) != 1:
        raise InputError(f"{len(members)} arrays; expected one")
    [(name, content)] = members.items()
    header = read_header(io.BytesIO(content), name)
    if len(header.shape) != 2 or header.dtype.kind != "f" or header.n_bytes + header.data_bytes != len(content):
        raise InputError(f"{name}: {header.dtype} of shape {header.shape} in {len(content):,} bytes; not whole vectors")
    values = np.ndarray(header.shape, header.dtype, content, header.n_bytes, order=header.order)
    with np.errstate(over="ignore"):
        return Vectors(np.ascontiguousarray(values, dtype=np.float32))


class EmbeddingSet(FetchedSet):
    """Embeddings that are fetched."""

    content = "vectors"

    family: str = "embeddings"
    reader: str = "cbe_bench.data.embeddings.datasets:npy"
    dims: PositiveInt

    @property
    def size(self) -> str:
        """The dimensions of a row."""
        return f"d = {self.dims:,}"

    def extent(self, rows: int | None) -> Extent:
        """Return how large its file will be."""
        return dense_extent(rows or self.rows, self.dims)

    def build(self, build: Build) -> None:
        """Fetch the vectors and write them to one file."""
        vectors, source = self.fetch(build.given, build.say)
        chosen = choose_rows(len(vectors.values), build.rows, build.seed)
        recipe = {
            "version": _VERSION,
            "vectors": vectors.content_hash(),
            "rows": len(chosen),
            "n_features": vectors.values.shape[1],
            "seed": build.seed,
        }
        write_dense(build.out, vectors.values[chosen], recipe, self.provenance(source))
        build.progress(1.0)
