"""Arrays of other libraries, on whatever device they are: torch, CuPy, JAX and all that follow the array-API standard.

Everything here is written once, over the namespace `xp` of the array at hand, and leaves results where its input is.
NumPy arrays never come here: they have the compiled kernels.
"""

from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from cbe_bench.kernels.bits import code_bytes

Array = Any
"""An array of the array-API standard."""
Namespace = Any
"""The functions of its library."""

_HADAMARD_FACTOR = 32
"""Side of the Walsh-Hadamard matrices whose Kronecker product is multiplied by: one pass over memory for each."""


def library_of(X: Any) -> Namespace | None:
    """Return the namespace of an array that lives in another library than NumPy; None for all that NumPy converts.

    Lazy and sparse arrays (Dask, PyData Sparse) are converted as before.
    """
    if isinstance(X, np.ndarray) or not array_api_compat.is_array_api_obj(X) or array_api_compat.is_numpy_array(X):
        return None
    if array_api_compat.is_dask_array(X) or array_api_compat.is_pydata_sparse_array(X):
        return None
    return array_api_compat.array_namespace(X)


def dtype_name(X: Array) -> str:
    """Return the name of the type of an array as NumPy has it, such as float32."""
    return str(X.dtype).rsplit(".", 1)[-1]


class Place(NamedTuple):
    """Where arrays are, and their precision."""

    xp: Namespace
    device: Any
    """None within `jax.jit`, where an array has no device yet."""
    dtype: str
    """float32 or float64."""

    @classmethod
    def of(cls, X: Array) -> "Place":
        """Return the place of an array of float32 or float64."""
        return cls(array_api_compat.array_namespace(X), array_api_compat.device(X), dtype_name(X))

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells this place from others."""
        return self.library, str(self.device), self.dtype

    @property
    def library(self) -> str:
        """The name of the library."""
        return str(self.xp.__name__).removeprefix("array_api_compat.").split(".")[0]

    def put(self, array: NDArray) -> Array:
        """Copy a NumPy array there; real and complex numbers in the precision of the place, others as they are."""
        kinds = {"f": self.dtype, "c": {"float32": "complex64", "float64": "complex128"}[self.dtype]}
        array = np.ascontiguousarray(array, kinds.get(array.dtype.kind, array.dtype))
        return self.xp.asarray(array if array.flags.writeable else array.copy(), device=self.device)


def to_host(X: Any) -> NDArray:
    """Return an array as NumPy's, copied from its device."""
    if array_api_compat.is_torch_array(X):
        X = X.detach().cpu()
    elif array_api_compat.is_cupy_array(X):
        X = X.get()
    elif array_api_compat.is_array_api_strict_namespace(xp := array_api_compat.array_namespace(X)):
        X = X.to_device(xp.Device("CPU_DEVICE"))
    return np.asarray(X)


def matmul(xp: Namespace, a: Array, b: Array) -> Array:
    """Return a @ b in the precision of its operands: JAX would multiply in less on some devices."""
    if array_api_compat.is_jax_namespace(xp):
        return xp.matmul(a, b, precision="highest")
    return xp.matmul(a, b)


def pack_signs(xp: Namespace, values: Array) -> Array:
    """Pack the signs of each row of values (n, k) into a row of bytes, in the layout of `kernels.bits`."""
    n, n_bits = values.shape
    bits = padded_rows(xp, xp.astype(values >= 0, xp.uint8), 8 * code_bytes(n_bits))
    weights = xp.asarray([1 << bit for bit in range(8)], dtype=xp.uint8, device=array_api_compat.device(values))
    return xp.sum(xp.reshape(bits, (n, code_bytes(n_bits), 8)) * weights, axis=2, dtype=xp.uint8)


def unpack_signs(xp: Namespace, codes: Array, n_bits: int, dtype: Any) -> Array:
    """Return codes (n, bytes) as -1 and +1 (n, n_bits) of a type of the library, the inverse of `pack_signs`."""
    n, n_bytes = codes.shape
    shifts = xp.arange(8, dtype=xp.uint8, device=array_api_compat.device(codes))
    bits = xp.bitwise_right_shift(codes[:, :, None], shifts) & xp.ones_like(shifts)
    return 2 * xp.astype(xp.reshape(bits, (n, 8 * n_bytes))[:, :n_bits], dtype) - 1


def column_medians(xp: Namespace, values: Array) -> Array:
    """Return the median of each column."""
    n = values.shape[0]
    ordered = xp.sort(values, axis=0)
    return (ordered[(n - 1) // 2, :] + ordered[n // 2, :]) / 2


def circulant_product(xp: Namespace, X: Array, signs: Array, spectrum: Array) -> Array:
    """Return circ(r) (signs * x) of each row x.

    Parameters
    ----------
    xp : namespace
        The library of the arrays.
    X : array of shape (n, d)
        The rows.
    signs : array of shape (d,)
        The sign flips, in the precision of X.
    spectrum : complex array of shape (d // 2 + 1,)
        The transform of r at the frequencies 0..d/2.
    """
    return xp.fft.irfft(xp.fft.rfft(X * signs, axis=1) * spectrum, n=X.shape[1], axis=1)


def padded_rows(xp: Namespace, X: Array, length: int) -> Array:
    """Return the rows of X with zeros behind them, up to a length."""
    n, d = X.shape
    if d == length:
        return X
    return xp.concat([X, xp.zeros((n, length - d), dtype=X.dtype, device=array_api_compat.device(X))], axis=1)


def hadamard_factors(length: int) -> list[NDArray[np.float32]]:
    """Return Walsh-Hadamard matrices whose Kronecker product is the one of `length`, a power of two."""
    factors = []
    while length > 1:
        side = min(length, _HADAMARD_FACTOR)
        matrix = np.ones((1, 1), np.float32)
        while len(matrix) < side:
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        factors.append(matrix)
        length //= side
    return factors


def hadamard_transform(xp: Namespace, X: Array, factors: list[Array]) -> Array:
    """Return H x, unnormalised, of each block of each row x: blocks of the length that `factors` are for.

    Parameters
    ----------
    xp : namespace
        The library of the arrays.
    X : array of shape (n, length)
        The rows, a multiple of the blocks in length.
    factors : list of square arrays
        What `hadamard_factors` returned, in the precision of X.
    """
    shape, right = X.shape, 1
    for matrix in factors:  # of (A kron B) x, x as a matrix: A X B'
        side = matrix.shape[0]
        if right == 1:
            X = matmul(xp, xp.reshape(X, (-1, side)), matrix)
        else:
            X = matmul(xp, matrix, xp.reshape(X, (-1, side, right)))
        right *= side
    return xp.reshape(X, shape)
