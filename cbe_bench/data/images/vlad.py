"""VLAD: the descriptors of an image, summed up by the visual word each lies nearest to.

For each word, the differences between the word and the descriptors assigned to it are added; every word's sum is
scaled to unit length, signed square roots are taken, and the whole is scaled to unit length. An image becomes one
vector of words x 128 values; words that it does not show are zero.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cbe_bench.kernels.parallel import blas_threads
from cbe_bench.kernels.products import products

_ITERATIONS = 25


def learn_words(descriptors: NDArray[np.float32], n_words: int, seed: int) -> NDArray[np.float32]:
    """Return visual words: the centres of clusters of descriptors, the same for any number of threads."""
    from sklearn.cluster import KMeans

    with blas_threads(1):
        clusters = KMeans(n_words, n_init=1, max_iter=_ITERATIONS, tol=0, random_state=seed).fit(descriptors)
    return np.ascontiguousarray(clusters.cluster_centers_, dtype=np.float32)


def vlad(descriptors: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the (images, words x 128) vectors of images with (images, descriptors, 128) descriptors.

    An image without a single descriptor gives a vector of zeros. To be called from a task of `for_slices`, called with
    blas=True: an image's vector then does not depend on the images beside it.
    """
    n, m, length = descriptors.shape
    closeness = products(descriptors.reshape(n * m, length), words)
    closeness -= 0.5 * np.einsum("ij,ij->i", words, words)
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
        total = np.float32(0)
        for j in range(descriptors.shape[1]):
            total += descriptors[i, j]
        if total > 0:
            word = np.argmax(closeness[i])
            for j in range(descriptors.shape[1]):
                out[word, j] += descriptors[i, j] - words[word, j]


@njit(nogil=True, cache=True)
def _normalise(sums):  # type: ignore[no-untyped-def]
    """Give each word unit length, take signed square roots, give the whole unit length."""
    total = 0.0
    for word in range(len(sums)):
        squares = 0.0
        for value in sums[word]:
            squares += value * value
        if squares > 0:
            scale = np.float32(1 / np.sqrt(squares))
            for j in range(sums.shape[1]):
                value = sums[word, j] * scale
                total += abs(value)
                sums[word, j] = np.sqrt(value) if value >= 0 else -np.sqrt(-value)
    if total > 0:
        sums *= np.float32(1 / np.sqrt(total))
