"""A file of codes as an index: exact search in constant memory, and hand-over to libraries of approximate search."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.remote import RemotePath
from cbe_bench.core.resources import Resources
from cbe_bench.data.features import Features, Matrix
from cbe_bench.encoders import Encoder
from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import Codes, pack_signs
from cbe_bench.kernels.linalg.rescoring import exact_distances, nearest_first
from cbe_bench.kernels.parallel import slices, threads
from cbe_bench.vectors.blocks import Run, run_here
from cbe_bench.vectors.code_file import CodeFile
from cbe_bench.vectors.rows import open_alike, prepare
from cbe_bench.vectors.search import code_search

_FAISS = ("IndexBinaryFlat", "IndexBinaryHNSW", "IndexBinaryIVF")
_HNSW_LINKS = 32
_RERANKED_BYTES = 1 << 28
"""Vectors that are read to re-rank candidates at once, in bytes."""

Advance = Callable[[int, int, int], None]


class Found(NamedTuple):
    """What a search returns, arrays of shape (n_queries, k), the best first.

    Values are Hamming distances (int32), asymmetric scores (float64, larger is better) or, after re-ranking, exact
    distances (float64): 1 - cos, the l2 distance, or the negated inner product.
    """

    values: NDArray
    ids: NDArray


class CodeIndex:
    """The codes of a file, searched where they are: memory does not grow with their number.

    Parameters
    ----------
    file : CodeFile
        The open file; see `CodeIndex.open`.
    resources : Resources, optional
        Threads and memory that may be used.
    """

    def __init__(self, file: CodeFile, resources: Resources | None = None) -> None:
        self.file = file
        self._resources = resources or Resources()

    @classmethod
    def open(cls, path: str | Path, resources: Resources | None = None) -> Self:
        """Open a file that `encode_file` wrote; to be closed, or used as a context manager.

        Parameters
        ----------
        path : str or Path
            The file of codes.
        resources : Resources, optional
            The threads and memory that searches may use.

        Returns
        -------
        CodeIndex

        Raises
        ------
        InputError
            If it is not a file of codes, or a damaged one.
        """
        return cls(CodeFile(path), resources)

    def __len__(self) -> int:
        return self.file.n_codes

    @property
    def encoder(self) -> Encoder:
        """The fitted encoder of the codes."""
        return self.file.encoder

    def search(
        self,
        queries: ArrayLike,
        k: int,
        *,
        asymmetric: bool = False,
        rerank: str | Path | Features | ArrayLike | None = None,
        oversample: int = 10,
        run: Run = run_here,
        rows_done: Advance = lambda done, total, before: None,
        source: str = "queries",
        first_row: int = 0,
    ) -> Found:
        """Find the nearest codes of each query, exactly.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Real vectors, encoded by the encoder of the file.
        k : int
            Neighbours of each query.
        asymmetric : bool
            Compare the real projections of queries with codes, not their signs: more exact and a few times slower.
        rerank : str, Path, Features or array of shape (n_rows, n_features), optional
            The vectors that were encoded: the nearest `oversample * k` codes are ranked by exact distances.
        oversample : int
            Candidates for each neighbour wanted, where there is re-ranking.
        run : callable
            Where blocks of codes are searched: `run_here`, or a Dask cluster.
        rows_done : callable
            Takes how many codes were searched, of how many.
        source, first_row : str, int
            What messages call the queries, and the number of the first of them there.

        Returns
        -------
        Found
            Values and ids of shape (n_queries, k); equal values in order of row.

        Raises
        ------
        InputError
            If queries have another dimension or hold NaN, or k is larger than the database.
        """
        vectors = self._vectors(queries, source, first_row)
        if not isinstance(k, int | np.integer) or not 1 <= k <= len(self):
            raise InputError(f"k = {k}: must be from 1 to the {len(self):,} codes of {self.file.path}")
        wanted = k if rerank is None else min(len(self), k * max(1, oversample))
        with threads(self._resources.threads):
            projections = self.encoder.set_resources(self._resources).project(vectors)
            asked = projections if asymmetric else pack_signs(projections)
            keys, rows = code_search(self.file, asked, wanted, run, rows_done)
            if rerank is not None:
                distances, rows = self._reranked(vectors, rows, k, rerank)
                return Found(distances, self.file.ids(rows))
        return Found(AsymmetricQueries(projections).scores_of(-keys) if asymmetric else keys, self.file.ids(rows))

    def _vectors(self, queries: ArrayLike, source: str, first_row: int) -> Matrix:
        vectors = np.array(queries, np.float32, order="C", ndmin=2)
        if vectors.ndim != 2 or vectors.shape[1] != self.file.n_features:
            raise InputError(
                f"{source}: has shape {vectors.shape}; the codes of {self.file.path} are those of vectors of "
                f"{self.file.n_features:,} dimensions"
            )
        numbers = np.arange(first_row, first_row + len(vectors))
        found = prepare(vectors, numbers, self.file.metric, source)
        if found.skipped:
            first = int(np.setdiff1d(numbers, found.rows)[0])
            raise InputError(f"{source}: row {first:,} holds only zeros, which have no direction")
        return found.vectors

    def _reranked(
        self, queries: Matrix, rows: NDArray[np.int64], k: int, rerank: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return distances and positions of the k nearest candidates by exact distances."""
        if isinstance(rerank, str | Path | RemotePath):
            with open_alike(rerank, self.file.provenance.get("dataset")) as features:
                return self._reranked(queries, rows, k, features)
        source = _Vectors(rerank, self.file)
        distances, nearest = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        at_once = max(1, _RERANKED_BYTES // (4 * self.file.n_features * rows.shape[1]))
        for part in slices(len(queries), at_once):
            candidates, places = np.unique(rows[part], return_inverse=True)
            found = exact_distances(
                queries[part], source.read(candidates), places.reshape(rows[part].shape), self.file.metric
            )
            order = nearest_first(found, rows[part], k)
            distances[part] = np.take_along_axis(found, order, axis=1)
            nearest[part] = np.take_along_axis(rows[part], order, axis=1)
        return distances, nearest

    def to_faiss(self, kind: str = "IndexBinaryFlat", **settings: Any) -> Any:
        """Return a faiss index of the codes; the position of a code is its faiss id, `ids` has those of the file.

        Parameters
        ----------
        kind : {"IndexBinaryFlat", "IndexBinaryHNSW", "IndexBinaryIVF"}
            The index. faiss stores codes of its own: they are handed over block by block, never in memory twice.
        **settings
            `links` of HNSW (32), `lists` of IVF (the root of the number of codes).
        """
        import faiss

        n_bits, index = 8 * self.file.codes().shape[1], None  # type: int, Any
        if kind == "IndexBinaryFlat":
            index = faiss.IndexBinaryFlat(n_bits)
        elif kind == "IndexBinaryHNSW":
            index = faiss.IndexBinaryHNSW(n_bits, settings.pop("links", _HNSW_LINKS))
        elif kind == "IndexBinaryIVF":
            lists = settings.pop("lists", max(1, round(len(self) ** 0.5)))
            quantizer = faiss.IndexBinaryFlat(n_bits)
            index = faiss.IndexBinaryIVF(quantizer, n_bits, lists)
            index.quantizer_of_codes = quantizer  # faiss keeps a pointer only
            index.train(np.ascontiguousarray(self.file.codes()[:: max(1, len(self) // (50 * lists))]))
        else:
            raise InputError(f"faiss index {kind!r}: {did_you_mean(kind, _FAISS)}")
        if settings:
            raise InputError(f"{kind}: unknown settings {', '.join(sorted(settings))}")
        for _, codes in self.file.blocks():
            index.add(codes)
        return index

    def to_usearch(self, **settings: Any) -> Any:
        """Return a usearch index of the codes by Hamming distance that refers to the mapped file without a copy.

        The keys are the positions of codes; the codes stay valid as long as the index holds them (`index.codes`).
        **settings are those of ``usearch.index.Index``.
        """
        from usearch.index import Index

        codes = self.codes()
        index: Any = Index(ndim=8 * codes.shape[1], metric="hamming", dtype="b1", **settings)
        index.codes = codes
        index.add(np.arange(len(codes), dtype=np.uint64), codes, copy=False)
        return index

    def codes(self) -> Codes:
        """Return all codes, mapped from the file and checked, of shape (n, bytes)."""
        for _ in self.file.blocks():
            pass
        return self.file.codes()

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Vectors:
    """The vectors that were encoded, read by the position of their code."""

    def __init__(self, source: Any, file: CodeFile) -> None:
        self._source, self._file = source, file
        self._name = source.source if isinstance(source, Features) else "rerank"
        shape = (source.n_rows, source.n_features) if isinstance(source, Features) else np.shape(source)
        n_rows = file.provenance.get("n_rows")
        if len(shape) != 2 or shape[1] != file.n_features or shape[0] != n_rows:
            raise InputError(
                f"{self._name}: has shape {tuple(shape)}; the codes of {file.path} are those of {n_rows} vectors of "
                f"{file.n_features:,} dimensions"
            )

    def read(self, positions: NDArray[np.int64]) -> Matrix:
        """Return the vectors of some codes, scaled for the metric."""
        rows = self._file.rows(positions)
        is_file = isinstance(self._source, Features)
        vectors = self._source.read(rows) if is_file else np.array(self._source[rows], np.float32, order="C")
        found = prepare(vectors, rows, self._file.metric, self._name)
        if found.skipped:
            raise InputError(
                f"{self._name}: holds rows of zeros where there are codes; these are not the vectors encoded"
            )
        return found.vectors
