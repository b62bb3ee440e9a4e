"""Sixteen complex numbers as a value of compiled code: a vector of real parts and one of imaginary parts.

They are added, subtracted and multiplied by + - *; a factor may be a complex number of compiled code.

In memory complex numbers are *interleaved*, each real part followed by its imaginary part, or *split*, sixteen real
parts followed by sixteen imaginary parts. Either way they take thirty-two real numbers; positions count real numbers.
"""

import operator
from collections.abc import Iterable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, make_attribute_wrapper, models, overload, register_model

from cbe_bench.kernels.simd.vector import LANES, Vector, broadcast, fma, inline, load, load_broadcast, shuffle, store

WIDTH = 2 * LANES
"""Real numbers that hold sixteen complex ones."""


class ComplexVector(types.Type):
    """The type of a vector of sixteen complex numbers."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"complex_vector({dtype})")


@register_model(ComplexVector)
class _ComplexModel(models.StructModel):
    def __init__(self, manager: Any, kind: ComplexVector) -> None:
        super().__init__(manager, kind, [("re", Vector(kind.dtype)), ("im", Vector(kind.dtype))])


make_attribute_wrapper(ComplexVector, "re", "re")
make_attribute_wrapper(ComplexVector, "im", "im")


@intrinsic
def complex_vector(typing_context, re, im):  # type: ignore[no-untyped-def]
    """Return re + i im."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        z = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        z.re, z.im = args
        return z._getvalue()

    return ComplexVector(re.dtype)(re, im), codegen


def _are_complex(a: Any, b: Any) -> bool:
    return isinstance(a, ComplexVector) and isinstance(b, ComplexVector)


@overload(operator.add, jit_options={"forceinline": True})
def _add(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: complex_vector(a.re + b.re, a.im + b.im)) if _are_complex(a, b) else None


@overload(operator.sub, jit_options={"forceinline": True})
def _subtract(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: complex_vector(a.re - b.re, a.im - b.im)) if _are_complex(a, b) else None


@overload(operator.mul, jit_options={"forceinline": True})
def _multiply(a, b):  # type: ignore[no-untyped-def]
    if not _are_complex(a, b):
        return None
    return lambda a, b: complex_vector(fma(a.re, b.re, -(a.im * b.im)), fma(a.im, b.re, a.re * b.im))


@overload(operator.mul, jit_options={"forceinline": True})
def _times_number(a, b):  # type: ignore[no-untyped-def]
    if isinstance(a, ComplexVector) and isinstance(b, types.Complex):
        return lambda a, b: a * complex_vector(broadcast(b.real, a.re), broadcast(b.imag, a.re))
    return None


@inline
def conj(z):  # type: ignore[no-untyped-def]
    """Return the complex conjugate."""
    return complex_vector(z.re, -z.im)


@inline
def swap(z):  # type: ignore[no-untyped-def]
    """Return i conj(z): real and imaginary parts swapped.

    A forward transform between two swaps is the inverse one.
    """
    return complex_vector(z.im, z.re)


@inline
def times_minus_i(z):  # type: ignore[no-untyped-def]
    """Return -i z."""
    return complex_vector(z.im, -z.re)


@inline
def scale(z, number):  # type: ignore[no-untyped-def]
    """Return z times a real number or vector."""
    return complex_vector(z.re * number, z.im * number)


@inline
def multiply_add(a, b, c):  # type: ignore[no-untyped-def]
    """Return a b + c.

    Parameters
    ----------
    a, b, c : complex vectors of 16 numbers
    """
    return complex_vector(fma(a.re, b.re, fma(-a.im, b.im, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im)))


@inline
def load_split(x, i):  # type: ignore[no-untyped-def]
    """Return the split numbers at x[i : i + 32]."""
    return complex_vector(load(x, i), load(x, i + LANES))


@inline
def store_split(x, i, z):  # type: ignore[no-untyped-def]
    """Write split numbers to x[i : i + 32].

    Parameters
    ----------
    x : array
        Written in place.
    i : int
        Where the real parts begin; the imaginary parts follow.
    z : complex vector of 16 numbers
    """
    store(x, i, z.re)
    store(x, i + LANES, z.im)


@inline
def load_planes(re, im, i):  # type: ignore[no-untyped-def]
    """Return re[i : i + 16] + i im[i : i + 16].

    Parameters
    ----------
    re, im : array
        The real and imaginary parts.
    i : int
        The position of the first number.
    """
    return complex_vector(load(re, i), load(im, i))


@inline
def load_broadcast_planes(re, im, i):  # type: ignore[no-untyped-def]
    """Return re[i] + i im[i] in all lanes; nothing may ever write to either while compiled code runs.

    Parameters
    ----------
    re, im : array
        The real and imaginary parts.
    i : int
        The position of the number.
    """
    return complex_vector(load_broadcast(re, i), load_broadcast(im, i))


_evens = shuffle(range(0, WIDTH, 2))
_odds = shuffle(range(1, WIDTH, 2))
_evens_reversed = shuffle(range(WIDTH - 2, -1, -2))
_odds_reversed = shuffle(range(WIDTH - 1, -1, -2))
_FIRST, _LAST = range(LANES // 2), range(LANES // 2, LANES)


def _interleaving(lanes: Iterable[int]) -> Any:
    return shuffle(lane for number in lanes for lane in (number, LANES + number))


_interleave_first, _interleave_last = _interleaving(_FIRST), _interleaving(_LAST)
_interleave_first_reversed, _interleave_last_reversed = _interleaving(_FIRST[::-1]), _interleaving(_LAST[::-1])


@inline
def deinterleave(first, last):  # type: ignore[no-untyped-def]
    """Return the complex numbers that two vectors hold one after the other."""
    return complex_vector(_evens(first, last), _odds(first, last))


@inline
def interleave(z):  # type: ignore[no-untyped-def]
    """Return the two vectors that hold sixteen complex numbers one after the other."""
    return _interleave_first(z.re, z.im), _interleave_last(z.re, z.im)


@inline
def load_interleaved(x, i):  # type: ignore[no-untyped-def]
    """Return the interleaved numbers at x[i : i + 32]."""
    return deinterleave(load(x, i), load(x, i + LANES))


@inline
def load_reversed(x, i):  # type: ignore[no-untyped-def]
    """Return the interleaved numbers at x[i : i + 32], the last one first."""
    first, last = load(x, i), load(x, i + LANES)
    return complex_vector(_evens_reversed(first, last), _odds_reversed(first, last))


@inline
def store_interleaved(x, i, z):  # type: ignore[no-untyped-def]
    """Write interleaved numbers to x[i : i + 32].

    Parameters
    ----------
    x : array
        Written in place.
    i : int
        The position of the first real part.
    z : complex vector of 16 numbers
    """
    first, last = interleave(z)
    store(x, i, first)
    store(x, i + LANES, last)


@inline
def store_reversed(x, i, z):  # type: ignore[no-untyped-def]
    """Write interleaved numbers to x[i : i + 32], the last one first.

    Parameters
    ----------
    x : array
        Written in place.
    i : int
        The position of the first real part.
    z : complex vector of 16 numbers
    """
    store(x, i, _interleave_last_reversed(z.re, z.im))
    store(x, i + LANES, _interleave_first_reversed(z.re, z.im))
