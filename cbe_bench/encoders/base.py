"""What an encoder is: a scikit-learn transformer from real vectors to packed binary codes.

A method states two things, how its parameters come about (`_fit`) and the real values whose signs are the code
(`_project`). Everything else follows here: checking input, packing, +-1 output, saving.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cbe_bench.core.cache import whole_file
from cbe_bench.core.errors import InputError
from cbe_bench.kernels.bits import Codes, code_bytes, pack_signs, unpack_signs
from cbe_bench.kernels.parallel import for_slices, slices

REGISTRY: dict[str, type["Encoder"]] = {}
AnyEncoder = TypeVar("AnyEncoder", bound=type["Encoder"])

_FLOATS = [np.float32, np.float64]
_CHECK_VALUES = 1 << 22
"""Numbers of a slice that is looked at for infinite ones."""
_ENCODE_VALUES = 1 << 25
"""Real values held at once while encoding: 128 MiB in float32."""


def register(name: str) -> Callable[[AnyEncoder], AnyEncoder]:
    """Make a class known to the suite under `name`."""

    def add(cls: AnyEncoder) -> AnyEncoder:
        if name in REGISTRY:
            raise ValueError(f"two encoders are called {name!r}: {REGISTRY[name].__name__} and {cls.__name__}")
        cls.name = name
        REGISTRY[name] = cls
        return cls

    return add


class Encoder(TransformerMixin, BaseEstimator, ABC):
    """Real vectors to binary codes.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    random_state : int, RandomState or None
        Decides every random draw.

    Attributes
    ----------
    n_bits_ : int
        Bits of a code.
    n_features_in_ : int
        Features of a vector.
    """

    name: ClassVar[str]
    learns: ClassVar[bool] = False
    """Whether `fit` looks at the values of its data or only at their number of features."""
    encodes_as: ClassVar[str | None] = None
    """The method whose codes are made by the very same operations, on parameters that came about otherwise."""

    def __init__(self, n_bits: int | None = None, *, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    @abstractmethod
    def _fit(self, X: NDArray, seed: int) -> None:
        """Learn or draw the parameters, decided by X and `seed` alone."""

    def _fit_supervised(self, X: NDArray, y: Any, seed: int) -> None:
        """Learn with the labels of X, if there are any; to be replaced where they are of use."""
        self._fit(X, seed)

    @abstractmethod
    def _project(self, X: NDArray) -> NDArray:
        """Return the (n, n_bits) real values whose signs are the codes, in the precision of X."""

    def _encode(self, X: NDArray) -> Codes:
        """Return the packed signs of the projections; to be replaced where there is a shorter way."""
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for part in slices(len(X), max(1, _ENCODE_VALUES // self.n_bits_)):
            codes[part] = pack_signs(self._project(X[part]))
        return codes

    def check_params(self, n_features: int) -> None:
        """Raise InputError if the parameters cannot work for vectors of this many features."""
        if self.n_bits is not None:
            self._check_count("n_bits")

    def _check_count(self, param: str) -> None:
        value = getattr(self, param)
        if not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{self.name}: {param} = {value!r}; it must be a positive integer")

    @abstractmethod
    def memory_bytes(self, n_features: int) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output, before anything is allocated."""

    @abstractmethod
    def work(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector in operations of a matrix product; an FFT's count five times."""

    def fit(self, X: NDArray, y: Any = None) -> Self:
        """Learn or draw the parameters for vectors like the rows of X."""
        X = self._validated(X, reset=True)
        self.check_params(X.shape[1])
        self.n_bits_ = self.bits(X.shape[1])
        self._fit_supervised(X, y, int(check_random_state(self.random_state).randint(2**31 - 1)))
        return self

    @property
    def nested(self) -> bool:
        """Whether the code of fewer bits is the beginning of the code of more bits, for the same seed."""
        return False

    def code_blocks(self) -> list[slice] | None:
        """Return the blocks of bits of a fitted encoder whose own distance is the median over their distances."""
        return None

    def bits(self, n_features: int) -> int:
        """Return the bits of a code of vectors of this many features."""
        return int(self.n_bits or n_features)

    def lengths(self, n_features: int, most: int) -> Sequence[int]:
        """Return the numbers of bits up to `most`, rising, that make good use of the time they take: whole bytes."""
        return [*range(8, most, 8), most]

    def project(self, X: NDArray) -> NDArray:
        """Return the (n, n_bits) real values whose signs are the codes."""
        return self._project(self._checked(X))

    def encode(self, X: NDArray, *, check_input: bool = True) -> Codes:
        """Return the packed codes of the rows of X: bit 1 for values >= 0, lowest bit first.

        Rows known to be finite, in C order and of the right length and type may go unchecked.
        """
        return self._encode(self._checked(X) if check_input else X)

    def warm_up(self, X: NDArray) -> None:
        """Build what the first call builds, such as FFT plans, on some rows like X, so that it is not timed."""
        self.encode(X[:32])

    def transform(self, X: NDArray) -> NDArray[np.int8]:
        """Return the codes as an array of -1 and +1."""
        return unpack_signs(self.encode(X), self.n_bits_)

    def parameter_bytes(self) -> int:
        """Return the bytes of what `fit` has drawn or learned."""
        return sum(value.nbytes for value in self._fitted_state().values() if isinstance(value, np.ndarray))

    def save(self, path: str | Path) -> None:
        """Write the fitted encoder to one `.npz` file, without pickling anything."""
        check_is_fitted(self)
        params = {**self._recipe(), "random_state": None}
        state = self._fitted_state()
        arrays = {n: value for n, value in state.items() if isinstance(value, np.ndarray) and value.dtype != object}
        others = {name: value for name, value in state.items() if name not in arrays}
        head = json.dumps({"encoder": self.name, "params": params, "others": others}, default=_plain)
        arrays["__head__"] = np.array(head)
        with whole_file(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    def _checked(self, X: NDArray) -> NDArray:
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _validated(self, X: NDArray, *, reset: bool) -> NDArray:
        """Check the rows as scikit-learn does; what is found finite on all cores is not looked at again on one."""
        finite = isinstance(X, np.ndarray) and X.dtype in _FLOATS and X.ndim == 2 and _sums_are_finite(X)
        checked: NDArray = validate_data(self, X, dtype=_FLOATS, order="C", reset=reset, ensure_all_finite=not finite)
        return checked

    def _recipe(self) -> dict[str, Any]:
        """Return the parameters with which `make_encoder` makes this encoder from its name."""
        params: dict[str, Any] = self.get_params()
        return params

    def _restore(self, state: dict[str, Any]) -> None:
        """Take back what `_fitted_state` gave."""
        self.__dict__ |= state

    def _fitted_state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name[0] != "_"}

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that codes are int8 whatever the input is."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be rebuilt: names that begin with an underscore."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name[0] != "_" or name == "_sklearn_version"}


def _sums_are_finite(X: NDArray) -> bool:
    """Tell whether sums over slices of rows, added up on all cores, are finite: then so is every number."""
    sums = []
    with np.errstate(over="ignore", invalid="ignore"):
        for_slices(lambda part: sums.append(X[part].sum()), len(X), max(1, _CHECK_VALUES // max(1, X.shape[1])))
    return bool(np.isfinite(sums).all())


def _plain(value: Any) -> Any:
    """Return a NumPy scalar or array of names as plain Python."""
    return value.tolist()


def load_encoder(path: str | Path) -> Encoder:
    """Read an encoder that `Encoder.save` wrote."""
    from cbe_bench.encoders import make_encoder

    try:
        with np.load(path, allow_pickle=False) as stored:
            head = json.loads(str(stored["__head__"]))
            arrays = {name: stored[name] for name in stored.files if name != "__head__"}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except Exception:
        raise InputError(f"{path}: not a saved encoder") from None
    encoder = make_encoder(head["encoder"], **head["params"])
    others = head["others"]
    if "feature_names_in_" in others:
        others["feature_names_in_"] = np.array(others["feature_names_in_"], object)
    encoder._restore(others | arrays)
    return encoder
