"""Spinners: sign(H D3 H D2 H D1 x), H a Walsh-Hadamard matrix and D1, D2, D3 random signs.

A pseudo-random rotation in O(d log d) time with additions only, known from FALCONN and used for rotations in vector
databases: what one would choose today instead of a circulant matrix. Vectors are padded with zeros to a power of two;
the first k values are the code. More bits than that length come from further, independent blocks.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.encoders.base import N_TRAIN, Encoder, child_rng, register
from cbe_bench.encoders.state import Field, Shapes, sign_field
from cbe_bench.kernels.arrays import Array, Namespace, Place, hadamard_factors, hadamard_transform, padded_rows
from cbe_bench.kernels.bits import Codes, code_bytes
from cbe_bench.kernels.hadamard import EXCLUSIVE, for_rows, fwht, padded_length, transform
from cbe_bench.kernels.memory import Scratch
from cbe_bench.kernels.output import Output, Signs, Values, part_of, row_of, signs_output, write_row
from cbe_bench.kernels.single import EncodeSingle, suits_single

_ROUNDS = 3


@register("hd3")
class HD3(Encoder):
    """Three rounds of sign flips and Walsh-Hadamard transforms.

    Parameters
    ----------
    n_bits : int or None
        Bits of a code; None means as many as there are features.
    random_state : int, RandomState or None
        Decides the signs.

    Attributes
    ----------
    signs_ : int8 array of shape (blocks, 3, padded length)
        The sign flips of each block of bits.
    """

    good_for = "long vectors without training: as good as cbe-orth, fastest where d is a power of two"
    linear = True

    @property
    def nested(self) -> bool:
        """The first bits are the same however many follow."""
        return True

    def _blocks(self, n_features: int) -> int:
        return -(-self.bits(n_features) // padded_length(n_features))

    def _fit(self, X: NDArray, y: Any, rng: np.random.Generator) -> None:
        length, blocks = padded_length(X.shape[1]), self._blocks(X.shape[1])
        self.signs_ = np.empty((blocks, _ROUNDS, length), np.int8)
        for block in range(blocks):
            self.signs_[block] = 2 * child_rng(rng, block).integers(0, 2, (_ROUNDS, length), dtype=np.int8) - 1
        self._scratch = Scratch()

    def _memory(self) -> Scratch:
        """Return the memory vectors are transformed in; allocated on first use, never saved."""
        scratch: Scratch = self.__dict__.setdefault("_scratch", Scratch())
        return scratch

    def _project(self, X: NDArray) -> NDArray:
        out = np.empty((len(X), self.n_bits_), X.dtype)
        length = self.signs_.shape[2]
        for block, signs in enumerate(self.signs_):
            part = out[:, block * length : (block + 1) * length]
            _spin(X, signs, Values(part), self._memory(), 1 / length)
        return out

    def _encode(self, X: NDArray) -> Codes:
        return self._pack(X, None) if self._whole_bytes else super()._encode(X)

    def _encode_above(self, X: NDArray, thresholds: NDArray) -> Codes:
        scaled = thresholds * self.signs_.shape[2]  # by a power of two: exact
        return self._pack(X, scaled) if self._whole_bytes else super()._encode_above(X, thresholds)

    @property
    def _whole_bytes(self) -> bool:
        """Whether the code of every block begins with a byte of its own."""
        return len(self.signs_) == 1 or self.signs_.shape[2] % 8 == 0

    def _pack(self, X: NDArray, thresholds: NDArray | None) -> Codes:
        """Return the packed signs of the unnormalised values, less thresholds if there are any."""
        length = self.signs_.shape[2]
        codes = np.empty((len(X), code_bytes(self.n_bits_)), np.uint8)
        for block, signs in enumerate(self.signs_):
            bits = slice(block * length, min((block + 1) * length, self.n_bits_))
            part = codes[:, bits.start // 8 : code_bytes(bits.stop)]
            own = None if thresholds is None else thresholds[bits]
            _spin(X, signs, signs_output(part, bits.stop - bits.start, own), self._memory())
        return codes

    def _single(self) -> EncodeSingle:
        signs, n_bits, scratch = self.signs_[0], self.n_bits_, Scratch()
        shape = (signs.shape[1],)
        if len(self.signs_) > 1 or shape[0] >= EXCLUSIVE:
            return super()._single()

        def encode(x: NDArray[np.float32], code: NDArray[np.uint8]) -> bool:
            suits: bool = _encode_single(x, signs, scratch.array("vector", shape, np.float32), n_bits, code)
            return suits

        return encode

    def _device_state(self, place: Place) -> tuple[list[Array], list[Array]]:
        length = self.signs_.shape[2]
        scaled = self.signs_.astype(np.float64)
        scaled[:, -1] /= length  # a power of two
        factors = [place.put(factor) for factor in hadamard_factors(length)]
        return [place.put(signs) for signs in scaled], factors

    def _project_array(self, xp: Namespace, X: Array, state: tuple[list[Array], list[Array]]) -> Array:
        blocks, factors = state
        padded = padded_rows(xp, X, self.signs_.shape[2])
        values = []
        for signs in blocks:
            rows = padded
            for one in range(_ROUNDS):
                rows = hadamard_transform(xp, rows * signs[one, :], factors)
            values.append(rows)
        whole = values[0] if len(values) == 1 else xp.concat(values, axis=1)
        return whole[:, : self.n_bits_]

    def _state_fields(self, n_features: int, shapes: Shapes) -> dict[str, Field]:
        field = sign_field(self._blocks(n_features), _ROUNDS, padded_length(n_features))
        return super()._state_fields(n_features, shapes) | {"signs_": field}

    def memory_bytes(self, n_features: int, n_train: int = N_TRAIN) -> int:
        """Estimate the bytes needed to fit and to encode beside input and output."""
        return padded_length(n_features) * (_ROUNDS * self._blocks(n_features) + 16)

    def cost_estimate(self, n_features: int) -> float:
        """Estimate the cost of encoding one vector: three transforms a block, of additions only."""
        length = padded_length(n_features)
        return 5.0 * self._blocks(n_features) * _ROUNDS * length * np.log2(length + 1)


def _spin(X: NDArray, signs: NDArray[np.int8], out: Output, scratch: Scratch, scale: float = 1.0) -> None:
    """Write the first values of H D ... H D (scale x), H unnormalised, of each row x, zero-padded.

    Parameters
    ----------
    X : array of shape (n, d)
        Vectors no longer than the transform.
    signs : int8 array of shape (rounds, length)
        The sign flips before each transform.
    out : Output
        Where the values, or their packed signs, go.
    scratch : Scratch
        Where vectors are transformed.
    scale : float
        A power of two: it rounds nothing.
    """
    length, scale = signs.shape[1], X.dtype.type(scale)

    def some_rows(some: slice) -> None:
        _spin_rows(X[some], scale, signs, scratch.array("vector", (length,), X.dtype), part_of(out, some))

    if length < EXCLUSIVE:
        for_rows(some_rows, len(X), length)
        return
    vector = scratch.array("vector", (length,), X.dtype)
    for i, x in enumerate(X):
        np.multiply(x, scale, out=vector[: len(x)])
        vector[len(x) :] = 0
        for flips in signs:
            fwht(vector[None], flips)
        _write(part_of(out, slice(i, i + 1)), vector)


@njit(nogil=True, cache=True)
def _encode_single(x, signs, vector, n_bits, code):  # type: ignore[no-untyped-def]
    if not suits_single(x):
        return False
    _spin_rows(x.reshape(1, x.shape[0]), np.float32(1), signs, vector, Signs(code.reshape(1, code.shape[0]), n_bits))
    return True


@njit(nogil=True, cache=True)
def _write(out, vector):  # type: ignore[no-untyped-def]
    write_row(row_of(out, 0), vector)


@njit(nogil=True, cache=True)
def _spin_rows(X, scale, signs, x, out):  # type: ignore[no-untyped-def]
    d, length = X.shape[1], x.shape[0]
    for i in range(X.shape[0]):
        for j in range(d):
            x[j] = scale * X[i, j]
        x[d:] = 0
        for r in range(signs.shape[0]):
            transform(x, signs[r], 0, length)
        write_row(row_of(out, i), x)
