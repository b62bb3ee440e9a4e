"""The fitted parameters of a method: how they are kept, and what they look like.

Those read from a file are checked against their fields before they are used.
"""

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.inputs import check_rows

Shapes = dict[str, tuple[int, ...]]
"""The shapes of stored arrays by name."""


class Fitted(BaseEstimator):
    """Something with parameters, whose names end in an underscore, that can be saved once they are fitted."""

    def save(self, path: str | Path) -> None:
        """Write what is fitted to one `.npz` file, to be read by `load_encoder`, or `load_rabitq`."""
        from cbe_bench.encoders.saving import save_encoder

        check_is_fitted(self)
        save_encoder(self, Path(path))

    def parameter_bytes(self) -> int:
        """Return the bytes of the fitted parameters."""
        return sum(value.nbytes for value in self._fitted_state().values() if isinstance(value, np.ndarray))

    def _checked(self, X: NDArray) -> NDArray:
        check_is_fitted(self)
        return check_rows(self, X, reset=False)

    def _recipe(self) -> dict[str, Any]:
        """Return the parameters with which it is made anew."""
        params: dict[str, Any] = self.get_params()
        return params

    def _fitted_state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name[0] != "_"}

    def _restore(self, state: dict[str, Any]) -> None:
        """Take back what `_fitted_state` gave."""
        self.__dict__ |= state

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be rebuilt: names that begin with an underscore."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name[0] != "_" or name == "_sklearn_version"}


@dataclass(frozen=True)
class Field:
    """An array, or a number, of a fitted encoder.

    Attributes
    ----------
    dtype : str
        The type, as NumPy abbreviates it.
    shape : tuple of int or None
        The shape, None where any length will do; an empty one is that of a number.
    low, high : float
        The least and largest value; infinite ones stand for any finite value.
    """

    dtype: str
    shape: tuple[int | None, ...] = ()
    low: float = -np.inf
    high: float = np.inf

    def check(self, name: str, value: Any) -> None:
        """Check an array or number of a fitted encoder.

        Parameters
        ----------
        name : str
            What messages call it.
        value : array or number
            The value.

        Raises
        ------
        InputError
            Unless it has the type, the shape and the range of the field.
        """
        if isinstance(value, np.ndarray):
            found, allowed = f"{value.dtype}{list(value.shape)}", f"{np.dtype(self.dtype)}{list(self.shape)}"
            lengths = zip(self.shape, value.shape, strict=False)
            fits = len(self.shape) == value.ndim and all(n is None or n == m for n, m in lengths)
            if value.dtype != self.dtype or not fits:
                raise InputError(f"{name} is {found}, not {allowed}")
        elif self.shape or isinstance(value, bool) or not isinstance(value, int if self.dtype == "i8" else Real):
            raise InputError(f"{name} is {value!r:.40}, not of type {np.dtype(self.dtype)}")
        self._check_range(name, np.asarray(value))

    def _check_range(self, name: str, values: np.ndarray) -> None:
        if values.size == 0:
            return
        least, most = values.min(), values.max()
        if not (np.isfinite(least) and np.isfinite(most)):
            raise InputError(f"{name} holds numbers that are not finite")
        if not (self.low <= least and most <= self.high):
            raise InputError(f"{name} holds {least}..{most}, outside of {self.low:g}..{self.high:g}")


def sign_field(*shape: int) -> Field:
    """Return the field of an array of -1 and +1."""
    return Field("i1", shape, -1, 1)


def index_field(dtype: str, count: int, *shape: int | None) -> Field:
    """Return the field of an array of indices 0..count-1.

    Parameters
    ----------
    dtype : str
        The type, as NumPy abbreviates it.
    count : int
        The number of things indexed.
    *shape : int or None
        The shape, None where any length will do.

    Returns
    -------
    Field
    """
    return Field(dtype, shape, 0, count - 1)
