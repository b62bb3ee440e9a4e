"""Files of binary codes, ``codes.cbe.h5``: version 1 of the format.

An HDF5 file that h5py can read without this package; nothing in it is compressed and nothing in it is code.

Attributes of the file
    format       "cbe-bench codes"
    version      1
    n_bits       length k of a code
    n_features   dimensions d of the vectors
    metric       "cosine", "l2" or "ip": with "cosine", vectors were scaled to unit length before they were encoded
    block_rows   codes of a block

Datasets
    codes        uint8 (n, ceil(k / 8)), contiguous: bit i of a code is bit i % 8 of byte i // 8, lowest first, 1 for
                 values >= 0; unused bits are 0. The layout of faiss ``IndexBinary`` and of
                 ``np.packbits(..., bitorder="little")``.
    ids          int64 (n,), or strings of fixed length in UTF-8, contiguous: the row of the source file that each code
                 belongs to, or the identifier given for it. Rows of zeros have no code.
    rows         int64 (n,), contiguous, only where identifiers were given: the row of the source file
    checksums    uint8 (ceil(n / block_rows), 32): SHA-256 of the codes of each block followed by its ids, then its rows
                 where they are stored, as they are in the file
    encoder/...  the fitted encoder as arrays of numbers, in the schema of `Encoder.save`: ``__head__`` is JSON (method,
                 parameters), ``__sha256__`` the checksum of the others
    provenance   uint8: JSON; file name, shape, hash of the rows sampled for training, parameters, version of cbe-bench

A file appears whole or not at all. The same rows, parameters and version give the same bytes.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import local_path
from cbe_bench.data.formats.checks import check_regular_file, readable
from cbe_bench.data.formats.hdf5_access import (
    CheckedDataset,
    attributes,
    check_storage,
    create_file,
    find,
    fixed_strings,
    names,
    open_file,
    read_whole,
)
from cbe_bench.data.view import METRICS
from cbe_bench.encoders import Encoder
from cbe_bench.encoders.saving import encoder_arrays, restored_encoder
from cbe_bench.kernels.bits import Codes, code_bytes

FORMAT, VERSION = "cbe-bench codes", 1
_BLOCK_BYTES = 1 << 23
"""Bytes of codes that are read, and checked, at once."""
_DIGEST_BYTES = 32
_NO_CODES = "not a file of codes; `cbe-bench encode` writes them"


def write_code_file(
    path: Path,
    blocks: Iterable[tuple[Codes, NDArray[np.int64]]],
    n_codes: int,
    encoder: Encoder,
    metric: str,
    given_ids: NDArray | None,
    provenance: dict[str, Any],
) -> None:
    """Write codes, their ids and their encoder to a file, whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    blocks : iterable of (uint8 array of shape (m, bytes), int64 array of shape (m,))
        Codes and the rows they belong to, in order, in pieces of any size.
    n_codes : int
        Codes in all.
    encoder : Encoder
        The fitted encoder.
    metric : {"cosine", "l2", "ip"}
        What the vectors are compared by.
    given_ids : array or None
        Identifiers of all rows of the source file, int64 or strings of fixed length; None: ids are the rows.
    provenance : dict
        Where the codes come from; plain values.
    """
    width = code_bytes(encoder.n_bits_)
    block_rows = max(1, _BLOCK_BYTES // width)
    arrays = encoder_arrays(encoder)
    n_bytes = n_codes * (width + 16 + (0 if given_ids is None else given_ids.dtype.itemsize))
    n_bytes += sum(array.nbytes for array in arrays.values())
    with whole_file(path) as temporary, create_file(temporary, n_bytes) as file:
        about = {
            "format": FORMAT,
            "version": VERSION,
            "n_bits": encoder.n_bits_,
            "n_features": encoder.n_features_in_,
            "metric": metric,
            "block_rows": block_rows,
        }
        file.attrs.update(fixed_strings(about))
        for name, array in arrays.items():
            file.create_dataset(f"encoder/{name}", data=array)
        file["provenance"] = np.frombuffer(json.dumps(provenance, sort_keys=True).encode(), np.uint8)
        codes = file.create_dataset("codes", (n_codes, width), np.uint8)
        stored = [codes, file.create_dataset("ids", (n_codes,), np.int64 if given_ids is None else given_ids.dtype)]
        if given_ids is not None:
            stored.append(file.create_dataset("rows", (n_codes,), np.int64))
        first = 0
        for some, rows in blocks:
            values = (some, rows) if given_ids is None else (some, given_ids[rows], rows)
            for data, own in zip(stored, values, strict=True):
                data[first : first + len(some)] = own
            first += len(some)
        parts = _blocks(n_codes, block_rows)
        digests = [_digest([data[part] for data in stored]) for part in parts]
        file["checksums"] = np.frombuffer(b"".join(digests), np.uint8).reshape(len(parts), _DIGEST_BYTES)


def _blocks(n_codes: int, block_rows: int) -> list[slice]:
    return [slice(first, min(first + block_rows, n_codes)) for first in range(0, n_codes, block_rows)]


def _digest(arrays: Iterable[NDArray]) -> bytes:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.digest()


class CodeFile:
    """An open file of codes, read in blocks; whatever is wrong with it is reported in one line.

    Parameters
    ----------
    path : str or Path
        The file.

    Attributes
    ----------
    n_codes, n_bits, n_features, block_rows : int
        Sizes.
    metric : str
        What the vectors are compared by.

    Raises
    ------
    InputError
        If it is not a file of codes, or a damaged one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = local_path(path, "codes")
        check_regular_file(self.path)
        if not h5py.is_hdf5(self.path):
            raise InputError(f"{self.path}: {_NO_CODES}")
        self._file: Any = open_file(self.path)
        try:
            with readable(self.path, "not a file of codes"):
                self._open()
        except BaseException:
            self.close()
            raise
        self._checked: set[int] = set()

    def _open(self) -> None:
        about = attributes(self._file)
        if about.get("format") != FORMAT:
            raise InputError(f"{self.path}: {_NO_CODES}")
        if about.get("version") != VERSION:
            raise InputError(
                f"{self.path}: version {about.get('version')!r:.20} of the format; this one reads {VERSION}"
            )
        for name in ("n_bits", "n_features", "block_rows"):
            if not isinstance(about.get(name), int) or not 0 < about[name] < 1 << 40:
                raise InputError(
                    f"{self.path}: attribute {name} is {about.get(name)!r:.40}; it must be a positive integer"
                )
        self.n_bits, self.n_features, self.block_rows = about["n_bits"], about["n_features"], about["block_rows"]
        self.metric: str = about.get("metric", "")
        if self.metric not in METRICS:
            raise InputError(f"{self.path}: metric {self.metric!r:.20}; allowed: {', '.join(METRICS)}")
        self._codes = self._contiguous("codes", (None, code_bytes(self.n_bits)), "u")
        self.n_codes = int(self._codes.shape[0])
        self._ids = self._contiguous("ids", (self.n_codes,), "iS")
        self._rows = self._contiguous("rows", (self.n_codes,), "i") if find(self._file, "rows") is not None else None
        self._digests = read_whole(self._dataset("checksums"), "u")
        shape = (len(_blocks(self.n_codes, self.block_rows)), _DIGEST_BYTES)
        if self.n_codes < 1 or self._digests.shape != shape or self._digests.dtype != np.uint8:
            raise InputError(f"{self.path}: its checksums are not those of {self.n_codes:,} codes")

    def _dataset(self, name: str) -> Any:
        found = find(self._file, name)
        if not isinstance(found, h5py.Dataset):
            raise InputError(f"{self.path}: no dataset /{name}")
        return found

    def _contiguous(self, name: str, shape: tuple[int | None, ...], kinds: str) -> Any:
        data = check_storage(self._dataset(name), whole=False)
        fits = len(shape) == data.ndim and all(n is None or n == m for n, m in zip(shape, data.shape, strict=True))
        allowed = data.dtype.kind in kinds and (
            data.dtype.kind == "S" or data.dtype.itemsize == (1 if "u" in kinds else 8)
        )
        if not fits or not allowed or data.chunks is not None:
            raise InputError(f"{self.path}: /{name} is {data.dtype}{list(data.shape)}, not what a file of codes holds")
        return data

    @cached_property
    def encoder(self) -> Encoder:
        """The fitted encoder, checked against the codes."""

        def arrays() -> dict[str, NDArray]:
            group = find(self._file, "encoder")
            return {name: self._array(find(group, name)) for name in names(group)}

        encoder = restored_encoder(arrays, f"{self.path}: /encoder")
        if (encoder.n_bits_, encoder.n_features_in_) != (self.n_bits, self.n_features):
            raise InputError(f"{self.path}: /encoder is not the encoder of these codes: it has {encoder.n_bits_} bits")
        return encoder

    def _array(self, data: Any) -> NDArray:
        if not isinstance(data, h5py.Dataset) or not data.ndim or not data.size:
            raise InputError("its members are not those of a saved encoder")
        check_storage(data, whole=True)
        if data.dtype.kind not in "biuf":
            raise InputError(f"{data.name} is not an array of plain numbers")
        return np.ascontiguousarray(CheckedDataset(data)[0 : data.shape[0]])

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Where the codes come from."""
        with readable(self.path, "/provenance cannot be read"):
            found = json.loads(read_whole(self._dataset("provenance"), "u").tobytes())
        if not isinstance(found, dict):
            raise InputError(f"{self.path}: /provenance is not a JSON object")
        return found

    def parts(self) -> list[slice]:
        """Return the blocks of the file."""
        return _blocks(self.n_codes, self.block_rows)

    def part(self, number: int) -> slice:
        """Return the rows of a block."""
        return slice(number * self.block_rows, min((number + 1) * self.block_rows, self.n_codes))

    def read(self, number: int) -> Codes:
        """Return the codes of a block, mapped from the file; they are checked when they are first read."""
        part = self.part(number)
        codes = self._map(self._codes, part)
        if number not in self._checked:
            others = [self._ids] if self._rows is None else [self._ids, self._rows]
            if _digest([codes, *(self._map(data, part) for data in others)]) != self._digests[number].tobytes():
                raise InputError(f"{self.path}: codes {part.start}..{part.stop - 1} do not fit their checksum")
            self._checked.add(number)
        return codes

    def blocks(self) -> Iterator[tuple[slice, Codes]]:
        """Yield the codes block by block, as (rows, codes)."""
        for number, part in enumerate(self.parts()):
            yield part, self.read(number)

    def codes(self) -> Codes:
        """Return all codes, mapped from the file: nothing is read, or checked, before it is used."""
        return self._map(self._codes, slice(0, self.n_codes))

    def ids(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray:
        """Return the ids of some codes, as integers or strings, in the shape of `rows`."""
        found = self._map(self._ids, slice(0, self.n_codes))[rows]
        return np.char.decode(found, "utf-8", "replace") if found.dtype.kind == "S" else np.array(found)

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the source file that some codes belong to."""
        found = self._map(self._ids if self._rows is None else self._rows, slice(0, self.n_codes))[positions]
        return np.array(found, np.int64)

    def _map(self, data: Any, part: slice) -> NDArray:
        row = data.dtype.itemsize * int(np.prod(data.shape[1:]))
        shape = (part.stop - part.start, *data.shape[1:])
        offset = data.id.get_offset()
        if offset is None or offset + row * data.shape[0] > self.path.stat().st_size:
            raise InputError(f"{self.path}: {data.name} is not all in the file")
        return np.memmap(self.path, data.dtype, "r", offset=offset + part.start * row, shape=shape)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
