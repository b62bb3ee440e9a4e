"""Averaged area under the curve: how well distances of codes tell rows of the same label from the others.

For each query, the area under the ROC curve of retrieving rows of its label is the probability that a row of its label
is nearer than one of another, equal distances counting half. Both are counted from histograms of distances, exactly,
without ranking anything.
"""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.hamming import distance_counts
from cbe_bench.kernels.parallel import slices

_QUERIES_AT_ONCE = 128


def averaged_auc(queries: Codes, database: Codes, query_labels: NDArray, database_labels: NDArray) -> float:
    """Return the mean over queries; those whose label no row has, or every row, have no curve and are left out."""
    areas = [np.empty(0)]
    for label in np.unique(query_labels):
        same = database[database_labels == label]
        asked = queries[query_labels == label]
        if 0 < len(same) < len(database):
            areas += [_areas(asked[part], same, database) for part in slices(len(asked), _QUERIES_AT_ONCE)]
    return float(np.mean(np.concatenate(areas)))


def _areas(queries: Codes, same: Codes, database: Codes) -> NDArray[np.float64]:
    """Return the area of each of some queries of one label."""
    near = distance_counts(queries, same)
    far = distance_counts(queries, database) - near
    further = far.sum(axis=1, keepdims=True) - np.cumsum(far, axis=1)
    return (near * (further + 0.5 * far)).sum(axis=1) / (near.sum(axis=1) * far.sum(axis=1))
