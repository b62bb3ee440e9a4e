"""Inner products and distances estimated from codes of a few bits a dimension: RaBitQ on any orthogonal rotation.

With c the mean of the training set and R orthogonal, a row x becomes v = R (x - c) and its code y, the point of a grid
of 2^B levels a coordinate whose direction is closest to v (`kernels.grid`; one bit is the sign). Beside the code a
factor f = ||v||^2 / <y, v> is stored. For a query w = R (q - c)

    <x - c, q - c>  is estimated by  f <y, w>:

what w has along v exactly, and the rest without bias if R is uniformly distributed, as the residual of y is then as
likely to point one way as the other. With g = <y, v> / (||y|| ||v||) the error is at most
e f ||y|| sqrt(1 - g^2) ||w|| / sqrt(D - 1), with a probability that grows quickly with e. A second number,
||x - c||^2 or <x, c>, makes of it

    ||x - q||^2 = ||x - c||^2 + ||q - c||^2 - 2 <x - c, q - c>    or    <x, q> = <x, c> + <c, q - c> + <x - c, q - c>.

(Gao & Long, 2024; Gao et al., 2024.)

A circulant or Hadamard rotation costs O(D log D) where a dense one costs O(D^2).
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import Encoder
from cbe_bench.encoders.inputs import check_rows
from cbe_bench.encoders.making import make_encoder
from cbe_bench.kernels.bits import Codes
from cbe_bench.kernels.grid import grid_codes, integer_products, plane_sums, real_products
from cbe_bench.kernels.hadamard import padded_length
from cbe_bench.kernels.linalg.orthogonal import random_orthonormal
from cbe_bench.kernels.linalg.principal import centred_products, principal_directions
from cbe_bench.kernels.parallel import slices

ROTATIONS = ("circulant", "hadamard", "dense")
METRICS = ("ip", "l2")
_VALUES = 1 << 22
"""Rotated values held at once while encoding."""
_COSINE_ROWS = 1024
"""Rows of the training set that the least cosine is found from."""


@dataclass(frozen=True)
class RaBitQCodes:
    """Codes of rows, and two numbers for each.

    Attributes
    ----------
    planes : uint8 array of shape (n, bits_per_dim, bytes)
        The bit planes of the grid points, the lowest bit first.
    factors : float32 array of shape (n,)
        f = ||v||^2 / <y, v>, by which <y, w> becomes the estimate of an inner product.
    offsets : float32 array of shape (n,)
        ||x - c||^2 or <x, c>, for the metric "l2" or "ip".
    """

    planes: Codes
    factors: NDArray[np.float32]
    offsets: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.factors)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes and the numbers."""
        return self.planes.nbytes + self.factors.nbytes + self.offsets.nbytes


