"""Identifiers of rows, given in a file of their own."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.data.formats.checks import check_regular_file, readable
from cbe_bench.data.formats.npy import map_array, read_header

_MOST_BYTES = 1024


def open_ids(path: str | Path | None, n_rows: int) -> NDArray | None:
    """Return the identifiers in a ``.npy`` file: int64, or strings of fixed length in UTF-8; None without a file.

    Raises
    ------
    InputError
        Unless there is an integer or a string for each of `n_rows` rows.
    """
    if path is None:
        return None
    path = Path(path)
    check_regular_file(path)
    with readable(path), path.open("rb") as file:
        header = read_header(file, path)
        found = map_array(path, header, 0)
    if found.shape != (n_rows,) or found.dtype.kind not in "iuSU" or found.dtype.itemsize > 4 * _MOST_BYTES:
        raise InputError(f"{path}: {found.dtype}{list(found.shape)}; {n_rows:,} rows need as many integers or strings")
    if found.dtype.kind == "U":
        return np.char.encode(found, "utf-8")
    if found.dtype.kind == "u" and found.size and found.max() > np.iinfo(np.int64).max:
        raise InputError(f"{path}: identifiers above {np.iinfo(np.int64).max:,}")
    return found if found.dtype.kind == "S" else found.astype(np.int64, copy=False)
