"""FFTW plans as addresses that compiled loops can call, and the wisdom that makes planning a one-time cost.

pyfftw brings the library; its own objects can only be executed from Python, one call a row, so the few C
functions needed are taken from the same library by name. Executing a plan on other arrays is thread-safe,
planning is not and is locked. Plans are made by measurement: seconds once, then read back from the cache. Every plan
that was measured is stored, since plans of one length differ in how they round: processes that share a cache agree.
"""

import ctypes
import hashlib
import logging
import os
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cbe_bench.core.cache import cache_directory, write_cache
from cbe_bench.core.environment import describe
from cbe_bench.kernels.memory import aligned_empty
from cbe_bench.kernels.simd.calls import address, call
from cbe_bench.kernels.simd.vector import inline

logger = logging.getLogger(__name__)

_FORWARD, _BACKWARD = -1, 1
_MEASURE, _ESTIMATE, _WISDOM_ONLY = 0, 1 << 6, 1 << 21
_LARGEST_MEASURED = 1 << 18
"""Above this length a measured plan takes minutes to make."""

_planning = threading.RLock()


def _renew_lock() -> None:
    """Replace the lock: in a child process, nobody would release one that was held at the fork."""
    global _planning
    _planning = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class ComplexPlans(NamedTuple):
    """Forward and inverse complex transforms of one length: addresses of plans and of the function that runs them."""

    function: int
    forward: int
    inverse: int


@inline
def forward(plans, z, i, out, o):  # type: ignore[no-untyped-def]
    """Write the transform of z[i:], interleaved complex numbers, to out[o:], in compiled code."""
    call(plans.function, plans.forward, address(z, i), address(out, o))


@inline
def inverse(plans, z, i, out, o):  # type: ignore[no-untyped-def]
    """Write the inverse transform of z[i:], without the factor 1/n, to out[o:], in compiled code."""
    call(plans.function, plans.inverse, address(z, i), address(out, o))


@cache
def complex_plans(length: int, dtype: str) -> ComplexPlans:
    """Plan complex transforms of `length`, out of place, in 'float32' or 'float64', or take them from the cache."""
    with _planning:
        library = _Library(dtype)
        library.read_wisdom()
        a, b = (aligned_empty((length,), library.complex) for _ in range(2))
        flags = _MEASURE if length <= _LARGEST_MEASURED else _ESTIMATE
        plans = [library.plan(length, a, b, way, flags | _WISDOM_ONLY) for way in (_FORWARD, _BACKWARD)]
        if not all(plans):
            start = time.perf_counter()
            plans = [library.plan(length, a, b, way, flags) for way in (_FORWARD, _BACKWARD)]
            seconds = time.perf_counter() - start
            level = logging.WARNING if seconds > 1 else logging.INFO
            logger.log(level, "planned the FFT of length %d, once for this machine, in %.1f s", length, seconds)
            library.write_wisdom()
        if not all(plans):
            raise MemoryError(f"FFTW has no plan for length {length}")
        return ComplexPlans(library.execute, *plans)


class _Library:
    """The C functions of FFTW in one precision."""

    def __init__(self, dtype: str) -> None:
        import pyfftw

        prefix, self.complex = {"float32": ("fftwf_", "c8"), "float64": ("fftw_", "c16")}[dtype]
        self._functions = ctypes.CDLL(pyfftw.pyfftw.__file__)
        self._prefix = prefix
        self.execute = ctypes.cast(self._get("execute_dft"), ctypes.c_void_p).value or 0

    def _get(self, name: str) -> Any:
        return getattr(self._functions, self._prefix + name)

    def plan(self, length: int, source: NDArray, target: NDArray, way: int, flags: int) -> int:
        """Return the address of a plan; 0 where there is none, as where wisdom alone may be used and has none."""
        make = self._get("plan_dft_1d")
        make.restype = ctypes.c_void_p
        make.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]
        return int(make(length, source.ctypes.data, target.ctypes.data, way, flags) or 0)

    def wisdom_file(self) -> Path:
        version = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(self._functions, self._prefix + "version")))
        machine = hashlib.sha256(f"{version!r} {describe()['cpu']}".encode()).hexdigest()[:12]
        return cache_directory() / "fftw" / f"{self._prefix}{machine}.wisdom"

    def read_wisdom(self) -> None:
        path = self.wisdom_file()
        try:
            text = path.read_bytes()
        except OSError:
            return
        if not self._get("import_wisdom_from_string")(ctypes.c_char_p(text)):
            logger.warning("%s: not FFTW wisdom of this version; ignored, plans are made again", path)

    def write_wisdom(self) -> None:
        self.read_wisdom()  # another process may have added to it meanwhile
        characters: list[bytes] = []
        write = ctypes.CFUNCTYPE(None, ctypes.c_char, ctypes.c_void_p)(lambda byte, _: characters.append(byte))
        self._get("export_wisdom")(write, None)
        write_cache(self.wisdom_file(), b"".join(characters))


def good_length(least: int, multiple: int = 2) -> int:
    """Return the smallest multiple of `multiple` from `least` on that is a product of 2, 3 and 5: the fastest."""
    length = -(-least // multiple) * multiple
    while not has_small_factors(length, (2, 3, 5)):
        length += multiple
    return length


def has_small_factors(length: int, primes: tuple[int, ...] = (2, 3, 5, 7, 11, 13)) -> bool:
    """Tell whether `length` is a product of small primes, by default of those for which FFTW has fast code."""
    for prime in primes:
        while length % prime == 0:
            length //= prime
    return length == 1
