"""Counting differing bits, for sixteen words of 32 bits side by side."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from cbe_bench.kernels.simd.vector import LANES, Vector

_WORD = ir.IntType(32)
_WORDS = ir.VectorType(_WORD, LANES)
LOOK = 64
"""Counts looked over at once."""
_COUNTS = Vector(types.uint32)


@intrinsic
def no_bits(typing_context: Any) -> Any:
    """Return a vector of sixteen zero counts."""
    return _COUNTS(), lambda context, builder, signature, args: ir.Constant(_WORDS, None)


@intrinsic
def add_differing_bits(typing_context: Any, counts: Any, words: Any, x: Any, i: Any) -> Any:
    """Return counts + popcount(words ^ x[i]), lane by lane; x is a one-dimensional contiguous array of uint32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[2])(context, builder, args[2]).data
        word = builder.load(builder.gep(data, [args[3]]), align=4)
        first = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), word, _WORD(0))
        everywhere = builder.shuffle_vector(first, first, ir.Constant(_WORDS, [0] * LANES))
        popcount = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_WORDS, [_WORDS]), f"llvm.ctpop.v{LANES}i32"
        )
        return builder.add(args[0], builder.call(popcount, [builder.xor(args[1], everywhere)]))

    return _COUNTS(_COUNTS, _COUNTS, x, types.intp), codegen


@intrinsic
def any_below(typing_context: Any, x: Any, i: Any, limit: Any) -> Any:
    """Return whether any of x[i : i + 64] is below the limit; x is a one-dimensional contiguous array of uint32."""
    wide = ir.VectorType(_WORD, LOOK)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        values = builder.load(builder.bitcast(builder.gep(data, [args[1]]), wide.as_pointer()), align=4)
        first = builder.insert_element(ir.Constant(wide, ir.Undefined), args[2], _WORD(0))
        limits = builder.shuffle_vector(first, first, ir.Constant(wide, [0] * LOOK))
        bits = builder.bitcast(builder.icmp_unsigned("<", values, limits), ir.IntType(LOOK))
        return builder.icmp_unsigned("!=", bits, ir.IntType(LOOK)(0))

    return types.boolean(x, types.intp, types.uint32), codegen
