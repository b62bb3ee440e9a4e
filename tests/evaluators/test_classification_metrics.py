"""Linear SVMs against LinearSVC, splits by class, and the evaluation against its definition."""

import re

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from cbe_bench.core.errors import InputError
from cbe_bench.data.splits import PROTOCOLS, Split, make_class_split
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.classification.metrics import ClassificationEvaluator, draw_class_split, weights_of_codes
from cbe_bench.evaluators.classification.svm import train_linear_svms
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels.bits import pack_signs, unpack_signs
from cbe_bench.kernels.hamming import inner_products
from cbe_bench.kernels.linalg.gram import code_gram, real_gram

COSTS = (0.1, 1.0, 10.0, 100.0)


def progress(fraction):
    assert 0 <= fraction <= 1


@pytest.mark.parametrize("n_bits", [1, 13, 64, 200, 1500])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_inner_products_of_codes_are_those_of_signs(n, n_bits, rng):
    signs = np.where(rng.standard_normal((n + 7, n_bits)) >= 0, 1, -1).astype(np.float32)
    codes = pack_signs(signs)
    assert np.array_equal(inner_products(codes[:n], codes, n_bits), signs[:n] @ signs.T)


def test_gram_matrices_of_more_rows_than_a_strip(rng):
    X = rng.standard_normal((1500, 40), dtype=np.float32)
    signs = np.where(X >= 0, 1, -1)
    assert np.array_equal(code_gram(pack_signs(X), 40), signs @ signs.T)
    gram = real_gram(X)
    np.testing.assert_allclose(gram, X @ X.T, atol=1e-4)
    assert np.array_equal(gram, gram.T)


@pytest.mark.parametrize("n_bits", [5, 512, 1031])
def test_weights_of_codes_are_sums_over_signs(n_bits, rng):
    signs = np.where(rng.standard_normal((20, n_bits)) >= 0, 1, -1).astype(np.float32)
    beta = rng.standard_normal((20, 3)).astype(np.float32)
    expected = beta.T @ signs / np.sqrt(n_bits)
    np.testing.assert_allclose(weights_of_codes(pack_signs(signs), n_bits, beta), expected, atol=1e-5)


def test_two_points_by_hand():
    # x = +1 and -1: b = 0 by symmetry, and w minimises w^2 / 2 + 2 C (1 - w)^2, so w = 4 C / (1 + 4 C)
    X = np.array([[1.0], [-1.0]], np.float32)
    for cost, beta in zip(COSTS, train_linear_svms(X @ X.T, np.array([0, 1]), 2, COSTS, progress), strict=True):
        w = 4 * cost / (1 + 4 * cost)
        np.testing.assert_allclose(X.T @ beta, [[w, -w]], atol=0.005)
        np.testing.assert_allclose(beta.sum(axis=0), 0, atol=1e-5)


@pytest.fixture(scope="module")
def medium():
    """About 1,000 rows of 25 classes as codes of 512 bits."""
    features = SyntheticFeatures("medium", 5_000, 512)
    labels = features.labels()
    rows = np.flatnonzero(labels < 25)
    X = features.read(rows)
    codes = make_encoder("cbe-rand", random_state=0).fit(X).encode(X)
    return codes, labels[rows].astype(np.int64)


def test_classifiers_agree_with_linear_svc(medium):
    codes, labels = medium
    signs = unpack_signs(codes, 512, np.float32) / np.sqrt(np.float32(512))
    n = len(codes) * 2 // 3
    gram = code_gram(codes[:n], 512) / np.float32(512)
    costs = [1.0, 20.0]
    for cost, beta in zip(costs, train_linear_svms(gram, labels[:n], 25, costs, progress), strict=True):
        theirs = LinearSVC(C=cost, tol=1e-6, max_iter=100_000).fit(signs[:n], labels[:n]).decision_function(signs[n:])
        ours = signs[n:] @ (signs[:n].T @ beta) + beta.sum(axis=0)
        assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.9999
        assert np.abs(ours - theirs).max() < 0.03
        accuracies = [(values.argmax(axis=1) == labels[n:]).mean() for values in (ours, theirs)]
        assert abs(accuracies[0] - accuracies[1]) <= 0.003 + 1 / len(ours)


def test_classifiers_that_do_not_converge_warn(medium, monkeypatch):
    codes, labels = medium
    monkeypatch.setattr("cbe_bench.evaluators.classification.svm._MAX_ITER", 1)
    gram = code_gram(codes[:200], 512) / np.float32(512)
    with pytest.warns(UserWarning, match=r"C = 10: \d+ of 25 "):
        list(train_linear_svms(gram, labels[:200], 25, [10.0], progress))


def split_of(labels, seed=0, **sizes):
    sizes = {"classes": None, "train": 3, "validation": 2, "test": 1} | sizes
    return make_class_split(labels, seed=seed, source="toy", **sizes)


