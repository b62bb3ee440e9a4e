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

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import Encoder
from cbe_bench.encoders.inputs import check_rows
from cbe_bench.encoders.making import make_encoder
from cbe_bench.encoders.rabitq_codes import RaBitQCodes, grid_lengths, grid_products
from cbe_bench.encoders.state import Field, Fitted, Shapes
from cbe_bench.kernels.grid import grid_codes
from cbe_bench.kernels.hadamard import padded_length
from cbe_bench.kernels.linalg.orthogonal import random_orthonormal
from cbe_bench.kernels.linalg.principal import centred_products, principal_directions
from cbe_bench.kernels.parallel import slices
from cbe_bench.kernels.ranking import lowest

ROTATIONS = ("circulant", "hadamard", "dense")
METRICS = ("ip", "l2")
_VALUES = 1 << 22
"""Rotated values in memory at once while encoding."""
_ROTATION = "rotation_."
"""What the names of the rotation's state begin with where they stand among those of the whole."""
_COSINE_ROWS = 1024
"""Rows of the training set that the least cosine is found from."""


class RaBitQ(Fitted):
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
        Round rotated queries to this many bits per dimension, so scoring counts common bits; None scores real numbers.
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

    name = "rabitq"

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
        """Find the centre, the principal directions if any, and draw the rotation.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The training set.
        """
        X = check_rows(self, X, reset=True)
        self.check_params(X.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        self.__dict__.pop("components_", None)
        self.center_ = X.mean(axis=0, dtype=np.float64)
        m = self.n_components or X.shape[1]
        if self.n_components is not None:
            self.components_ = np.zeros((m, X.shape[1]), np.float32)
            directions = principal_directions(X, m)[1]
            self.components_[: len(directions)] = directions
        self.n_dims_ = self._dims(m)
        if self.rotation == "dense":
            self.rotation_: NDArray | Encoder = random_orthonormal(rng, (m, m), np.float32)
        else:
            self.rotation_ = self._rotation_encoder(m, seed).fit(np.zeros((1, m), np.float32))
        self.dither_ = rng.random(self.n_dims_, dtype=np.float32)
        V = self._rotated(X[:: -(-len(X) // _COSINE_ROWS)])
        planes, products = grid_codes(V, self.bits_per_dim)
        lengths = grid_lengths(planes, self.n_dims_) * np.linalg.norm(V, axis=1)
        self.least_cosine_ = float(np.min(products / lengths, where=products > 0, initial=1))
        return self

    def _dims(self, n_components: int) -> int:
        return padded_length(n_components) if self.rotation == "hadamard" else n_components

    def _rotation_encoder(self, n_components: int, seed: int | None = None) -> Encoder:
        """Return the encoder, not fitted, whose projection is the rotation."""
        name = "cbe-orth" if self.rotation == "circulant" else "hd3"
        return make_encoder(name, n_bits=self._dims(n_components), random_state=seed)

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
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
        """Return the codes of vectors.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The vectors.

        Returns
        -------
        RaBitQCodes
            Of n rows.
        """
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
        """Return the estimates for all pairs of a query and a row.

        Parameters
        ----------
        queries : array of shape (n_queries, d)
            The query vectors.
        codes : RaBitQCodes
            The codes of n rows; equal ones have equal estimates.

        Returns
        -------
        float32 array of shape (n_queries, n)
            Of inner products, or of squared distances.
        """
        queries = self._checked(queries)
        W = self._rotated(queries)
        estimates = grid_products(W, codes.planes, self.query_bits, self.dither_)
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
        """Return bounds on the errors of `estimate`.

        They are those of real queries, and of inner products along the principal components if there are any: to round
        queries, or to leave components out, adds an error.

        Parameters
        ----------
        queries : array of shape (n_queries, d)
            The query vectors.
        codes : RaBitQCodes
            The codes of n rows.
        epsilon : float
            The larger, the more often the bounds hold: at 1.9 for at least 94 % of all pairs.

        Returns
        -------
        float32 array of shape (n_queries, n)
        """
        W = self._rotated(self._checked(queries))
        scale = epsilon * np.sqrt((1 - self.least_cosine_**2) / max(1, self.n_dims_ - 1))
        rows = scale * codes.factors * grid_lengths(codes.planes, self.n_dims_)
        bounds = np.linalg.norm(W, axis=1)[:, None] * rows.astype(np.float32)
        return 2 * bounds if self.metric == "l2" else bounds

    def search(self, queries: NDArray, codes: RaBitQCodes, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the best rows of each query, best first, ties by row number.

        Parameters
        ----------
        queries : array of shape (n_queries, d)
            The query vectors.
        codes : RaBitQCodes
            The codes of n rows.
        k : int
            How many rows to return.

        Returns
        -------
        estimates : float32 array of shape (n_queries, k)
        rows : int64 array of shape (n_queries, k)
        """
        scores = self.estimate(queries, codes)
        order = lowest(scores if self.metric == "l2" else -scores, k)
        return np.take_along_axis(scores, order, axis=1), order

    def _fitted_state(self) -> dict[str, Any]:
        state = super()._fitted_state()
        if isinstance(self.rotation_, Encoder):
            del state["rotation_"]
            state |= {_ROTATION + name: value for name, value in self.rotation_._fitted_state().items()}
        return state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith(_ROTATION)})
        if self.rotation != "dense":
            self.rotation_ = self._rotation_encoder(self.n_components or self.n_features_in_)
            self.rotation_._restore(_of_rotation(state))

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        m = self.n_components or n_features
        n_dims = self._dims(m)
        fields = {
            "n_features_in_": Field("i8", (), n_features, n_features),
            "n_dims_": Field("i8", (), n_dims, n_dims),
            "center_": Field("f8", (n_features,)),
            "dither_": Field("f4", (n_dims,), 0, 1),
            "least_cosine_": Field("f8", (), 0, 1),
        }
        if self.n_components is not None:
            fields["components_"] = Field("f4", (m, n_features))
        if self.rotation == "dense":
            return fields | {"rotation_": Field("f4", (m, m))}
        rotation = self._rotation_encoder(m)._state_fields(m, _of_rotation(shapes))
        return fields | {_ROTATION + name: field for name, field in rotation.items()}

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


def _of_rotation(state: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(_ROTATION): value for name, value in state.items() if name.startswith(_ROTATION)}
