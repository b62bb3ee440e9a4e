"""Gaussian numbers by the hundred million, for matrices too large to wait for.

A word of 64 random bits makes two: 31 bits are u in (0, 1), others an angle, and sqrt(-2 ln u) times its cosine and
sine are independent and normal (Box and Muller). Logarithm, cosine and sine are polynomials in single precision,
without branches: the compiler makes vector code of them, and the numbers are the same on every machine.
"""

import numpy as np
from numba import float32, int32, njit, uint64
from numpy.typing import NDArray

_CHUNK_WORDS = 1 << 15
"""Words made at once: they and their numbers stay in cache."""

_LOG = (-0.49999997, 0.333336711, -0.250011474, 0.199720502, -0.165884882, 0.14834787, -0.141596466, 0.0878726542)
_SIN = (-0.166666642, 0.00833274517, -0.000195874818)
_COS = (0.0416666642, -0.00138883002, 2.45475312e-05)
"""ln(1 + m) = m + m^2 _LOG(m), sin a = a + a^3 _SIN(a^2), cos a = 1 - a^2 / 2 + a^4 _COS(a^2), lowest power first.

They meet the functions in Chebyshev's points of the ranges in use: 1 + m in [sqrt(1/2), sqrt(2)) and |a| <= pi / 4.
"""


def fill_gaussian(rng: np.random.Generator, out: NDArray[np.float32]) -> None:
    """Fill a contiguous array with independent standard normal numbers.

    Parameters
    ----------
    rng : Generator
    out : float32 array of any shape
        C-contiguous, filled in place.
    """
    numbers = out.reshape(-1)
    for start in range(0, len(numbers), 2 * _CHUNK_WORDS):
        part = numbers[start : start + 2 * _CHUNK_WORDS]
        words = rng.integers(0, 2**64 - 1, -(-len(part) // 2), dtype=np.uint64, endpoint=True)
        part[:] = gaussian_pairs(words).reshape(-1)[: len(part)]


@njit(nogil=True, cache=True)
def gaussian_pairs(words):  # type: ignore[no-untyped-def]
    """Return two rows of independent standard normal numbers, one of either for each word of random bits."""
    out = np.empty((2, len(words)), np.float32)
    for i in range(len(words)):
        log = _log_of_share(int32(words[i] & uint64(0x7FFFFFFF)))
        radius = np.sqrt(float32(-2) * log)
        bits = int32(words[i] >> uint64(32))
        angle = float32(int32(bits << int32(2)) >> int32(2)) * float32(np.pi / 2**31)
        square = angle * angle
        sine = angle + angle * square * _polynomial(_SIN, square)
        cosine = float32(1) - square * float32(0.5) + square * square * _polynomial(_COS, square)
        radius = -radius if bits < 0 else radius
        across = bits & int32(1 << 30)
        out[0, i] = radius * (sine if across else cosine)
        out[1, i] = radius * (cosine if across else sine)
    return out


@njit(nogil=True, cache=True)
def _log_of_share(count):  # type: ignore[no-untyped-def]
    """Return ln((count + 1/2) / 2^31)."""
    bits = np.float32(float32(count) + float32(0.5)).view(np.int32)
    exponent = int32(bits - int32(0x3F3504F3)) >> int32(23)  # these are the bits of sqrt(1/2)
    m = np.int32(bits - int32(exponent << int32(23))).view(np.float32) - float32(1)
    return float32(exponent - 31) * float32(np.log(2)) + (m + m * m * _polynomial(_LOG, m))


@njit(nogil=True, cache=True)
def _polynomial(coefficients, x):  # type: ignore[no-untyped-def]
    total = float32(coefficients[-1])
    for i in range(2, len(coefficients) + 1):
        total = total * x + float32(coefficients[-i])
    return total
