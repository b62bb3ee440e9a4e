"""Sums of table entries chosen by the bits of a word, for many queries side by side."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32
"""Queries side by side."""
TABLE_BITS = 4
"""Bits that choose an entry of a table."""
ENTRIES = 1 << TABLE_BITS
TABLES = 32 // TABLE_BITS
"""Tables of a 32-bit word."""


def _rows(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return what gives the address of row `index` of an argument: 32 integers of 16 or 32 bits."""

    def row(argument: int, index: Any) -> Any:
        array = context.make_array(signature.args[argument])(context, builder, args[argument])
        start = builder.gep(array.data, [builder.mul(index, ir.Constant(ir.IntType(64), LANES))])
        integer = ir.IntType(signature.args[argument].dtype.bitwidth)
        return builder.bitcast(start, ir.VectorType(integer, LANES).as_pointer())

    return row


@intrinsic
def add_entries(typing_context: Any, tables: Any, word: Any, sums: Any, i: Any) -> Any:
    """sums[i] += tables[word & 15] + tables[16 + (word >> 4) & 15] + ...: rows of 32 integers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, row = ir.IntType(64), _rows(context, builder, signature, args)
        word = builder.zext(args[1], wide)
        total = builder.load(row(2, args[3]), align=2)
        for table in range(TABLES):
            bits = builder.lshr(word, ir.Constant(wide, TABLE_BITS * table))
            entry = builder.and_(bits, ir.Constant(wide, ENTRIES - 1))
            place = row(0, builder.add(entry, ir.Constant(wide, ENTRIES * table)))
            total = builder.add(total, builder.load(place, align=2))
        builder.store(total, row(2, args[3]), align=2)
        return context.get_dummy_value()

    return types.void(tables, types.uint32, sums, types.intp), codegen


@intrinsic
def put_sum(typing_context: Any, tables: Any, i: Any, j: Any, values: Any, k: Any) -> Any:
    """tables[i] = tables[j] + values[k]: rows of 32 integers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _rows(context, builder, signature, args)
        total = builder.add(builder.load(row(0, args[2]), align=2), builder.load(row(3, args[4]), align=2))
        builder.store(total, row(0, args[1]), align=2)
        return context.get_dummy_value()

    return types.void(tables, types.intp, types.intp, values, types.intp), codegen


@intrinsic
def add_halves(typing_context: Any, wide: Any, i: Any, halves: Any, j: Any) -> Any:
    """wide[i] += halves[j]: rows of 32 integers, of 32 and of 16 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _rows(context, builder, signature, args)
        target = row(0, args[1])
        added = builder.sext(builder.load(row(2, args[3]), align=2), ir.VectorType(ir.IntType(32), LANES))
        builder.store(builder.add(builder.load(target, align=4), added), target, align=4)
        return context.get_dummy_value()

    return types.void(wide, types.intp, halves, types.intp), codegen


@intrinsic
def lanes_above(typing_context: Any, wide: Any, i: Any, bars: Any) -> Any:
    """Return which of the 32 integers wide[i], of 32 bits each, are above those of `bars`: a bit for each."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _rows(context, builder, signature, args)
        own = builder.load(row(0, args[1]), align=4)
        limits = builder.load(row(2, ir.Constant(ir.IntType(64), 0)), align=4)
        return builder.bitcast(builder.icmp_signed(">", own, limits), ir.IntType(LANES))

    return types.uint32(wide, types.intp, bars), codegen


@intrinsic
def sum_of_set(typing_context: Any, values: Any, i: Any, word: Any) -> Any:
    """Return the sum of those of values[32 i : 32 i + 32], of 32 bits each, whose bit of the word is set."""
    wide = ir.VectorType(ir.IntType(32), LANES)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        own = builder.load(_rows(context, builder, signature, args)(0, args[1]), align=4)
        chosen = builder.select(builder.bitcast(args[2], ir.VectorType(ir.IntType(1), LANES)), own, wide(None))
        total = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.IntType(32), [wide]), f"llvm.vector.reduce.add.v{LANES}i32"
        )
        return builder.call(total, [chosen])

    return types.int32(values, types.intp, types.uint32), codegen
