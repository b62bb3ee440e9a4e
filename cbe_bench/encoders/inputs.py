"""Rows as encoders take them: finite, in C order, in single or double precision, of a magnitude that cannot overflow.

Single precision has room for sums of products of numbers around one, not of numbers around 1e30: rows whose largest
magnitude is far from one are computed in double precision. Numbers that are out of reach there too are an error.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from cbe_bench.core.errors import InputError
from cbe_bench.kernels.parallel import for_slices, slices
from cbe_bench.kernels.single import SINGLE_EXPONENT

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_SLICE_VALUES = 1 << 22
"""Numbers of a slice of rows that is checked or converted at once."""
_EXPONENTS = {FLOATS[0]: SINGLE_EXPONENT, FLOATS[1]: 480}
"""Largest magnitudes from 2**-e to 2**e are computed in this precision; far from its limits, as sums are larger."""


def check_rows(encoder: Any, X: Any, *, reset: bool) -> NDArray:
    """Return X as scikit-learn validates it, in a precision in which its products neither overflow nor vanish.

    Parameters
    ----------
    encoder : Encoder
        Whose number and names of features are set (`reset`) or must agree.
    X : array-like of shape (n, d)
        The rows. Numbers that are not floating-point become float32, as do those of float16.
    reset : bool
        Whether this is a training set: it has at least one row.

    Returns
    -------
    array of shape (n, d), float32 or float64, in C order

    Raises
    ------
    ValueError
        If X holds NaN or infinity or has another shape; InputError if its numbers are too large or too small.
    """
    known = isinstance(X, np.ndarray) and X.dtype in FLOATS and X.ndim == 2
    magnitude = largest_magnitude(X) if known else np.inf
    least = 1 if reset else 0
    finite = bool(np.isfinite(magnitude))
    X = validate_data(
        encoder, X, dtype=list(FLOATS), order="C", reset=reset, ensure_all_finite=not finite, ensure_min_samples=least
    )
    return _in_reach(X, magnitude if finite else largest_magnitude(X), type(encoder).__name__)


def in_slices(X: Any) -> list[slice] | None:
    """Return slices in which rows of another type are converted, so that they are never all held twice."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype not in FLOATS and X.size > _SLICE_VALUES:
        return slices(len(X), max(1, _SLICE_VALUES // X.shape[1]))
    return None


def largest_magnitude(X: NDArray) -> float:
    """Return max |x| over all numbers, found on all cores: NaN or infinity if there is any, zero if X is empty."""
    if X.size == 0:
        return 0.0
    found: list[float] = []

    def look(part: slice) -> None:
        found.append(max(float(X[part].max()), -float(X[part].min())))

    for_slices(look, len(X), max(1, _SLICE_VALUES // X.shape[1]))
    return float(np.max(found))


def fits_precision(magnitude: float, dtype: str | np.dtype) -> bool:
    """Return whether numbers of this largest magnitude have products that neither overflow nor vanish."""
    reach = 2.0 ** _EXPONENTS[np.dtype(dtype)]
    return magnitude == 0 or 1 / reach <= magnitude <= reach


def out_of_reach(name: str, magnitude: float) -> InputError:
    """Return the error about numbers that fit no precision there is."""
    size = "large" if magnitude > 1 else "small"
    return InputError(
        f"{name}: the numbers of X are too {size} (largest magnitude {magnitude:.3g}); scale them to about 1 first"
    )


def _in_reach(X: NDArray, magnitude: float, name: str) -> NDArray:
    """Return X, or X in double precision where single has no room for its products."""
    for dtype in FLOATS:
        if X.dtype.itemsize <= dtype.itemsize and fits_precision(magnitude, dtype):
            return X.astype(dtype, copy=False)
    raise out_of_reach(name, magnitude)
