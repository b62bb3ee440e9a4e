"""What an encoder is: a scikit-learn transformer from real vectors to packed binary codes.

A method states two things, how its parameters are learned or drawn (`_fit`) and the real values whose signs are the
code (`_project`). Everything else follows here: input checks, packing, +-1 output, saving. The other methods have
defaults that are right for any method and may be replaced where there is something better to say.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from cbe_bench.core.errors import InputError
from cbe_bench.core.resources import Resources
from cbe_bench.encoders.device import DeviceEncoder, unpack_codes
from cbe_bench.encoders.diagnostics import warn_of_problems
from cbe_bench.encoders.inputs import check_rows, in_slices
from cbe_bench.encoders.registry import register
from cbe_bench.encoders.seeds import child_rng, seed_of
from cbe_bench.encoders.single import SingleEncoder
from cbe_bench.encoders.state import Field, Fitted, Shapes
from cbe_bench.kernels.arrays import library_of
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs
from cbe_bench.kernels.parallel import slices, threads

__all__ = ["ENCODE_VALUES", "N_TRAIN", "Encoder", "child_rng", "register", "seed_of"]

N_TRAIN = 10_000
"""Rows of a training set as large as the paper's."""
ENCODE_VALUES = 1 << 23
"""Real values in memory at once while encoding: 32 MiB in single precision."""
_SHAPE_ROWS = 1024
"""Rows that an untrained method checks at most; it needs no more than their number of features."""


