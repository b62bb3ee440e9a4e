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


@intrinsic
def add_entries(typing_context: Any, tables: Any, word: Any, sums: Any, i: Any) -> Any:
    """sums[i] += tables[0, word & 15] + tables[1, (word >> 4) & 15] + ...: rows of 32 integers of 32 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, vector = ir.IntType(64), ir.VectorType(ir.IntType(32), LANES)

        def row(argument: int, index: Any) -> Any:
            array = context.make_array(signature.args[argument])(context, builder, args[argument])
            start = builder.gep(array.data, [builder.mul(index, ir.Constant(wide, LANES))])
            return builder.bitcast(start, vector.as_pointer())

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
