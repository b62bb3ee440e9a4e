"""``.npz``: named NumPy arrays in a zip archive, one of them dense features, or sparse ones as scipy saves them.

Members are parsed here rather than by `numpy.load`: sizes are checked before anything is allocated, pickles are never
loaded, and the index arrays of a sparse matrix are checked before compiled code follows them.
"""

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats.base import LABEL_NAMES, ArrayFeatures, StoredFeatures, check_real, choose_part
from cbe_bench.data.formats.checks import check_expansion, check_regular_file, check_shape, readable
from cbe_bench.data.formats.npy import Header, map_array, read_header, write_header, write_values
from cbe_bench.data.formats.registry import Append, reader, writer
from cbe_bench.data.formats.sparse import check_coordinates, check_row_pointers

_USUAL_NAMES = ("features", "embeddings", "vectors", "X", "arr_0")
_SPARSE_FORMATS = ("csr", "csc", "coo")
_LOCAL_HEADER = struct.Struct("<26x2H")
_MAX_MEMBERS = 10_000


class Archive:
    """The arrays of a ``.npz`` file, of which only the headers have been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_regular_file(path)
        self.headers: dict[str, Header] = {}
        self._members: dict[str, zipfile.ZipInfo] = {}
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > _MAX_MEMBERS:
                raise InputError(f"{path}: {len(members):,} arrays; allowed: up to {_MAX_MEMBERS:,}")
            for member in members:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise InputError(f"{path}: {member.filename!r} is compressed in another way than NumPy does")
                if member.filename.endswith(".npy"):
                    self._add(archive, member)

    def _add(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        name = member.filename.removesuffix(".npy")
        with archive.open(member) as file:
            header = read_header(file, f"{self.path}: array {name!r}")
        if header.n_bytes + header.data_bytes != member.file_size:
            raise InputError(f"{self.path}: array {name!r} announces {header.data_bytes:,} bytes, not those it has")
        self.headers[name], self._members[name] = header, member

    def read(self, name: str) -> NDArray:
        """Return a whole array, mapped from the file where it is not compressed."""
        header, member = self.headers[name], self._members[name]
        if member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1:
            return map_array(self.path, header, self._offset(member))
        check_expansion(self.path, f"array {name!r}", header.data_bytes, self.path.stat().st_size)
        with zipfile.ZipFile(self.path) as archive, archive.open(member) as file:
            content = file.read(member.file_size)
        return np.ndarray(header.shape, header.dtype, content, header.n_bytes, order=header.order)

    def _offset(self, member: zipfile.ZipInfo) -> int:
        """Return where in the file the bytes of a member begin."""
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        start = int(member.header_offset) + _LOCAL_HEADER.size + int(name_length) + int(extra_length)
        if start + member.file_size > self.path.stat().st_size:
            raise InputError(f"{self.path}: ends before its array {member.filename!r} does")
        return start


class NpzFeatures(ArrayFeatures):
    """A two-dimensional array of a ``.npz`` file, with labels if there is an array of that name."""

    def _map(self) -> NDArray:
        self._archive = Archive(self.path)
        matrices = [name for name, header in self._archive.headers.items() if len(header.shape) == 2]
        return self._archive.read(choose_part(self.path, matrices, self.part, _USUAL_NAMES, "array"))

    def _read_labels(self) -> NDArray | list[str] | None:
        for name in LABEL_NAMES:
            header = self._archive.headers.get(name)
            if header is not None and header.shape == (self.n_rows,):
                return self._archive.read(name)
        return None


class SparseNpzFeatures(StoredFeatures):
    """Sparse rows as `scipy.sparse.save_npz` writes them."""

    def _open(self) -> None:
        archive = Archive(self.path)
        form = archive.read("format")
        kind = form.item() if form.size == 1 else None
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        if kind not in _SPARSE_FORMATS:
            raise InputError(f"{self.path}: sparse format {kind!r}; allowed: {', '.join(_SPARSE_FORMATS)}")
        shape = archive.read("shape")
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise InputError(f"{self.path}: its shape is {shape.tolist()}; it must be two whole numbers")
        self.n_rows, self.n_features = map(int, shape)
        self._matrix = self._build(archive, kind)

    def _build(self, archive: Archive, kind: str) -> Any:
        """Return the matrix by rows, all its indices checked."""
        from scipy import sparse

        needed = ("data", "row", "col") if kind == "coo" else ("data", "indices", "indptr")
        missing = [name for name in needed if name not in archive.headers]
        if missing:
            raise InputError(f"{self.path}: no array {', '.join(missing)}; a sparse {kind} matrix needs it")
        stored, *places = map(archive.read, needed)
        check_real(self.path, stored.dtype)
        if stored.ndim != 1:
            raise InputError(f"{self.path}: array 'data' has shape {stored.shape}; it must have one dimension")
        self._dtype = stored.dtype
        with np.errstate(over="ignore"):
            values = stored.astype(np.float32)
        shape = (self.n_rows, self.n_features)
        check_shape(self.path, *shape)
        check_expansion(self.path, "its shape", 8 * self.n_rows, self.path.stat().st_size)
        if kind == "coo":
            rows, columns = (
                check_coordinates(self.path, name, place, len(values), length)
                for name, place, length in zip(needed[1:], places, shape, strict=True)
            )
            return sparse.coo_matrix((values, (rows, columns)), shape).tocsr()
        n_lines, length = shape if kind == "csr" else shape[::-1]
        indptr = check_row_pointers(self.path, places[1], n_lines, len(values))
        indices = check_coordinates(self.path, "indices", places[0], len(values), length)
        build = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
        return build((values, indices, indptr), shape).tocsr()

    def _read(self, rows: NDArray[np.int64]) -> Matrix:
        dense: Matrix = self._matrix[rows].toarray()
        return dense

    def _describe(self) -> dict[str, Any]:
        return {"values": f"sparse {self._dtype}"}


@reader(".npz", has_parts=True)
def open_npz(path: Path, name: str | None, part: str | None) -> Features:
    """Open dense or sparse features."""
    with readable(path):
        is_sparse = {"format", "shape", "data"} <= Archive(path).headers.keys()
    if is_sparse and part is None:
        return SparseNpzFeatures(path, name)
    return NpzFeatures(path, name, part)


@writer(".npz", keeps_labels=True)
@contextmanager
def write_npz(path: Path, features: Features) -> Iterator[Append]:
    """Write dense float32 values, not compressed so that they can be mapped, and the labels."""
    labels = features.labels()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        if labels is not None:
            with archive.open("labels.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, labels, allow_pickle=False)
        with archive.open("features.npy", "w", force_zip64=True) as file:
            write_header(file, features)
            yield lambda rows, first: write_values(file, rows.astype("<f4", copy=False))
