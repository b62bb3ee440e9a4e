"""Recall under ties, by hand and by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench.evaluators.retrieval import asymmetric_ranks, expected_recall, symmetric_ranks
from cbe_bench.kernels.bits import pack_signs, unpack_signs


def quiet(share):
    assert 0 <= share <= 1


def test_expected_recall_by_hand():
    """Two neighbours: one alone in front, one tied with three others behind two nearer codes."""
    ranks = (np.array([[0, 2]]), np.array([[1, 4]]))
    recall = expected_recall(ranks, np.arange(1, 8))
    np.testing.assert_allclose(recall, [0.5, 0.5, 0.625, 0.75, 0.875, 1, 1])


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
    ranks = symmetric_ranks(pack_signs(queries), pack_signs(database), neighbours, quiet)
    distances = ((queries[:, None] >= 0) != (database >= 0)).sum(axis=2)
    expected = [
        np.mean([mean_over_all_tie_orders(distances[q], neighbours[q], depth) for q in range(2)])
        for depth in range(1, 7)
    ]
    np.testing.assert_allclose(expected_recall(ranks, np.arange(1, 7)), expected, atol=1e-12)


@pytest.mark.parametrize("n_bits", [3, 64, 333])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_asymmetric_ranks_count_better_and_equal_scores(n_bits, dtype, rng, monkeypatch):
    monkeypatch.setattr("cbe_bench.evaluators.retrieval._CODES_AT_ONCE", 70)
    queries = rng.standard_normal((9, n_bits)).astype(dtype)
    database = rng.standard_normal((200, n_bits))
    database[100:] = database[:100]  # every code twice
    codes = pack_signs(database)
    neighbours = np.stack([rng.permutation(200)[:10] for _ in range(9)])
    nearer, equal = asymmetric_ranks(queries, codes, neighbours, quiet)
    exact = queries.astype(np.float64) @ unpack_signs(codes, n_bits, np.float64).T
    own = np.take_along_axis(exact, neighbours, axis=1)
    gap = 1e-4 if dtype == np.float32 else 1e-9
    assert np.array_equal(nearer, (exact[:, None] > own[:, :, None] + gap).sum(axis=2))
    assert np.array_equal(equal, (np.abs(exact[:, None] - own[:, :, None]) < gap).sum(axis=2))
    assert equal.min() >= 2


def test_perfect_codes_have_perfect_recall(rng):
    codes = pack_signs(rng.standard_normal((50, 256)))
    ranks = symmetric_ranks(codes, codes, np.arange(50)[:, None], quiet)
    assert expected_recall(ranks, np.array([1])) == 1.0
