"""Files of features built from what was fetched: the rows, and what they were made from and how."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cbe_bench
from cbe_bench.core.cache import whole_file
from cbe_bench.data.features import Matrix
from cbe_bench.data.formats.hdf5_access import fixed_strings


@contextmanager
def built_file(path: Path, recipe: Mapping[str, Any], provenance: Mapping[str, Any]) -> Iterator[Any]:
    """Open an HDF5 file to write features to; it appears whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    recipe : mapping
        All that decides the content: see `FileFeatures.content_hash`.
    provenance : mapping
        Where the content comes from.
    """
    import h5py

    with whole_file(path) as temporary, h5py.File(temporary, "w") as file:
        made_by = f"cbe-bench {cbe_bench.__version__}"
        file.attrs.update(fixed_strings({**provenance, "recipe": json.dumps(recipe), "made_by": made_by}))
        yield file


def write_dense(path: Path, rows: Matrix, recipe: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
    """Write rows of float32 to ``/features`` of an HDF5 file; for the arguments see `built_file`."""
    with built_file(path, recipe, provenance) as file:
        file.create_dataset("features", data=rows, dtype="<f4", track_times=False)
