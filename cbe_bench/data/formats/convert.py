"""Feature files from one format to another, a block of rows at a time."""

from pathlib import Path

import numpy as np

from cbe_bench.core.cache import whole_file
from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.data.features import Features
from cbe_bench.data.formats.registry import find_writer
from cbe_bench.kernels.parallel import slices

_BLOCK_BYTES = 1 << 26


def convert(features: Features, path: Path, progress: Progress = no_progress) -> bool:
    """Write features to a file in the format its suffix says, in constant memory.

    Parameters
    ----------
    features : Features
        The rows to write.
    path : Path
        The file, written whole or not at all.
    progress : callable, optional
        Called with the fraction of rows written, after every block.

    Returns
    -------
    bool
        Whether the format has no place for labels and they were lost.
    """
    writer = find_writer(path)
    with whole_file(path) as temporary, writer.open(temporary, features) as append:
        for part in slices(features.n_rows, max(1, _BLOCK_BYTES // (4 * features.n_features))):
            append(features.read(np.arange(part.start, part.stop)), part.start)
            progress(part.stop / features.n_rows)
    return features.labels() is not None and not writer.keeps_labels
