"""The inner product of a vector with a shift of another, both under the same random sign flips, by simulation.

With D a diagonal of random signs, ||p|| = 1 and rho = ||q||_inf, the lemma on small products (Section 4 of the paper)
bounds the tail of S = <D p, s_t(D q)>, s_t a circular shift by t > 0:

    Pr[S > gamma] <= exp(-gamma^2 / (8 rho^2))

It is what makes the bits of circulant codes nearly independent. S is the sum of sigma_j sigma_(j-t) p_j q_(j-t): a
product of signs, the same for all p and q, with a vector of weights. Draws come in blocks of rows, each from its own
seed, so the counts do not depend on threads.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress, no_progress
from cbe_bench.encoders.diagnostics import flatness
from cbe_bench.evaluators.angles.pairs import make_plane
from cbe_bench.evaluators.angles.rows import ProductsSpec
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels.parallel import for_slices, slices

SECONDS = ("p", "other")
"""What q is: p itself, or the other vector of the pair, orthogonal to it."""
THRESHOLDS = (1.0, 2.0, 3.0, 4.0, 5.0)
"""Values of gamma / rho at which tails are counted: beyond, the bound is below what some thousand draws resolve."""
_BLOCK_VALUES = 1 << 18
"""Signs drawn at once by a thread."""


def shifts_of(d: int) -> tuple[int, ...]:
    """Return the shifts t that are simulated: the least, the one that pairs the terms of S for q = p, the largest."""
    return tuple(sorted({1, max(1, d // 2), d - 1}))


def shifted_products(signs: NDArray[np.int8], p: NDArray, q: NDArray, shift: int) -> NDArray[np.float64]:
    """Return <D p, s_t(D q)> for each row of signs, the diagonal of D.

    Parameters
    ----------
    signs : int8 array of shape (n, d)
        Of -1 and +1.
    p, q : float64 arrays of shape (d,) or (d, m)
        Vectors, or m of them in columns.
    shift : int
        The shift t.

    Returns
    -------
    float64 array of shape (n,) or (n, m)
    """
    weights = p * np.roll(q, shift, axis=0)
    out: NDArray[np.float64] = (signs * np.roll(signs, shift, axis=1)).astype(np.float64) @ weights
    return out


def evaluate_products(spec: ProductsSpec, progress: Progress = no_progress) -> dict[str, Any]:
    """Draw sign flips and count the products beyond each threshold: metrics of a `ProductsRow`.

    Parameters
    ----------
    spec : ProductsSpec
        The pair, the shifts, the thresholds and the number of draws.
    progress : Progress
        Called with the progress, from 0 to 1.

    Returns
    -------
    dict
    """
    d = spec.n_features
    plane = make_plane(spec.pair, d, derive_seed("plane", spec.pair, d, spec.seed))
    p, q = plane.a[:, None], np.column_stack([plane.a, plane.b])
    rho = flatness(q.T)
    limits = rho[:, None] * np.array(spec.thresholds)
    blocks = slices(spec.draws, max(1, _BLOCK_VALUES // d))
    above = np.zeros((len(blocks), 2, len(SECONDS), len(spec.shifts), len(spec.thresholds)), np.int64)
    seed = derive_seed("products", spec.pair, d, spec.seed)

    def run(some: slice) -> None:
        for number in range(some.start, some.stop):
            n = blocks[number].stop - blocks[number].start
            signs = 2 * np.random.default_rng([seed, number]).integers(0, 2, (n, d), np.int8) - 1
            for j, shift in enumerate(spec.shifts):
                values = shifted_products(signs, p, q, shift)[..., None]
                above[number, 0, :, j] = (values > limits).sum(axis=0)
                above[number, 1, :, j] = (np.abs(values) > limits).sum(axis=0)

    for_slices(run, len(blocks), 1)
    progress(1.0)
    one_sided, two_sided = above.sum(axis=0)
    return {
        "flatness": tuple(rho.tolist()),
        "n_above": _as_tuples(one_sided),
        "n_beyond": _as_tuples(two_sided),
    }


def _as_tuples(counts: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Return counts of shape (seconds, shifts, thresholds) as one tuple for each second vector and shift."""
    return tuple(tuple(line.tolist()) for line in counts.reshape(-1, counts.shape[-1]))
