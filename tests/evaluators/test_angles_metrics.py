"""The angle estimate: its theory by hand, its simulation against the encoders, its intervals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cbe_bench
from cbe_bench.core.errors import InputError
from cbe_bench.evaluators import theory
from cbe_bench.evaluators.angles import (
    METHODS,
    circulant_projection,
    count_differences,
    estimates,
    hadamard_projection,
    simulate,
)
from cbe_bench.evaluators.distortion import angle_errors, true_angles
from cbe_bench.evaluators.intervals import mean_interval, share_interval, variance_interval
from cbe_bench.evaluators.pairs import KINDS, Plane, make_plane
from cbe_bench.kernels import parallel
from cbe_bench.runner.angles import ANGLES, numbers_of_bits

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
    assert theory.tail_largest_spread(math.pi / 2, 100, 0.05) == pytest.approx(2.02887e-4, rel=1e-4)
    assert theory.tail_bound_least_dim(math.pi / 2, 0.05, 100) == pytest.approx(2.42935e7, rel=1e-4)
    assert theory.largest_deviation(math.pi / 12) == pytest.approx(11 / 12)


@given(st.floats(0.1, 3.0), st.floats(1e-6, 0.9))
def test_least_bits_are_the_fewest(theta, delta):
    k = theory.tail_bound_least_bits(theta, delta)
    assert not theory.tail_bound_is_vacuous(theta, k, delta)
    assert theory.tail_bound_is_vacuous(theta, k - 1, delta)


def test_corollary_by_hand():
    assert theory.corollary_bits(200, 0.1) == 404_240
    limit = theory.corollary_largest_spread(math.pi / 2, 100, 10)
    assert float(limit) == pytest.approx((math.pi / 2) ** 2 / (1600 * math.log(20_000)))


def test_tails_and_spread_by_hand():
    assert theory.iid_tail(math.pi / 2, 2, 0.4) == pytest.approx(0.5)
    assert theory.iid_tail(math.pi / 2, 2, 0.5) == 0
    assert theory.iid_tail(math.pi / 3, 3, 0.3) == pytest.approx((8 + 6 + 1) / 27)
    assert theory.spread([3.0, -4.0]) == pytest.approx(0.8)


# Pairs


@given(st.sampled_from(sorted(KINDS)), st.sampled_from([8, 16, 50, 256]), st.floats(0.05, 3.1), st.integers(0, 99))
def test_pairs_have_the_angle_asked_for(kind, d, theta, seed):
    x, y = make_plane(kind, d, seed).pair(theta)
    assert np.linalg.norm(x) == pytest.approx(1)
    assert np.linalg.norm(y) == pytest.approx(1)
    assert x @ y == pytest.approx(math.cos(theta), abs=1e-13)


def test_kinds_of_pairs_are_what_they_say():
    assert make_plane("flat", 64, 0).spread(math.pi / 2) == pytest.approx(1 / 8)
    assert make_plane("two-coordinate", 64, 0).spread(math.pi / 3) == 1
    assert np.count_nonzero(make_plane("sparse", 64, 0).pair(1.0)[1]) == 16
    y = make_plane("periodic", 64, 0).pair(1.0)[1]
    np.testing.assert_allclose(np.roll(y, 8), y)
    with pytest.raises(InputError, match="did you mean 'smooth'"):
        make_plane("smoth", 64, 0)


# Simulation against definitions


@pytest.mark.parametrize(("name", "d"), [("cbe-rand", 64), ("cbe-rand", 45), ("cbe-orth", 96), ("hd3", 64)])
def test_simulated_bits_are_those_of_the_encoder(name, d, rng):
    plane = make_plane("dense", d, 1)
    angles, bits = [0.4, 2.0], [1, d // 2, d]
    for seed in range(5):
        encoder = cbe_bench.make_encoder(name, random_state=seed).fit(np.zeros((1, d)))
        if name == "hd3":
            u, v = (hadamard_projection(side.astype(np.float32), encoder.signs_) for side in (plane.a, plane.b))
        else:
            spectrum = np.fft.rfft(encoder.r_).astype(np.complex64)
            u, v = circulant_projection(*(s.astype(np.float32) for s in (plane.a, plane.b)), spectrum, encoder.signs_)
        counts = np.empty((1, 2, 3), np.int32)
        count_differences(u, v, np.cos(angles), np.sin(angles), np.array(bits), counts)
        for number, theta in enumerate(angles):
            x, y = encoder.transform(np.array(plane.pair(theta)))
            assert counts[0, number].tolist() == [np.sum(x[:k] != y[:k]) for k in bits]


def test_values_of_exactly_zero_do_not_follow_their_partner():
    """The values of hd3 on coordinates are whole numbers, often 0: a rounded cos(pi/2) must not decide their bits."""
    plane, d, draws = make_plane("two-coordinate", 16, 0), 16, 20_000
    counts, _ = simulate(plane, METHODS["hd3"], [math.pi / 2], [d], draws, 0)
    encoders = (cbe_bench.HD3(random_state=seed).fit(np.zeros((1, d))) for seed in range(2000))
    codes = (encoder.transform(np.array(plane.pair(math.pi / 2))) for encoder in encoders)
    shares = np.array([np.mean(x != y) for x, y in codes])
    error = math.hypot(shares.std() / math.sqrt(len(shares)), counts.std() / d / math.sqrt(draws))
    assert abs(shares.mean() - counts.mean() / d) < 4 * error


def test_moments_over_all_sign_flips_by_enumeration(rng):
    d, theta = 7, 1.1
    plane, r = make_plane("dense", d, 3), rng.standard_normal(d)
    signs = np.array(list(itertools.product([-1, 1], repeat=d)), np.int8)
    spectrum = np.broadcast_to(np.fft.rfft(r).astype(np.complex64), (len(signs), d // 2 + 1))
    u, v = circulant_projection(plane.a.astype(np.float32), plane.b.astype(np.float32), spectrum, signs)
    counts = np.empty((len(signs), 1, 2), np.int32)
    count_differences(u, v, np.cos([theta]), np.sin([theta]), np.array([3, d]), counts)
    found = estimates(counts, [theta], [3, d])

    circulant = np.array([[r[(i - j) % d] for j in range(d)] for i in range(d)])
    x, y = plane.pair(theta)
    differ = np.array([(circulant @ (s * x) >= 0) != (circulant @ (s * y) >= 0) for s in signs])
    for j, k in enumerate((3, d)):
        shares = differ[:, :k].mean(axis=1)
        variance = shares.var(ddof=1)
        assert found["variance"][0][j] == pytest.approx(variance, rel=1e-4)
        assert found["kurtosis"][0][j] == pytest.approx(np.mean((shares - shares.mean()) ** 4) / variance**2, rel=1e-3)
    assert found["mean"][0] == pytest.approx(shares.mean())
    sd = math.sqrt(theory.iid_variance(theta, d))
    assert found["beyond_2_sigma"][0] == np.sum(np.abs(shares - theta / math.pi) > 2 * sd)


def test_without_flips_two_shift_invariant_vectors_give_two_bits_only():
    """For all ones and alternating signs, bits repeat after two, and both never differ: p (1 - 2p) / 2 for even k."""
    d, theta = 64, math.pi / 3
    plane = Plane(np.ones(d) / 8, np.resize([1.0, -1.0], d) / 8)
    counts, spreads = simulate(plane, METHODS["cbe-rand without D"], [theta], [2, 32, 64], 4000, 0)
    assert np.array_equal(counts[:, 0, 1], 16 * counts[:, 0, 0])
    assert np.array_equal(counts[:, 0, 2], 32 * counts[:, 0, 0])
    found = estimates(counts, [theta], [2, 32, 64])
    low, high = variance_interval(found["variance"][0], found["kurtosis"][0], 4000, 0.999)
    assert np.all((low < 1 / 18) & (high > 1 / 18))
    assert spreads == [pytest.approx((math.cos(theta) + math.sin(theta)) / 8)]


@pytest.mark.parametrize("label", sorted(METHODS))
def test_simulation_is_right_on_average_whatever_the_threads(label):
    plane = make_plane("dense", 128, 0)
    angles = [math.pi / 6, math.pi / 2]
    with parallel.threads(1):
        counts, spreads = simulate(plane, METHODS[label], angles, [16, 128], 3000, 5)
    with parallel.threads(3):
        again, spreads_again = simulate(plane, METHODS[label], angles, [16, 128], 3000, 5)
    assert np.array_equal(counts, again)
    assert spreads == spreads_again
    found = estimates(counts, angles, [16, 128])
    low, high = mean_interval(found["mean"], np.array(found["variance"])[:, -1], 3000, 0.9999)
    expected = np.array([1 / 6, 1 / 2])
    assert np.all((low < expected) & (expected < high))


def test_lsh_has_the_variance_and_the_tails_of_independent_bits():
    angles, bits, draws = list(ANGLES), [2, 8, 64], 20_000
    counts, _ = simulate(make_plane("dense", 64, 0), METHODS["lsh"], angles, bits, draws, 2)
    found = estimates(counts, angles, bits)
    expected = np.array([[theory.iid_variance(theta, k) for k in bits] for theta in angles])
    low, high = variance_interval(found["variance"], found["kurtosis"], draws, 0.9999)
    assert np.all((low <= expected) & (expected <= high))
    low, high = share_interval(found["beyond_2_sigma"], draws, 0.9999)
    for i, theta in enumerate(angles):
        assert low[i] <= theory.iid_tail(theta, bits[-1], 2 * math.sqrt(expected[i, -1])) <= high[i]


def test_a_random_hadamard_transform_flattens_a_coordinate():
    theta = math.pi / 6
    _, spreads = simulate(make_plane("two-coordinate", 256, 0), METHODS["cbe-rand after HD'"], [theta], [4], 50, 0)
    assert spreads == [pytest.approx((math.cos(theta) + math.sin(theta)) / 16, rel=1e-5)]


# Intervals


def covered(interval, truth):
    low, high = interval
    return np.mean((low <= truth) & (truth <= high))


def test_intervals_cover_what_they_should(rng):
    samples = rng.binomial(20, 0.1, (2000, 500)) / 20
    mean, variance = samples.mean(axis=1), samples.var(axis=1, ddof=1)
    kurtosis = np.mean((samples - mean[:, None]) ** 4, axis=1) / variance**2
    assert 0.935 < covered(mean_interval(mean, variance, 500), 0.1) < 0.965
    assert 0.93 < covered(variance_interval(variance, kurtosis, 500), 0.1 * 0.9 / 20) < 0.965
    assert 0.935 < covered(share_interval(rng.binomial(500, 0.03, 4000), 500), 0.03) < 0.97


def test_intervals_of_samples_that_are_all_the_same():
    assert [float(end) for end in variance_interval(0.0, 1.0, 100)] == [0, 0]
    low, high = share_interval(0, 100)
    assert (float(low), float(high)) == (0, pytest.approx(0.037, abs=1e-3))


# Features


def test_errors_of_features_by_definition(rng):
    X = rng.standard_normal((6, 24))
    encoder = cbe_bench.CBERand(random_state=0).fit(X)
    signs, truth = encoder.transform(X), true_angles(X)
    means, worst = angle_errors(signs, truth, [5, 24])
    for number, k in enumerate((5, 24)):
        errors = []
        for i, j in itertools.combinations(range(6), 2):
            cosine = X[i] @ X[j] / np.linalg.norm(X[i]) / np.linalg.norm(X[j])
            errors.append(abs(np.mean(signs[i, :k] != signs[j, :k]) - math.acos(cosine) / math.pi))
        assert (means[number], worst[number]) == (pytest.approx(np.mean(errors)), pytest.approx(max(errors)))
    assert truth.share_with_hypothesis(24) == 0


def test_numbers_of_bits():
    assert numbers_of_bits(4096) == [1, 4, 16, 64, 256, 512, 1024, 2048, 4096]
    assert numbers_of_bits(25_600, 16) == [25, 100, 400, 1600, 3200, 6400, 12_800, 25_600]
    assert numbers_of_bits(2) == [1, 2]
    assert numbers_of_bits(5, 16) == [5]
