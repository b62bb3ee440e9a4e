"""Indexes of faiss, at the same bits a vector: RaBitQ, LSH with thresholds, ITQ, product quantisation (PQ) and OPQ.

faiss is optional; nothing here imports it before an index is made.
"""

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.evaluators.search.indexes import Index, bits_and_dims
from cbe_bench.kernels.parallel import thread_count

Params = dict[str, Any]
_PQ_BITS = 8
"""Bits of a code of a sub-vector."""


def missing_library() -> str:
    """Say what the peers lack; an empty string where they can be run."""
    if importlib.util.find_spec("faiss") is not None:
        return ""
    return "faiss is not installed (pip install 'cbe-bench[peers]')"


class FaissIndex(Index):
    """An index of faiss, built when it is trained."""

    def __init__(self, build: Callable[[NDArray], Any]) -> None:
        self._build = build

    def fit(self, X: NDArray) -> None:
        """Build the index and train it."""
        _set_threads()
        X = np.ascontiguousarray(X, np.float32)
        self._index = self._build(X)
        self._index.train(X)

    def add(self, X: NDArray) -> None:
        """Add rows."""
        _set_threads()
        self._index.add(np.ascontiguousarray(X, np.float32))

    def search(self, queries: NDArray, k: int) -> NDArray[np.int64]:
        """Search the index."""
        _set_threads()
        found: NDArray[np.int64] = self._index.search(np.ascontiguousarray(queries, np.float32), k)[1]
        return found

    @property
    def bytes_per_vector(self) -> float:
        """The size of what faiss stores for a vector."""
        return float(self._index.sa_code_size())


def _set_threads() -> None:
    import faiss

    faiss.omp_set_num_threads(thread_count())


def _metric(metric: str) -> Any:
    import faiss

    return faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT


def _rabitq(X: NDArray, n_bits: int, metric: str, seed: int, params: Params) -> Any:
    import faiss

    bits, n_dims = bits_and_dims(n_bits, X.shape[1])
    rotation = faiss.RandomRotationMatrix(n_dims, n_dims)
    rotation.init(seed)
    index = faiss.IndexPreTransform(rotation, faiss.IndexRaBitQ(n_dims, _metric(metric), bits))
    if n_dims < X.shape[1]:
        components = faiss.PCAMatrix(X.shape[1], n_dims)
        components.train(X)
        if metric != "l2":  # centred vectors have other inner products
            faiss.copy_array_to_vector(np.zeros(n_dims, np.float32), components.b)
        index.prepend_transform(components)
    return index


def _lsh(X: NDArray, n_bits: int, metric: str, seed: int, params: Params) -> Any:
    import faiss

    index = faiss.IndexLSH(X.shape[1], n_bits, True, True)
    index.rrot.init(seed)
    return index


def _itq(X: NDArray, n_bits: int, metric: str, seed: int, params: Params) -> Any:
    import faiss

    d = X.shape[1]
    transform = faiss.ITQTransform(d, n_bits, n_bits < d)
    transform.itq.seed, transform.itq.max_iter = seed, params.get("n_iter", transform.itq.max_iter)
    return faiss.IndexPreTransform(transform, faiss.IndexLSH(n_bits, n_bits, False, False))


def _pq(X: NDArray, n_bits: int, metric: str, seed: int, params: Params) -> Any:
    import faiss

    index = faiss.IndexPQ(X.shape[1], n_bits // _PQ_BITS, _PQ_BITS, _metric(metric))
    index.pq.cp.seed, index.pq.cp.min_points_per_centroid = seed, 1
    return index


def _opq(X: NDArray, n_bits: int, metric: str, seed: int, params: Params) -> Any:
    import faiss

    index = _pq(X, n_bits, metric, seed, params)
    rotation = faiss.OPQMatrix(X.shape[1], n_bits // _PQ_BITS)
    rotation.niter = params.get("n_iter", rotation.niter)
    rotation.max_train_points = params.get("rotation_rows", rotation.max_train_points)
    return faiss.IndexPreTransform(rotation, index)


def _check_any(n_bits: int, d: int) -> None:
    """Any length will do."""


def _check_itq(n_bits: int, d: int) -> None:
    if n_bits > d:
        raise InputError(f"n_bits = {n_bits}; at most the number of features, {d}")


def _check_pq(n_bits: int, d: int) -> None:
    count = n_bits // _PQ_BITS
    if n_bits % _PQ_BITS or not 1 <= count <= d or d % count:
        raise InputError(f"n_bits = {n_bits}; PQ needs {_PQ_BITS} times a divisor of the number of features, {d}")


class _Peer(NamedTuple):
    """An index of another library."""

    check: Callable[[int, int], object]
    """Raises InputError unless codes of vectors of so many dimensions can have so many bits."""
    build: Callable[[NDArray, int, str, int, Params], Any]
    """Returns the index for a training set, bits, metric, seed and parameters; it is trained afterwards."""
    params: tuple[str, ...] = ()
    """Its parameters: whole numbers; those of the library unless given."""


PEERS = {
    "faiss-rabitq": _Peer(bits_and_dims, _rabitq),
    "faiss-lsh": _Peer(_check_any, _lsh),
    "faiss-itq": _Peer(_check_itq, _itq, ("n_iter",)),
    "faiss-pq": _Peer(_check_pq, _pq),
    "faiss-opq": _Peer(_check_pq, _opq, ("n_iter", "rotation_rows")),
}
"""Indexes of other libraries by name."""


def make_peer(name: str, params: dict[str, Any], *, n_bits: int, n_features: int, metric: str, seed: int) -> FaissIndex:
    """Return an index of another library; see `making.make_index`."""
    peer = PEERS[name]
    for param, value in params.items():
        if param not in peer.params:
            raise InputError(f"{name} has no parameter {param!r}; it has {', '.join(peer.params) or 'none'}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name}: {param} = {value!r}; it must be a positive integer")
    peer.check(n_bits, n_features)
    return FaissIndex(lambda X: peer.build(X, n_bits, metric, seed, params))
