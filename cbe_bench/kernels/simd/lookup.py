"""Sums of table entries chosen by the bits of a word, for many queries side by side."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 32
"""Queries side by side."""
TABLE_BITS = 4
"""Bits that choose an entry of a table."""
ENTRIES = 1 << TABLE_BITS
TABLES = 32 // TABLE_BITS
"""Tables of a 32-bit word."""


def _rows(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return what gives the address of row `index` of an argument: 32 integers of 32 bits."""

    def row(argument: int, index: Any) -> Any:
        array = context.make_array(signature.args[argument])(context, builder, args[argument])
        start = builder.gep(array.data, [builder.mul(index, ir.Constant(ir.IntType(64), LANES))])
        return builder.bitcast(start, ir.VectorType(ir.IntType(32), LANES).as_pointer())

    return row


@intrinsic
def add_entries(typing_context: Any, tables: Any, word: Any, sums: Any, i: Any) -> Any:
    """sums[i] += tables[word & 15] + tables[16 + (word >> 4) & 15] + ...: rows of 32 integers of 32 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, row = ir.IntType(64), _rows(context, builder, signature, args)
        word = builder.zext(args[1], wide)
        total = builder.load(row(2, args[3]), align=4)
        for table in range(TABLES):
            bits = builder.lshr(word, ir.Constant(wide, TABLE_BITS * table))
            entry = builder.and_(bits, ir.Constant(wide, ENTRIES - 1))
            place = row(0, builder.add(entry, ir.Constant(wide, ENTRIES * table)))
            total = builder.add(total, builder.load(place, align=4))
        builder.store(total, row(2, args[3]), align=4)
        return context.get_dummy_value()

    return types.void(tables, types.uint32, sums, types.intp), codegen


@intrinsic
def put_sum(typing_context: Any, tables: Any, i: Any, j: Any, values: Any, k: Any) -> Any:
    """tables[i] = tables[j] + values[k]: rows of 32 integers of 32 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _rows(context, builder, signature, args)
        total = builder.add(builder.load(row(0, args[2]), align=4), builder.load(row(3, args[4]), align=4))
        builder.store(total, row(0, args[1]), align=4)
        return context.get_dummy_value()

    return types.void(tables, types.intp, types.intp, values, types.intp), codegen


@intrinsic
def any_above(typing_context: Any, sums: Any, i: Any, bars: Any) -> Any:
    """Return whether any of the 32 integers sums[i] is above that of `bars`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = _rows(context, builder, signature, args)
        own = builder.load(row(0, args[1]), align=4)
        above = builder.icmp_signed(">", own, builder.load(row(2, ir.Constant(ir.IntType(64), 0)), align=4))
        bits = builder.bitcast(above, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(sums, types.intp, bars), codegen
