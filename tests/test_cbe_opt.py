"""Learned circulant codes: each step against brute force, the objective against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import circulant

from cbe_bench import CBEOpt, CBERand, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.core.resources import Resources
from cbe_bench.encoders import _circulant_opt_statistics as statistics
from cbe_bench.encoders._circulant_opt_solver import best_spectrum, objective, positive_root
from cbe_bench.encoders._circulant_opt_statistics import CirculantStatistics
from cbe_bench.encoders.pairs import given_pairs, labelled_pairs
from cbe_bench.kernels import parallel


def frequency_objective(z, m, c, lam, d):
    power = np.abs(z) ** 2
    return m * power - 2 * (np.conj(c) * z).real + lam * d * (power - 1) ** 2


def frequency_problems(rng, n):
    """Draw coefficients over many orders of magnitude, degenerate ones among them."""
    m, size = 10 ** rng.uniform(-4, 4, (2, n))
    lam = 10 ** rng.uniform(-3, 2, n)
    m[rng.random(n) < 0.3] *= -1
    m[:20] = 0
    size[10:40] = 0
    return m, size, lam


def brute_force_modulus(m, size, lam, d):
    """Minimise over the modulus: a fine grid, then finer ones around the best."""
    low, high = 0.0, 2 + np.sqrt(abs(m) / (lam * d)) + np.cbrt(size / (lam * d))
    for _ in range(12):
        grid = np.linspace(low, high, 400)
        best = grid[np.argmin(frequency_objective(grid, m, size, lam, d))]
        step = grid[1] - grid[0]
        low, high = max(0.0, best - 2 * step), best + 2 * step
    return best


def test_frequency_step_is_the_global_minimum(rng):
    n, d = 3000, 64
    m, size, lam = frequency_problems(rng, n)
    phase = np.exp(2j * np.pi * rng.random(n))
    for i in range(n):
        c = np.array([size[i] * phase[i]])
        z = best_spectrum(m[i : i + 1], c, phase[i : i + 1], lam[i], d)
        rho = brute_force_modulus(m[i], size[i], lam[i], d)
        here, there = (frequency_objective(value, m[i], c[0], lam[i], d) for value in (z[0], rho * phase[i]))
        terms = abs(m[i]) * rho**2 + 2 * size[i] * rho + lam[i] * d * (rho**2 + 1) ** 2
        assert here <= there + 1e-12 * terms
        assert abs(np.abs(z[0]) - rho) < 1e-4 * (1 + rho)


def test_other_phases_are_no_better(rng):
    n, d = 2000, 10
    m, size, lam = frequency_problems(rng, n)
    phase = np.exp(2j * np.pi * rng.random(n))
    for i in range(0, n, 10):
        c = size[i] * phase[i]
        z = best_spectrum(m[i : i + 1], np.array([c]), phase[i : i + 1], lam[i], d)[0]
        others = z * rng.uniform(0, 2, 300) * np.exp(2j * np.pi * rng.random(300))
        least = frequency_objective(others, m[i], c, lam[i], d).min()
        assert frequency_objective(z, m[i], c, lam[i], d) <= least + 1e-9 * (1 + abs(least))


def test_real_frequencies_stay_real_and_find_the_better_of_two_minima(rng):
    """For z real and p < 0 there are two minima; the wrong sign is a trap for a descent."""
    for d in (7, 8):
        m, c = rng.uniform(0, 1, d // 2 + 1), rng.standard_normal(d // 2 + 1) * 0.1 + 0j
        before = -c.copy()
        z = best_spectrum(m, c, before, 1.0, d)
        assert np.all(z.imag == 0)
        grid = np.linspace(-2, 2, 40_001)
        for f in range(len(m)):
            least = frequency_objective(grid, m[f], c[f], 1.0, d).min()
            assert frequency_objective(z[f], m[f], c[f], 1.0, d) <= least


def test_roots_have_tiny_residuals_over_many_magnitudes():
    sizes = np.concatenate([[0.0], 10.0 ** np.arange(-8, 9)])
    p, q = (grid.ravel() for grid in np.meshgrid(np.concatenate([-sizes, sizes]), -sizes))
    rho = positive_root(p, q)
    assert np.all(rho >= 0)
    assert np.all(rho[q < 0] > 0)
    residual = np.abs(rho**3 + p * rho + q)
    assert np.all(residual <= 1e-13 * (rho**3 + np.abs(p * rho) + np.abs(q)))


def test_degenerate_frequencies():
    d, lam = 8, 1.0
    m = np.array([0.0, 100.0, 0.0, 2 * d])
    before = np.array([-2.0, 1j, 0, 1j])
    z = best_spectrum(m, np.zeros(4, complex), before, lam, d)
    np.testing.assert_allclose(z, [-1, 0, 1, 0], atol=1e-15)
    c = np.array([-3.0, 4j, 0, 0])
    np.testing.assert_allclose(best_spectrum(m, c, before, np.inf, d), [-1, 1j, 1, 1j], atol=1e-15)


def dense_objective(encoder, X, r, B, block=0):
    """The objective by its definition, in the time domain."""
    R = circulant(r)
    flipped = X.astype(np.float64) * encoder.signs_[block]
    penalty = 0 if np.isinf(encoder.lam) else encoder.lam * np.sum((R @ R.T - np.eye(len(r))) ** 2)
    return np.sum((B - flipped @ R.T) ** 2) + penalty, flipped, R


def signs_of(flipped, R, k):
    B = np.where(flipped @ R.T >= 0, 1.0, -1.0)
    B[:, k:] = 0
    return B


@pytest.mark.parametrize("d, k", [(1, 1), (2, 1), (15, 15), (16, 11), (60, 60), (61, 20), (256, 256), (256, 100)])
def test_objective_is_the_dense_one(d, k, rng):
    X = rng.standard_normal((23, d))
    start = CBERand(k, random_state=3).fit(X)
    encoders = [CBEOpt(k, max_iter=turns, tol=0, random_state=3).fit(X) for turns in (1, 2, 3)]
    assert np.array_equal(start.signs_, encoders[0].signs_)
    r = start.r_[0].astype(np.float64)
    for turn, encoder in enumerate(encoders):
        _, flipped, R = dense_objective(encoder, X, r, 0)
        B = signs_of(flipped, R, k)
        if turn == 0:
            np.testing.assert_allclose(encoder.objective_[0], dense_objective(encoder, X, r, B)[0], rtol=1e-5)
        if encoder.n_iter_ > turn:
            r = encoder.r_[0].astype(np.float64)
            np.testing.assert_allclose(encoder.objective_[turn + 1], dense_objective(encoder, X, r, B)[0], rtol=1e-5)


@pytest.mark.parametrize(
    "d, k, stride",
    [(1, 1, 1), (2, 2, 1), (3, 2, 1), (16, 9, 1), (17, 17, 1), (17, 4, 4), (777, 300, 1), (777, 90, 8), (1024, 200, 4)],
)
@pytest.mark.parametrize("n", [1, 6, 7])
def test_statistics_are_sums_over_spectra(d, k, stride, n, rng):
    X, r, signs = rng.standard_normal((n, d)), rng.standard_normal(d), rng.choice([-1, 1], d)
    spectrum, spectra = np.fft.rfft(r), np.fft.rfft(X * signs)
    B = np.where(np.fft.irfft(spectrum * spectra, n=d) >= 0, 1.0, -1.0)
    B[:, ~np.isin(np.arange(d), stride * np.arange(k))] = 0
    m, c = np.sum(np.abs(spectra) ** 2, axis=0), np.sum(spectra.conj() * np.fft.rfft(B), axis=0)
    sums = CirculantStatistics(X, signs, k, stride=stride)
    for powers, correlations in (sums.first(spectrum), (m, sums.correlations(spectrum))):
        np.testing.assert_allclose(powers, m, rtol=1e-5, atol=1e-6 * m.max())
        np.testing.assert_allclose(correlations, c, atol=1e-6 * np.abs(c).max())
    pairs = rng.integers(0, n, (5, 2))
    differences = np.sum(np.abs(spectra[pairs[:, 0]] - spectra[pairs[:, 1]]) ** 2, axis=0)
    np.testing.assert_allclose(sums.difference_powers(pairs), differences, rtol=1e-5, atol=1e-6 * m.max())
    assert np.all(sums.difference_powers(pairs[:0]) == 0)


@given(
    d=st.integers(1, 80),
    n=st.integers(1, 30),
    share=st.floats(0.1, 2.5),
    lam=st.sampled_from([1e-3, 0.1, 1.0, 10.0, np.inf]),
    scale=st.sampled_from([1e-2, 1.0, 30.0]),
    mu=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 2**31 - 1),
)
@settings(deadline=None, max_examples=80)
def test_objective_never_increases(d, n, share, lam, scale, mu, seed):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, d))
    encoder = CBEOpt(max(1, int(share * d)), lam=lam, mu=mu, tol=0, random_state=seed)
    encoder.fit(X, similar=[[0, n // 2]], dissimilar=[[n - 1, n // 3]])
    course = encoder.objective_
    assert len(course) == encoder.n_iter_ + 1
    assert np.all(np.diff(course) <= 1e-6 * (np.abs(course[:-1]) + n * encoder.n_bits_ + np.sum(X**2)))


@pytest.mark.parametrize("d, k", [(100, 100), (256, 130)])
def test_learning_does_not_depend_on_threads_or_on_what_is_kept(d, k, rng, monkeypatch):
    X = rng.standard_normal((301, d)).astype(np.float32)
    monkeypatch.setattr(statistics, "_MOST_VALUES", 16 * d)

    def learn(memory_bytes=None):
        encoder = CBEOpt(k, mu=0.1, random_state=0).set_resources(Resources(memory_bytes=memory_bytes))
        encoder.fit(X, np.arange(len(X)) % 3)
        return encoder.r_, encoder.objective_

    with parallel.threads(1):
        expected = learn()
    with parallel.threads(3):
        again = learn()
    monkeypatch.setattr(statistics, "_MANY_BLOCKS", 1)
    streamed = learn(memory_bytes=8 * 40 * 8 * d)
    for other in (again, streamed):
        assert all(np.array_equal(a, b) for a, b in zip(expected, other, strict=True))


@pytest.mark.parametrize("d", [16, 17, 60])
def test_infinite_weight_makes_the_matrix_orthogonal(d, rng):
    encoder = CBEOpt(lam=np.inf, random_state=0).fit(rng.standard_normal((40, d)))
    R = circulant(encoder.r_[0].astype(np.float64))
    np.testing.assert_allclose(R @ R.T, np.eye(d), atol=1e-6)
    assert np.all(np.isfinite(encoder.objective_))


def test_more_bits_than_features_are_independent_blocks(rng):
    X = rng.standard_normal((50, 24))
    encoder = CBEOpt(60, tol=0, random_state=4).fit(X)
    assert encoder.r_.shape == encoder.signs_.shape == (3, 24)
    one = CBEOpt(24, tol=0, random_state=4).fit(X)
    assert np.array_equal(encoder.r_[0], one.r_[0])
    assert not np.array_equal(encoder.signs_[0], encoder.signs_[1])
    dense = np.concatenate([(X * s) @ circulant(r).T for r, s in zip(encoder.r_, encoder.signs_, strict=True)], axis=1)
    np.testing.assert_allclose(encoder.project(X), dense[:, :60], atol=1e-5)


def test_a_fixed_point_ends_learning(rng):
    X = rng.standard_normal((5, 40))
    encoder = CBEOpt(tol=0, max_iter=1000, random_state=0).fit(X)
    assert encoder.n_iter_ < 1000
    assert CBEOpt(tol=0.5, random_state=0).fit(X).n_iter_ < encoder.n_iter_


def test_codes_fit_projections_better_than_random_ones(rng):
    latent = rng.standard_normal((400, 10)) @ rng.standard_normal((10, 64))
    X = (latent / np.linalg.norm(latent, axis=1, keepdims=True)).astype(np.float32)

    def misfit(encoder):
        values = encoder.fit(X).project(X)
        values = values / np.sqrt(np.mean(values**2))
        return np.mean((np.sign(values) - values) ** 2)

    assert misfit(CBEOpt(random_state=0)) < misfit(CBERand(random_state=0)) - 0.02


def test_pairs_join_the_objective_and_move_the_codes(rng):
    n, d, mu = 60, 32, 0.3
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) + np.where(y, 1, -1)[:, None] * rng.standard_normal(d)
    pairs = labelled_pairs(y, n, 40, np.random.default_rng(1))
    encoder = CBEOpt(mu=mu, max_iter=1, random_state=0).fit(X, **pairs._asdict())
    r = encoder.r_[0].astype(np.float64)
    start = CBERand(random_state=0).fit(X).r_[0].astype(np.float64)
    plain, flipped, R = dense_objective(encoder, X, r, signs_of(X * encoder.signs_[0], circulant(start), d))
    spread = [np.sum(((flipped[kind[:, 0]] - flipped[kind[:, 1]]) @ R.T) ** 2) for kind in pairs]
    np.testing.assert_allclose(encoder.objective_[1], plain + mu * n / 40 * (spread[0] - spread[1]), rtol=1e-5)

    def contrast(mu):
        codes = CBEOpt(mu=mu, random_state=0).fit(X, y).transform(X)
        gram = codes.astype(int) @ codes.T
        return gram[y[:, None] == y].mean() - gram[y[:, None] != y].mean()

    assert contrast(1.0) > contrast(0.0)


@given(
    labels=st.lists(st.integers(0, 4), min_size=3, max_size=40),
    n_pairs=st.integers(2, 60),
    seed=st.integers(0, 1000),
)
def test_drawn_pairs_are_what_their_labels_say(labels, n_pairs, seed):
    y = np.array([0, 0, 1, *labels])
    pairs = labelled_pairs(y, len(y), n_pairs, np.random.default_rng(seed))
    assert pairs.number == n_pairs
    assert np.all(y[pairs.similar[:, 0]] == y[pairs.similar[:, 1]])
    assert np.all(pairs.similar[:, 0] != pairs.similar[:, 1])
    assert np.all(y[pairs.dissimilar[:, 0]] != y[pairs.dissimilar[:, 1]])
    again = labelled_pairs(y, len(y), n_pairs, np.random.default_rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(pairs, again, strict=True))


def test_labels_count_only_with_a_weight(rng):
    X, y = rng.standard_normal((30, 16)), np.arange(30) % 3
    plain, labelled = CBEOpt(random_state=0).fit(X), CBEOpt(random_state=0).fit(X, y)
    assert np.array_equal(plain.r_, labelled.r_)
    weighted = CBEOpt(mu=1.0, n_pairs=10, random_state=0)
    assert not np.array_equal(weighted.fit(X, y).r_, plain.r_)
    names = np.array(["a", "b", "c"])[y]
    assert np.array_equal(weighted.fit(X, names).r_, CBEOpt(mu=1.0, n_pairs=10, random_state=0).fit(X, y).r_)


@pytest.mark.parametrize(
    "params, words",
    [
        ({"lam": 0}, "lam = 0; it must be a number above 0"),
        ({"lam": -1.0}, "lam = -1.0"),
        ({"lam": float("nan")}, "lam = nan"),
        ({"lam": "big"}, "lam = 'big'"),
        ({"mu": -0.1}, "mu = -0.1; it must be a finite number from 0 on"),
        ({"mu": np.inf}, "mu = inf"),
        ({"max_iter": 0}, "max_iter = 0; it must be a positive integer"),
        ({"max_iter": 2.5}, "max_iter = 2.5"),
        ({"tol": -1}, "tol = -1"),
        ({"n_pairs": 1}, "n_pairs = 1; it must be an integer from 2 on"),
        ({"mu": 1.0}, "mu = 1.0 needs labels y or pairs"),
    ],
)
def test_bad_parameters_are_told(params, words, rng):
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        make_encoder("cbe-opt", **params).fit(rng.standard_normal((4, 8)))


@pytest.mark.parametrize(
    "y, words",
    [
        (np.zeros(6), "a single class"),
        (np.arange(6), "no class of two rows"),
        (np.arange(5), r"y has shape \(5,\); one label for each of the 6 rows"),
    ],
)
def test_useless_labels_are_told(y, words, rng):
    with pytest.raises(InputError, match=words):
        CBEOpt(mu=1.0).fit(rng.standard_normal((6, 8)), y)


@pytest.mark.parametrize(
    "similar, dissimilar, words",
    [
        ([[0, 9]], None, "similar: there is no row 9; X has rows 0..5"),
        (None, [[-1, 2]], "dissimilar: there is no row -1"),
        ([0, 1], None, r"similar: int64 array of shape \(2,\); pairs are an integer array"),
        (None, [[0.5, 1.0]], "dissimilar: float64"),
        ([], [], "hold no pair"),
    ],
)
def test_bad_pairs_are_told(similar, dissimilar, words):
    with pytest.raises(InputError, match=words):
        given_pairs(similar, dissimilar, 6)


def test_objective_counts_conjugate_frequencies_twice(rng):
    for d in (6, 7):
        half = rng.standard_normal(d // 2 + 1) + 1j * rng.standard_normal(d // 2 + 1)
        z = np.fft.rfft(np.fft.irfft(half, n=d))
        m, c = rng.random(len(z)), np.fft.rfft(rng.standard_normal(d))
        whole_z, whole_c = (np.fft.fft(np.fft.irfft(values, n=d)) for values in (z, c))
        whole_m = np.concatenate([m, m[1 : (d + 1) // 2][::-1]])
        expected = 5 + np.sum(frequency_objective(whole_z, whole_m, whole_c, 2.0, d)) / d
        np.testing.assert_allclose(objective(z, m, c, 2.0, d, 5), expected)
