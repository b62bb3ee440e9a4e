"""Single operations that compiled code has no word for: addresses, unchecked reads, C functions, counting bits."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call(typing_context, function, a, b, c):  # type: ignore[no-untyped-def]
    """Call the C function `void function(void *a, void *b, void *c)`; all four are addresses."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        pointer = ir.IntType(8).as_pointer()
        callee = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        values = [builder.inttoptr(address, pointer) for address in args[1:]]
        builder.call(builder.inttoptr(args[0], callee), values)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp), codegen


@intrinsic
def address(typing_context, x, i):  # type: ignore[no-untyped-def]
    """Return the address of x[i]; x is a contiguous array of one dimension."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(builder.gep(data, [args[1]]), context.get_value_type(types.intp))

    return types.intp(x, types.intp), codegen


@intrinsic
def take(typing_context, x, i):  # type: ignore[no-untyped-def]
    """Return x[i] for 0 <= i, which is not checked; x is a contiguous array of one dimension."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return x.dtype(x, types.intp), codegen


@intrinsic
def popcount(typing_context, word):  # type: ignore[no-untyped-def]
    """Return how many bits of a 64-bit word are one."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen
