"""Complex arithmetic sixteen numbers at a time, for compiled loops.

Complex numbers lie in memory as pairs of reals, and the mirror image of a spectrum is read backwards; compilers
find no vector code for loops over either. Here the few operations that the circulant product needs are written as
vector operations outright. They fit any processor: the compiler cuts the sixteen into what it has.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 16
"""Complex numbers treated at once."""

_EVEN, _ODD = list(range(0, 2 * LANES, 2)), list(range(1, 2 * LANES, 2))
_PAIRED = [lane for pair in zip(range(LANES), range(LANES, 2 * LANES), strict=True) for lane in pair]


class _Code:
    """Emits vector operations on the arrays an intrinsic is called with."""

    def __init__(self, context: Any, builder: Any, signature: Any) -> None:
        self.context, self.builder, self.signature = context, builder, signature
        self.real = context.get_data_type(signature.args[0].dtype)
        self.align = signature.args[0].dtype.bitwidth // 8

    def _place(self, argument: int, args: Any, index: Any, lanes: int) -> Any:
        array = self.context.make_array(self.signature.args[argument])(self.context, self.builder, args[argument])
        vector = ir.VectorType(self.real, lanes)
        return self.builder.bitcast(self.builder.gep(array.data, [index]), vector.as_pointer())

    def reals(self, argument: int, args: Any, index: Any) -> Any:
        """Load sixteen consecutive real numbers."""
        return self.builder.load(self._place(argument, args, index, LANES), align=self.align)

    def complexes(self, argument: int, args: Any, index: Any, *, backwards: bool = False) -> tuple[Any, Any]:
        """Load sixteen complex numbers from the real position `index` on as real and imaginary parts."""
        both = self.builder.load(self._place(argument, args, index, 2 * LANES), align=self.align)
        order = -1 if backwards else 1
        return self._shuffle(both, both, _EVEN[::order]), self._shuffle(both, both, _ODD[::order])

    def store(self, argument: int, args: Any, index: Any, real: Any, imag: Any) -> None:
        """Store sixteen complex numbers from the real position `index` on."""
        self.builder.store(
            self._shuffle(real, imag, _PAIRED), self._place(argument, args, index, 2 * LANES), align=self.align
        )

    def _shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=("contract",))

    def plus(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=("contract",))

    def minus(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b, flags=("contract",))

    def product(self, a: tuple[Any, Any], b: tuple[Any, Any], *, conjugate: bool = False) -> tuple[Any, Any]:
        """Return a b, or a conj(b)."""
        with_real = [self.times(part, b[0]) for part in a]
        with_imag = [self.times(part, b[1]) for part in a]
        if conjugate:
            return self.plus(with_real[0], with_imag[1]), self.minus(with_real[1], with_imag[0])
        return self.minus(with_real[0], with_imag[1]), self.plus(with_real[1], with_imag[0])

    def everywhere(self, scalar: Any) -> Any:
        """Return a real number in all lanes."""
        vector = ir.VectorType(self.real, LANES)
        first = self.builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
        return self._shuffle(first, first, [0] * LANES)


@intrinsic
def combine(typing_context, z, i, mirror, j, direct_re, direct_im, mirrored_re, mirrored_im, k, out, o, add):  # type: ignore[no-untyped-def]
    """out[o:] (+)= direct[k:] * z[i:] + mirrored[k:] * conj(mirror[j:] read backwards).

    `i`, `j` and `o` count real numbers, `k` complex ones; `mirror[j:]` holds the sixteen to be read backwards; with
    `add`, what is in `out` is added.
    """

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature)
        own = code.complexes(0, args, args[1])
        image = code.complexes(2, args, args[3], backwards=True)
        direct = code.reals(4, args, args[8]), code.reals(5, args, args[8])
        mirrored = code.reals(6, args, args[8]), code.reals(7, args, args[8])
        first = code.product(direct, own)
        second = code.product(mirrored, image, conjugate=True)
        total = [code.plus(a, b) for a, b in zip(first, second, strict=True)]
        before = code.complexes(9, args, args[10])
        zero = ir.Constant(total[0].type, None)
        chosen = [builder.select(args[11], old, zero) for old in before]
        code.store(9, args, args[10], *(code.plus(a, b) for a, b in zip(total, chosen, strict=True)))
        return context.get_dummy_value()

    at = types.intp
    signature = types.void(
        z, at, mirror, at, direct_re, direct_im, mirrored_re, mirrored_im, at, out, at, types.boolean
    )
    return signature, codegen


@intrinsic
def flip(typing_context, x, i, signs, k, out, o):  # type: ignore[no-untyped-def]
    """out[o:] = x[i:] * signs[k:], thirty-two real numbers, the signs as bytes."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        code = _Code(context, builder, signature)
        lanes = 2 * LANES
        loaded = builder.load(code._place(0, args, args[1], lanes), align=code.align)
        array = context.make_array(signature.args[2])(context, builder, args[2])
        place = builder.bitcast(builder.gep(array.data, [args[3]]), ir.VectorType(ir.IntType(8), lanes).as_pointer())
        factors = builder.sitofp(builder.load(place, align=1), loaded.type)
        builder.store(code.times(loaded, factors), code._place(4, args, args[5], lanes), align=code.align)
        return context.get_dummy_value()

    at = types.intp
    return types.void(x, at, signs, at, out, at), codegen


def _turning(conjugate: bool) -> Any:
    def turn(typing_context, z, i, near_re, near_im, k, real, imag, out, o):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            code = _Code(context, builder, signature)
            near = code.reals(2, args, args[4]), code.reals(3, args, args[4])
            angle = code.product(near, (code.everywhere(args[5]), code.everywhere(args[6])))
            code.store(7, args, args[8], *code.product(code.complexes(0, args, args[1]), angle, conjugate=conjugate))
            return context.get_dummy_value()

        at = types.intp
        return types.void(z, at, near_re, near_im, at, z.dtype, z.dtype, out, at), codegen

    return intrinsic(turn)


turn = _turning(conjugate=False)
"""turn(z, i, near_re, near_im, k, real, imag, out, o): out[o:] = z[i:] * near[k:] * (real + i imag)."""

turn_back = _turning(conjugate=True)
"""As `turn`, by the conjugate of the angle."""
