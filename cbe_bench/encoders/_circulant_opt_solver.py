"""The best spectrum of a circulant matrix for given codes, exactly, one frequency at a time.

At each frequency the learning objective is, but for a constant and a factor 1/d, that of z, the spectrum of r there:

    F(z) = m |z|^2 - 2 Re(conj(c) z) + lam d (|z|^2 - 1)^2

with z real at the frequencies 0 and, for even d, d/2, where c is real too. For a given modulus the phase of c is best;
the modulus is then the one positive root of rho^3 + p rho + q, p = m / (2 lam d) - 1, q = -|c| / (2 lam d), for any
sign of p: the coefficients change sign once. Trigonometric forms give it without the cancellation of Cardano's.
"""

import numpy as np
from numpy.typing import NDArray

_NEGLIGIBLE = 1e-8
"""Size of p, against q to the power of 2/3, below which a first-order term for it is exact."""


def positive_root(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest root of rho^3 + p rho + q for q <= 0: the positive one or, for q = 0 and p >= 0, zero.

    Parameters
    ----------
    p, q : float64 array of shape (n,)
        The coefficients, q <= 0.

    Returns
    -------
    float64 array of shape (n,)
    """
    size = np.cbrt(-q)
    with np.errstate(all="ignore"):
        ratio = np.abs(p) / (3 * size**2)
        scale = 2 * np.sqrt(np.abs(p) / 3)
        t = np.where(q == 0, 0.0, 0.5 * ratio**-1.5)
        root = np.where(
            p > 0,
            np.sinh(np.arcsinh(t) / 3),
            np.where(t > 1, np.cosh(np.arccosh(np.maximum(t, 1)) / 3), np.cos(np.arccos(np.minimum(t, 1)) / 3)),
        )
        near_cube_root = size - np.where(size > 0, p / (3 * size), 0)
        return np.where((ratio < _NEGLIGIBLE) | (p == 0), near_cube_root, scale * root)


def best_spectrum(
    m: NDArray[np.float64], c: NDArray[np.complex128], before: NDArray[np.complex128], lam: float, d: int
) -> NDArray[np.complex128]:
    """Return the minimiser of F at every frequency; where c is zero, with the phase that was there `before`.

    Parameters
    ----------
    m : float64 array of shape (d // 2 + 1,)
        Sums of the powers of the rows.
    c : complex128 array of shape (d // 2 + 1,)
        Correlations of the rows with their signs.
    before : complex128 array of shape (d // 2 + 1,)
        The spectrum of the iteration before.
    lam : float
        Weight of the penalty; infinite for modulus one.
    d : int
        Length of a row.

    Returns
    -------
    complex128 array of shape (d // 2 + 1,)
    """
    phase: NDArray[np.complex128] = np.where(c == 0, before, c)
    phase[phase == 0] = 1
    phase /= np.abs(phase)
    if np.isinf(lam):
        return phase
    phase *= positive_root(m / (2 * lam * d) - 1, -np.abs(c) / (2 * lam * d))
    return phase


def objective(
    z: NDArray[np.complex128], m: NDArray[np.float64], c: NDArray[np.complex128], lam: float, d: int, square: float
) -> float:
    """Return ||B - X R'||^2 + lam ||R R' - I||^2 from spectra, for codes with ||B||^2 = `square`.

    An infinite `lam` is a constraint, that z has modulus one, and adds nothing.

    Parameters
    ----------
    z : complex128 array of shape (d // 2 + 1,)
        The spectrum of r.
    m : float64 array of shape (d // 2 + 1,)
        Sums of the powers of the rows.
    c : complex128 array of shape (d // 2 + 1,)
        Correlations of the rows with their signs.
    lam : float
        Weight of the penalty.
    d : int
        Length of a row.
    square : float
        The sum of the squared entries of B: for entries -1 and +1, their number.

    Returns
    -------
    float
    """
    twice = np.full(len(z), 2.0)
    twice[0] = 1
    if d % 2 == 0:
        twice[-1] = 1
    power = np.abs(z) ** 2
    misfit = np.sum(twice * (m * power - 2 * (c.conj() * z).real)) / d
    penalty = 0.0 if np.isinf(lam) else lam * np.sum(twice * (power - 1) ** 2)
    return float(square + misfit + penalty)
