"""Feature files from one form to another, a block of rows at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.view import Tick
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 26

Append = Callable[[Matrix, int], None]
"""Takes the next rows and the number of the first of them."""


def convert(features: Features, path: Path, tick: Tick | None = None) -> bool:
    """Write features to a file in the form its name says; return whether labels had to be left behind.

    Forms without room for labels lose them: all but HDF5 and Parquet.
    """
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(f"{path}: cannot be written as {suffix!r}; {did_you_mean(suffix, _WRITERS)}")
    with whole_file(path) as temporary, _WRITERS[suffix](temporary, features) as append:
        for part in slices(features.n_rows, max(1, _BLOCK_BYTES // (4 * features.n_features))):
            append(features.read(np.arange(part.start, part.stop)), part.start)
            if tick:
                tick(part.stop / features.n_rows)
    return features.labels() is not None and suffix not in _KEEP_LABELS


@contextmanager
def _hdf5_writer(path: Path, features: Features) -> Iterator[Append]:
    import h5py

    with h5py.File(path, "w") as file:
        data = file.create_dataset("features", (features.n_rows, features.n_features), np.float32)
        labels = features.labels()
        if labels is not None:
            file["labels"] = labels
        file.attrs["kind"] = features.kind
        file.attrs["source"] = features.name

        def append(rows: Matrix, first: int) -> None:
            data[first : first + len(rows)] = rows

        yield append


@contextmanager
def _npy_writer(path: Path, features: Features) -> Iterator[Append]:
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (features.n_rows, features.n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        yield lambda rows, first: _write(file, rows.astype("<f4", copy=False))


@contextmanager
def _fbin_writer(path: Path, features: Features) -> Iterator[Append]:
    with path.open("wb") as file:
        _write(file, np.array([features.n_rows, features.n_features], "<u4"))
        yield lambda rows, first: _write(file, rows.astype("<f4", copy=False))


@contextmanager
def _fvecs_writer(path: Path, features: Features) -> Iterator[Append]:
    with path.open("wb") as file:
        yield lambda rows, first: _write(file, _behind_lengths(rows, "<f4"))


@contextmanager
def _bvecs_writer(path: Path, features: Features) -> Iterator[Append]:
    def append(rows: Matrix, first: int) -> None:
        whole = (rows >= 0) & (rows <= 255) & (rows == np.rint(rows))
        if not whole.all():
            bad = first + int(np.flatnonzero(~whole.all(axis=1))[0])
            raise InputError(f"{features.source}: row {bad} holds values that are no whole numbers from 0 to 255")
        _write(file, _behind_lengths(rows, "u1"))

    with path.open("wb") as file:
        yield append


@contextmanager
def _parquet_writer(path: Path, features: Features) -> Iterator[Append]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"{path}: writing Parquet needs pyarrow: pip install 'cbe-bench[parquet]'") from None
    labels = features.labels()
    fields = [("features", pa.list_(pa.float32(), features.n_features))]
    if labels is not None:
        fields.append(("label", pa.array(labels[:1]).type))
    schema = pa.schema(fields)

    def append(rows: Matrix, first: int) -> None:
        columns = [pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), features.n_features)]
        if labels is not None:
            columns.append(pa.array(labels[first : first + len(rows)]))
        writer.write_table(pa.table(columns, schema=schema))

    with pq.ParquetWriter(path, schema) as writer:
        yield append


def _behind_lengths(rows: Matrix, kind: str) -> NDArray:
    """Put the length of each row before it."""
    records = np.empty(len(rows), [("length", "<i4"), ("row", kind, (rows.shape[1],))])
    records["length"], records["row"] = rows.shape[1], rows
    return records


def _write(file: Any, array: NDArray) -> None:
    file.write(np.ascontiguousarray(array).data)


_KEEP_LABELS = (".h5", ".hdf5", ".parquet")
_WRITERS = {
    ".h5": _hdf5_writer,
    ".hdf5": _hdf5_writer,
    ".npy": _npy_writer,
    ".fbin": _fbin_writer,
    ".fvecs": _fvecs_writer,
    ".bvecs": _bvecs_writer,
    ".parquet": _parquet_writer,
}