class RaBitQ(BaseEstimator):
    """Codes from which inner products and distances are estimated without bias.

    Parameters
    ----------
    bits_per_dim : {1, 2, 4}
        Bits a dimension.
    metric : {"ip", "l2"}
        Estimate inner products <x, q>, or squared distances ||x - q||^2.
    rotation : {"circulant", "hadamard", "dense"}
        The orthogonal matrix R; "hadamard" pads to a power of two.
    n_components : int or None
        Principal components that are coded, at the expense of the others; None means all dimensions, and no PCA.
    query_bits : {4, 8} or None
        Round rotated queries to so many bits a dimension, so that scoring counts common bits; None scores real numbers.
    random_state : int, RandomState or None
        Decides the rotation, and how queries are rounded.

    Attributes
    ----------
    center_ : float64 array of shape (d,)
        The mean of the training set.
    components_ : float32 array of shape (n_components, d)
        The principal directions, if there are any.
    n_dims_ : int
        Dimensions D of a code.
    rotation_ : Encoder or float32 array of shape (D, D)
        The rotation, as an encoder whose projection it is, or as a matrix.
    dither_ : float32 array of shape (D,)
        What is added to a query before it is rounded down, so that rounding has no bias.
    least_cosine_ : float
        The least g of some rows of the training set.
    """

    def __init__(
        self,
        *,
        bits_per_dim: int = 1,
        metric: str = "ip",
        rotation: str = "circulant",
        n_components: int | None = None,
        query_bits: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.bits_per_dim = bits_per_dim
        self.metric = metric
        self.rotation = rotation
        self.n_components = n_components
        self.query_bits = query_bits
        self.random_state = random_state

    def fit(self, X: NDArray, y: Any = None) -> Self:
        """Find the centre, the principal directions if any, and draw the rotation."""
        X = check_rows(self, X, reset=True)
        self._check_params(X.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        self.__dict__.pop("components_", None)
        self.center_ = X.mean(axis=0, dtype=np.float64)
        m = self.n_components or X.shape[1]
        if self.n_components is not None:
            self.components_ = np.zeros((m, X.shape[1]), np.float32)
            directions = principal_directions(X, m)[1]
            self.components_[: len(directions)] = directions
        self.n_dims_ = padded_length(m) if self.rotation == "hadamard" else m
        if self.rotation == "dense":
            self.rotation_: NDArray | Encoder = random_orthonormal(rng, (m, m), np.float32)
        else:
            name = "cbe-orth" if self.rotation == "circulant" else "hd3"
            encoder = make_encoder(name, n_bits=self.n_dims_, random_state=seed)
            self.rotation_ = encoder.fit(np.zeros((1, m), np.float32))
        self.dither_ = rng.random(self.n_dims_, dtype=np.float32)
        V = self._rotated(X[:: -(-len(X) // _COSINE_ROWS)])
        planes, products = grid_codes(V, self.bits_per_dim)
        lengths = _lengths(planes, self.n_dims_) * np.linalg.norm(V, axis=1)
        self.least_cosine_ = float(np.min(products / lengths, where=products > 0, initial=1))
        return self

    def _check_params(self, n_features: int) -> None:
        choices = {"bits_per_dim": (1, 2, 4), "query_bits": (None, 4, 8)}
        for param, allowed in choices.items():
            if getattr(self, param) not in allowed:
                raise InputError(f"rabitq: {param} = {getattr(self, param)!r}; allowed: {', '.join(map(str, allowed))}")
        for param, names in {"rotation": ROTATIONS, "metric": METRICS}.items():
            value = getattr(self, param)
            if value not in names:
                raise InputError(f"rabitq: {param} = {value!r}; {did_you_mean(str(value), names)}")
        m = self.n_components
        if m is not None and not (isinstance(m, int | np.integer) and 1 <= m <= n_features):
            raise InputError(f"rabitq: n_components = {m!r}; it must be an integer from 1 to {n_features}, or None")

    def encode(self, X: NDArray) -> RaBitQCodes:
        """Return the codes of the rows of X, of shape (n, d)."""
        X = self._checked(X)
        planes = np.empty((len(X), self.bits_per_dim, -(-self.n_dims_ // 8)), np.uint8)
        factors, offsets = np.empty((2, len(X)), np.float32)
        for part in slices(len(X), max(1, _VALUES // max(self.n_dims_, X.shape[1]))):
            V = self._rotated(X[part])
            planes[part], products = grid_codes(V, self.bits_per_dim)
            squares = np.einsum("ij,ij->i", V, V)
            factors[part] = np.divide(squares, products, out=np.zeros_like(products), where=products > 0)
            offsets[part] = squares if self.metric == "l2" else X[part] @ self.center_.astype(X.dtype)
        return RaBitQCodes(planes, factors, offsets)

    def estimate(self, queries: NDArray, codes: RaBitQCodes) -> NDArray[np.float32]:
        """Return the estimates, of shape (n_queries, n), for all pairs of a query and a row.

        Parameters
        ----------
        queries : array of shape (n_queries, d)
            The query vectors.
        codes : RaBitQCodes
            The codes of n rows; equal ones have equal estimates.
        """
        queries = self._checked(queries)
        W = self._rotated(queries)
        estimates = self._grid_products(W, codes.planes)
        estimates *= codes.factors
        if self.metric == "l2":
            estimates *= -2
            constants = np.einsum("ij,ij->i", W, W)
        else:
            constants = (queries - self.center_) @ self.center_
        estimates += codes.offsets
        estimates += constants.astype(np.float32)[:, None]
        return estimates

    def error_bounds(self, queries: NDArray, codes: RaBitQCodes, *, epsilon: float = 1.9) -> NDArray[np.float32]:
        """Return bounds on the errors of `estimate`, of its shape, which hold more often the larger `epsilon` is.

        At 1.9 they hold for at least 94 % of all pairs. They are those of real queries, and of inner products along
        the principal components if there are any: to round queries, or to leave components out, adds an error.
        """
        W = self._rotated(self._checked(queries))
        sine = np.sqrt(1 - self.least_cosine_**2)
        rows = epsilon * sine * codes.factors * _lengths(codes.planes, self.n_dims_) / np.sqrt(max(1, self.n_dims_ - 1))
        bounds = np.linalg.norm(W, axis=1)[:, None] * rows.astype(np.float32)
        return 2 * bounds if self.metric == "l2" else bounds

    def search(self, queries: NDArray, codes: RaBitQCodes, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the estimates and numbers of the k best rows of each query, best first, ties by row number."""
        scores = self.estimate(queries, codes)
        order = np.argsort(scores if self.metric == "l2" else -scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, order, axis=1), order

    def _checked(self, X: NDArray) -> NDArray:
        check_is_fitted(self)
        return check_rows(self, X, reset=False)

    def _rotated(self, X: NDArray) -> NDArray[np.float32]:
        """Return R (x - c) of all rows, of their components if there are any."""
        if hasattr(self, "components_"):
            centred = centred_products(X, self.center_, self.components_)
        else:
            centred = X - self.center_.astype(X.dtype)
        if isinstance(self.rotation_, np.ndarray):
            return (centred @ self.rotation_.T.astype(X.dtype)).astype(np.float32)
        values = self.rotation_._project(centred)
        if self.rotation == "hadamard":  # three transforms of which two are scaled to rotations
            values /= X.dtype.type(np.sqrt(self.n_dims_))
        rotated: NDArray[np.float32] = values.astype(np.float32, copy=False)
        return rotated

    def _grid_products(self, W: NDArray[np.float32], planes: Codes) -> NDArray[np.float32]:
        """Return <y, w> = <c, w> - (2^B - 1)/2 * sum of w for all queries, rounded if asked for, and all codes."""
        if self.query_bits is None:
            sums, products = W.sum(axis=1), real_products(planes, W)
        else:
            low, step, whole = self._rounded(W)
            sums = low * W.shape[1] + step * whole.sum(axis=1, dtype=np.int64)
            ones = [np.packbits((whole >> bit) & 1, axis=1, bitorder="little") for bit in range(self.query_bits)]
            common = integer_products(planes, np.stack(ones, axis=1))
            products = (step[:, None] * common + low[:, None] * plane_sums(planes)).astype(np.float32)
        products -= ((2**self.bits_per_dim - 1) / 2 * sums).astype(np.float32)[:, None]
        return products

    def _rounded(self, W: NDArray[np.float32]) -> tuple[NDArray, NDArray, NDArray[np.uint8]]:
        """Return low, step and q with w about low + step q, q of `query_bits` bits a dimension."""
        top = 2 ** int(self.query_bits or 8) - 1
        low = W.min(axis=1)
        step = np.maximum((W.max(axis=1) - low) / top, np.finfo(np.float32).tiny)
        whole = np.floor((W - low[:, None]) / step[:, None] + self.dither_)
        return low, step, np.clip(whole, 0, top).astype(np.uint8)


def _lengths(planes: Codes, n_dims: int) -> NDArray[np.float64]:
    """Return ||y|| of all codes."""
    n_bits = planes.shape[1]
    squares = np.empty(len(planes))
    for part in slices(len(planes), max(1, _VALUES // n_dims)):
        bits = np.unpackbits(planes[part], axis=2, count=n_dims, bitorder="little").astype(np.float32)
        y = np.einsum("b,nbj->nj", 2.0 ** np.arange(n_bits, dtype=np.float32), bits) - (2**n_bits - 1) / 2
        squares[part] = np.einsum("nj,nj->n", y, y)
    return np.sqrt(squares)
