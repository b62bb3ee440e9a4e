"""Recall of the exact neighbours by their rank among all codes, and the averaged AUC of retrieving equal labels.

Codes tie often, and where they do the order is arbitrary. A neighbour with `nearer` codes strictly before it and
`equal` codes at its own distance (itself included) is among the first R of a random order of ties with probability
(R - nearer) / equal, clipped to [0, 1]. The mean of that over neighbours is the expected recall@R of a query, exactly,
without drawing anything.

The area under the ROC curve (AUC) of a query is the probability that a row of its label is nearer than one of another,
equal distances counting half. It is computed from histograms of distances, exactly, without ranking anything.
"""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress
from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.hamming import distance_counts, paired_distances
from cbe_bench.kernels.medians import add_median_counts, cut_codes, most_median, paired_medians
from cbe_bench.kernels.parallel import slices

Ranks = tuple[NDArray[np.int64], NDArray[np.int64]]
"""For each query and exact neighbour: how many codes are nearer, and how many equally near."""

QUERIES_AT_ONCE = 128
"""Queries whose histograms of distances are in memory at once."""
CODES_AT_ONCE = 1 << 13
"""Codes that are compared between two reports of progress."""


def expected_recall(ranks: Ranks, depths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the expected recall of each query at each depth.

    Parameters
    ----------
    ranks : pair of int64 arrays of shape (n_queries, n_neighbours)
        How many codes are nearer than each neighbour, and how many equally near.
    depths : int64 array of shape (n_depths,)
        Numbers of retrieved rows.

    Returns
    -------
    float64 array of shape (n_queries, n_depths)
    """
    nearer, equal = (counts[..., None] for counts in ranks)
    return np.clip((depths - nearer) / equal, 0.0, 1.0).mean(axis=1)


def symmetric_ranks(queries: Codes, database: Codes, neighbours: NDArray[np.int64], progress: Progress) -> Ranks:
    """Rank the neighbours by Hamming distance of codes.

    Parameters
    ----------
    queries : uint8 array of shape (n_queries, n_bytes)
        Packed codes of the queries.
    database : uint8 array of shape (n_database, n_bytes)
        Packed codes of the database.
    neighbours : int64 array of shape (n_queries, n_neighbours)
        Positions of the exact neighbours in the database.
    progress : callable
        Takes the fraction that is done.

    Returns
    -------
    pair of int64 arrays of shape (n_queries, n_neighbours)
        How many codes are nearer than each neighbour, and how many equally near, itself included.
    """
    nearer, equal = np.empty_like(neighbours), np.empty_like(neighbours)
    for part in slices(len(queries), QUERIES_AT_ONCE):
        counts = distance_counts(queries[part], database)
        distances = paired_distances(queries[part, None], database[neighbours[part]])
        nearer[part], equal[part] = _ranks(counts, distances)
        progress(part.stop / len(queries))
    return nearer, equal


def median_ranks(
    queries: Codes, database: Codes, neighbours: NDArray[np.int64], blocks: list[slice], progress: Progress
) -> Ranks:
    """Rank the neighbours by the median over blocks of bits of the Hamming distance of codes.

    Parameters and result are those of `symmetric_ranks`; `blocks` are the bits of each block.
    """
    cut = cut_codes(queries, blocks)
    own = cut_codes(database[neighbours.ravel()], blocks).reshape(*neighbours.shape, *cut.shape[1:])
    counts = np.zeros((len(queries), most_median(blocks) + 1), np.int64)
    for block in slices(len(database), CODES_AT_ONCE):
        add_median_counts(cut, cut_codes(database[block], blocks), counts)
        progress(block.stop / len(database))
    return _ranks(counts, paired_medians(cut[:, None], own))


def _ranks(counts: NDArray[np.int64], distances: NDArray[np.int64]) -> Ranks:
    """Return how many codes are nearer and equally near, given how many there are at each distance."""
    before = np.cumsum(counts, axis=1) - counts
    return np.take_along_axis(before, distances, axis=1), np.take_along_axis(counts, distances, axis=1)


def asymmetric_ranks(projections: NDArray, database: Codes, neighbours: NDArray[np.int64], progress: Progress) -> Ranks:
    """Rank the neighbours by the inner product of the query's projections with the codes as -1 and +1, exactly.

    Parameters and result are those of `symmetric_ranks`, but for the real `projections` of the queries, of shape
    (n_queries, n_bits), in the place of their codes. Scores are whole numbers (`kernels.asymmetric`): equal codes get
    equal scores, and ranks do not depend on blocks, threads or the processor.
    """
    queries = AsymmetricQueries(projections)
    own = queries.own_sums(database, neighbours)
    nearer, equal = np.zeros_like(neighbours), np.zeros_like(neighbours)
    for block in slices(len(database), CODES_AT_ONCE):
        queries.count_before(database[block], own, nearer, equal)
        progress(block.stop / len(database))
    return nearer, equal


def query_auc(queries: Codes, database: Codes, query_labels: NDArray, database_labels: NDArray) -> NDArray[np.float64]:
    """Return the AUC of each query of retrieving rows of its label by Hamming distance.

    Queries whose label no row has, or every row, have no curve.

    Parameters
    ----------
    queries : uint8 array of shape (n_queries, n_bytes)
        Packed codes of the queries.
    database : uint8 array of shape (n_database, n_bytes)
        Packed codes of the database.
    query_labels : array of shape (n_queries,)
        Labels of the queries.
    database_labels : array of shape (n_database,)
        Labels of the database.

    Returns
    -------
    float64 array of shape (n_queries,)
        NaN for a query without a curve.
    """
    found = np.full(len(queries), np.nan)
    for label in np.unique(query_labels):
        same = database[database_labels == label]
        asked = np.flatnonzero(query_labels == label)
        if 0 < len(same) < len(database):
            for part in slices(len(asked), QUERIES_AT_ONCE):
                found[asked[part]] = _areas(queries[asked[part]], same, database)
    return found


def _areas(queries: Codes, same: Codes, database: Codes) -> NDArray[np.float64]:
    """Return the AUC of each of some queries of one label."""
    near = distance_counts(queries, same)
    far = distance_counts(queries, database) - near
    further = far.sum(axis=1, keepdims=True) - np.cumsum(far, axis=1)
    return (near * (further + 0.5 * far)).sum(axis=1) / (near.sum(axis=1) * far.sum(axis=1))
