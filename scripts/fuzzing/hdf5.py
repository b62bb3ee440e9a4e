"""HDF5 files in the three layouts, and how their structure is changed."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from fuzzing.draw import DIMS, NUMBERS, ROWS, matrix, pick
from numpy.random import Generator
from scipy import sparse


def write_h5(path: Path, rng: Generator, change: bool) -> None:
    """Write features and labels, chunked and compressed or not."""
    chunked = {"chunks": (4, 3), "compression": pick(rng, ["gzip", "lzf", None])}
    with h5py.File(path, "w", libver=pick(rng, ["earliest", "latest"])) as file:
        file.create_dataset("features", data=matrix(rng), **(chunked if rng.random() < 0.5 else {}))
        file["labels"] = np.arange(ROWS)
        file.attrs.update(strings(rng, {"kind": "user", "source": "here", "recipe": "{}"}))
        if change:
            change_hdf5(file, rng, ["features", "labels"])


def write_ann(path: Path, rng: Generator, change: bool) -> None:
    """Write a file as ann-benchmarks does."""
    with h5py.File(path, "w") as file:
        file["train"], file["test"] = matrix(rng), matrix(rng)[:4]
        file["neighbors"] = rng.integers(0, ROWS, (4, 3)).astype(np.int32)
        file.attrs.update(strings(rng, {"distance": "angular", "point_type": "float"}))
        if change:
            change_hdf5(file, rng, ["train", "test", "neighbors"])


def write_sparse_h5(path: Path, rng: Generator, change: bool) -> None:
    """Write sparse rows in a group."""
    X = sparse.random(ROWS, DIMS, 0.4, "csr", np.float32, rng)
    with h5py.File(path, "w") as file:
        group = file.create_group("features")
        group["data"], group["indices"], group["indptr"] = X.data, X.indices, X.indptr
        group.attrs["shape"] = X.shape if not change or rng.random() < 0.7 else [pick(rng, NUMBERS) for _ in range(2)]
        if change:
            change_hdf5(file, rng, ["features/data", "features/indices", "features/indptr", "features"])


def strings(rng: Generator, attributes: dict[str, str]) -> dict[str, Any]:
    """Return attributes as strings of fixed length, or of variable length now and then: these take a child process."""
    variable = rng.random() < 0.02
    return {name: value if variable else np.bytes_(value) for name, value in attributes.items()}


def change_hdf5(file: Any, rng: Generator, keys: list[str]) -> None:
    """Replace a dataset by something else of its name, or an attribute by something else."""
    key, way = pick(rng, keys), int(rng.integers(9))
    if way <= 1 and isinstance(file.get(key), h5py.Dataset) and file[key].dtype.kind != "S":
        values = file[key][()].astype(np.int64)
        values.flat[int(rng.integers(values.size))] = pick(rng, NUMBERS)
        del file[key]
        file[key] = values
        return
    if way == 8:
        where = file[key] if rng.random() < 0.5 else file
        where.attrs[pick(rng, ["shape", "kind", "point_type", "odd\n"])] = pick(
            rng,
            [
                np.bytes_("{" * 99),
                b"\xff\xfe",
                [1, 2, 3],
                np.zeros(2000),
                file.ref,
                np.bytes_("float"),
                np.array([b"a", b"b"]),
            ],
        )
        return
    del file[key]
    shape = pick(rng, [(1 << 40, 5), (12, 1 << 40), (0, 5), (12,), (12, 5, 1), (1 << 20, 1 << 10)])
    if way == 2:
        file[key] = pick(rng, [h5py.SoftLink("/" + key), h5py.ExternalLink("/etc/passwd", "/x"), h5py.SoftLink("/no")])
    elif way == 3:
        file.create_group(key)[key] = 1
    elif way == 4:
        file.create_dataset(key, shape, "f4", chunks=True, compression="gzip")
    elif way == 5:
        file.create_dataset(key, (ROWS, DIMS), "f4", external=[("/etc/passwd", 0, 4 * ROWS * DIMS)])
    elif way == 6 and rng.random() < 0.2:  # takes a child process
        layout = h5py.VirtualLayout((ROWS, DIMS), "f4")
        layout[:] = h5py.VirtualSource("/etc/passwd", "x", (ROWS, DIMS))
        file.create_virtual_dataset(key, layout)
    else:
        file[key] = pick(rng, [b"text", h5py.Empty("f4"), np.zeros((12, 5), "f4,f4"), np.array([file.ref] * 12), 1.5])
