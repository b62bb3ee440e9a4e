"""Complex arithmetic sixteen numbers at a time, for compiled loops.

Complex numbers lie in memory as pairs of reals, and the mirror image of a spectrum is read backwards; compilers
find no vector code for loops over either. Here the few operations that the circulant product needs are written as
vector operations outright. They fit any processor: the compiler cuts the sixteen into what it has.

Sixteen columns that are transformed together are kept *parted*: sixteen real parts, then sixteen imaginary parts.
All positions `i`, `o`, ... count real numbers.
"""

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 16
"""Complex numbers treated at once."""
WIDTH = 2 * LANES
"""Real numbers that hold them."""

_EVEN, _ODD = list(range(0, WIDTH, 2)), list(range(1, WIDTH, 2))
_PAIRED = [lane for pair in zip(range(LANES), range(LANES, WIDTH), strict=True) for lane in pair]
_PAIRED_BACKWARDS = [lane for first in reversed(range(LANES)) for lane in (first, first + LANES)]

Complex = tuple[Any, Any]
"""A vector of real parts and one of imaginary parts."""


class _Code:
    """Emits vector operations on the arrays an intrinsic is called with."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.signature, self.args = context, builder, signature, args
        self.real = context.get_data_type(signature.args[0].dtype)
        self.align = signature.args[0].dtype.bitwidth // 8

    def _place(self, argument: int, index: Any, element: Any, lanes: int) -> Any:
        array = self.context.make_array(self.signature.args[argument])(self.context, self.builder, self.args[argument])
        return self.builder.bitcast(self.builder.gep(array.data, [index]), ir.VectorType(element, lanes).as_pointer())

    def shift(self, index: Any, by: int) -> Any:
        return self.builder.add(index, ir.Constant(index.type, by))

    def reals(self, argument: int, index: Any, lanes: int = LANES) -> Any:
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
        vector = ir.VectorType(self.real, LANES)
        first = self.builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
        return self._shuffle(first, first, [0] * LANES)

    def part(self, both: Any, *, backwards: bool = False) -> Complex:
        order = -1 if backwards else 1
        return self._shuffle(both, both, _EVEN[::order]), self._shuffle(both, both, _ODD[::order])

    def pair(self, z: Complex, *, backwards: bool = False) -> Any:
        return self._shuffle(*z, _PAIRED_BACKWARDS if backwards else _PAIRED)

    def conjugate(self, z: Complex) -> Complex:
        return z[0], self.builder.fneg(z[1])

    def parted(self, argument: int, index: Any) -> Complex:
        return self.reals(argument, index), self.reals(argument, self.shift(index, LANES))

    def store(self, argument: int, index: Any, values: Any) -> None:
        place = self._place(argument, index, self.real, values.type.count)
        self.builder.store(values, place, align=self.align)

    def store_parted(self, argument: int, index: Any, z: Complex) -> None:
        self.store(argument, index, z[0])
        self.store(argument, self.shift(index, LANES), z[1])

    def _shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=("contract",))

    def plus(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=("contract",))

    def minus(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b, flags=("contract",))

    def add(self, a: Complex, b: Complex) -> Complex:
        return self.plus(a[0], b[0]), self.plus(a[1], b[1])

    def subtract(self, a: Complex, b: Complex) -> Complex:
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


@intrinsic
def combine(typing_context, z, i, mirror, j, direct_re, direct_im, mirrored_re, mirrored_im, k, out, o, add):  # type: ignore[no-untyped-def]
    """out[o:] (+)= direct[k:] * z[i:] + mirrored[k:] * conj(mirror[j:] read backwards).

    `mirror[j:]` holds the sixteen to be read backwards; with `add`, what is in `out` is added.
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        own = code.part(code.reals(0, args[1], WIDTH))
        image = code.part(code.reals(2, args[3], WIDTH), backwards=True)
        direct = code.reals(4, args[8]), code.reals(5, args[8])
        mirrored = code.reals(6, args[8]), code.reals(7, args[8])
        total = code.pair(code.add(code.product(direct, own), code.product(mirrored, image, conjugate=True)))
        before = builder.select(args[11], code.reals(9, args[10], WIDTH), ir.Constant(total.type, None))
        code.store(9, args[10], code.plus(total, before))
        return context.get_dummy_value()

    at = types.intp
    tables = (direct_re, direct_im, mirrored_re, mirrored_im)
    return types.void(z, at, mirror, at, *tables, at, out, at, types.boolean), codegen


