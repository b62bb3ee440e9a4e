"""The learned and low-dimensional methods against plain code written from their formulas."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_digits

from cbe_bench import AQBC, ITQ, SKLSH, BilinearOpt, BilinearRand, SpectralHashing, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.encoders.aqbc import angular_margins
from cbe_bench.encoders.bilinear import sides
from cbe_bench.encoders.sklsh import nearest_distances
from cbe_bench.encoders.spectral import slowest_modes
from cbe_bench.kernels import parallel
from cbe_bench.kernels.linalg import orthogonal
from cbe_bench.kernels.linalg.principal import principal_directions
from cbe_bench.kernels.nearest import top_k

METHODS = ["aqbc", "bilinear-opt", "itq", "sh", "sklsh"]
seeds = st.integers(0, 2**31 - 1)


@pytest.fixture
def X(rng):
    return rng.standard_normal((50, 24)) @ rng.standard_normal((24, 24)) + rng.standard_normal(24)


def svd_polar(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def signs(values):
    return np.where(values >= 0, 1.0, -1.0)


# Kernels


@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (4, 9), (3, 1)])
def test_polar_factor(shape, rng):
    M = rng.standard_normal(shape)
    if shape[0] >= shape[1]:
        np.testing.assert_allclose(orthogonal.polar(M), scipy.linalg.polar(M)[0], atol=1e-12)
    np.testing.assert_allclose(orthogonal.polar(M.T), orthogonal.polar(M).T, atol=1e-12)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_polar_factor_is_found_in_the_precision_of_the_matrix(dtype, tolerance, rng):
    factor = orthogonal.polar(rng.standard_normal((30, 20)).astype(dtype))
    assert factor.dtype == dtype
    np.testing.assert_allclose(factor.T @ factor, np.eye(20), atol=10 * tolerance)


@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (4, 9), (1, 3)])
def test_random_orthonormal_matrix_prefers_no_direction(shape, rng):
    draws = np.array([orthogonal.random_orthonormal(rng, shape, np.float64) for _ in range(2000)])
    assert draws.shape[1:] == shape
    for Q in draws[:20]:
        few = Q if shape[0] <= shape[1] else Q.T
        np.testing.assert_allclose(few @ few.T, np.eye(min(shape)), atol=1e-12)
    longer = max(shape)
    assert np.abs(draws.mean(axis=0)).max() < 5 / np.sqrt(2000 * longer)
    assert np.abs((draws**2).mean(axis=0) * longer - 1).max() < 5 * np.sqrt(2 / 2000)


def test_cross_products_and_sums_are_what_they_say_on_any_number_of_threads(rng):
    a, b = rng.standard_normal((70, 300)), rng.standard_normal((70, 5))
    found = []
    for count in (1, 2, 3):
        with parallel.threads(count):
            whole = orthogonal.cross_products(a, b)
            found.append((whole, orthogonal.sum_over_blocks(lambda part: a[part].T @ b[part], len(a), 1)))
    for whole, summed in found:
        np.testing.assert_allclose(whole, a.T @ b, atol=1e-12)
        np.testing.assert_allclose(summed, a.T @ b, atol=1e-12)
        assert np.array_equal(whole, found[0][0])
        assert np.array_equal(summed, found[0][1])


@pytest.mark.parametrize("n, d", [(200, 150), (150, 200), (150, 150), (2, 9), (9, 1)])
def test_principal_directions_from_either_matrix(n, d, rng, monkeypatch):
    monkeypatch.setattr("cbe_bench.kernels.linalg.principal._BLOCK_VALUES", 1 << 13)
    X = rng.standard_normal((n, d)) * np.linspace(2, 1, d) + 3
    mean, directions = principal_directions(X, 10)
    expected = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][: min(10, n - 1, d)]
    np.testing.assert_allclose(mean, X.mean(axis=0))
    assert directions.shape == expected.shape
    np.testing.assert_allclose(np.abs(np.sum(directions * expected, axis=1)), 1, atol=1e-9)
    assert np.all(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)] > 0)


@pytest.mark.parametrize("n, d", [(40, 12), (12, 40)])
def test_directions_without_variance_are_left_out(n, d, rng):
    X = (rng.standard_normal((n, 3)) @ rng.standard_normal((3, d))).astype(np.float32).astype(np.float64)
    X[:, 3:] = 1
    assert len(principal_directions(X, 10)[1]) == 3
    assert len(principal_directions(np.ones((n, d)), 10)[1]) == 0


def test_more_features_than_rows_need_no_square_matrix_of_them(rng):
    X = rng.standard_normal((60, 6000)).astype(np.float32)
    tracemalloc.start()
    ITQ(30, n_iter=2, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000


# Every method


@pytest.mark.filterwarnings("ignore:sklsh. .* of the bits are constant")
@pytest.mark.parametrize("name", METHODS)
def test_learning_does_not_depend_on_threads(name, rng):
    X = rng.standard_normal((2100, 160)).astype(np.float32)
    fitted = []
    for count in (1, 2, 3):
        with parallel.threads(count):
            fitted.append(make_encoder(name, n_bits=96, random_state=1).fit(X)._fitted_state())
    for state in fitted[1:]:
        for key, value in fitted[0].items():
            assert np.array_equal(state[key], value), key


@pytest.mark.parametrize(
    "encoder, message",
    [
        (ITQ(25), "itq: n_bits = 25; at most the number of features, 24"),
        (AQBC(25), "aqbc: n_bits = 25; at most the number of features, 24"),
        (ITQ(n_iter=0), "itq: n_iter = 0; it must be a positive integer"),
        (ITQ(pca_rows=0), "itq: pca_rows = 0; it must be a positive integer"),
        (AQBC(n_iter=1.5), "aqbc: n_iter = 1.5; it must be a positive integer"),
        (BilinearOpt(n_iter=-1), "bilinear-opt: n_iter = -1; it must be a positive integer"),
        (SKLSH(gamma=0), "sklsh: gamma = 0; it must be a positive number"),
        (SKLSH(gamma="auto"), "sklsh: gamma = 'auto'; it must be a positive number"),
    ],
)
def test_bad_parameters_are_told(encoder, message, X):
    with pytest.raises(InputError, match=message):
        encoder.check_params(24)
    with pytest.raises(InputError, match=message):
        encoder.fit(X)


@pytest.mark.parametrize("encoder", [ITQ(2), SpectralHashing(2), SKLSH(2)])
@pytest.mark.parametrize("n", [1, 7])
def test_nothing_is_learned_from_equal_rows(encoder, n):
    with pytest.raises(InputError, match="n_samples = "):
        encoder.fit(np.ones((n, 5)))


# bilinear-opt


def reference_bilinear(Z, R1, R2, rounds):
    for _ in range(rounds):
        B = [signs(R1.T @ z @ R2) for z in Z]
        R2 = svd_polar(sum(z.T @ R1 @ b for z, b in zip(Z, B, strict=True)))
        R1 = svd_polar(sum(z @ R2 @ b.T for z, b in zip(Z, B, strict=True)))
    return R1, R2


@pytest.mark.parametrize("permute", [True, False])
@pytest.mark.parametrize("n_bits", [1, 6, 12, 24, 24 + 8])
def test_bilinear_learning_is_the_alternation(n_bits, permute, X, monkeypatch):
    monkeypatch.setattr("cbe_bench.encoders.bilinear._LEARNING_VALUES", 100)
    start = BilinearRand(n_bits, permute=permute, random_state=2).fit(X)
    learned = BilinearOpt(n_bits, permute=permute, random_state=2).fit(X)
    Z = (X[:, start.order_] if permute else X).reshape(-1, *sides(24))
    i = j = 0
    for c1, c2 in start.shapes(24):
        left, right = slice(i, i + c1), slice(j, j + c2)
        R1, R2 = reference_bilinear(Z, svd_polar(start.left_[left].T), svd_polar(start.right_[right].T), 5)
        np.testing.assert_allclose(learned.left_[left].T, R1, atol=1e-5)
        np.testing.assert_allclose(learned.right_[right].T, R2, atol=1e-5)
        i, j = i + c1, j + c2


@settings(max_examples=15, deadline=None)
@given(seed=seeds, n_bits=st.sampled_from([2, 6, 12, 20, 30]), n=st.integers(1, 40))
def test_bilinear_agreement_with_codes_never_falls(seed, n_bits, n):
    X = np.random.default_rng(seed).standard_normal((n, 30)) * np.linspace(3, 0.1, 30)
    # sum trace(B' R1' Z R2) with B the signs of R1' Z R2 is the sum of its absolute values
    agreement = [
        np.abs(BilinearOpt(n_bits, n_iter=n_iter, random_state=0).fit(X).project(X)).sum() for n_iter in range(1, 7)
    ]
    assert np.all(np.diff(agreement) >= -1e-5 * agreement[-1])


def test_bilinear_opt_beats_bilinear_rand_on_centred_digits():
    learn, queries, truth = digits(centre=True)
    found = {
        cls: np.mean([recall(cls(64, random_state=s).fit(learn).encode, learn, queries, truth) for s in range(3)])
        for cls in (BilinearOpt, BilinearRand)
    }
    assert found[BilinearOpt] > found[BilinearRand] + 0.05


# itq


@pytest.mark.parametrize("n_bits", [1, 5, 24])
def test_itq_is_the_alternation(n_bits, X):
    encoder = ITQ(n_bits, n_iter=7, random_state=4).fit(X)
    mean, W = principal_directions(X, n_bits)
    V = (X - mean) @ W.T
    seed = np.random.RandomState(4).randint(2**31 - 1)
    R = orthogonal.random_orthonormal(np.random.default_rng(seed), (n_bits, n_bits), np.float64)
    for _ in range(7):
        U, _, Wt = np.linalg.svd(signs(V @ R).T @ V)
        R = Wt.T @ U.T
    np.testing.assert_allclose(R @ R.T, np.eye(n_bits), atol=1e-12)
    np.testing.assert_allclose(encoder.project(X), V @ R, atol=1e-5 * np.abs(V).max())


def test_itq_takes_principal_directions_of_some_rows(rng):
    X = rng.standard_normal((300, 24)) * np.linspace(1, 3, 24) + 1
    params = {"n_iter": 1, "random_state": 5}
    whole, all_rows = ITQ(8, **params).fit(X), ITQ(8, pca_rows=300, **params).fit(X)
    assert np.array_equal(whole.components_, all_rows.components_)
    some = ITQ(8, pca_rows=40, **params).fit(X)
    np.testing.assert_array_equal(some.mean_, whole.mean_)
    assert not np.allclose(some.components_, whole.components_)
    subspaces = [one.components_.T @ np.linalg.pinv(one.components_.T) for one in (some, whole)]
    spans = [np.trace(one) for one in subspaces]
    np.testing.assert_allclose(spans, 8, atol=1e-3)
    with pytest.warns(UserWarning, match="varies in 15 directions only"):  # of 16 rows, less their mean
        ITQ(16, pca_rows=2, **params).fit(X)


@settings(max_examples=15, deadline=None)
@given(seed=seeds, n_bits=st.integers(1, 12), scale=st.floats(0.01, 100))
def test_itq_error_never_rises(seed, n_bits, scale):
    X = scale * np.random.default_rng(seed).standard_normal((40, 12)) * np.linspace(2, 0.3, 12)
    errors = []
    for n_iter in (1, 2, 3, 5, 20):
        values = ITQ(n_bits, n_iter=n_iter, random_state=0).fit(X).project(X)
        errors.append(np.sum((signs(values) - values) ** 2))
    assert np.all(np.diff(errors) <= 1e-5 * errors[0])


def test_itq_of_fewer_directions_than_bits(rng):
    X = rng.standard_normal((10, 40))
    with pytest.warns(UserWarning, match="itq: the training set varies in 9 directions only, 30 bits"):
        encoder = ITQ(30, random_state=0).fit(X)
    components = encoder.components_.astype(np.float64)
    assert np.linalg.matrix_rank(components, tol=1e-5) == 9
    np.testing.assert_allclose(np.linalg.svd(components)[1][:9], 1, atol=1e-5)


def digits(centre=False):
    X = load_digits().data.astype(np.float32)
    X -= X.mean(axis=0) if centre else 0
    order = np.random.default_rng(0).permutation(len(X))
    queries, learn = X[order[:200]], X[order[200:]]
    distances = (queries**2).sum(1)[:, None] - 2 * queries @ learn.T + (learn**2).sum(1)
    return learn, queries, np.argsort(distances, axis=1)[:, :10]


def recall(encode, learn, queries, truth):
    """Share of the 10 nearest among the 10 nearest codes."""
    found = top_k(encode(queries), encode(learn), 10)[1]
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, truth, strict=True)])


def test_itq_finds_what_faiss_finds_on_digits():
    faiss = pytest.importorskip("faiss")
    n_bits = 32
    learn, queries, truth = digits()
    mean, W = principal_directions(learn, n_bits)
    ours, theirs = [], []
    for seed in range(3):
        ours.append(recall(ITQ(n_bits, random_state=seed).fit(learn).encode, learn, queries, truth))
        rotation = faiss.ITQMatrix(n_bits)
        rotation.seed = 123 + seed
        rotation.train(((learn - mean) @ W.T).astype(np.float32))

        def encode(X, rotation=rotation):
            values = rotation.apply_py(((X - mean) @ W.T).astype(np.float32))
            return np.packbits(values >= 0, axis=1, bitorder="little")

        theirs.append(recall(encode, learn, queries, truth))
    assert np.mean(ours) > np.mean(theirs) - 0.02


# sh


@given(
    ranges=st.lists(st.floats(0.01, 100), min_size=1, max_size=6),
    count=st.integers(1, 25),
)
def test_slowest_modes_are_the_smallest_of_all(ranges, count):
    directions, numbers = slowest_modes(np.array(ranges), count)
    chosen = list(zip(directions.tolist(), numbers.tolist(), strict=True))
    assert len(set(chosen)) == count
    everything = sorted((j / r) for r, j in product(ranges, range(1, count + 1)))
    np.testing.assert_allclose([j / ranges[i] for i, j in chosen], everything[:count])


@pytest.mark.parametrize("n_bits", [1, 10, 24, 60])
def test_spectral_bits_are_eigenfunctions_along_principal_directions(n_bits, X):
    values = SpectralHashing(n_bits).fit(X[:40]).project(X)
    mean, W = principal_directions(X[:40], n_bits)
    V = (X - mean) @ W.T
    low, high = V[:40].min(axis=0), V[:40].max(axis=0)
    directions, numbers = slowest_modes(high - low, n_bits)
    for bit, (i, j) in enumerate(zip(directions, numbers, strict=True)):
        expected = [np.cos(j * np.pi * (v - low[i]) / (high[i] - low[i])) for v in V[:, i]]
        np.testing.assert_allclose(values[:, bit], expected, atol=1e-4)


# sklsh


def test_sklsh_is_a_shifted_wave_above_a_height(X):
    encoder = SKLSH(200, random_state=3).fit(X)
    for bit in (0, 1, 127, 128, 199):
        w, b, t = encoder.weights_[bit].astype(np.float64), encoder.phases_[bit], encoder.thresholds_[bit]
        expected = [np.cos(np.dot(w, x) + b) + t for x in X]
        np.testing.assert_allclose(encoder.project(X)[:, bit], expected, atol=1e-6)


def test_sklsh_draws_what_it_says(X):
    encoder = SKLSH(20_000, gamma=0.25, random_state=3).fit(X)
    assert abs(encoder.weights_.var() - 0.25) < 0.005
    assert 0 <= encoder.phases_.min() < 0.01 < 6.27 < encoder.phases_.max() <= 2 * np.pi + 1e-6
    assert -1 <= encoder.thresholds_.min() < -0.99 < 0.99 < encoder.thresholds_.max() <= 1
    assert abs(encoder.phases_.mean() - np.pi) < 0.05
    assert abs(encoder.thresholds_.mean()) < 0.02


def test_sklsh_gamma_is_one_over_the_squared_mean_distance_of_neighbours(X):
    pairwise = np.array(
        [[np.inf if i == j else np.linalg.norm(x - y) for j, y in enumerate(X)] for i, x in enumerate(X)]
    )
    np.testing.assert_allclose(nearest_distances(X, np.arange(50)), pairwise.min(axis=1))
    assert SKLSH(8).fit(X).gamma_ == pytest.approx(pairwise.min(axis=1).mean() ** -2)
    assert SKLSH(8).fit(10 * X).gamma_ == pytest.approx(SKLSH(8).fit(X).gamma_ / 100)
    assert SKLSH(8, gamma=2.5).fit(X).gamma_ == 2.5


def test_sklsh_distance_is_the_known_function_of_the_kernel(rng):
    """E[Hamming/k] = 8/pi^2 sum_m (1 - exp(-gamma m^2 |x-y|^2 / 2)) / (4 m^2 - 1)."""
    m = np.arange(1, 2000)
    direction = rng.standard_normal(10)
    direction /= np.linalg.norm(direction)
    distances = np.array([0.1, 0.5, 1, 2, 5])
    x = rng.standard_normal(10)
    points = np.concatenate([[x], x + distances[:, None] * direction])
    codes = SKLSH(40_000, gamma=0.7, random_state=0).fit(points).transform(points)
    for row, distance in enumerate(distances, start=1):
        expected = 8 / np.pi**2 * np.sum((1 - np.exp(-0.7 * m**2 * distance**2 / 2)) / (4 * m**2 - 1))
        assert abs(np.mean(codes[0] != codes[row]) - expected) < 4 * 0.5 / np.sqrt(40_000)


# aqbc


def cosines(codes, values):
    return np.sum(codes * values, axis=-1) / np.sqrt(np.sum(codes, axis=-1))


whole_numbers = st.integers(-4, 4).map(float)
any_numbers = st.floats(-1e3, 1e3, width=32)


@settings(max_examples=300)
@given(values=st.integers(1, 8).flatmap(lambda k: arrays(np.float64, (3, k), elements=whole_numbers | any_numbers)))
def test_angular_code_is_the_best_of_all(values):
    codes = np.array(list(product([0, 1], repeat=values.shape[1]))[1:])
    chosen = angular_margins(values) >= 0
    assert chosen.any(axis=1).all()
    for row, code in zip(values, chosen, strict=True):
        best = cosines(codes, row).max()
        assert cosines(code, row) == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_angular_code_of_many_values_takes_the_largest(dtype, rng):
    values = rng.standard_normal((40, 3000)).astype(dtype)
    values[:5] -= 10
    for row, code in zip(values, angular_margins(values) >= 0, strict=True):
        descending = np.sort(row)[::-1]
        count = 1 + np.argmax(np.cumsum(descending, dtype=np.float64) / np.sqrt(np.arange(1, 3001)))
        assert np.count_nonzero(code) == count
        assert row[code].min() >= descending[count - 1]


@pytest.mark.parametrize("n_bits", [2, 7, 24])
def test_aqbc_is_the_alternation(n_bits, X):
    X = X - X.mean(axis=0)  # every bit is set somewhere, which leaves no column of R open
    encoder = AQBC(n_bits, n_iter=6, random_state=4).fit(X)
    seed = np.random.RandomState(4).randint(2**31 - 1)
    R = orthogonal.random_orthonormal(np.random.default_rng(seed), (n_bits, 24), np.float64).T
    for _ in range(6):
        B = [code / np.linalg.norm(code) for code in angular_margins(X @ R) >= 0]
        R = svd_polar(sum(np.outer(x, b) for x, b in zip(X, B, strict=True)))
    np.testing.assert_allclose(encoder.components_, R.T, atol=1e-5)
    assert np.array_equal(encoder.project(X) >= 0, angular_margins(X @ encoder.components_.T.astype(np.float64)) >= 0)


@settings(max_examples=15, deadline=None)
@given(seed=seeds, n_bits=st.integers(1, 12))
def test_aqbc_angles_never_grow(seed, n_bits):
    X = np.abs(np.random.default_rng(seed).standard_normal((40, 12)))
    totals = []
    for n_iter in (1, 2, 3, 5, 20):
        encoder = AQBC(n_bits, n_iter=n_iter, random_state=0).fit(X)
        totals.append(cosines(encoder.project(X) >= 0, X @ encoder.components_.T).sum())
    assert np.all(np.diff(totals) >= -1e-5 * totals[-1])
