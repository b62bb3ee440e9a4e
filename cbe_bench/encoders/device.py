"""Encoding arrays of other libraries where they are: torch, CuPy, JAX, whatever follows the array-API standard.

The fitted parameters stay NumPy arrays, which decide what is saved; copies of them go to a device when an array of it
is first encoded, or by `to_device`. A method says what is copied (`_device_state`) and how it projects with that
(`_project_array`), in the operations that all such libraries have. Nothing of X, nor of its codes, passes through the
host; the check of the input reads one number, its largest magnitude.

Arrays on a GPU stay there. The circulant methods, `hd3`, the bilinear methods and `lsh`, also centred, with
thresholds, `pca` or `precondition`, take torch, CuPy and JAX arrays, and others of the array-API standard: `encode`,
`project` and `transform` return arrays of the same library on the same device, and `top_k` finds the nearest of such
codes. Untrained methods and `cbe-opt` also fit there. `encoder.to_device("cuda")` copies the parameters ahead of the
first call. `cbe-bench time --device gpu --dims 2^15..2^20 --batch 64 --name gpu` times every method on a device
beside one thread of the processor, copying apart, and decides the claim S7-gpu. All of it was tested on the CPU, with
array_api_strict, JAX (`pip install 'cbe-bench[jax]'`) and torch; no GPU was at hand.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cbe_bench.core.errors import InputError
from cbe_bench.encoders.inputs import fits_precision, out_of_reach
from cbe_bench.kernels import arrays, bits
from cbe_bench.kernels.arrays import Array, Namespace, Place, dtype_name, library_of
from cbe_bench.kernels.devices import find_device
from cbe_bench.kernels.parallel import slices

if TYPE_CHECKING:
    from cbe_bench.encoders.base import Encoder

_VALUES = 1 << 24
"""Real values that are projected at once: 64 MiB in single precision, and a few times that in transforms."""


class DeviceEncoder:
    """The part of an encoder that handles arrays of other libraries."""

    name: ClassVar[str]
    data_dependent: ClassVar[bool]
    n_bits_: int
    n_features_in_: int
    _fit: Callable[[NDArray, Any, np.random.Generator], None]

    # What a method states

    def _device_state(self, place: Place) -> Any:
        """Return the fitted parameters as `_project_array` takes them, as arrays made by `place.put`."""
        self._refuse(place.library)

    def _project_array(self, xp: Namespace, X: Array, state: Any) -> Array:
        """Return the (n, n_bits) real values whose signs are the codes, in the precision of X.

        Parameters
        ----------
        xp : namespace
            The library of X.
        X : float32 or float64 array of shape (n, d)
            Some rows.
        state : Any
            What `_device_state` returned for their place.
        """
        raise NotImplementedError(f"{type(self).__name__} has no _project_array")

    def _fit_array(self, xp: Namespace, X: Array, y: Any, rng: np.random.Generator) -> None:
        """Learn or draw the parameters, NumPy arrays as `_fit` leaves them, from an array of another library."""
        if self.data_dependent:
            raise InputError(
                f"{self.name}: fit takes no array of {Place.of(X).library} for this method; fit it to a NumPy array, "
                "then encode arrays of any device"
            )
        self._fit(np.zeros((1, X.shape[1]), np.float32), y, rng)

    def _refuse(self, library: str) -> None:
        from cbe_bench.encoders.registry import encoder_classes

        able = [name for name, cls in encoder_classes().items() if takes_device_arrays(cls)]
        raise InputError(
            f"{self.name}: takes no array of {library}, only NumPy's; those that take any: {', '.join(able)}"
        )

    # What follows

    def to_device(self, device: Any) -> Self:
        """Copy the fitted parameters to a device, so that the first call there need not.

        Parameters
        ----------
        device : str or array
            The name of a device, such as "gpu", "cuda:1", "cupy" or "jax" (see `kernels.devices`), or any
            array that lives on it. "cpu" drops all copies: NumPy arrays need none.

        Returns
        -------
        self
            The encoder, which encodes arrays of that device, and NumPy arrays as before.
        """
        check_is_fitted(self)
        if isinstance(device, str) and device == "cpu":
            self._copies().clear()
            return self
        if isinstance(device, str):
            found = find_device(device)
            place = Place(found.xp, found.device, "float32")
        elif library_of(device) is not None:
            dtype = "float64" if dtype_name(device) == "float64" else "float32"
            place = Place.of(device)._replace(dtype=dtype)
        else:
            raise InputError(
                f"{self.name}: to_device takes the name of a device or an array on it, found {device!r:.40}"
            )
        self._state_at(place)
        return self

    def _copies(self) -> dict[tuple[str, str, str], Any]:
        """Return the parameters on devices, by place; never saved."""
        copies: dict[tuple[str, str, str], Any] = self.__dict__.setdefault("_device_copies", {})
        return copies

    def _state_at(self, place: Place) -> Any:
        copies = self._copies()
        if place.device is None:  # within jax.jit, where nothing can be copied
            known = [state for key, state in copies.items() if (key[0], key[2]) == (place.library, place.dtype)]
            if not known:
                raise InputError(f"{self.name}: call to_device before {place.library} compiles a function that encodes")
            return known[-1]
        if place.key not in copies:
            try:
                copies[place.key] = self._device_state(place)
            except InputError:
                raise
            except Exception as error:  # whatever a library raises for a device it cannot use
                reason = str(error) or type(error).__name__
                raise InputError(
                    f"{self.name}: the parameters cannot be copied to device {str(place.device)!r} of {place.library}: "
                    f"{reason.splitlines()[0]}"
                ) from error
        return copies[place.key]

    def _projections(self, xp: Namespace, X: Array, state: Any) -> Iterator[Array]:
        """Yield the projections of some rows after the other."""
        for part in slices(X.shape[0], max(1, _VALUES // max(X.shape[1], self.n_bits_))):
            yield self._project_array(xp, X[part, :], state)

    def _project_on_device(self, xp: Namespace, X: Array) -> Array:
        checked = self._checked_array(xp, X)
        values = list(self._projections(xp, checked, self._state_at(Place.of(checked))))
        if not values:
            return xp.zeros((0, self.n_bits_), dtype=checked.dtype, device=array_api_compat.device(checked))
        out = values[0] if len(values) == 1 else xp.concat(values, axis=0)
        return xp.astype(out, xp.float32) if dtype_name(X) == "float32" else out

    def _encode_on_device(self, xp: Namespace, X: Array, check_input: bool) -> Array:
        if check_input:
            X = self._checked_array(xp, X)
        codes = [arrays.pack_signs(xp, values) for values in self._projections(xp, X, self._state_at(Place.of(X)))]
        if not codes:
            shape = (0, bits.code_bytes(self.n_bits_))
            return xp.zeros(shape, dtype=xp.uint8, device=array_api_compat.device(X))
        return codes[0] if len(codes) == 1 else xp.concat(codes, axis=0)

    def _training_array(self, xp: Namespace, X: Array) -> Array:
        """Check a training set, and set the number of its features."""
        X = check_array(cast("Encoder", self), xp, X)
        if 0 in X.shape:
            raise InputError(f"{type(self).__name__}: a training set needs rows and features, found shape {X.shape}")
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = X.shape[1]
        return X

    def _checked_array(self, xp: Namespace, X: Array) -> Array:
        check_is_fitted(self)
        X = check_array(cast("Encoder", self), xp, X)
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )
        return X


def unpack_codes(codes: Any, n_bits: int) -> Any:
    """Return packed codes of any library as an int8 array of -1 and +1, of shape (n, n_bits).

    Parameters
    ----------
    codes : uint8 array of shape (n, n_bytes)
        Of any library.
    n_bits : int
        The code length.

    Returns
    -------
    int8 array of shape (n, n_bits)
        Of the library and on the device of `codes`.
    """
    xp = library_of(codes)
    return bits.unpack_signs(codes, n_bits) if xp is None else arrays.unpack_signs(xp, codes, n_bits, xp.int8)


def takes_device_arrays(cls: type) -> bool:
    """Return whether encoders of a class take arrays of other libraries than NumPy."""
    return cls._project_array is not DeviceEncoder._project_array  # type: ignore[attr-defined]


def check_array(encoder: "Encoder", xp: Namespace, X: Array) -> Array:
    """Return X as float32 or float64, in a precision in which its products neither overflow nor vanish.

    Parameters
    ----------
    encoder : Encoder
        Names the method in messages.
    xp : module
        The namespace of the library of X.
    X : array of shape (n, d)
        The vectors.

    Raises
    ------
    InputError
        If X is not a matrix of finite real numbers, or its numbers are too large or too small.
    """
    name = type(encoder).__name__
    if X.ndim != 2:
        raise InputError(f"{name}: X has {X.ndim} dimensions; rows of features have 2")
    if not xp.isdtype(X.dtype, ("real floating", "integral")):
        raise InputError(f"{name}: X holds {dtype_name(X)}; real numbers are encoded, such as float32 and float64")
    if dtype_name(X) not in ("float32", "float64"):
        X = xp.astype(X, xp.float32)
    if 0 in X.shape:
        return X
    try:
        magnitude = float(xp.max(xp.abs(X)))
    except Exception as error:
        place = Place.of(X)
        raise InputError(
            f"{name}: the values of X on device {str(place.device)!r} of {place.library} cannot be read "
            f"({type(error).__name__}); encode unchecked (check_input=False) where they are known to be finite"
        ) from error
    if not np.isfinite(magnitude):
        raise InputError(f"{name}: X holds NaN or infinity")
    if not fits_precision(magnitude, dtype_name(X)):
        X = _in_double(xp, X)
        if not fits_precision(magnitude, dtype_name(X)):
            raise out_of_reach(name, magnitude)
    return X


def _in_double(xp: Namespace, X: Array) -> Array:
    """Return X in double precision, or as it is where the device has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return xp.astype(X, xp.float64)
    except (AttributeError, RuntimeError, TypeError):
        return X
