"""A better spectrum of a circulant matrix for given codes by gradient descent, as the paper has it.

The problems are those of `_circulant_opt_solver`, one for each frequency, in the real and the imaginary part of z:

    F(z) = m |z|^2 - 2 Re(conj(c) z) + lam d (|z|^2 - 1)^2

Each is descended by itself from the spectrum of the iteration before, all at once, along

    F'(z) = 2 (m z - c) + 4 lam d (|z|^2 - 1) z

with a step that is halved until F falls enough (Armijo's rule) and doubled after. F never rises; how close to a minimum
it comes depends on the number of steps. At frequency 0 z is real and the minimum is known in closed form, which the
paper uses there as well.
"""

import numpy as np
from numpy.typing import NDArray

from cbe_bench.encoders._circulant_opt_solver import best_spectrum

STEPS = 200
"""Steps at most: gradients of nearly all frequencies are negligible after some dozens."""
_NEGLIGIBLE = 1e-9
"""A gradient below this fraction of its terms is zero."""
_ARMIJO = 0.25
"""Fraction of the decrease that the gradient predicts which a step must reach."""


def descended_spectrum(
    m: NDArray[np.float64], c: NDArray[np.complex128], before: NDArray[np.complex128], lam: float, d: int
) -> NDArray[np.complex128]:
    """Return a spectrum with F no larger than that of `before` at any frequency, near a local minimum.

    Parameters
    ----------
    m : float64 array of shape (d // 2 + 1,)
        Sums of the powers of the rows.
    c : complex128 array of shape (d // 2 + 1,)
        Correlations of the rows with their signs.
    before : complex128 array of shape (d // 2 + 1,)
        The spectrum that descents start from; real at the frequency d/2 of an even d, where c is real too.
    lam : float
        Weight of the penalty, finite.
    d : int
        Length of a row.

    Returns
    -------
    complex128 array of shape (d // 2 + 1,)
    """
    z = before.astype(np.complex128)
    z[:1] = best_spectrum(m[:1], c[:1], before[:1], lam, d)
    weight = lam * d
    step = 0.5 / (np.abs(m) + weight * (3 * np.abs(z) ** 2 + 1))  # about one over the second derivative
    active = np.arange(1, len(z))
    for _ in range(STEPS):
        at, slope_terms = z[active], (np.abs(m[active] * z[active]) + np.abs(c[active]))
        gradient = _gradient(at, m[active], c[active], weight)
        moving = np.abs(gradient) > _NEGLIGIBLE * (slope_terms + weight * np.abs(at))
        active, at, gradient = active[moving], at[moving], gradient[moving]
        if not len(active):
            break
        tried = at - step[active] * gradient
        wanted = _ARMIJO * step[active] * np.abs(gradient) ** 2
        falls = _decrease(at, tried, m[active], c[active], weight) >= wanted
        z[active[falls]] = tried[falls]
        step[active] *= np.where(falls, 2.0, 0.5)
    return z


def _gradient(z: NDArray, m: NDArray, c: NDArray, weight: float) -> NDArray[np.complex128]:
    out: NDArray[np.complex128] = 2 * (m * z - c) + 4 * weight * (np.abs(z) ** 2 - 1) * z
    return out


def _decrease(z: NDArray, tried: NDArray, m: NDArray, c: NDArray, weight: float) -> NDArray[np.float64]:
    """Return F(z) - F(tried) from differences, which do not cancel near a minimum."""
    power, new = np.abs(z) ** 2, np.abs(tried) ** 2
    fallen = ((z - tried) * (z + tried).conj()).real  # power - new
    out: NDArray[np.float64] = m * fallen - 2 * (c.conj() * (z - tried)).real + weight * fallen * (power + new - 2)
    return out