@intrinsic
def multiply_mirrored(  # type: ignore[no-untyped-def]
    typing_context, z, p, out, i, z_image, p_image, out_image, j, far_re, far_im, k, real, imag
):
    """Multiply a spectrum by another, sixteen frequencies and, read backwards, their mirror images at once.

    Both are of real numbers taken in pairs: with Z = z[i:], Z~ = conj(z_image[j:]) and likewise P,
    out[i:] = P Z - q and out_image[j:] = conj(P~ Z~ - q), where q = (1 + w) / 4 (P - P~) (Z - Z~) and
    w = far[k:] * (real + i imag).
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        i, j, k = args[3], args[7], args[10]
        own_z, own_p = (code.part(code.reals(array, i, WIDTH)) for array in (0, 1))
        image_z, image_p = (code.conjugate(code.part(code.reals(array, j, WIDTH), backwards=True)) for array in (4, 5))
        w = code.product((code.reals(8, k), code.reals(9, k)), (code.everywhere(args[11]), code.everywhere(args[12])))
        quarter, one = (ir.Constant(w[0].type, [value] * LANES) for value in (0.25, 1.0))
        factor = code.times(code.plus(w[0], one), quarter), code.times(w[1], quarter)
        q = code.product(factor, code.product(code.subtract(own_p, image_p), code.subtract(own_z, image_z)))
        code.store(2, i, code.pair(code.subtract(code.product(own_p, own_z), q)))
        image = code.conjugate(code.subtract(code.product(image_p, image_z), q))
        code.store(6, j, code.pair(image, backwards=True))
        return context.get_dummy_value()

    at = types.intp
    arrays = (z, p, out, at, z_image, p_image, out_image, at)
    return types.void(*arrays, far_re, far_im, at, z.dtype, z.dtype), codegen


@intrinsic
def flip(typing_context, x, i, signs, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = x[i:] * signs[i:], parted; the signs are bytes."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        code.store_parted(
            3, args[4], code.part(code.times(code.reals(0, args[1], WIDTH), code.bytes(2, args[1], WIDTH)))
        )
        return context.get_dummy_value()

    at = types.intp
    return types.void(x, at, signs, out, at), codegen


@intrinsic
def part(typing_context, z, i, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = z[i:], from pairs to parted."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        code.store_parted(2, args[3], code.part(code.reals(0, args[1], WIDTH)))
        return context.get_dummy_value()

    at = types.intp
    return types.void(z, at, out, at), codegen


@intrinsic
def turn(typing_context, z, i, near_re, near_im, k, real, imag, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = z[i:] * near[k:] * (real + i imag), from parted to pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        near = code.reals(2, args[4]), code.reals(3, args[4])
        angle = code.product(near, (code.everywhere(args[5]), code.everywhere(args[6])))
        code.store(7, args[8], code.pair(code.product(code.parted(0, args[1]), angle)))
        return context.get_dummy_value()

    at = types.intp
    return types.void(z, at, near_re, near_im, at, z.dtype, z.dtype, out, at), codegen


@intrinsic
def turn_back(typing_context, z, i, near_re, near_im, k, real, imag, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = z[i:] * conj(near[k:] * (real + i imag)), from pairs to parted, real and imaginary parts exchanged.

    So exchanged before and after, a forward transform is the inverse one.
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        near = code.reals(2, args[4]), code.reals(3, args[4])
        angle = code.product(near, (code.everywhere(args[5]), code.everywhere(args[6])))
        turned = code.product(code.part(code.reals(0, args[1], WIDTH)), angle, conjugate=True)
        code.store_parted(7, args[8], turned[::-1])
        return context.get_dummy_value()

    at = types.intp
    return types.void(z, at, near_re, near_im, at, z.dtype, z.dtype, out, at), codegen


@intrinsic
def exchanged_signs(typing_context, z, i):  # type: ignore[no-untyped-def]
    """Return the signs of z[i:], parted and exchanged, as a word in the order of pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        pairs = code.pair(code.parted(0, args[1])[::-1])
        return builder.bitcast(builder.fcmp_ordered(">=", pairs, ir.Constant(pairs.type, None)), ir.IntType(WIDTH))

    return types.uint32(z, types.intp), codegen


