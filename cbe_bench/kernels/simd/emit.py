"""Vector operations as the compiler's intermediate code, for the intrinsics of `vector`."""

import math
from typing import Any

from llvmlite import ir

LANES = 16
"""Complex numbers treated at once."""
WIDTH = 2 * LANES
"""Real numbers that hold them."""

_EVEN, _ODD = list(range(0, WIDTH, 2)), list(range(1, WIDTH, 2))
_PAIRED = [lane for pair in zip(range(LANES), range(LANES, WIDTH), strict=True) for lane in pair]
_PAIRED_BACKWARDS = [lane for first in reversed(range(LANES)) for lane in (first, first + LANES)]

Complex = tuple[Any, Any]
"""A vector of real parts and one of imaginary parts."""


class Code:
    """Emits vector operations on the arrays an intrinsic is called with."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.signature, self.args = context, builder, signature, args
        self.real = context.get_data_type(signature.args[0].dtype)
        self.align = signature.args[0].dtype.bitwidth // 8

    def _place(self, argument: int, index: Any, element: Any, lanes: int) -> Any:
        array = self.context.make_array(self.signature.args[argument])(self.context, self.builder, self.args[argument])
        return self.builder.bitcast(self.builder.gep(array.data, [index]), ir.VectorType(element, lanes).as_pointer())

    def shift(self, index: Any, by: int) -> Any:
        """Return an index further on."""
        return self.builder.add(index, ir.Constant(index.type, by))

    def reals(self, argument: int, index: Any, lanes: int = LANES) -> Any:
        """Load consecutive real numbers."""
        return self.builder.load(self._place(argument, index, self.real, lanes), align=self.align)

    def bytes(self, argument: int, index: Any, lanes: int) -> Any:
        """Load bytes and make them real numbers."""
        loaded = self.builder.load(self._place(argument, index, ir.IntType(8), lanes), align=1)
        return self.builder.sitofp(loaded, ir.VectorType(self.real, lanes))

    def scalar(self, argument: int, index: Any) -> Any:
        """Load a real number that never changes, in all lanes."""
        loaded = self.builder.load(
            self.builder.bitcast(self._place(argument, index, self.real, 1), self.real.as_pointer()), align=self.align
        )
        loaded.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return self.everywhere(loaded)

    def everywhere(self, scalar: Any) -> Any:
        """Return a real number in all lanes."""
        vector = ir.VectorType(self.real, LANES)
        first = self.builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
        return self._shuffle(first, first, [0] * LANES)

    def part(self, both: Any, *, backwards: bool = False) -> Complex:
        """Return pairs as real and imaginary parts."""
        order = -1 if backwards else 1
        return self._shuffle(both, both, _EVEN[::order]), self._shuffle(both, both, _ODD[::order])

    def pair(self, z: Complex, *, backwards: bool = False) -> Any:
        """Return real and imaginary parts as pairs."""
        return self._shuffle(*z, _PAIRED_BACKWARDS if backwards else _PAIRED)

    def conjugate(self, z: Complex) -> Complex:
        """Return the complex conjugate."""
        return z[0], self.builder.fneg(z[1])

    def parted(self, argument: int, index: Any) -> Complex:
        """Load sixteen real parts and the imaginary parts behind them."""
        return self.reals(argument, index), self.reals(argument, self.shift(index, LANES))

    def store(self, argument: int, index: Any, values: Any) -> None:
        """Store consecutive real numbers."""
        place = self._place(argument, index, self.real, values.type.count)
        self.builder.store(values, place, align=self.align)

    def store_parted(self, argument: int, index: Any, z: Complex) -> None:
        """Store sixteen real parts and the imaginary parts behind them."""
        self.store(argument, index, z[0])
        self.store(argument, self.shift(index, LANES), z[1])

    def add_to(self, argument: int, index: Any, values: Any) -> None:
        """Add real numbers to those of an array."""
        self.store(argument, index, self.plus(self.reals(argument, index, values.type.count), values))

    def _shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def times(self, a: Any, b: Any) -> Any:
        """Multiply real numbers; a product may be fused with a sum."""
        return self.builder.fmul(a, b, flags=("contract",))

    def plus(self, a: Any, b: Any) -> Any:
        """Add real numbers."""
        return self.builder.fadd(a, b, flags=("contract",))

    def minus(self, a: Any, b: Any) -> Any:
        """Subtract real numbers."""
        return self.builder.fsub(a, b, flags=("contract",))

    def add(self, a: Complex, b: Complex) -> Complex:
        """Add complex numbers."""
        return self.plus(a[0], b[0]), self.plus(a[1], b[1])

    def subtract(self, a: Complex, b: Complex) -> Complex:
        """Subtract complex numbers."""
        return self.minus(a[0], b[0]), self.minus(a[1], b[1])

    def product(self, a: Complex, b: Complex, *, conjugate: bool = False) -> Complex:
        """Return a b, or a conj(b)."""
        with_real = [self.times(part, b[0]) for part in a]
        with_imag = [self.times(part, b[1]) for part in a]
        if conjugate:
            return self.plus(with_real[0], with_imag[1]), self.minus(with_real[1], with_imag[0])
        return self.minus(with_real[0], with_imag[1]), self.plus(with_real[1], with_imag[0])

    def rotated(self, z: Complex, k: int, n: int) -> Complex:
        """Return z exp(-2 pi i k / n) for n = 2, 4 or 8 and k < n/2."""
        if k == 0:
            return z
        if 4 * k == n:
            return z[1], self.builder.fneg(z[0])
        half = ir.Constant(z[0].type, [math.sqrt(0.5)] * LANES)
        total, difference = self.plus(z[1], z[0]), self.minus(z[1], z[0])
        first, second = (total, difference) if 8 * k == n else (difference, self.builder.fneg(total))
        return self.times(first, half), self.times(second, half)

    def sums_and_differences(self, values: list[Any]) -> list[Any]:
        """Return the Walsh-Hadamard transform across 2, 4 or 8 vectors."""
        if len(values) == 1:
            return values
        half = len(values) // 2
        pairs = list(zip(values[:half], values[half:], strict=True))
        sums, differences = [self.plus(a, b) for a, b in pairs], [self.minus(a, b) for a, b in pairs]
        return self.sums_and_differences(sums) + self.sums_and_differences(differences)

    def within(self, values: Any) -> Any:
        """Return the Walsh-Hadamard transform of the sixteen numbers of a vector."""
        for distance in (1, 2, 4, 8):
            partner = self._shuffle(values, values, [lane ^ distance for lane in range(LANES)])
            signs = ir.Constant(values.type, [-1.0 if lane & distance else 1.0 for lane in range(LANES)])
            values = self.plus(self.times(values, signs), partner)
        return values

    def transform(self, values: list[Complex]) -> list[Complex]:
        """Return the discrete Fourier transform across 2, 4 or 8 vectors."""
        n = len(values)
        if n == 1:
            return values
        even, odd = self.transform(values[::2]), self.transform(values[1::2])
        odd = [self.rotated(value, k, n) for k, value in enumerate(odd)]
        pairs = list(zip(even, odd, strict=True))
        return [self.add(a, b) for a, b in pairs] + [self.subtract(a, b) for a, b in pairs]
