"""VLAD: the descriptors of an image, summed up by the visual word each lies nearest to.

For each word, the differences between the word and the descriptors assigned to it are added; every word's sum is
scaled to unit length, signed square roots are taken, and the whole is scaled to unit length. An image becomes one
vector of words x 128 values; words that it does not show are zero.

Descriptors and words are whole numbers in units of 1/2048. Their products, the sums of differences and the distances
are then whole numbers that floating point holds exactly, in whatever order BLAS adds them: words, assignments and
features are the same bits on every machine.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.parallel import for_slices

_ITERATIONS = 25
_TRIALS = 8
"""Candidates for each further word to begin with, of which the best is taken."""
_DESCRIPTORS_AT_ONCE = 1 << 14


def learn_words(descriptors: NDArray[np.float32], n_words: int, seed: int) -> NDArray[np.float32]:
    """Return visual words: the centres of clusters of descriptors, rounded to whole numbers.

    k-means: from greedy k-means++ seeds, descriptors are assigned to the nearest word, of equally near ones the first,
    and words become the rounded means of their descriptors; a word without any stays what it is.

    Parameters
    ----------
    descriptors : float32 array of shape (n, 128)
        Whole numbers, as `dense_sift` returns them.
    n_words : int
        How many words, at most n.
    seed : int
        Decides the seeds.

    Returns
    -------
    words : float32 array of shape (n_words, 128)
        Whole numbers.
    """
    words = _seeds(descriptors, n_words, np.random.default_rng(seed))
    assigned = np.empty(0, np.int64)
    for _ in range(_ITERATIONS):
        before, assigned = assigned, _assign(descriptors, words)
        if np.array_equal(assigned, before):
            break
        sums, counts = _sums(descriptors, assigned, n_words)
        shown = counts > 0
        words[shown] = np.rint(sums[shown] / counts[shown, None])
    return words


def _seeds(descriptors: NDArray[np.float32], n_words: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw words among the descriptors, each with probability proportional to its squared distance to those before."""
    chosen = [int(rng.integers(len(descriptors)))]
    distances = _distances(descriptors, chosen)[0]
    for _ in range(1, n_words):
        cumulated = np.cumsum(distances)
        drawn = rng.integers(max(1, cumulated[-1]), size=_TRIALS)
        candidates = np.minimum(np.searchsorted(cumulated, drawn, side="right"), len(descriptors) - 1).tolist()
        closer = np.minimum(distances, _distances(descriptors, candidates))
        best = int(closer.sum(axis=1).argmin())
        chosen.append(candidates[best])
        distances = closer[best]
    return descriptors[chosen]


def _distances(descriptors: NDArray[np.float32], rows: list[int]) -> NDArray[np.int64]:
    """Return the squared distances of some descriptors to all, exactly."""
    out = np.empty((len(rows), len(descriptors)), np.int64)
    chosen = descriptors[rows]
    squares = np.einsum("ij,ij->i", chosen, chosen)

    def compare(part: slice) -> None:
        some = descriptors[part]
        out[:, part] = squares[:, None] + np.einsum("ij,ij->i", some, some) - 2 * (chosen @ some.T)

    for_slices(compare, len(descriptors), _DESCRIPTORS_AT_ONCE, blas=True)
    return out


def _closeness(descriptors: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return d.w - w.w / 2 for all descriptors d and words w, largest for the nearest: exact below 2^23."""
    closeness: NDArray[np.float32] = descriptors @ words.T
    closeness -= 0.5 * np.einsum("ij,ij->i", words, words)
    return closeness


def _assign(descriptors: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the word nearest to each descriptor."""
    nearest = np.empty(len(descriptors), np.int64)

    def assign(part: slice) -> None:
        nearest[part] = _closeness(descriptors[part], words).argmax(axis=1)

    for_slices(assign, len(descriptors), _DESCRIPTORS_AT_ONCE, blas=True)
    return nearest


@njit(nogil=True, cache=True)
def _sums(descriptors, assigned, n_words):  # type: ignore[no-untyped-def]
    """Return the sum and the number of the descriptors of every word."""
    sums, counts = np.zeros((n_words, descriptors.shape[1])), np.zeros(n_words, np.int64)
    for i in range(len(descriptors)):
        counts[assigned[i]] += 1
        for j in range(descriptors.shape[1]):
            sums[assigned[i], j] += descriptors[i, j]
    return sums, counts


def vlad(descriptors: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the VLAD vectors of images.

    An image without a single descriptor gives a vector of zeros. To be called from a task of `for_slices`, called with
    blas=True.

    Parameters
    ----------
    descriptors : float32 array of shape (n, n_descriptors, 128)
        The descriptors of each image.
    words : float32 array of shape (n_words, 128)
        The visual words.

    Returns
    -------
    float32 array of shape (n, 128 n_words)
    """
    n, m, length = descriptors.shape
    closeness = _closeness(descriptors.reshape(n * m, length), words)
    out = np.zeros((n, words.shape[0], length), np.float32)
    _aggregate(descriptors, closeness.reshape(n, m, -1), words, out)
    return out.reshape(n, -1)


@njit(nogil=True, cache=True)
def _aggregate(descriptors, closeness, words, out):  # type: ignore[no-untyped-def]
    for image in range(len(descriptors)):
        _add_differences(descriptors[image], closeness[image], words, out[image])
        _normalise(out[image])


@njit(nogil=True, cache=True)
def _add_differences(descriptors, closeness, words, out):  # type: ignore[no-untyped-def]
    for i in range(len(descriptors)):
        if descriptors[i].any():
            word = np.argmax(closeness[i])
            for j in range(descriptors.shape[1]):
                out[word, j] += descriptors[i, j] - words[word, j]


@njit(nogil=True, cache=True)
def _normalise(sums):  # type: ignore[no-untyped-def]
    """Give each word unit length, take signed square roots, give the whole unit length.

    Divided by its length s, a word adds to the square of the length of the whole the sum of |v| / s over its values v.
    """
    scales, total = np.zeros(len(sums)), 0.0
    for word in range(len(sums)):
        squares, moduli = _whole_sums(sums[word])
        if squares > 0:
            scales[word] = 1 / np.sqrt(squares)
            total += scales[word] * moduli
    for word in range(len(sums)):
        if scales[word] > 0:
            scale = np.float32(scales[word] / total)
            for j in range(sums.shape[1]):
                sums[word, j] = np.copysign(np.sqrt(scale * abs(sums[word, j])), sums[word, j])


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _whole_sums(values):  # type: ignore[no-untyped-def]
    """Return the sum of squares and of moduli of whole numbers, exact in any order."""
    squares, moduli = 0.0, 0.0
    for j in range(len(values)):
        value = np.float64(values[j])
        squares += value * value
        moduli += abs(value)
    return squares, moduli
