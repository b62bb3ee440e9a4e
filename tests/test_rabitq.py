"""Estimates from codes of a few bits: the grid against brute force, estimates against exact values, bounds."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbe_bench import RaBitQ, load_encoder, load_rabitq, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.kernels.grid import grid_codes, integer_products, plane_sums, real_products

BITS = [1, 2, 4]
ROTATIONS = ["circulant", "hadamard", "dense"]


def points(planes, d):
    """The grid points of codes: y = c - (2^B - 1)/2."""
    n_bits = planes.shape[1]
    bits = np.unpackbits(planes, axis=2, count=d, bitorder="little")
    return np.einsum("b,nbj->nj", 2.0 ** np.arange(n_bits), bits) - (2**n_bits - 1) / 2


def cosine(y, v):
    return np.sum(y * v, axis=-1) / np.linalg.norm(y, axis=-1) / np.linalg.norm(v, axis=-1)


def clustered(rng, n, d, n_clusters=20):
    """Rows around some centres, all of them away from the origin, as embeddings are."""
    centers = rng.standard_normal((n_clusters, d)) + 0.7
    return (centers[rng.integers(0, n_clusters, n)] + rng.standard_normal((n, d))).astype(np.float32)


# The grid


@pytest.mark.parametrize("n_bits, d", [(1, 5), (2, 5), (2, 7), (3, 4)])
def test_grid_point_is_the_best_of_all(n_bits, d, rng):
    V = rng.standard_normal((40, d)).astype(np.float32)
    planes, products = grid_codes(V, n_bits)
    everything = np.array(list(product(np.arange(2**n_bits) - (2**n_bits - 1) / 2, repeat=d)))
    best = np.array([cosine(everything, v).max() for v in V])
    found = points(planes, d)
    np.testing.assert_allclose(cosine(found, V), best, rtol=2e-3)
    assert np.mean(cosine(found, V) > best - 1e-6) > 0.9, "a coarse search of the scale may miss by little"
    np.testing.assert_allclose(products, np.sum(found * V, axis=1), rtol=1e-5)


def test_grid_of_long_vectors_is_as_good_as_every_scale(rng):
    V = rng.standard_normal((20, 300)).astype(np.float32)
    for n_bits in (2, 4):
        top = 2 ** (n_bits - 1) - 1
        found = cosine(points(grid_codes(V, n_bits)[0], 300), V)
        for v, best in zip(V, found, strict=True):
            scales = np.unique(np.arange(1, top + 1)[:, None] / np.abs(v))
            levels = np.minimum(np.floor(np.abs(v) * scales[:, None] * (1 + 1e-6)), top) + 0.5
            assert best > cosine(levels, np.abs(v)).max() - 1e-5


@pytest.mark.parametrize("d", [1, 7, 8, 65, 130])
@pytest.mark.parametrize("n_bits", BITS)
def test_products_of_planes(n_bits, d, rng):
    planes, _ = grid_codes(rng.standard_normal((50, d)).astype(np.float32), n_bits)
    c = points(planes, d) + (2**n_bits - 1) / 2
    W = rng.standard_normal((3, d)).astype(np.float32)
    np.testing.assert_allclose(real_products(planes, W), W @ c.T, atol=1e-4 * np.abs(c).sum(axis=1).max())
    q = rng.integers(0, 16, (3, d)).astype(np.uint8)
    query_planes = np.stack([np.packbits((q >> b) & 1, axis=1, bitorder="little") for b in range(4)], axis=1)
    assert np.array_equal(integer_products(planes, query_planes), q.astype(np.int64) @ c.T.astype(np.int64))
    assert np.array_equal(plane_sums(planes), c.sum(axis=1))


def test_zero_vectors_have_a_code():
    planes, products = grid_codes(np.zeros((2, 9), np.float32), 4)
    assert products.tolist() == [0, 0]
    assert np.array_equal(np.abs(points(planes, 9)), np.full((2, 9), 0.5))


# Estimates


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("bits", BITS)
def test_estimates_have_no_bias(rotation, bits, rng):
    """Averaged over 200 rotations, to within 4.5 standard errors: of 60 pairs one is outside by chance in 2,400."""
    X = rng.standard_normal((12, 40)).astype(np.float32) + 0.5
    queries = (X[:5] + 0.5 * rng.standard_normal((5, 40))).astype(np.float32)
    estimates = []
    for seed in range(200):
        quantizer = RaBitQ(bits_per_dim=bits, rotation=rotation, random_state=seed).fit(X)
        estimates.append(quantizer.estimate(queries, quantizer.encode(X)))
    error = np.mean(estimates, axis=0) - queries @ X.T
    standard_error = np.std(estimates, axis=0, ddof=1) / np.sqrt(len(estimates))
    assert np.abs(error / standard_error).max() < 4.5


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31 - 1),
    d=st.integers(40, 200),
    bits=st.sampled_from(BITS),
    rotation=st.sampled_from(ROTATIONS),
    metric=st.sampled_from(["ip", "l2"]),
    query_bits=st.sampled_from([None, 8]),
)
def test_errors_are_within_their_bounds(seed, d, bits, rotation, metric, query_bits):
    rng = np.random.default_rng(seed)
    X, queries = clustered(rng, 120, d), clustered(rng, 10, d)
    params = {"bits_per_dim": bits, "rotation": rotation, "metric": metric, "query_bits": query_bits}
    quantizer = RaBitQ(**params, random_state=seed).fit(X)
    codes = quantizer.encode(X)
    exact = queries @ X.T if metric == "ip" else np.sum((queries[:, None] - X) ** 2, axis=2)
    error = np.abs(quantizer.estimate(queries, codes) - exact)
    bounds = quantizer.error_bounds(queries, codes, epsilon=3)
    slack = 0 if query_bits is None else 0.05 * np.abs(exact).max()
    assert np.mean(error <= bounds + slack + 1e-4 * np.abs(exact)) > 0.97


@pytest.mark.parametrize("metric", ["ip", "l2"])
def test_more_bits_are_nearer(metric, rng):
    X, queries = clustered(rng, 500, 96), clustered(rng, 20, 96)
    exact = queries @ X.T if metric == "ip" else np.sum((queries[:, None] - X) ** 2, axis=2)
    errors = []
    for bits in BITS:
        quantizer = RaBitQ(bits_per_dim=bits, metric=metric, random_state=0).fit(X)
        codes = quantizer.encode(X)
        assert codes.nbytes == len(X) * (12 * bits + 8)
        errors.append(np.mean((quantizer.estimate(queries, codes) - exact) ** 2))
    assert errors[0] > 3 * errors[1] > 20 * errors[2]


@pytest.mark.parametrize("bits", BITS)
def test_adding_a_constant_vector_leaves_distances_and_rankings(bits, rng):
    X, queries, shift = clustered(rng, 200, 48), clustered(rng, 10, 48), 2 * rng.standard_normal(48).astype(np.float32)
    found = []
    for rows, some in ((X, queries), (X + shift, queries + shift)):
        quantizer = RaBitQ(bits_per_dim=bits, metric="l2", random_state=1).fit(rows)
        found.append(quantizer.estimate(some, quantizer.encode(rows)))
    np.testing.assert_allclose(found[0], found[1], rtol=0.02)
    assert np.mean(np.abs(found[0] - found[1]) > 1e-4 * found[0]) < 0.05, "but for coordinates near a grid's edge"


@pytest.mark.parametrize("query_bits", [4, 8])
def test_rounded_queries_are_near_real_ones(query_bits, rng):
    """Rounding with dither has a variance of at most step^2 / 4 a coordinate, and of step^2 / 6 on average."""
    X, queries = clustered(rng, 300, 100), clustered(rng, 20, 100)
    real = RaBitQ(bits_per_dim=2, random_state=0).fit(X)
    rounded = RaBitQ(bits_per_dim=2, query_bits=query_bits, random_state=0).fit(X)
    codes = real.encode(X)
    error = rounded.estimate(queries, codes) - real.estimate(queries, codes)
    W = real._rotated(queries)
    steps = np.ptp(W, axis=1)[:, None] / (2**query_bits - 1)
    expected = codes.factors * np.linalg.norm(points(codes.planes, 100), axis=1) * steps / np.sqrt(6)
    assert 0.8 < np.sqrt(np.mean((error / expected) ** 2)) < 1.2


def test_equal_rows_have_equal_estimates(rng):
    X = np.repeat(clustered(rng, 30, 50), 7, axis=0)
    quantizer = RaBitQ(random_state=0).fit(X)
    scores = quantizer.estimate(X[:5], quantizer.encode(X))
    assert np.all(scores.reshape(5, 30, 7) == scores.reshape(5, 30, 7)[..., :1])
    best, rows = quantizer.search(X[:5], quantizer.encode(X), 7)
    assert rows[0].tolist() == list(range(7))
    assert np.all(np.diff(best, axis=1) <= 0)


def test_principal_components_only(rng):
    X = (rng.standard_normal((300, 8)) @ rng.standard_normal((8, 64)) + 2).astype(np.float32)
    quantizer = RaBitQ(bits_per_dim=4, n_components=8, random_state=0).fit(X)
    codes = quantizer.encode(X)
    assert codes.planes.shape == (300, 4, 1)
    exact = X[:20] @ X.T
    assert np.corrcoef(quantizer.estimate(X[:20], codes).ravel(), exact.ravel())[0, 1] > 0.99
    again = pickle.loads(pickle.dumps(quantizer))
    assert np.array_equal(again.estimate(X[:20], codes), quantizer.estimate(X[:20], codes))


@pytest.mark.parametrize(
    "params, message",
    [
        ({"bits_per_dim": 3}, "bits_per_dim = 3; allowed: 1, 2, 4"),
        ({"query_bits": 5}, "query_bits = 5; allowed: None, 4, 8"),
        ({"rotation": "circulent"}, "did you mean 'circulant'"),
        ({"metric": "l3"}, "metric = 'l3'; did you mean 'l2'"),
        ({"n_components": 9}, "n_components = 9; it must be an integer from 1 to 8"),
    ],
)
def test_bad_parameters_are_errors(params, message):
    with pytest.raises(InputError, match=message):
        RaBitQ(**params).fit(np.eye(8))


@pytest.mark.parametrize("n_components", [None, 10])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_saved_and_read_back(rotation, n_components, rng, tmp_path):
    X, path = clustered(rng, 60, 24), tmp_path / "r.npz"
    quantizer = RaBitQ(bits_per_dim=2, rotation=rotation, n_components=n_components, random_state=0).fit(X)
    quantizer.save(path)
    again = load_rabitq(path)
    assert again.get_params() == quantizer.get_params() | {"random_state": None}
    codes = again.encode(X)
    assert np.array_equal(again.estimate(X, codes), quantizer.estimate(X, quantizer.encode(X)))
    with pytest.raises(InputError, match="holds a RaBitQ, not a binary encoder; load_rabitq reads it"):
        load_encoder(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(quantizer.center_.tobytes(), (quantizer.center_ + 1).tobytes()))
    with pytest.raises(InputError, match="not a saved encoder"):
        load_rabitq(path)


def test_a_binary_encoder_is_no_rabitq(rng, tmp_path):
    make_encoder("sign").fit(clustered(rng, 9, 8)).save(tmp_path / "e.npz")
    with pytest.raises(InputError, match="holds a binary encoder, sign, not a RaBitQ"):
        load_rabitq(tmp_path / "e.npz")


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("bits", BITS)
def test_ranking_is_level_with_faiss(bits, rotation, rng):
    faiss = pytest.importorskip("faiss")
    X, queries = clustered(rng, 3000, 128), clustered(rng, 100, 128)
    exact = np.argsort(np.sum(X**2, axis=1) - 2 * queries @ X.T, axis=1)[:, :10]
    index = faiss.IndexPreTransform(faiss.RandomRotationMatrix(128, 128), faiss.IndexRaBitQ(128, faiss.METRIC_L2, bits))
    index.train(X)
    index.add(X)
    theirs = index.search(queries, 10)[1]
    quantizer = RaBitQ(bits_per_dim=bits, metric="l2", rotation=rotation, random_state=0).fit(X)
    ours = quantizer.search(queries, quantizer.encode(X), 10)[1]
    recalls = [np.mean([len(set(a) & set(b)) / 10 for a, b in zip(f, exact, strict=True)]) for f in (ours, theirs)]
    assert recalls[0] > recalls[1] - 0.03
