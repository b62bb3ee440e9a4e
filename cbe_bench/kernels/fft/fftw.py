"""FFTW plans as addresses that compiled loops can call.

pyfftw brings the library; its own objects can only be executed from Python, one call a row, so the few C
functions needed are taken from the same library by name. Executing a plan on other arrays is thread-safe,
planning is not and is locked.

Plans of one length differ in how they round, so a plan must not depend on the moment it is made: nothing is measured
here. Plans come from *wisdom* that `scripts/plan_fft.py` measured once and that is part of the package: it has the
lengths up to 8,192 with prime factors up to 5. Where it has none, or where FFTW was built otherwise, FFTW estimates
which plan is fast; that plan too is always the same.
"""

import ctypes
import gzip
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cbe_bench.kernels.memory import aligned_empty
from cbe_bench.kernels.simd.calls import address, call
from cbe_bench.kernels.simd.vector import inline

logger = logging.getLogger(__name__)

_FORWARD, _BACKWARD = -1, 1
_ESTIMATE, _WISDOM_ONLY = 1 << 6, 1 << 21
_WISDOM = {"float32": "float32-0f176bd6.gz", "float64": "float64-0498420d.gz"}
"""Files of wisdom; their names end in a hash of their content, so that other plans are other code."""

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
    """Plan complex transforms of `length`, out of place, in 'float32' or 'float64'; always the same ones."""
    with _planning:
        library = Library(dtype)
        a, b = (aligned_empty((length,), library.complex) for _ in range(2))
        with library.wisdom(_packaged_wisdom(dtype)):
            plans = [library.plan(length, a, b, way, _ESTIMATE) for way in (_FORWARD, _BACKWARD)]
        if not all(plans):
            raise MemoryError(f"FFTW has no plan for length {length}")
        return ComplexPlans(library.execute, *plans)


def wisdom_path(dtype: str) -> Path:
    """Return the file of wisdom for a precision."""
    return Path(__file__).with_name("wisdom") / _WISDOM[dtype]


@cache
def _packaged_wisdom(dtype: str) -> bytes:
    return gzip.decompress(wisdom_path(dtype).read_bytes())


class Library:
    """The C functions of FFTW in one precision."""

    def __init__(self, dtype: str) -> None:
        import pyfftw

        self._prefix, self.complex = {"float32": ("fftwf_", "c8"), "float64": ("fftw_", "c16")}[dtype]
        self._functions = ctypes.CDLL(pyfftw.pyfftw.__file__)
        self.execute = ctypes.cast(self._get("execute_dft"), ctypes.c_void_p).value or 0

    def _get(self, name: str) -> Any:
        return getattr(self._functions, self._prefix + name)

    def plan(self, length: int, source: NDArray, target: NDArray, way: int, flags: int) -> int:
        """Return the address of a plan; 0 where there is none, as where wisdom alone may be used and has none."""
        make = self._get("plan_dft_1d")
        make.restype = ctypes.c_void_p
        make.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]
        return int(make(length, source.ctypes.data, target.ctypes.data, way, flags) or 0)

    @contextmanager
    def wisdom(self, content: bytes) -> Iterator[None]:
        """Plan with this wisdom alone: what else the process measured with FFTW is set aside meanwhile."""
        before = self.exported_wisdom()
        self._replace_wisdom(content)
        try:
            yield
        finally:
            self._replace_wisdom(before)

    def exported_wisdom(self) -> bytes:
        """Return all that FFTW knows of plans."""
        characters: list[bytes] = []
        write = ctypes.CFUNCTYPE(None, ctypes.c_char, ctypes.c_void_p)(lambda byte, _: characters.append(byte))
        self._get("export_wisdom")(write, None)
        return b"".join(characters)

    def _replace_wisdom(self, content: bytes) -> None:
        self._get("forget_wisdom")()
        if not self._get("import_wisdom_from_string")(ctypes.c_char_p(content)):
            logger.info("FFTW was built otherwise than where plans were measured: it estimates which ones are fast")


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
