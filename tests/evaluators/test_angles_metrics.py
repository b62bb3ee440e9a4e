"""The angle estimate: its theory by hand, its simulation against the encoders, its errors by definition."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cbe_bench
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import no_progress
from cbe_bench.core.statistics import mean_interval, share_interval, variance_interval
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.encoders.diagnostics import flatness as flatness_of
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.distortion import angle_errors, draw_sample, evaluate_features, exact_angles
from cbe_bench.evaluators.angles.methods import METHODS
from cbe_bench.evaluators.angles.pairs import PAIRS, Plane, make_plane
from cbe_bench.evaluators.angles.rows import FeaturesSpec
from cbe_bench.evaluators.angles.simulation import (
    circulant_projection,
    count_differences,
    estimates,
    hadamard_projection,
    simulate,
)
from cbe_bench.kernels import parallel

DELTA = 0.05

# Theory, by hand


def test_theorem1_by_hand():
    assert theory.variance_bound(math.pi / 2, 100, 0.01) == pytest.approx(0.0025 + 0.32)
    assert theory.variance_bound(math.pi / 3, 2, 0.001) == pytest.approx(1 / 9 + 0.032)
    assert theory.variance_bound_is_vacuous(math.pi / 2, 1000, 0.01)
    assert not theory.variance_bound_is_vacuous(math.pi / 2, 1000, 1 / 256)
    assert theory.variance_bound_least_dim(math.pi / 2, 2) == pytest.approx(65_536)
    assert theory.variance_bound_least_dim(math.pi / 2, 1 << 40) == pytest.approx(16_384)
    assert theory.variance_bound_least_dim(math.pi / 2, 1) == math.inf


def test_theorem2_by_hand():
    assert theory.tail_deviation(10_000, 0.05) == pytest.approx(0.04 * math.log(200_000))
    assert theory.tail_largest_flatness(math.pi / 2, 100, 0.05) == pytest.approx(2.02887e-4, rel=1e-4)
    assert theory.tail_bound_least_dim(math.pi / 2, 0.05, 100) == pytest.approx(2.42935e7, rel=1e-4)
    assert theory.largest_deviation(math.pi / 12) == pytest.approx(11 / 12)


@given(st.floats(0.1, 3.0), st.floats(1e-6, 0.9))
def test_least_bits_are_the_fewest(theta, delta):
    k = theory.tail_bound_least_bits(theta, delta)
    assert not theory.tail_bound_is_vacuous(theta, k, delta)
    assert theory.tail_bound_is_vacuous(theta, k - 1, delta)


def test_corollary_by_hand():
    assert theory.corollary_bits(200, 0.1) == 404_240
    limit = theory.corollary_largest_flatness(math.pi / 2, 100, 10)
    assert float(limit) == pytest.approx((math.pi / 2) ** 2 / (1600 * math.log(20_000)))


def test_tails_and_flatness_by_hand():
    assert theory.iid_tail(math.pi / 2, 2, 0.4) == pytest.approx(0.5)
    assert theory.iid_tail(math.pi / 2, 2, 0.5) == 0
    assert theory.iid_tail(math.pi / 3, 3, 0.3) == pytest.approx((8 + 6 + 1) / 27)
    assert flatness_of([3.0, -4.0]) == pytest.approx(0.8)


# Pairs


@given(st.sampled_from(sorted(PAIRS)), st.sampled_from([8, 16, 50, 256]), st.floats(0.05, 3.1), st.integers(0, 99))
def test_pairs_have_the_angle_asked_for(kind, d, theta, seed):
    x, y = make_plane(kind, d, seed).pair(theta)
    assert np.linalg.norm(x) == pytest.approx(1)
    assert np.linalg.norm(y) == pytest.approx(1)
    assert x @ y == pytest.approx(math.cos(theta), abs=1e-13)


def test_kinds_of_pairs_are_what_they_say():
    assert make_plane("flat", 64, 0).flatness(math.pi / 2) == pytest.approx(1 / 8)
    assert make_plane("two-coordinate", 64, 0).flatness(math.pi / 3) == 1
    assert np.count_nonzero(make_plane("sparse", 64, 0).pair(1.0)[1]) == 16
    y = make_plane("periodic", 64, 0).pair(1.0)[1]
    np.testing.assert_allclose(np.roll(y, 8), y)
    with pytest.raises(InputError, match="did you mean 'smooth'"):
        make_plane("smoth", 64, 0)


# Simulation against definitions


@pytest.mark.parametrize(("name", "d"), [("cbe-rand", 64), ("cbe-rand", 45), ("cbe-orth", 96), ("hd3", 64)])
def test_simulated_bits_are_those_of_the_encoder(name, d, rng):
    plane = make_plane("dense", d, 1)
    angles, lengths = [0.4, 2.0], [1, d // 2, d]
    for seed in range(5):
        encoder = cbe_bench.make_encoder(name, random_state=seed).fit(np.zeros((1, d)))
        if name == "hd3":
            u, v = (hadamard_projection(side.astype(np.float32), encoder.signs_) for side in (plane.a, plane.b))
        else:
            spectrum = np.fft.rfft(encoder.r_).astype(np.complex64)
            u, v = circulant_projection(*(s.astype(np.float32) for s in (plane.a, plane.b)), spectrum, encoder.signs_)
        counts = np.empty((1, 2, 3), np.int32)
        count_differences(u, v, np.cos(angles), np.sin(angles), np.array(lengths), counts)
        for number, theta in enumerate(angles):
            x, y = encoder.transform(np.array(plane.pair(theta)))
            assert counts[0, number].tolist() == [np.sum(x[:k] != y[:k]) for k in lengths]


def test_values_of_exactly_zero_do_not_follow_their_partner():
    """The values of hd3 on coordinates are whole numbers, often 0: a rounded cos(pi/2) must not decide their bits."""
    plane, d, draws = make_plane("two-coordinate", 16, 0), 16, 20_000
    counts, _ = simulate(plane, METHODS["hd3"], (math.pi / 2,), (d,), draws, 0)
    encoders = (cbe_bench.HD3(random_state=seed).fit(np.zeros((1, d))) for seed in range(2000))
    codes = (encoder.transform(np.array(plane.pair(math.pi / 2))) for encoder in encoders)
    fractions = np.array([np.mean(x != y) for x, y in codes])
    error = math.hypot(fractions.std() / math.sqrt(len(fractions)), counts.std() / d / math.sqrt(draws))
    assert abs(fractions.mean() - counts.mean() / d) < 4 * error


def test_moments_over_all_sign_flips_by_enumeration(rng):
    d, theta = 7, 1.1
    plane, r = make_plane("dense", d, 3), rng.standard_normal(d)
    signs = np.array(list(itertools.product([-1, 1], repeat=d)), np.int8)
    spectrum = np.broadcast_to(np.fft.rfft(r).astype(np.complex64), (len(signs), d // 2 + 1))
    u, v = circulant_projection(plane.a.astype(np.float32), plane.b.astype(np.float32), spectrum, signs)
    counts = np.empty((len(signs), 1, 2), np.int32)
    count_differences(u, v, np.cos([theta]), np.sin([theta]), np.array([3, d]), counts)
    found = estimates(counts, (theta,), (3, d), DELTA)

    circulant = np.array([[r[(i - j) % d] for j in range(d)] for i in range(d)])
    x, y = plane.pair(theta)
    differ = np.array([(circulant @ (s * x) >= 0) != (circulant @ (s * y) >= 0) for s in signs])
    for j, k in enumerate((3, d)):
        fractions = differ[:, :k].mean(axis=1)
        variance = fractions.var(ddof=1)
        assert found["variance"][0][j] == pytest.approx(variance, rel=1e-4)
        fourth = np.mean((fractions - fractions.mean()) ** 4)
        assert found["kurtosis"][0][j] == pytest.approx(fourth / variance**2, rel=1e-3)
    assert found["mean"][0] == pytest.approx(fractions.mean())
    sd = math.sqrt(theory.iid_variance(theta, d))
    assert found["n_beyond_2_sigma"][0] == np.sum(np.abs(fractions - theta / math.pi) > 2 * sd)


def test_without_flips_two_shift_invariant_vectors_give_two_bits_only():
    """For all ones and alternating signs, bits repeat after two, and both never differ: p (1 - 2p) / 2 for even k."""
    d, theta = 64, math.pi / 3
    plane = Plane(np.ones(d) / 8, np.resize([1.0, -1.0], d) / 8)
    counts, flatness = simulate(plane, METHODS["cbe-rand without D"], (theta,), (2, 32, 64), 4000, 0)
    assert np.array_equal(counts[:, 0, 1], 16 * counts[:, 0, 0])
    assert np.array_equal(counts[:, 0, 2], 32 * counts[:, 0, 0])
    found = estimates(counts, (theta,), (2, 32, 64), DELTA)
    low, high = variance_interval(found["variance"][0], found["kurtosis"][0], 4000, 0.999)
    assert np.all((low < 1 / 18) & (high > 1 / 18))
    assert flatness == (pytest.approx((math.cos(theta) + math.sin(theta)) / 8),)


@pytest.mark.parametrize("label", sorted(METHODS))
def test_simulation_is_right_on_average_whatever_the_threads(label):
    plane = make_plane("dense", 128, 0)
    angles = (math.pi / 6, math.pi / 2)
    with parallel.threads(1):
        counts, flatness = simulate(plane, METHODS[label], angles, (16, 128), 3000, 5)
    with parallel.threads(3):
        again, flatness_again = simulate(plane, METHODS[label], angles, (16, 128), 3000, 5)
    assert np.array_equal(counts, again)
    assert flatness == flatness_again
    found = estimates(counts, angles, (16, 128), DELTA)
    low, high = mean_interval(found["mean"], np.array(found["variance"])[:, -1], 3000, 0.9999)
    expected = np.array([1 / 6, 1 / 2])
    assert np.all((low < expected) & (expected < high))


def test_lsh_has_the_variance_and_the_tails_of_independent_bits():
    angles, lengths, draws = tuple(np.pi * np.arange(1, 7) / 7), (2, 8, 64), 20_000
    counts, _ = simulate(make_plane("dense", 64, 0), METHODS["lsh"], angles, lengths, draws, 2)
    found = estimates(counts, angles, lengths, DELTA)
    expected = np.array([[theory.iid_variance(theta, k) for k in lengths] for theta in angles])
    low, high = variance_interval(found["variance"], found["kurtosis"], draws, 0.9999)
    assert np.all((low <= expected) & (expected <= high))
    low, high = share_interval(found["n_beyond_2_sigma"], draws, 0.9999)
    for i, theta in enumerate(angles):
        assert low[i] <= theory.iid_tail(theta, lengths[-1], 2 * math.sqrt(expected[i, -1])) <= high[i]


def test_a_random_hadamard_transform_flattens_a_coordinate():
    theta = math.pi / 6
    _, flatness = simulate(make_plane("two-coordinate", 256, 0), METHODS["cbe-rand after HD'"], (theta,), (4,), 50, 0)
    assert flatness == (pytest.approx((math.cos(theta) + math.sin(theta)) / 16, rel=1e-5),)


# Features


def test_errors_of_features_by_definition(rng):
    X = rng.standard_normal((6, 24))
    encoder = cbe_bench.CBERand(random_state=0).fit(X)
    signs, exact = encoder.transform(X), exact_angles(X)
    means, worst = angle_errors(signs, exact, (5, 24))
    for number, k in enumerate((5, 24)):
        errors = []
        for i, j in itertools.combinations(range(6), 2):
            cosine = X[i] @ X[j] / np.linalg.norm(X[i]) / np.linalg.norm(X[j])
            errors.append(abs(np.mean(signs[i, :k] != signs[j, :k]) - math.acos(cosine) / math.pi))
        assert (means[number], worst[number]) == (pytest.approx(np.mean(errors)), pytest.approx(max(errors)))
    assert exact.fraction_with_hypothesis(24) == 0


def test_the_sample_is_drawn_by_the_seed_and_of_unit_norm():
    features = SyntheticFeatures("made", 30, 16)
    sample, again, other = (draw_sample(features, 12, 16, seed) for seed in (0, 0, 1))
    assert sample.X.shape == (12, 16)
    np.testing.assert_allclose(np.linalg.norm(sample.X, axis=1), 1, rtol=1e-6)
    assert np.array_equal(sample.X, again.X)
    assert not np.array_equal(sample.X, other.X)
    assert draw_sample(features, 12, 5, 0).X.shape == (12, 5)


def test_without_sign_flips_the_encoder_of_features_has_none(monkeypatch):
    sample = draw_sample(SyntheticFeatures("made", 10, 32), 10, 32, 0)
    spec = FeaturesSpec(
        method="cbe-rand without D",
        data_hash="",
        n_rows=10,
        n_vectors=10,
        n_features=32,
        n_bits=(16, 32),
        draw=1,
        seed=0,
    )
    fitted = []
    fit = cbe_bench.CBERand.fit
    monkeypatch.setattr(cbe_bench.CBERand, "fit", lambda self, *args: fitted.append(fit(self, *args)) or fitted[0])
    found = evaluate_features(spec, sample, no_progress)
    r = fitted[0].r_[0]
    circulant = np.array([[r[(i - j) % 32] for j in range(32)] for i in range(32)])
    signs = np.where(sample.X @ circulant.T >= 0, 1, -1).astype(np.int8)
    means, worst = angle_errors(signs, sample.exact, (16, 32))
    assert found["mean_error_over_pi"] == pytest.approx(means)
    assert found["worst_error_over_pi"] == pytest.approx(worst)
    assert found["n_pairs"] == 45
