"""Learned circulant embedding: r is fitted to its own codes.

With X the training set, sign flips applied, and R = circ(r), the codes B and r minimise

    ||B - X R'||^2 + lam ||R R' - I||^2

alternately: B = sign(X R'), then the best r for that B. The latter is one independent problem for each frequency, with
a closed form (`_circulant_opt_solver`), so both steps are exact and the objective never increases. An iteration is one
pass over the rows (`_circulant_opt_statistics`): it takes O(d) numbers from them, in O(N d log d). For k < d bits the
other columns of B are zero; for k > d blocks are learned independently.

Pairs of rows known to be similar or dissimilar add mu N/(number of pairs) times the sum of ||R x_i - R x_j||^2 over the
similar ones less that over the dissimilar ones: another weight for each frequency, nothing more.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders._circulant_opt_arrays import ArrayStatistics
from cbe_bench.encoders._circulant_opt_gradient import descended_spectrum
from cbe_bench.encoders._circulant_opt_solver import best_spectrum, objective
from cbe_bench.encoders._circulant_opt_statistics import CirculantStatistics, spectrum_cache_bytes, statistics_bytes
from cbe_bench.encoders.base import N_TRAIN, child_rng, register
from cbe_bench.encoders.circulant_base import CirculantEncoder
from cbe_bench.encoders.inputs import largest_magnitude
from cbe_bench.encoders.pairs import Pairs, given_pairs, labelled_pairs
from cbe_bench.encoders.state import Field, Shapes
from cbe_bench.kernels.arrays import Array, Namespace, library_of, to_host

Statistics = CirculantStatistics | ArrayStatistics
SOLVERS = {"closed-form": best_spectrum, "gradient-descent": descended_spectrum}
"""How the spectrum of r is found for given codes."""
SCALINGS = ("one", "1/sqrt(d)")
"""What the entries of codes are in the objective, up to their sign."""
_LARGEST_SIZE = 2.0**125
"""Numbers up to this magnitude, and down to its inverse, are in the range of single precision."""


class _Given(NamedTuple):
    """Pairs as `fit` was given them, in the place of labels."""

    similar: ArrayLike | None
    dissimilar: ArrayLike | None


class Training(NamedTuple):
    """A training set as learning sees it, whatever library holds it."""

    shape: tuple[int, int]
    magnitude: float
    """The largest of its numbers."""
    pairs: Pairs | None
    statistics: Callable[[NDArray, int], Statistics]
    """Return its statistics for given sign flips and bits of a code."""


@register("cbe-opt")
class CBEOpt(CirculantEncoder):
    """Learned circulant embedding.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    rows : {"first", "strided"}
        Which rows of the circulant matrix give k < d bits: the first k, or every s-th row, s a power of two up to d/k,
        which costs less the fewer they are. The matrix is learned for the same rows.
    sign_flips : bool
        Whether D is random signs; else it is the identity.
    solver : {"closed-form", "gradient-descent"}
        How r is found for given codes: exactly, or as the paper does. Gradient descent needs a finite `lam`.
    scaling : {"one", "1/sqrt(d)"}
        The size of the entries of B: 1, or 1/sqrt(d), that of vectors of unit length.
    lam : float
        Weight of orthogonality, above zero; infinity makes R orthogonal.
    mu : float
        Weight of the pairs; zero ignores pairs and labels.
    n_pairs : int or None
        Pairs drawn from labels, half of them similar; None means as many as there are rows.
    max_iter : int
        Iterations at most. Codes of fewer bits than features gain from up to a hundred of them; the paper makes ten.
    tol : float
        An iteration that lowers the objective by less than this fraction of it is the last. By default this ends
        training for as many bits as features after some ten or twenty iterations, where more gain nothing, and
        training for fewer bits hardly before the last.
    random_state : int, RandomState or None
        Decides the initial r, the signs, and the pairs that are drawn.

    Attributes
    ----------
    r_ : float32 array of shape (blocks, d)
        First column of the circulant matrix of each block of d bits.
    signs_ : int8 array of shape (blocks, d)
        The sign flips of each block.
    objective_ : float64 array
        The objective at the start and after each iteration, summed over the blocks.
    n_iter_ : int
        Iterations of the block that took most.
    """

    good_for = "the first choice with a training set: long vectors and long codes, O(d log d) time, O(d) memory"
    data_dependent = True
    encodes_as = "cbe-rand"

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        rows: str = "first",
        sign_flips: bool = True,
        solver: str = "closed-form",
        scaling: str = "one",
        lam: float = 1.0,
        mu: float = 0.0,
        n_pairs: int | None = None,
        max_iter: int = 100,
        tol: float = 5e-6,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, random_state=random_state)
        self.rows = rows
        self.sign_flips = sign_flips
        self.solver = solver
        self.scaling = scaling
        self.lam = lam
        self.mu = mu
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.tol = tol

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        super().check_params(n_features)
        n_pairs = 2 if self.n_pairs is None else self.n_pairs
        numbers = {
            "lam": (_is_real(self.lam) and self.lam > 0, "a number above 0, or infinity"),
            "mu": (_is_real(self.mu) and 0 <= self.mu < np.inf, "a finite number from 0 on"),
            "tol": (_is_real(self.tol) and self.tol >= 0, "a number from 0 on"),
            "max_iter": (_is_integer(self.max_iter) and self.max_iter >= 1, "a positive integer"),
            "n_pairs": (_is_integer(n_pairs) and n_pairs >= 2, "an integer from 2 on, or None"),
        }
        for name, (right, allowed) in numbers.items():
            if not right:
                raise InputError(f"{self.name}: {name} = {getattr(self, name)!r}; it must be {allowed}")
        for name, choices in {"solver": tuple(SOLVERS), "scaling": SCALINGS}.items():
            value = getattr(self, name)
            if value not in choices:
                raise InputError(f"{self.name}: {name} = {value!r}; {did_you_mean(str(value), choices)}")
        if np.isinf(self.lam) and self.solver != "closed-form":
            raise InputError(f"{self.name}: lam = {self.lam}; solver = {self.solver!r} needs a finite one")

    def fit(
        self, X: NDArray, y: Any = None, *, similar: ArrayLike | None = None, dissimilar: ArrayLike | None = None
    ) -> Self:
        """Learn r from the rows of X and, if mu is above zero, from pairs of them.

        Parameters
        ----------
        X : array of shape (n, d)
            The training set.
        y : array_like of shape (n,), optional
            Labels, from which pairs are drawn if neither kind of pairs is given.
        similar, dissimilar : array_like of shape (n_pairs, 2), optional
            Pairs of row numbers.

        Returns
        -------
        self
        """
        return super().fit(X, y if similar is None and dissimilar is None else _Given(similar, dissimilar))

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        def statistics(flips: NDArray, n_bits: int) -> CirculantStatistics:
            return CirculantStatistics(X, flips, n_bits, self._cache(), self._stride(X.shape[1]))

        self._learn(Training(X.shape, largest_magnitude(X), self._pairs(y, len(X), rng), statistics), rng)

    def _fit_array(self, xp: Namespace, X: Array, y: Any, rng: np.random.Generator) -> None:
        def statistics(flips: NDArray, n_bits: int) -> ArrayStatistics:
            return ArrayStatistics(X, flips, n_bits, self._stride(X.shape[1]))

        labels = y if y is None or library_of(y) is None else to_host(y)
        magnitude, pairs = float(xp.max(xp.abs(X))), self._pairs(labels, X.shape[0], rng)
        self._learn(Training(X.shape, magnitude, pairs, statistics), rng)

    def _pairs(self, y: Any, n_rows: int, rng: np.random.Generator) -> Pairs | None:
        """Return the training pairs, given or drawn; None if they have no weight."""
        if self.mu == 0:
            return None
        if isinstance(y, _Given):
            return given_pairs(y.similar, y.dissimilar, n_rows)
        if y is None:
            raise InputError(f"{self.name}: mu = {self.mu} needs labels y or pairs of rows, similar or dissimilar")
        n_pairs = max(2, n_rows) if self.n_pairs is None else self.n_pairs
        return labelled_pairs(y, n_rows, n_pairs, child_rng(rng, 0, 1))

    def _learn(self, training: Training, rng: np.random.Generator) -> None:
        n_rows, d = training.shape
        blocks = self._blocks(d)
        self.r_, self.signs_ = np.empty((blocks, d), np.float32), np.empty((blocks, d), np.int8)
        histories, scale = [], self._scale(training.magnitude)
        for block in range(blocks):
            child = child_rng(rng, block)
            start = np.fft.rfft(np.asarray(child.standard_normal(d, dtype=np.float32), np.float64))
            self.signs_[block] = self._draw_signs(child, d)
            n_bits = min(d, self.n_bits_ - block * d)
            statistics = training.statistics(self.signs_[block] * scale, n_bits)
            weights = self._pair_weights(statistics, n_rows, training.pairs)
            spectrum, history = self._minimise(statistics, scale, start, weights)
            self.r_[block] = np.fft.irfft(spectrum, n=d)
            histories.append(history)
        self.n_iter_ = max(map(len, histories)) - 1
        self.objective_ = np.sum([np.pad(c, (0, self.n_iter_ + 1 - len(c)), mode="edge") for c in histories], axis=0)
        self._products: dict[str, list] = {}

    def _scale(self, magnitude: float) -> float:
        """Return the power of two that brings X to about 1, so that sums of squares fit into single precision."""
        size = _power_of_two(magnitude)
        if not 1 / _LARGEST_SIZE <= size <= _LARGEST_SIZE:
            too = "large" if size > 1 else "small"
            raise InputError(f"{self.name}: the numbers of the training set are too {too}; scale them to about 1")
        return 1 / size

    def _pair_weights(self, statistics: Statistics, n_rows: int, pairs: Pairs | None) -> float | NDArray:
        """Return what the pairs add to m."""
        if pairs is None:
            return 0.0
        similar, dissimilar = (statistics.difference_powers(kind) for kind in pairs)
        return self.mu * n_rows / pairs.number * (similar - dissimilar)

    def _minimise(
        self, statistics: Statistics, scale: float, z: NDArray[np.complex128], weights: float | NDArray
    ) -> tuple[NDArray[np.complex128], list[float]]:
        """Minimise from the spectrum z on; return the last spectrum and the objective history.

        The statistics, and the weights of pairs, are those of X times `scale`, a power of two: nothing is rounded.
        """
        if np.isinf(self.lam):
            z = best_spectrum(np.zeros(len(z)), z, z, np.inf, statistics.d)
        size = 1.0 if self.scaling == "one" else statistics.d**-0.5
        m, c = statistics.first(z / _power_of_two(z))
        m, c = (m + weights) / scale**2, c * (size / scale)
        square = size**2 * statistics.n_signs
        history = [objective(z, m, c, self.lam, statistics.d, square)]
        for iteration in range(self.max_iter):
            if iteration > 0:
                before, c = c, statistics.correlations(z / _power_of_two(z)) * (size / scale)
                if np.array_equal(before, c):  # no sign has changed, so nothing ever will
                    break
            z = SOLVERS[self.solver](m, c, z, self.lam, statistics.d)
            history.append(objective(z, m, c, self.lam, statistics.d, square))
            if history[-2] - history[-1] <= self.tol * abs(history[-2]):
                break
        return z, history

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        learned = {"objective_": Field("f8", (None,)), "n_iter_": Field("i8", (), 0)}
        return super()._state_fields(n_features, shapes) | learned

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        return super().memory_bytes(n_features, n_train) + statistics_bytes(
            n_features, n_train, self._cache(), self.resources.n_threads, pairs=self.mu > 0
        )

    def _cache(self) -> int:
        return spectrum_cache_bytes(self.resources.memory_limit)


def _power_of_two(values: ArrayLike) -> float:
    """Return the power of two next above max |values|: to divide by it rounds nothing."""
    return float(2.0 ** np.frexp(np.abs(values).max())[1])


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
