"""Rows of a user's own file: sampled, checked, and scaled for the metric they are compared by."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import RemotePath
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.formats import open_features
from cbe_bench.data.formats.checks import MissingPartError
from cbe_bench.kernels.linalg.norms import row_norms

_SAMPLE_BYTES = 1 << 28
_ROWS_NAMED = 5


@dataclass(frozen=True)
class Prepared:
    """Rows ready to be encoded, and which of those read they are."""

    vectors: Matrix
    rows: NDArray[np.int64]
    skipped: int
    """Rows of zeros, which have no direction and are left out."""


def prepare(block: Matrix, rows: NDArray[np.int64], metric: str, source: str) -> Prepared:
    """Check rows and scale them for the metric, in place.

    Parameters
    ----------
    block : float32 array of shape (n, d)
        The rows, overwritten.
    rows : int64 array of shape (n,)
        Their numbers in the file, for messages.
    metric : {"cosine", "l2", "ip"}
        With "cosine", rows are scaled to unit length.
    source : str
        What messages begin with.

    Raises
    ------
    InputError
        If a row holds NaN or infinite values.
    """
    norms = row_norms(block, scale=metric == "cosine")
    finite = np.isfinite(norms)
    if not finite.all():
        found = rows[~finite]
        listed = ", ".join(f"{row:,}" for row in found[:_ROWS_NAMED]) + (", ..." if len(found) > _ROWS_NAMED else "")
        raise InputError(f"{source}: row{'s' * (len(found) > 1)} {listed}: NaN or infinite values")
    kept = norms > 0
    if kept.all():
        return Prepared(block, rows, 0)
    return Prepared(block[kept], rows[kept], int(len(block) - kept.sum()))


def open_alike(path: str | Path | RemotePath, part: str | None) -> Features:
    """Open vectors like those of another file: in the matrix of the same name, where they hold one so called.

    Parameters
    ----------
    path : str, Path or RemotePath
        A feature file.
    part : str or None
        The matrix that the other vectors are in, if one was chosen.

    Returns
    -------
    Features
        To be closed.

    Raises
    ------
    InputError
        If the file, or its matrix of that name, cannot be read.
    """
    if part is not None:
        with suppress(MissingPartError):
            return open_features(path, part=part)
    return open_features(path)


def sample(features: Features, n_rows: int, metric: str, seed: int) -> Prepared:
    """Return rows drawn from the whole file, in its order, ready to be encoded; less than 256 MiB of them.

    Parameters
    ----------
    features : Features
        The file.
    n_rows : int
        Rows wanted; all of a file that has no more.
    metric : {"cosine", "l2", "ip"}
        See `prepare`.
    seed : int
        Decides which.
    """
    count = min(n_rows, features.n_rows, max(1, _SAMPLE_BYTES // (4 * features.n_features)))
    rows = np.sort(np.random.default_rng([seed, features.n_rows]).choice(features.n_rows, count, replace=False))
    found = prepare(features.read(rows), rows, metric, features.source)
    if not len(found.vectors):
        raise InputError(f"{features.source}: {count:,} sampled rows hold only zeros")
    return found
