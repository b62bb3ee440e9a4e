"""The nearest codes of queries, block by block, for arrays of any library on any device.

Signs are multiplied as real numbers, the one operation that every device does well: the inner product of codes taken
as -1 and +1 is their length less twice their Hamming distance, exact in single precision below 2^24 bits. Blocks pass
by in row order, and what is kept is sorted by a stable sort: equal distances stay in the order of rows.
"""

from collections.abc import Callable
from typing import Any

import array_api_compat

from cbe_bench.core.errors import InputError
from cbe_bench.kernels.arrays import Array, Namespace, dtype_name, library_of, matmul, unpack_signs
from cbe_bench.kernels.bits import code_bytes
from cbe_bench.kernels.parallel import slices

_QUERIES = 1 << 10
"""Queries compared at once."""
_VALUES = 1 << 24
"""Distances, or unpacked signs, held at once."""
_BYTES = 1 << 18
"""Bytes of codes multiplied at once: their bits are counted exactly."""


def hamming_top_k(queries: Array, database: Array, k: int) -> tuple[Array, Array]:
    """Find the k nearest codes of each query, as `nearest.top_k` does.

    Parameters
    ----------
    queries, database : uint8 arrays of shape (n, bytes), of one library and device
        Packed codes of the same length.
    k : int
        Neighbours wanted, at most the number of codes in the database.

    Returns
    -------
    distances : int32 array of shape (n_queries, k)
        In order of distance.
    rows : integer array of shape (n_queries, k)
        Equal distances in order of row.
    """
    xp = _shared_library(queries, database)
    _check_codes(queries, "queries")
    _check_codes(database, "database")
    if queries.shape[1] != database.shape[1]:
        raise InputError(
            f"queries have {queries.shape[1]} bytes a code, the database has {database.shape[1]}: they must agree"
        )
    n_bytes = queries.shape[1]

    def distances(some: slice, part: slice) -> Array:
        total = 0
        for columns in slices(n_bytes, _BYTES):
            one, other = (_signs(xp, codes) for codes in (queries[some, columns], database[part, columns]))
            agreeing = matmul(xp, one, xp.matrix_transpose(other))
            total = total + xp.astype((one.shape[1] - agreeing) / 2, xp.int32)
        return total

    return nearest(xp, distances, (queries, database), k, min(n_bytes, _BYTES) * 8)


def asymmetric_top_k(projections: Array, database: Array, k: int) -> tuple[Array, Array]:
    """Find the k codes with the largest inner products with each query.

    Parameters
    ----------
    projections : float array of shape (n_queries, n_bits)
        The real values of the queries.
    database : uint8 array of shape (n, bytes), of the same library and device
        Packed codes of `n_bits` bits, taken as -1 and +1.
    k : int
        Neighbours wanted, at most the number of codes in the database.

    Returns
    -------
    scores : array of shape (n_queries, k)
        The inner products, largest first, in the precision of the projections.
    rows : integer array of shape (n_queries, k)
        Equal scores in order of row.
    """
    xp = _shared_library(projections, database)
    _check_codes(database, "database")
    n_bits = projections.shape[1]
    if code_bytes(n_bits) != database.shape[1]:
        raise InputError(f"projections of {n_bits} bits, but the database has {database.shape[1]} bytes a code")

    def negative_scores(some: slice, part: slice) -> Array:
        signs = unpack_signs(xp, database[part, :], n_bits, projections.dtype)
        return -matmul(xp, projections[some, :], xp.matrix_transpose(signs))

    scores, rows = nearest(xp, negative_scores, (projections, database), k, n_bits)
    return -scores, rows


def nearest(
    xp: Namespace, distances: Callable[[slice, slice], Array], arrays: tuple[Array, Array], k: int, width: int
) -> tuple[Array, Array]:
    """Return the k least distances of each query and their rows, equal ones in order of row.

    Parameters
    ----------
    xp : namespace
        The library of the arrays.
    distances : callable
        Returns the distances of a slice of the queries to a slice of the database.
    arrays : pair of arrays
        Queries and database, of which the numbers of rows and the device count.
    k : int
        Neighbours wanted.
    width : int
        Numbers that are held for each row of the database.
    """
    (n_queries, n_codes), device = (array.shape[0] for array in arrays), array_api_compat.device(arrays[1])
    if not 1 <= k <= n_codes:
        raise InputError(f"k = {k}: must be from 1 to the {n_codes} codes in the database")
    at_once = min(max(n_queries, 1), _QUERIES)
    blocks = slices(n_codes, max(k, _VALUES // max(width, at_once), 1))
    found = []
    for some in slices(n_queries, at_once) or [slice(0, 0)]:
        best: tuple[Array, Array] | None = None
        for part in blocks:
            values = distances(some, part)
            rows = xp.broadcast_to(xp.arange(part.start, part.stop, device=device), values.shape)
            if best is not None:
                values, rows = (xp.concat(pair, axis=1) for pair in zip(best, (values, rows), strict=True))
            order = xp.argsort(values, axis=1, stable=True)[:, : min(k, values.shape[1])]
            best = xp.take_along_axis(values, order, axis=1), xp.take_along_axis(rows, order, axis=1)
        found.append(best)
    return tuple(xp.concat(list(parts), axis=0) for parts in zip(*found, strict=True))


def _signs(xp: Namespace, codes: Array) -> Array:
    return unpack_signs(xp, codes, 8 * codes.shape[1], xp.float32)


def _shared_library(queries: Any, database: Any) -> Namespace:
    if library_of(queries) is not library_of(database):
        one, other = (type(array).__module__.split(".")[0] for array in (queries, database))
        raise InputError(f"queries are an array of {one}, the database is one of {other}: they must agree")
    return array_api_compat.array_namespace(queries, database)


def _check_codes(codes: Array, name: str) -> None:
    if codes.ndim != 2 or dtype_name(codes) != "uint8":
        raise InputError(f"{name}: packed codes are a 2-d uint8 array, found {codes.ndim}-d {dtype_name(codes)}")