@intrinsic
def exchanged_pairs(typing_context, z, i, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = z[i:], from parted and exchanged to pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        code.store(2, args[3], code.pair(code.parted(0, args[1])[::-1]))
        return context.get_dummy_value()

    at = types.intp
    return types.void(z, at, out, at), codegen


def _hadamard(radix: int) -> Any:
    def hadamard(typing_context, x, i, step):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            code = _Code(context, builder, signature, args)
            places = [args[1]]
            for _ in range(radix - 1):
                places.append(builder.add(places[-1], args[2]))
            values = code.sums_and_differences([code.reals(0, place) for place in places])
            for place, value in zip(places, values, strict=True):
                code.store(0, place, value)
            return context.get_dummy_value()

        at = types.intp
        return types.void(x, at, at), codegen

    return intrinsic(hadamard)


hadamard2, hadamard4, hadamard8 = _hadamard(2), _hadamard(4), _hadamard(8)
"""Walsh-Hadamard transform across vectors: of x[i:], x[i + step:], ..., sixteen numbers each, in place."""


@intrinsic
def hadamard_start(typing_context, x, i, signs, k):  # type: ignore[no-untyped-def]
    """Flip the signs of the 128 numbers x[i:] by the bytes signs[k:] and transform them among themselves, in place."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature, args)
        places = [code.shift(args[1], LANES * number) for number in range(8)]
        values = []
        for number, place in enumerate(places):
            flips = code.bytes(2, code.shift(args[3], LANES * number), LANES)
            values.append(code.within(code.times(code.reals(0, place), flips)))
        for place, value in zip(places, code.sums_and_differences(values), strict=True):
            code.store(0, place, value)
        return context.get_dummy_value()

    at = types.intp
    return types.void(x, at, signs, at), codegen


def _prefetching(write: int) -> Any:
    def fetch(typing_context, z, i):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            byte = ir.IntType(8).as_pointer()
            word = ir.IntType(32)
            function = builder.module.declare_intrinsic(
                "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
            )
            array = context.make_array(signature.args[0])(context, builder, args[0])
            start = builder.bitcast(builder.gep(array.data, [args[1]]), byte)
            for line in range(0, WIDTH * signature.args[0].dtype.bitwidth // 8, 64):
                place = builder.gep(start, [ir.Constant(ir.IntType(64), line)])
                builder.call(function, [place, ir.Constant(word, write), ir.Constant(word, 2), ir.Constant(word, 1)])
            return context.get_dummy_value()

        return types.void(z, types.intp), codegen

    return intrinsic(fetch)


fetch_to_read, fetch_to_write = _prefetching(0), _prefetching(1)
"""Ask for the thirty-two numbers z[i:] to be brought into the cache; there need be no such place."""


def _butterfly(radix: int) -> Any:
    def butterfly(typing_context, z, i, step_in, out, o, step_out, twiddle_re, twiddle_im, t):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            code = _Code(context, builder, signature, args)
            source, target = args[1], args[4]
            values = []
            for _ in range(radix):
                values.append(code.parted(0, source))
                source = builder.add(source, args[2])
            for number, value in enumerate(code.transform(values)):
                if number:
                    at_twiddle = code.shift(args[8], number - 1)
                    value = code.product(value, (code.scalar(6, at_twiddle), code.scalar(7, at_twiddle)))
                code.store_parted(3, target, value)
                target = builder.add(target, args[5])
            return context.get_dummy_value()

        at = types.intp
        return types.void(z, at, at, out, at, at, twiddle_re, twiddle_im, at), codegen

    return intrinsic(butterfly)


butterfly4 = _butterfly(4)
"""One butterfly of a transform down parted columns: four rows of z, `step_in` apart, to rows of out."""

butterfly8 = _butterfly(8)
"""As `butterfly4`, with eight rows."""
