"""Complex arithmetic sixteen numbers at a time, for compiled loops.

Complex numbers lie in memory as pairs of reals, and the mirror image of a spectrum is read backwards; compilers
find no vector code for loops over either. Here the few operations that the circulant product needs are written as
vector operations outright. They fit any processor: the compiler cuts the sixteen into what it has.

Sixteen columns that are transformed together are kept *parted*: sixteen real parts, then sixteen imaginary parts.
All positions `i`, `o`, ... count real numbers.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cbe_bench.kernels.simd.emit import LANES, WIDTH, Code


@intrinsic
def combine(typing_context, z, i, mirror, j, direct_re, direct_im, mirrored_re, mirrored_im, k, out, o, add):  # type: ignore[no-untyped-def]
    """out[o:] (+)= direct[k:] * z[i:] + mirrored[k:] * conj(mirror[j:] read backwards).

    `mirror[j:]` holds the sixteen to be read backwards; with `add`, what is in `out` is added.
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
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
        code = Code(context, builder, signature, args)
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
        code = Code(context, builder, signature, args)
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
        code = Code(context, builder, signature, args)
        code.store_parted(2, args[3], code.part(code.reals(0, args[1], WIDTH)))
        return context.get_dummy_value()

    at = types.intp
    return types.void(z, at, out, at), codegen


@intrinsic
def turn(typing_context, z, i, near_re, near_im, k, real, imag, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = z[i:] * near[k:] * (real + i imag), from parted to pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
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
        code = Code(context, builder, signature, args)
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
        code = Code(context, builder, signature, args)
        pairs = code.pair(code.parted(0, args[1])[::-1])
        return builder.bitcast(builder.fcmp_ordered(">=", pairs, ir.Constant(pairs.type, None)), ir.IntType(WIDTH))

    return types.uint32(z, types.intp), codegen


@intrinsic
def exchanged_pairs(typing_context, z, i, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = z[i:], from parted and exchanged to pairs."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = Code(context, builder, signature, args)
        code.store(2, args[3], code.pair(code.parted(0, args[1])[::-1]))
        return context.get_dummy_value()

    at = types.intp
    return types.void(z, at, out, at), codegen


def _hadamard(radix: int) -> Any:
    def hadamard(typing_context, x, i, step):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            code = Code(context, builder, signature, args)
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
        code = Code(context, builder, signature, args)
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
            code = Code(context, builder, signature, args)
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
