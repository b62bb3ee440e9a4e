"""Encoding one vector at a time, for services that encode a query when it comes.

The checks of `encode`, made for matrices of any kind, take far longer than the code of a short vector. `encode_one`
looks at type and shape, and compiled code at the values; what is out of the ordinary is left to `encode`.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cbe_bench.core.errors import InputError
from cbe_bench.kernels.arrays import library_of
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.parallel import threads
from cbe_bench.kernels.single import EncodeSingle, is_suitable

_FLOAT32 = np.dtype(np.float32)


class SingleEncoder:
    """The part of an encoder that handles single vectors."""

    n_bits_: int
    n_features_in_: int
    resources: Any
    encode: Callable[..., Any]
    _encode: Callable[[NDArray], Codes]

    def _single(self) -> EncodeSingle:
        """Return a function that encodes one vector in single precision; a method may have a faster one."""

        def encode(x: NDArray[np.float32], code: NDArray[np.uint8]) -> bool:
            if not is_suitable(x):
                return False
            with threads(self.resources.threads):
                code[:] = self._encode(x[None])[0]
            return True

        return encode

    def encode_one(self, x: NDArray) -> Codes:
        """Return the packed code of one vector, the same bits as `encode`.

        Parameters
        ----------
        x : array-like of shape (d,)
            The vector. A contiguous float32 array takes the least time.

        Returns
        -------
        uint8 array of shape (ceil(n_bits / 8),)
        """
        bound = self.__dict__.get("_bound")
        return (bound or self._bind())(x)

    def _bind(self) -> Callable[[Any], Codes]:
        """Return `encode_one` with all that it looks up made ready; never saved."""
        check_is_fitted(self)
        shape, strides, n_bytes, single = (self.n_features_in_,), (4,), code_bytes(self.n_bits_), self._single()
        empty, uint8, ndarray = np.empty, np.uint8, np.ndarray

        def bound(x: Any) -> Codes:
            if type(x) is ndarray and x.dtype is _FLOAT32 and x.shape == shape and x.strides == strides:
                code = empty(n_bytes, uint8)
                if single(x, code):
                    return code
            return self._encode_any(x)

        self._bound = bound
        return bound

    def _encode_any(self, x: Any) -> Codes:
        x = np.asarray(x) if library_of(x) is None else x
        if x.ndim != 1:
            raise InputError(
                f"{type(self).__name__}: encode_one takes a vector, found {x.ndim} dimensions; encode takes rows"
            )
        return cast(Codes, self.encode(x[None, :])[0, :])