def test_splits_are_disjoint_and_have_their_rows_of_every_class(rng):
    labels = rng.permutation(np.repeat([b"cat", b"dog", b"elk", b"fox"], 8))
    split = split_of(labels)
    assert not set(split.train) & set(split.held)
    assert np.all(np.diff(split.train) > 0)
    assert np.all(np.diff(split.held) > 0)
    assert np.array_equal(split.names[split.train_classes], labels[split.train])
    assert np.array_equal(split.names[split.held_classes], labels[split.held])
    assert list(np.bincount(split.train_classes)) == [3] * 4
    assert list(np.bincount(split.held_classes[split.is_test])) == [1] * 4
    assert list(np.bincount(split.held_classes[~split.is_test])) == [2] * 4


def test_seeds_draw_other_rows_of_the_same_classes(rng):
    labels = rng.permutation(np.repeat(np.arange(30), 8))
    one, other = split_of(labels, classes=5), split_of(labels, seed=1, classes=5)
    assert len(one.names) == 5
    assert np.array_equal(one.names, other.names)
    assert not np.array_equal(one.train, other.train)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "toy: has no labels"),
        (np.zeros(20), "toy: all rows have the label 0.0"),
        (np.repeat([4, 7], [20, 5]), "toy: class 7 has 5 rows; 3 for training, 2 for validation and 1 for the test"),
    ],
)
def test_labels_that_cannot_be_split(labels, message):
    with pytest.raises(InputError, match=re.escape(message)):
        split_of(labels)


def test_synthetic_surrogates_have_enough_rows_of_every_class():
    for per_class in (4, 16, 200):
        features = SyntheticFeatures("imagenet25600", SyntheticFeatures.rows_for(per_class), 64)
        assert np.bincount(features.labels(), minlength=100).min() >= per_class


def held_out_rows(features, split, seed):
    """Return the held-out rows of a split, of unit length."""
    nothing = np.empty(0, np.int64)
    rows = Split(queries=split.held, database=nothing, train_positions=nothing)
    return DatasetView(features, rows, PROTOCOLS["paper"], seed=derive_seed(seed, "dimensions")).queries()


def test_evaluation_against_its_definition():
    features = SyntheticFeatures("toy", 4_000, 200)
    split = draw_class_split(features, 0, classes=12, train=12, validation=6, test=8)
    evaluator = ClassificationEvaluator(features, split, seed=0, n_features=200, costs=COSTS, block_rows=33)
    X, H = evaluator.X, held_out_rows(features, split, 0)
    found = evaluator.codes(make_encoder("cbe-orth", n_bits=190, random_state=3), progress)
    encoder = make_encoder("cbe-orth", n_bits=190, random_state=3).fit(X)
    real = encoder.project(H) / np.linalg.norm(encoder.project(H), axis=1, keepdims=True)
    cases = {
        "": (encoder.transform(X) / np.sqrt(190), real),
        "_symmetric": (encoder.transform(X) / np.sqrt(190), encoder.transform(H) / np.sqrt(190)),
        "original": (X, H),
    }
    for case, (trained, tested) in cases.items():
        classifiers = [LinearSVC(C=c, tol=1e-6, max_iter=50_000).fit(trained, split.train_classes) for c in COSTS]
        correct = np.array([classifier.predict(tested) == split.held_classes for classifier in classifiers])
        validation, test = correct[:, ~split.is_test].mean(axis=1), correct[:, split.is_test].mean(axis=1)
        metrics, end = (evaluator.original(progress), "") if case == "original" else (found, case)
        np.testing.assert_allclose(metrics[f"validation_accuracies{end}"], validation, atol=1.01 / 72)
        np.testing.assert_allclose(metrics[f"test_accuracies{end}"], test, atol=1.01 / 96)
        best = int(np.argmax(metrics[f"validation_accuracies{end}"]))
        assert metrics[f"cost{end}"] == COSTS[best]
        assert metrics[f"accuracy{end}"] == pytest.approx(metrics[f"test_accuracies{end}"][best])
    assert found["bytes_per_vector"] == 24
    assert found["accuracy"] > 3 / 12, "far above chance"


class SpyEncoder:
    """An encoder that records what it is trained on."""

    data_dependent = True

    def fit(self, X, y):
        self.seen = X, y
        raise StopIteration


@pytest.mark.parametrize("n_train", [None, 20])
def test_data_dependent_encoders_see_training_rows_and_their_classes(n_train):
    features = SyntheticFeatures("toy", 4_000, 64)
    split = draw_class_split(features, 0, classes=5, train=10, validation=2, test=2)
    evaluator = ClassificationEvaluator(features, split, seed=0, n_features=64, costs=COSTS)
    spy = SpyEncoder()
    with pytest.raises(StopIteration):
        evaluator.codes(spy, progress, n_train)
    seen, classes = spy.seen
    assert len(seen) == (n_train or 50)
    where = [int(np.flatnonzero((row == evaluator.X).all(axis=1))[0]) for row in seen]
    assert np.array_equal(split.train_classes[where], classes)
