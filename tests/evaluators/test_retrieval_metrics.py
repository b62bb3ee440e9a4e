"""Recall under ties, by hand and by brute force; averaged AUC; what the evaluator of a split measures."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench.data.splits import PROTOCOLS, Split
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.retrieval import evaluator, metrics
from cbe_bench.evaluators.retrieval.evaluator import RetrievalEvaluator
from cbe_bench.evaluators.retrieval.metrics import (
    asymmetric_ranks,
    expected_recall,
    median_ranks,
    query_auc,
    symmetric_ranks,
)
from cbe_bench.kernels.bits import pack_signs, unpack_signs


def progress(fraction):
    assert 0 <= fraction <= 1


def test_expected_recall_by_hand():
    """Two neighbours: one alone in front, one tied with three others behind two nearer codes."""
    ranks = (np.array([[0, 2]]), np.array([[1, 4]]))
    recall = expected_recall(ranks, np.arange(1, 8))
    np.testing.assert_allclose(recall, [[0.5, 0.5, 0.625, 0.75, 0.875, 1, 1]])


def mean_over_all_tie_orders(distances, neighbours, depth):
    """Recall@depth averaged over every order of the database that sorts the distances."""
    orders = [
        order for order in itertools.permutations(range(len(distances))) if np.all(np.diff(distances[list(order)]) >= 0)
    ]
    return np.mean([len(set(order[:depth]) & set(neighbours)) / len(neighbours) for order in orders])


@given(seed=st.integers(0, 10_000), n_bits=st.integers(1, 4))
@settings(deadline=None, max_examples=15)
def test_symmetric_recall_is_the_mean_over_tie_orders(seed, n_bits):
    rng = np.random.default_rng(seed)
    queries, database = (rng.standard_normal((n, n_bits)) for n in (2, 6))
    neighbours = np.stack([rng.permutation(6)[:2] for _ in range(2)])
    ranks = symmetric_ranks(pack_signs(queries), pack_signs(database), neighbours, progress)
    distances = ((queries[:, None] >= 0) != (database >= 0)).sum(axis=2)
    expected = [
        np.mean([mean_over_all_tie_orders(distances[q], neighbours[q], depth) for q in range(2)])
        for depth in range(1, 7)
    ]
    np.testing.assert_allclose(expected_recall(ranks, np.arange(1, 7)).mean(axis=0), expected, atol=1e-12)


@pytest.mark.parametrize("n_bits", [3, 64, 333])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_asymmetric_ranks_count_better_and_equal_scores(n_bits, dtype, rng, monkeypatch):
    monkeypatch.setattr(metrics, "CODES_AT_ONCE", 70)
    queries = rng.standard_normal((9, n_bits)).astype(dtype)
    database = rng.standard_normal((200, n_bits))
    database[100:] = database[:100]  # every code twice
    codes = pack_signs(database)
    neighbours = np.stack([rng.permutation(200)[:10] for _ in range(9)])
    nearer, equal = asymmetric_ranks(queries, codes, neighbours, progress)
    exact = queries.astype(np.float64) @ unpack_signs(codes, n_bits, np.float64).T
    own = np.take_along_axis(exact, neighbours, axis=1)
    gap = 1e-6 * n_bits  # values are rounded to 2^-30 k of the largest
    assert np.array_equal(nearer, (exact[:, None] > own[:, :, None] + gap).sum(axis=2))
    assert np.array_equal(equal, (np.abs(exact[:, None] - own[:, :, None]) < gap).sum(axis=2))
    assert equal.min() >= 2


def test_perfect_codes_have_perfect_recall(rng):
    codes = pack_signs(rng.standard_normal((50, 256)))
    ranks = symmetric_ranks(codes, codes, np.arange(50)[:, None], progress)
    assert np.all(expected_recall(ranks, np.array([1])) == 1.0)


def brute_medians(queries, database, blocks):
    distances = [(queries[:, None, block] != database[:, block]).sum(axis=2) for block in blocks]
    return np.median(distances, axis=0)


@given(seed=st.integers(0, 10_000), n_blocks=st.integers(1, 7), n_bits=st.integers(7, 150))
@settings(deadline=None, max_examples=30)
def test_median_ranks_are_those_of_brute_force(seed, n_blocks, n_bits):
    rng = np.random.default_rng(seed)
    queries, database = rng.random((5, n_bits)) < 0.5, rng.random((60, n_bits)) < 0.5
    database[30:] = database[:30]  # every code twice
    ends = np.sort(rng.choice(np.arange(1, n_bits), n_blocks - 1, replace=False))
    blocks = [slice(a, b) for a, b in zip([0, *ends], [*ends, n_bits], strict=True)]
    neighbours = np.stack([rng.permutation(60)[:10] for _ in range(5)])
    packed = [np.packbits(codes, axis=1, bitorder="little") for codes in (queries, database)]
    nearer, equal = median_ranks(*packed, neighbours, blocks, progress)
    medians = brute_medians(queries, database, blocks)
    own = np.take_along_axis(medians, neighbours, axis=1)
    assert np.array_equal(nearer, (medians[:, None] < own[:, :, None]).sum(axis=2))
    assert np.array_equal(equal, (medians[:, None] == own[:, :, None]).sum(axis=2))
    assert equal.min() >= 2


def test_one_block_ranks_as_plain_distance(rng, monkeypatch):
    monkeypatch.setattr(metrics, "CODES_AT_ONCE", 70)
    queries, database = (pack_signs(rng.standard_normal((n, 300))) for n in (9, 200))
    neighbours = np.stack([rng.permutation(200)[:10] for _ in range(9)])
    plain = symmetric_ranks(queries, database, neighbours, progress)
    median = median_ranks(queries, database, neighbours, [slice(0, 300)], progress)
    assert all(np.array_equal(a, b) for a, b in zip(plain, median, strict=True))


def test_auc_is_its_definition(rng):
    queries, database = rng.standard_normal((7, 24)), rng.standard_normal((60, 24))
    query_labels, database_labels = rng.integers(0, 3, 7), rng.integers(0, 3, 60)
    distances = ((queries[:, None] >= 0) != (database >= 0)).sum(axis=2)
    areas = []
    for distance, label in zip(distances, query_labels, strict=True):
        same, other = distance[database_labels == label], distance[database_labels != label]
        areas.append((same[:, None] < other).mean() + 0.5 * (same[:, None] == other).mean())
    found = query_auc(pack_signs(queries), pack_signs(database), query_labels, database_labels)
    np.testing.assert_allclose(found, areas)
    with_unknown = query_auc(pack_signs(queries), pack_signs(database), np.r_[query_labels[:6], 9], database_labels)
    np.testing.assert_allclose(with_unknown, [*areas[:6], np.nan], err_msg="a label that no row has has no curve")


class InMemory:
    """Data of an evaluator: the first rows are queries."""

    def __init__(self, X):
        self.X, self.protocol = X, PROTOCOLS["paper"]
        rows = np.arange(len(X))
        self.split = Split(queries=rows[:5], train_positions=rows[:0], database=rows[5:])

    def queries(self):
        return self.X[:5]

    def database_blocks(self, progress):
        yield slice(0, len(self.X) - 5), self.X[5:]


@pytest.fixture
def small(rng, monkeypatch):
    """An evaluator of 200 rows and 5 queries, with neighbours drawn at random."""
    X = rng.standard_normal((205, 64)).astype(np.float32)
    neighbours = np.stack([rng.permutation(200)[:10] for _ in range(5)])
    monkeypatch.setattr(evaluator, "exact_neighbours", lambda *args: neighbours)
    return X, neighbours, RetrievalEvaluator(InMemory(X), 10, 100, progress)


def test_evaluator_measures_the_median_where_there_are_blocks(small):
    X, neighbours, measure = small
    fractions = []
    for name, params in (("fbe", {}), ("fbe", {"precondition": "hadamard"}), ("hd3", {})):
        encoder = make_encoder(name, n_bits=100, random_state=0, **params)
        found = measure.evaluate(encoder, 100, fractions.append)
        assert ("recall_median" in found) == (name == "fbe")
        if name == "fbe":
            codes = encoder.encode(X[:5]), encoder.encode(X[5:])
            medians = median_ranks(*codes, neighbours, encoder.code_blocks(), progress)
            expected = expected_recall(medians, np.array(found["depths"])).mean(axis=0)
            np.testing.assert_allclose(found["recall_median"], expected, atol=1e-9)
    assert 0 <= min(fractions) <= max(fractions) <= 1


def test_flatness_is_that_of_what_is_encoded(small):
    X, _, measure = small
    X[:5, 7] = 30
    peaky = measure.evaluate(make_encoder("cbe-rand", n_bits=64, random_state=0), 64)["flatness"]
    expected = np.sort(np.abs(X[:5]).max(axis=1) / np.linalg.norm(X[:5], axis=1))
    np.testing.assert_allclose(peaky, expected[[0, 2, 4]], rtol=1e-5)
    flat = measure.evaluate(make_encoder("cbe-rand", n_bits=64, precondition="hadamard", random_state=0), 64)
    assert 1 / 8 <= flat["flatness"][0] <= flat["flatness"][2] < 0.5 < peaky[0]


def test_nested_codes_are_encoded_once_and_each_prefix_measured(small, monkeypatch):
    _, _, measure = small
    encoder = make_encoder("cbe-rand", n_bits=64, random_state=0)
    calls = []
    encode = type(encoder).encode
    monkeypatch.setattr(
        type(encoder), "encode", lambda self, X, **kw: calls.append(self.n_bits) or encode(self, X, **kw)
    )
    whole = measure.evaluate(encoder, 64)
    n_calls = len(calls)
    short = measure.evaluate(make_encoder("cbe-rand", n_bits=64, random_state=0), 24)
    assert set(calls[n_calls:]) == {24}, "for the time of the shorter codes"
    alone = measure.evaluate(make_encoder("cbe-rand", n_bits=24, random_state=0), 24)
    assert short["recall"] == alone["recall"] != whole["recall"]
    assert short["encode_us_per_vector"] > 0