class Encoder(DeviceEncoder, SingleEncoder, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Fitted, ABC):
    """Real vectors to binary codes.

    Parameters
    ----------
    n_bits : int or None
        Code length k; None means as many bits as there are features.
    random_state : int, RandomState or None
        Decides every random draw.

    Attributes
    ----------
    n_bits_ : int
        Code length k.
    n_features_in_ : int
        Number of features d.
    """

    name: ClassVar[str]
    data_dependent: ClassVar[bool] = False
    """Whether the method is data-dependent: `fit` uses the values of its training set, not only their shape."""
    linear: ClassVar[bool] = False
    """Whether `project` is linear: project(x - m) = project(x) - project(m) up to rounding."""
    good_for: ClassVar[str] = ""
    """When to use the method, in a line."""
    encodes_as: ClassVar[str | None] = None
    """The method that encodes by the same operations, with parameters that were found in another way."""

    def __init__(self, n_bits: int | None = None, *, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    # What a method states

    @abstractmethod
    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        """Learn or draw the parameters, decided only by X, y and `rng`.

        Parameters
        ----------
        X : float32 or float64 array of shape (n, d)
            The training set; of an untrained method only the number of features counts.
        y : array-like of shape (n,) or None
            Labels of the rows; most methods ignore them.
        rng : numpy.random.Generator
            Every draw comes from it, or from one of its children (`child_rng`).
        """

    @abstractmethod
    def _project(self, X: NDArray) -> NDArray:
        """Return the (n, n_bits) real values whose signs are the codes, in the precision of X."""

    # What a method may state

    def _encode(self, X: NDArray) -> Codes:
        """Return the packed signs of the projections."""
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in slices(len(X), max(1, ENCODE_VALUES // self.n_bits_)):
            codes[part] = pack_signs(self._project(X[part]))
        return codes

    def _encode_above(self, X: NDArray, thresholds: NDArray) -> Codes:
        """Return the packed signs of the projections less thresholds, one for each bit, in the precision of X."""
        parts = slices(len(X), max(1, ENCODE_VALUES // self.n_bits_))
        return np.concatenate([pack_signs(self._project(X[part]) - thresholds) for part in parts])

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        if self.n_bits is not None:
            self._check_count("n_bits")

    def _check_count(self, param: str) -> None:
        value = getattr(self, param)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{self.name}: {param} = {value!r}; it must be a positive integer")

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output, before anything is allocated.

        Unless a method knows better, those of a dense matrix.

        Parameters
        ----------
        n_features : int
            The dimension d of the vectors.
        n_train : int
            Rows of the training set.

        Returns
        -------
        int
        """
        return 4 * n_features * self.bits(n_features) + 5 * ENCODE_VALUES

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector in operations of a matrix product; an FFT's count five times.

        Unless a method knows better, that of a dense matrix.
        """
        return 2.0 * n_features * self.bits(n_features)

    @property
    def nested(self) -> bool:
        """Whether the code of fewer bits is the beginning of the code of more bits, for the same seed."""
        return False

    def code_blocks(self) -> list[slice] | None:
        """Return the blocks of bits of a fitted encoder whose own distance is the median over their distances."""
        return None

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        """Return what the fitted state for this many features looks like; a saved one is checked against it.

        A method adds the arrays that its compiled code relies on. `shapes` are those of the stored arrays, where some
        length is not decided by the parameters. Nothing here may loop over, or allocate, as much as the sizes say.
        """
        n_bits = self.bits(n_features)
        return {"n_features_in_": Field("i8", (), n_features, n_features), "n_bits_": Field("i8", (), n_bits, n_bits)}

    def warm_up(self, X: NDArray) -> None:
        """Build what the first call builds, such as FFT plans, on some rows like X, so that it is not timed."""
        self.encode(X[:32])

    # What follows

    def bits(self, n_features: int) -> int:
        """Return the code length for vectors of this many features."""
        return int(self.n_bits or n_features)

    def set_resources(self, resources: Resources) -> Self:
        """Set the threads and memory this encoder may use; they decide how it computes, not what. Not saved."""
        self._resources = resources
        return self

    @property
    def resources(self) -> Resources:
        """What this encoder may use; those of the machine unless `set_resources` was called."""
        return self.__dict__.get("_resources", Resources())

    def fit(self, X: NDArray, y: Any = None) -> Self:
        """Learn or draw the parameters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The training set. An untrained method uses only its shape.
        y : array-like of shape (n,), optional
            Labels of the rows, for methods that use them.

        Warns
        -----
        CodeWarning
            If the codes of the training set are poor, such as those with constant bits.
        """
        with threads(self.resources.threads):
            X = self._fit_parameters(X, y)
            if self.data_dependent:
                warn_of_problems(self, X)
        return self

    def _fit_parameters(self, X: NDArray, y: Any) -> NDArray:
        """Check X, learn or draw the parameters, and return the rows that were used."""
        xp = library_of(X)
        if not self.data_dependent and (xp is not None or isinstance(X, np.ndarray)) and X.ndim == 2:
            X = X[: min(X.shape[0], _SHAPE_ROWS), :]
        X = check_rows(self, X, reset=True) if xp is None else self._training_array(xp, X)
        self.check_params(X.shape[1])
        self.n_bits_ = self.bits(X.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        self._copies().clear()
        self.__dict__.pop("_bound", None)
        if xp is None:
            self._fit(X, y, rng)
        else:
            self._fit_array(xp, X, y, rng)
        return X

    def project(self, X: NDArray) -> NDArray:
        """Return the real values whose signs are the codes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The vectors. Arrays of other libraries than NumPy are projected where they are; see `to_device`.

        Returns
        -------
        array of shape (n, n_bits), in the precision, of the library and on the device of X
        """
        xp = library_of(X)
        if xp is not None:
            return self._project_on_device(xp, X)
        checked = self._checked(X)
        if len(checked) == 0:
            return np.empty((0, self.n_bits_), checked.dtype)
        with threads(self.resources.threads):
            values = self._project(checked)
        if getattr(X, "dtype", None) == np.float32:  # computed in double precision if X is very large or small
            with np.errstate(over="ignore"):
                values = values.astype(np.float32, copy=False)
        return values

    def encode(self, X: NDArray, *, check_input: bool = True) -> Codes:
        """Return the packed codes of the rows of X: bit 1 for values >= 0, lowest bit first.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The vectors. Types other than float32 and float64 are converted slice by slice. Arrays of other libraries
            than NumPy are encoded where they are; see `to_device`.
        check_input : bool
            Rows known to be finite, in C order and of the right length and type may go unchecked.

        Returns
        -------
        uint8 array of shape (n, ceil(n_bits / 8)), of the library and on the device of X
        """
        xp = library_of(X)
        if xp is not None:
            return self._encode_on_device(xp, X, check_input)
        parts = in_slices(X) if check_input else None
        if parts is not None:
            return np.concatenate([self.encode(X[part]) for part in parts])
        with threads(self.resources.threads):
            X = self._checked(X) if check_input else X
            return self._encode(X) if len(X) else np.empty((0, code_bytes(self.n_bits_)), np.uint8)

    def transform(self, X: NDArray) -> NDArray[np.int8]:
        """Return the codes as an (n, n_bits) array of -1 and +1."""
        return unpack_codes(self.encode(X), self.n_bits_)

    @property
    def _n_features_out(self) -> int:
        return self.n_bits_

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that codes are int8 whatever the input is."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
