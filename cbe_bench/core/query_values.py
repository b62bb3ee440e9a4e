"""One number for each query in a field of a row: base64 of little-endian 16-bit integers.

A value v from 0 to 1 is stored as round(65534 v), and 65535 stands for none. With NumPy alone they are read by
``np.frombuffer(base64.b64decode(text), "<u2") / 65534``.
"""

import base64
import binascii
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator

_MOST, _NONE = 65534, 65535


def pack_queries(values: ArrayLike) -> str:
    """Return the values of queries as text.

    Parameters
    ----------
    values : array_like of shape (n_queries,)
        From 0 to 1, or NaN for none.

    Returns
    -------
    str
    """
    values = np.asarray(values, np.float64)
    whole = np.where(np.isnan(values), _NONE, np.rint(_MOST * np.clip(values, 0, 1)))
    return base64.b64encode(whole.astype("<u2").tobytes()).decode()


def unpack_queries(text: str) -> NDArray[np.float64]:
    """Return what `pack_queries` was given, to within 1/131068; ValueError where the text is none of its making."""
    try:
        whole = np.frombuffer(base64.b64decode(text, validate=True), "<u2")
    except binascii.Error as error:
        raise ValueError(f"no values of queries: {error}") from None
    return np.where(whole == _NONE, np.nan, whole / _MOST)


def _checked(text: str) -> str:
    unpack_queries(text)
    return text


QueryValues = Annotated[str, AfterValidator(_checked)]
"""The type of a field with such values; empty where there are none."""
