"""How far angles from codes are off, over all pairs of some vectors: the worst pair and the mean.

The estimate of an angle, in units of pi, is the fraction of differing bits. All pairs are compared, at every code
length that a nested code holds, by products of its signs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench.core.progress import Progress
from cbe_bench.data.features import Features, Matrix
from cbe_bench.data.splits import PROTOCOLS, Split
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.diagnostics import flatness
from cbe_bench.evaluators.angles.methods import METHODS
from cbe_bench.evaluators.angles.rows import FeaturesSpec
from cbe_bench.evaluators.angles.theory import corollary_largest_flatness
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels.parallel import blas_threads, thread_count


@dataclass(frozen=True)
class ExactAngles:
    """The angles of all n (n - 1) / 2 pairs i < j of n vectors, and their flatness rho, in one order."""

    n_vectors: int
    angles: NDArray[np.float64]
    flatness: NDArray[np.float64]

    def fraction_with_hypothesis(self, n_bits: int) -> float:
        """Return the fraction of pairs that meet the hypothesis of the corollary to Theorem 2 at a code length."""
        return float(np.mean(self.flatness < corollary_largest_flatness(self.angles, n_bits, self.n_vectors)))


@dataclass(frozen=True)
class Sample:
    """Some rows of the features, of unit norm and shape (n_vectors, n_features), and the angles between them."""

    X: Matrix
    exact: ExactAngles


def exact_angles(X: NDArray) -> ExactAngles:
    """Return the angle and the flatness of every pair of rows of X, of shape (n, d)."""
    unit = np.asarray(X, np.float64)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    i, j = np.triu_indices(len(unit), 1)
    angles = np.arccos(np.clip(unit @ unit.T, -1.0, 1.0))[i, j]
    own = flatness(unit)
    return ExactAngles(len(unit), angles, np.maximum(own[i], own[j]))


def angle_errors(
    signs: NDArray[np.int8], exact: ExactAngles, n_bits: tuple[int, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the worst error over pairs, in units of pi, at each code length.

    Parameters
    ----------
    signs : array of shape (n, at least the longest code)
        Codes as -1 and +1, of which the first k are the code of k bits.
    exact : ExactAngles
        The angles of the vectors.
    n_bits : tuple of int
        Code lengths, rising.

    Returns
    -------
    means, worst : tuple of float
        One value for each code length.
    """
    i, j = np.triu_indices(len(signs), 1)
    products = np.zeros((len(signs), len(signs)))
    means, worst = [], []
    first = 0
    for k in n_bits:
        some = signs[:, first:k].astype(np.float32)  # sums of signs are exact up to 2^24 bits at once
        products += some @ some.T
        first = k
        errors = np.abs((1 - products[i, j] / k) / 2 - exact.angles / np.pi)
        means.append(float(errors.mean()))
        worst.append(float(errors.max()))
    return tuple(means), tuple(worst)


def draw_sample(features: Features, n_vectors: int, n_features: int, seed: int) -> Sample:
    """Draw a random sample of features: rows of unit norm, checked, and their angles.

    Parameters
    ----------
    features : Features
        Where the rows come from.
    n_vectors : int
        How many rows.
    n_features : int
        Dimensions to select, drawn by the seed where there are more.
    seed : int
        The seed of the experiment.
    """
    own_seed, none = derive_seed("rows", seed), np.empty(0, np.int64)
    rows = np.sort(np.random.default_rng(own_seed).choice(features.n_rows, n_vectors, replace=False))
    split = Split(queries=rows, database=none, train_positions=none)
    n_dims = n_features if n_features != features.n_features else None
    X = DatasetView(features, split, PROTOCOLS["paper"], seed=own_seed, n_dims=n_dims).queries()
    with blas_threads(thread_count()):
        return Sample(X, exact_angles(X))


def evaluate_features(spec: FeaturesSpec, sample: Sample, progress: Progress) -> dict[str, Any]:
    """Draw an encoder and return the errors of the angles from its codes: metrics of a `FeaturesRow`.

    Parameters
    ----------
    spec : FeaturesSpec
        The method, the draw and the code lengths.
    sample : Sample
        The vectors and the exact angles of their pairs.
    progress : Progress
        Called with the progress, from 0 to 1.

    Returns
    -------
    dict
    """
    method = METHODS[spec.method]
    seed = derive_seed("features", spec.seed, spec.method, spec.draw)
    without: dict[str, Any] = {} if method.sign_flips else {"sign_flips": False}
    encoder = make_encoder(method.encoder, n_bits=spec.n_bits[-1], random_state=seed, **without).fit(sample.X)
    signs, exact = encoder.transform(sample.X), sample.exact
    progress(0.9)
    with blas_threads(thread_count()):
        means, worst = angle_errors(signs, exact, spec.n_bits)
    return {
        "mean_error_over_pi": means,
        "worst_error_over_pi": worst,
        "n_pairs": len(exact.angles),
        "flatness_range": (float(exact.flatness.min()), float(exact.flatness.max())),
        "angle_range_rad": (float(exact.angles.min()), float(exact.angles.max())),
        "fraction_with_hypothesis": tuple(exact.fraction_with_hypothesis(k) for k in spec.n_bits),
    }
