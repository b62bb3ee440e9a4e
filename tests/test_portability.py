"""What does not depend on rounding: signs of products, asymmetric scores, visual words, synthetic data, identities."""

import json
import math

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench.core import environment
from cbe_bench.core.progress import no_progress
from cbe_bench.data import synthetic
from cbe_bench.data.formats import open_features
from cbe_bench.data.images import vlad
from cbe_bench.data.images.build import make_vlad
from cbe_bench.data.images.dense_sift import UNIT, dense_sift
from cbe_bench.data.images.parsers import LabelledImages
from cbe_bench.data.images.readers import StoredImages, store_images
from cbe_bench.kernels import parallel
from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import pack_signs, unpack_signs
from cbe_bench.kernels.linalg.products import ROUNDING, near_zero, paired_products, products, settle_signs


def nearly_orthogonal(rng, n, m, d):
    """Rows whose inner products single precision cannot tell from zero, most of them."""
    a, b = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    b -= np.linalg.lstsq(a, a @ b.T, rcond=None)[0].T
    return a.astype(np.float32), b.astype(np.float32)


def exact_signs(a, b):
    exact = [[math.fsum(map(float, x.astype(float) * y.astype(float))) for y in b] for x in a]
    return np.array(exact) >= 0


@pytest.mark.parametrize("n, m, d", [(1, 5, 40), (7, 30, 100), (40, 3, 333), (20, 20, 4)])
def test_signs_of_products_are_those_of_exact_sums(n, m, d, rng):
    a, b = nearly_orthogonal(rng, n, m, d) if d > n else rng.standard_normal((2, n, d)).astype(np.float32)[:, :n]
    values = products(a, b)
    assert values.dtype == np.float32
    assert np.array_equal(values >= 0, exact_signs(a, b))
    bound = d * 2.0**-24 * np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    assert np.all(np.abs(values - a.astype(float) @ b.T.astype(float)) <= bound)


def test_signs_of_products_survive_rounding_of_any_kind(rng):
    a, b = nearly_orthogonal(rng, 30, 50, 200)
    scale = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    expected = products(a, b) >= 0
    for _ in range(5):
        rounded = (a @ b.T + rng.uniform(-0.5, 0.5, (30, 50)) * ROUNDING * scale).astype(np.float32)
        settle_signs(rounded, a, b)
        assert np.array_equal(rounded >= 0, expected)


def test_paired_products_do_not_depend_on_their_company(rng):
    a, b = rng.standard_normal((2, 9, 131)).astype(np.float32)
    rows, columns = near_zero(a @ b.T, np.full((9, 1), 5.0))
    together = paired_products(a, b, rows, columns)
    for i, j, value in zip(rows, columns, together, strict=True):
        assert paired_products(a[i : i + 1], b[j : j + 1], np.array([0]), np.array([0]))[0] == value
        assert value == pytest.approx(math.fsum(map(float, a[i].astype(float) * b[j])), abs=1e-12)


@given(
    seed=st.integers(0, 10_000), n_bits=st.integers(1, 150), n_queries=st.integers(1, 70), n_codes=st.integers(1, 40)
)
@settings(deadline=None, max_examples=25)
def test_asymmetric_scores_are_sums_of_rounded_values(seed, n_bits, n_queries, n_codes):
    rng = np.random.default_rng(seed)
    projections = rng.standard_normal((n_queries, n_bits)) * 10.0 ** rng.integers(-3, 4, (n_queries, 1))
    codes = pack_signs(rng.standard_normal((n_codes, n_bits)))
    queries = AsymmetricQueries(projections.astype(np.float32))
    assert np.all(np.frexp(queries.steps)[0] == 0.5)
    whole = np.rint(projections.astype(np.float32) / queries.steps[:, None])
    assert np.abs(whole).sum(axis=1).max() < 2**31
    scores = queries.scores(codes)
    assert np.array_equal(scores, (whole @ unpack_signs(codes, n_bits, np.float64).T) * queries.steps[:, None])
    error = np.abs(scores - projections @ unpack_signs(codes, n_bits, np.float64).T)
    largest = np.abs(projections).max(axis=1, keepdims=True)
    assert np.all(error <= n_bits * largest * (n_bits / 2**31 + 2.0**-23))


def test_asymmetric_counts_do_not_depend_on_blocks_or_threads(rng, monkeypatch):
    projections = rng.standard_normal((45, 200)).astype(np.float32)
    codes = pack_signs(rng.standard_normal((300, 200)))
    codes[150:] = codes[:150]
    rows = rng.integers(0, 300, (45, 4))
    scores = AsymmetricQueries(projections).scores(codes)
    own = np.take_along_axis(scores, rows, axis=1)
    for block, n_threads in ((2048, 1), (7, 2)):
        monkeypatch.setattr("cbe_bench.kernels.asymmetric._BLOCK", block)
        greater, equal = np.zeros((2, 45, 4), np.int64)
        with parallel.threads(n_threads):
            queries = AsymmetricQueries(projections)
            queries.count_before(codes, queries.own_sums(codes, rows), greater, equal)
        assert np.array_equal(greater, (scores[:, None] > own[:, :, None]).sum(axis=2))
        assert np.array_equal(equal, (scores[:, None] == own[:, :, None]).sum(axis=2))
        assert equal.min() >= 2


