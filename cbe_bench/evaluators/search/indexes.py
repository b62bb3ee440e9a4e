"""Indexes: compressed vectors that can be searched, whatever their codes are.

Any encoder makes one, with codes against codes (symmetric) or real queries against codes (asymmetric); so do RaBitQ,
by its estimates, and the indexes of other libraries (`peers`). Bytes per vector are those of all that is stored for a
vector, numbers beside its code included.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.errors import InputError
from cbe_bench.encoders import Encoder
from cbe_bench.encoders.rabitq import RaBitQ
from cbe_bench.encoders.rabitq_codes import RaBitQCodes, concatenated
from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.hamming import inner_products
from cbe_bench.kernels.nearest import asymmetric_top_k, top_k
from cbe_bench.kernels.parallel import slices
from cbe_bench.kernels.ranking import lowest

_QUERIES_AT_ONCE = 128
"""Queries whose scores are in memory at once."""
_FEW = 128
"""Up to this many codes are found by insertion as distances are computed, more by selection from all of them."""
_BITS_PER_DIM = (1, 2, 4)


class Index(ABC):
    """Vectors that can be searched for the nearest of a query."""

    data_dependent: ClassVar[bool] = True
    """Whether `fit` uses the values of its training set."""

    @abstractmethod
    def fit(self, X: NDArray) -> None:
        """Learn or draw what encodes vectors from a training set of shape (n, d)."""

    @abstractmethod
    def add(self, X: NDArray) -> None:
        """Encode further rows, of shape (n, d), and store them."""

    @abstractmethod
    def search(self, queries: NDArray, k: int) -> NDArray[np.int64]:
        """Return the positions of the k nearest stored rows of each query, nearest first.

        Parameters
        ----------
        queries : float32 array of shape (n_queries, n_features)
            The query vectors.
        k : int
            Neighbours of each query.

        Returns
        -------
        int64 array of shape (n_queries, k)
        """

    @property
    @abstractmethod
    def bytes_per_vector(self) -> float:
        """What is stored for a vector, once there are some."""

    def memory_bytes(self, n_features: int, n_train: int) -> int:
        """Estimate the bytes needed to fit and to encode beside the vectors and their codes.

        Parameters
        ----------
        n_features : int
            The dimension.
        n_train : int
            Rows of the training set.

        Returns
        -------
        int
        """
        return 16 * n_features * n_features + 8 * n_features * n_train

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding a vector in operations of a matrix product."""
        return 2.0 * n_features * n_features


class EncoderIndex(Index):
    """Binary codes of an encoder, compared with codes or with the projections of queries.

    Parameters
    ----------
    encoder : Encoder
        Not fitted.
    scoring : {"symmetric", "asymmetric"}
        By Hamming distance, or by the inner product of the query's projections with codes.
    """

    def __init__(self, encoder: Encoder, scoring: str) -> None:
        self._encoder, self._scoring = encoder, scoring
        self._parts: list[Codes] = []

    @property
    def data_dependent(self) -> bool:  # type: ignore[override]
        """Whether the encoder is data-dependent."""
        return self._encoder.data_dependent

    def fit(self, X: NDArray) -> None:
        """Fit the encoder."""
        self._encoder.fit(X)
        self._encoder.warm_up(X)

    def add(self, X: NDArray) -> None:
        """Encode rows."""
        self._parts.append(self._encoder.encode(X, check_input=False))

    @property
    def _codes(self) -> Codes:
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    def search(self, queries: NDArray, k: int) -> NDArray[np.int64]:
        """Rank codes; equal scores by position."""
        if k <= _FEW and self._scoring == "symmetric":
            return top_k(self._encoder.encode(queries), self._codes, k)[1]
        if k <= _FEW:
            return asymmetric_top_k(self._encoder.project(queries), self._codes, k)[1]
        parts = slices(len(queries), _QUERIES_AT_ONCE)
        return np.concatenate([lowest(-self._scores(queries[part]), k) for part in parts])

    def _scores(self, queries: NDArray) -> NDArray:
        """Return the inner products with all codes: exact whole numbers, or multiples of a step for each query."""
        if self._scoring == "symmetric":
            return inner_products(self._encoder.encode(queries), self._codes, self._encoder.n_bits_)
        return AsymmetricQueries(self._encoder.project(queries)).scores(self._codes)

    @property
    def bytes_per_vector(self) -> float:
        """The bytes of a code."""
        return float(self._codes.shape[1])

    def memory_bytes(self, n_features: int, n_train: int) -> int:
        """Estimate what the encoder needs."""
        return self._encoder.memory_bytes(n_features, n_train)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate what the encoder needs."""
        return self._encoder.cost_estimate(n_features)


class RaBitQIndex(Index):
    """Codes and numbers of RaBitQ, ranked by its estimates."""

    def __init__(self, quantizer: RaBitQ) -> None:
        self._quantizer = quantizer
        self._parts: list[RaBitQCodes] = []

    def fit(self, X: NDArray) -> None:
        """Fit centre, components and rotation."""
        self._quantizer.fit(X)
        self._quantizer.encode(X[:32])

    def add(self, X: NDArray) -> None:
        """Encode rows."""
        self._parts.append(self._quantizer.encode(X))

    @property
    def _codes(self) -> RaBitQCodes:
        if len(self._parts) > 1:
            self._parts = [concatenated(self._parts)]
        return self._parts[0]

    def search(self, queries: NDArray, k: int) -> NDArray[np.int64]:
        """Rank estimates; equal ones by position."""
        parts = slices(len(queries), _QUERIES_AT_ONCE)
        return np.concatenate([self._quantizer.search(queries[part], self._codes, k)[1] for part in parts])

    @property
    def bytes_per_vector(self) -> float:
        """The bytes of a code and of two numbers."""
        return self._codes.nbytes / len(self._codes)


def bits_and_dims(n_bits: int, n_features: int, bits_per_dim: int | None = None) -> tuple[int, int]:
    """Return the bits a dimension and the dimensions of grid codes of `n_bits` bits: as many dimensions as there are.

    Parameters
    ----------
    n_bits : int
        The code length.
    n_features : int
        The dimension of the vectors, which is the largest number of dimensions.
    bits_per_dim : int, optional
        The only number of bits per dimension to try.

    Returns
    -------
    bits, dims : int
        With bits * dims = n_bits.

    Raises
    ------
    InputError
        If there are no such codes.
    """
    for bits in _BITS_PER_DIM if bits_per_dim is None else (bits_per_dim,):
        if n_bits % bits == 0 and n_bits // bits <= n_features:
            return bits, n_bits // bits
    each = bits_per_dim or _BITS_PER_DIM[-1]
    raise InputError(f"n_bits = {n_bits}; at most {each} for each of {n_features} features")
