"""Vectors of sixteen real numbers as values of compiled code, with the few operations that kernels are made of.

    v = load(x, i)              x[i : i + 16]
    store(x, i, v)              x[i : i + 16] = v
    u + v, u - v, u * v, -v     lane by lane; either operand of + - * may be a real number
    fma(u, v, w)                u v + w, rounded once where the processor can
    shuffle(lanes)(u, v)        lanes picked from the thirty-two of u and v
    prefetch(x, i)              bring x[i : i + 16] into the cache
    sign_bits(v)                v >= 0, a bit for each lane

They fit any processor: the compiler cuts the sixteen lanes into what it has. Arrays are one-dimensional, contiguous
and of float32 or float64; positions count numbers and are not checked.
"""

import operator
from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, models, overload, register_model

LANES = 16
"""Numbers of a vector."""

inline = njit(nogil=True, forceinline=True)
"""Compile a function of vectors into its callers."""

_INT32 = ir.IntType(32)


class Vector(types.Type):
    """The type of a vector of sixteen numbers of one type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        element = manager.lookup(vector.dtype).get_value_type()
        super().__init__(manager, vector, ir.VectorType(element, LANES))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    vector = ir.VectorType(context.get_data_type(array_type.dtype), LANES)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _bytes(dtype: Any) -> int:
    return int(dtype.bitwidth) // 8


def _in_all_lanes(builder: Any, number: Any) -> Any:
    empty = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, number, _INT32(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES))


@intrinsic
def load(typing_context, x, i):  # type: ignore[no-untyped-def]
    """Return x[i : i + 16]."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load(_address(context, builder, signature.args[0], *args), align=_bytes(x.dtype))

    return Vector(x.dtype)(x, types.intp), codegen


@intrinsic
def load_int8(typing_context, x, i, like):  # type: ignore[no-untyped-def]
    """Return x[i : i + 16] of an int8 array as numbers of the type of the vector `like`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        loaded = builder.load(_address(context, builder, signature.args[0], *args[:2]), align=1)
        return builder.sitofp(loaded, args[2].type)

    return like(x, types.intp, like), codegen


@intrinsic
def load_broadcast(typing_context, x, i):  # type: ignore[no-untyped-def]
    """Return x[i] in all lanes; nothing may ever write to x while compiled code runs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        loaded = builder.load(builder.gep(data, [args[1]]), align=_bytes(x.dtype))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return _in_all_lanes(builder, loaded)

    return Vector(x.dtype)(x, types.intp), codegen


@intrinsic
def store(typing_context, x, i, v):  # type: ignore[no-untyped-def]
    """Write x[i : i + 16] = v."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[2], _address(context, builder, signature.args[0], *args[:2]), align=_bytes(x.dtype))
        return context.get_dummy_value()

    return types.void(x, types.intp, v), codegen


@intrinsic
def broadcast(typing_context, number, like):  # type: ignore[no-untyped-def]
    """Return a number in all lanes of a vector of the type of `like`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _in_all_lanes(builder, args[0])

    return like(like.dtype, like), codegen


def _arithmetic(function: Any, instruction: str) -> None:
    """Define + - or * of vectors, and of a vector and a number."""

    @intrinsic
    def lanewise(typing_context, u, v):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return getattr(builder, instruction)(*args)

        return u(u, v), codegen

    @overload(function, jit_options={"forceinline": True})
    def of_vectors(u, v):  # type: ignore[no-untyped-def]
        if isinstance(u, Vector) and isinstance(v, Vector):
            return lambda u, v: lanewise(u, v)
        if isinstance(u, Vector) and isinstance(v, types.Number):
            return lambda u, v: lanewise(u, broadcast(v, u))
        if isinstance(u, types.Number) and isinstance(v, Vector):
            return lambda u, v: lanewise(broadcast(u, v), v)
        return None


for _function, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _arithmetic(_function, _instruction)


@intrinsic
def _negative(typing_context, v):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.fneg(args[0])

    return v(v), codegen


@overload(operator.neg, jit_options={"forceinline": True})
def _negative_of_vector(v):  # type: ignore[no-untyped-def]
    return (lambda v: _negative(v)) if isinstance(v, Vector) else None


@intrinsic
def fma(typing_context, u, v, w):  # type: ignore[no-untyped-def]
    """Return u v + w, rounded once where the processor can."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fadd(product, args[2], flags=("contract",))

    return u(u, v, w), codegen


def shuffle(lanes: Iterable[int]) -> Any:
    """Return the operation (u, v) -> lanes of both: 0..15 are those of u, 16..31 those of v."""
    mask = ir.Constant(ir.VectorType(_INT32, LANES), list(lanes))

    @intrinsic
    def pick(typing_context, u, v):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.shuffle_vector(args[0], args[1], mask)

        return u(u, v), codegen

    return pick


def constant(numbers: Iterable[float]) -> Any:
    """Return the operation v -> the vector of sixteen fixed numbers, of the type of v."""
    fixed = list(numbers)

    @intrinsic
    def vector(typing_context, like):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return ir.Constant(args[0].type, fixed)

        return like(like), codegen

    return vector


def _prefetching(write: int) -> Any:
    @intrinsic
    def prefetch(typing_context, x, i):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            pointer = ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [pointer, _INT32, _INT32, _INT32])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            start = builder.bitcast(_address(context, builder, signature.args[0], *args), pointer)
            for line in range(0, LANES * _bytes(x.dtype), 64):
                place = builder.gep(start, [ir.Constant(ir.IntType(64), line)])
                builder.call(function, [place, _INT32(write), _INT32(2), _INT32(1)])
            return context.get_dummy_value()

        return types.void(x, types.intp), codegen

    return prefetch


prefetch, prefetch_to_write = _prefetching(0), _prefetching(1)
"""Bring x[i : i + 16] into the cache, to read it or to write there; the array may end before."""


@intrinsic
def sign_bits(typing_context, v):  # type: ignore[no-untyped-def]
    """Return v >= 0 as a word of sixteen bits, the first lane in the lowest."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        nonnegative = builder.fcmp_ordered(">=", args[0], ir.Constant(args[0].type, None))
        return builder.bitcast(nonnegative, ir.IntType(LANES))

    return types.uint16(v), codegen


@intrinsic
def signs(typing_context, v):  # type: ignore[no-untyped-def]
    """Return +1 where v >= 0 and -1 elsewhere."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        zero, one, minus_one = (ir.Constant(args[0].type, [value] * LANES) for value in (0.0, 1.0, -1.0))
        return builder.select(builder.fcmp_ordered(">=", args[0], zero), one, minus_one)

    return v(v), codegen