def test_a_query_of_zeros_ties_with_everything(rng):
    queries = AsymmetricQueries(np.zeros((2, 30), np.float32))
    assert not queries.scores(pack_signs(rng.standard_normal((5, 30)))).any()


def naive_k_means(descriptors, words):
    """Lloyd's iterations in integers."""
    descriptors, words = descriptors.astype(np.int64), words.astype(np.int64)
    for _ in range(25):
        assigned = ((descriptors[:, None] - words) ** 2).sum(axis=2).argmin(axis=1)
        for w in set(assigned.tolist()):
            own = descriptors[assigned == w]
            words[w] = [round(int(total) / len(own)) for total in own.sum(axis=0)]
    return words


def test_words_are_k_means_in_whole_numbers(rng, monkeypatch):
    descriptors = dense_sift(rng.random((2, 40, 40)).astype(np.float32)).reshape(-1, 128)
    words = vlad.learn_words(descriptors, 7, seed=3)
    assert np.array_equal(words, np.rint(words))
    monkeypatch.setattr(vlad, "_DESCRIPTORS_AT_ONCE", 5)
    with parallel.threads(1):
        assert np.array_equal(vlad.learn_words(descriptors, 7, seed=3), words)
    seeds = vlad._seeds(descriptors, 7, np.random.default_rng(3))
    assert np.array_equal(naive_k_means(descriptors, seeds), words)


def test_more_words_than_distinct_descriptors(rng):
    descriptors = np.repeat(rng.integers(0, 200, (3, 128)), 4, axis=0).astype(np.float32)
    words = vlad.learn_words(descriptors, 6, seed=0)
    assert np.array_equal(np.unique(words, axis=0), np.unique(descriptors, axis=0))


def test_products_of_descriptors_and_words_are_exact(rng):
    """Any partial sum of d.w is at most |d| |w|; below 2^23 single precision holds it and its half."""
    images = rng.random((3, 64, 64)).astype(np.float32)
    images[1] = images[1] > 0.5
    descriptors = dense_sift(images).reshape(-1, 128).astype(np.float64)
    assert np.linalg.norm(descriptors, axis=1).max() <= UNIT + math.sqrt(128) / 2
    assert (UNIT + math.sqrt(128)) ** 2 < 2**23


def test_products_of_synthetic_data_are_exact():
    """Multiples of 2^-18 below 64 have 24 bits."""
    features = synthetic.SyntheticFeatures("exact", 512, 1280)
    step = synthetic._LATENT_STEP * synthetic._WEIGHT_STEP
    for block in range(2):
        latent = features._describe(block)[0].astype(np.float64)
        for weights in (features._presence, features._residuals):
            assert (np.abs(latent) @ np.abs(weights)).max() < 2**24 * step / 2
            exact = latent @ weights.astype(np.float64)
            assert np.array_equal(latent.astype(np.float32) @ weights, exact)


@pytest.fixture
def built(tmp_path, rng):
    pixels = rng.integers(0, 256, (12, 32, 32, 3)).astype(np.uint8)
    store_images(tmp_path / "images.h5", LabelledImages(pixels, np.zeros(12, np.int16), ("any",)), kind="real")
    make_vlad(StoredImages(tmp_path / "images.h5"), tmp_path / "vlad.h5", 3, progress=no_progress)
    return tmp_path / "vlad.h5"


def identity(path):
    with open_features(path) as features:
        return features.content_hash()


def test_built_features_are_known_by_recipe_images_and_words(built):
    before = identity(built)
    with h5py.File(built, "r+") as file:
        file.attrs["made_by"] = "another version"
        file["features"][0, 0] += np.float32(1e-7)
    assert identity(built) == before
    for attribute, value in (("words_sha256", "0" * 64), ("recipe", {"seed": 5}), ("recipe", {"images": "1" * 64})):
        with h5py.File(built, "r+") as file:
            kept = file.attrs[attribute]
            file.attrs[attribute] = json.dumps(json.loads(kept) | value) if isinstance(value, dict) else value
        assert identity(built) != before
        with h5py.File(built, "r+") as file:
            file.attrs[attribute] = kept
    assert identity(built) == before


@pytest.mark.parametrize("recipe", ['{"images": "photos"}', '{"rows": 12}', "no recipe", "[1, 2]"])
def test_other_files_are_known_by_their_bytes(built, recipe):
    with h5py.File(built, "r+") as file:
        file.attrs["recipe"] = recipe
    before = identity(built)
    with h5py.File(built, "r+") as file:
        file["features"][0, 0] += np.float32(1)
    assert identity(built) != before


def test_environments_name_the_kernels_in_use():
    described = environment.describe()
    assert described["blas"]
    assert all(isinstance(name, str) for name in described["blas"])
    assert described["compiled_for"]
    assert isinstance(described["vector_extensions"], list)
