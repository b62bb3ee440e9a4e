"""Hashed TF-IDF: how often the n-grams of a text occur in it, weighted by how rare they are, in d dimensions.

The n-grams are words, pairs of words, and three or four characters within a word, its borders included. The 32-bit
MurmurHash3 of an n-gram says which dimension it counts in, and with which sign: n-grams that meet in a dimension
cancel on average (Weinberger et al. 2009). A count c != 0 becomes

    sign(c) (1 + ln |c|) (1 + ln((1 + n) / (1 + n_j)))

where n_j of the n texts have a count in dimension j, and every vector is scaled to unit length.

Both factors are rounded to multiples of 1/256. Values before the scaling are then whole numbers in units of 2^-16,
whose squares add up exactly: vectors are the same bits on every machine.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORDS = (1, 2)
_CHARACTERS = (3, 4)
_UNIT = 256
_MARKUP = re.compile("<[^>]*>")


@cache
def _analyzers() -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(analyzer="word", ngram_range=_WORDS, token_pattern=r"\w+")
    return words.build_analyzer(), CountVectorizer(analyzer="char_wb", ngram_range=_CHARACTERS).build_analyzer()


def ngrams(text: str) -> list[str]:
    """Return the n-grams of a text in lower case, markup left out; those of words begin with ``w:``."""
    words, characters = _analyzers()
    plain = _MARKUP.sub(" ", text)
    return [f"w:{gram}" for gram in words(plain)] + list(characters(plain))


def count_ngrams(texts: Sequence[str], n_features: int) -> Any:
    """Return the signed counts of the n-grams of texts.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    n_features : int
        Dimensions d that n-grams are hashed to.

    Returns
    -------
    counts : float64 sparse matrix by rows, shape (texts, n_features)
        Whole numbers other than zero, sorted by dimension.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    counts = HashingVectorizer(analyzer=ngrams, n_features=n_features, norm=None).transform(texts)
    counts.eliminate_zeros()
    counts.sort_indices()
    return counts


def inverse_frequencies(document_frequencies: NDArray[np.int64], n_texts: int) -> NDArray[np.int64]:
    """Return 1 + ln((1 + n) / (1 + n_j)) of every dimension, in units of 1/256."""
    return np.rint(_UNIT * (1 + np.log((1 + n_texts) / (1 + document_frequencies)))).astype(np.int64)


def weigh(
    counts: NDArray, indices: NDArray[np.int64], begin: NDArray[np.int64], inverse: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the TF-IDF values of rows.

    Parameters
    ----------
    counts : array of shape (m,)
        Signed counts of all rows, one row after the other.
    indices : int64 array of shape (m,)
        The dimension of each.
    begin : int64 array of shape (rows + 1,)
        Where the counts of each row begin.
    inverse : int64 array of shape (n_features,)
        What `inverse_frequencies` returns.

    Returns
    -------
    values : float32 array of shape (m,)
        Those of every row with unit sum of squares.
    """
    frequencies = np.rint(_UNIT * (1 + np.log(np.abs(counts)))).astype(np.int64)
    values = np.sign(counts).astype(np.int64) * frequencies * inverse[indices]
    lengths = np.diff(begin)
    sums = np.zeros(len(lengths), np.int64)
    np.add.at(sums, np.repeat(np.arange(len(lengths)), lengths), values * values)
    return (values / np.repeat(np.sqrt(sums), lengths)).astype(np.float32)
