"""What a search of a file of queries found, written batch by batch: ``.npy``, Parquet or JSON lines."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.data.features import Features
from cbe_bench.kernels.parallel import slices
from cbe_bench.vectors.index import Advance, CodeIndex, Found

_BATCH_BYTES = 1 << 27
Append = Callable[[int, Found], None]
"""Takes the number of the first query of a batch, and what was found for it."""


def search_file(
    index: CodeIndex,
    queries: Features,
    k: int,
    out: Path,
    *,
    asymmetric: bool = False,
    rows_done: Advance = lambda done, total, before: None,
    **options: Any,
) -> None:
    """Search for all rows of a file of queries and write what was found, whole or not at all.

    Parameters
    ----------
    index : CodeIndex
        The codes.
    queries : Features
        The queries, read and searched for in batches.
    k : int
        Neighbours of each query.
    out : Path
        ``.npy``: an array of shape (n_queries, k) with the fields id and distance (or score); ``.parquet``: a line for
        each query and rank; ``.jsonl``: a line for each query.
    rows_done : callable
        Takes how many codes were searched, of how many for all batches of queries.
    asymmetric, **options
        See `CodeIndex.search`.
    """
    if out.suffix not in _WRITERS:
        raise InputError(f"{out}: cannot be written as {out.suffix!r}; {did_you_mean(out.suffix, _WRITERS)}")
    width = max(queries.n_features, index.file.n_bits, k * options.get("oversample", 1))
    value = "score" if asymmetric and options.get("rerank") is None else "distance"
    if queries.n_features != index.file.n_features:
        raise InputError(
            f"{queries.source}: {queries.n_features:,} dimensions; the codes of {index.file.path} are those of vectors "
            f"of {index.file.n_features:,}"
        )
    parts = slices(queries.n_rows, max(1, _BATCH_BYTES // (8 * width)))
    with whole_file(out) as temporary, _WRITERS[out.suffix](temporary, (queries.n_rows, k), value) as append:
        for number, part in enumerate(parts):
            rows = queries.read(np.arange(part.start, part.stop))
            about = {"source": queries.source, "first_row": part.start, "rows_done": _shifted(rows_done, number, parts)}
            append(part.start, index.search(rows, k, asymmetric=asymmetric, **about, **options))


def _shifted(rows_done: Advance, number: int, parts: list[slice]) -> Advance:
    """Return what takes the progress of one of several searches of all codes."""
    return lambda done, total, before: rows_done(number * total + done, len(parts) * total, before)


@contextmanager
def _write_npy(path: Path, shape: tuple[int, int], value: str) -> Iterator[Append]:
    with path.open("wb") as file:

        def append(first: int, found: Found) -> None:
            lines = np.empty(found.ids.shape, [("id", found.ids.dtype.newbyteorder("<")), (value, found.values.dtype)])
            lines["id"], lines[value] = found.ids, found.values
            if first == 0:
                header = {"descr": np.lib.format.dtype_to_descr(lines.dtype), "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
            file.write(np.ascontiguousarray(lines).data)

        yield append


@contextmanager
def _write_lines(path: Path, shape: tuple[int, int], value: str) -> Iterator[Append]:
    with path.open("w") as file:

        def append(first: int, found: Found) -> None:
            for number, (ids, values) in enumerate(zip(found.ids.tolist(), found.values.tolist(), strict=True), first):
                file.write(json.dumps({"query": number, "ids": ids, f"{value}s": values}) + "\n")

        yield append


@contextmanager
def _write_parquet(path: Path, shape: tuple[int, int], value: str) -> Iterator[Append]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{path.suffix} needs pyarrow: pip install 'cbe-bench[parquet]'") from None
    writers: list[Any] = []

    def append(first: int, found: Found) -> None:
        n, k = found.ids.shape
        columns: dict[str, NDArray] = {
            "query": np.repeat(np.arange(first, first + n), k),
            "rank": np.tile(np.arange(k, dtype=np.int32), n),
            "id": found.ids.ravel(),
            value: found.values.ravel(),
        }
        table = pyarrow.table(columns)
        if not writers:
            writers.append(pyarrow.parquet.ParquetWriter(path, table.schema))
        writers[0].write_table(table)

    try:
        yield append
    finally:
        for writer in writers:
            writer.close()


_WRITERS = {".npy": _write_npy, ".parquet": _write_parquet, ".jsonl": _write_lines}
