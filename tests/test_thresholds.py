"""Signs of coordinates, centring, thresholds at the median, principal components first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from cbe_bench import CBEOrth, PrincipalComponents, Sign, Thresholded, load_encoder, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.encoders import encoder_classes
from cbe_bench.encoders.diagnostics import CodeWarning, constant_bits, equal_codes, mean_energy
from cbe_bench.kernels.bits import pack_signs
from cbe_bench.kernels.linalg.principal import principal_directions
from cbe_bench.kernels.nearest import top_k

NAMES = list(encoder_classes())
STEPS = [{"center": True}, {"threshold": "median"}, {"center": True, "threshold": "median"}, {"pca": True}]

pytestmark = pytest.mark.filterwarnings("ignore:.*are computed and cut")


@pytest.fixture
def X(rng):
    return (rng.standard_normal((80, 24)) * np.linspace(2, 0.5, 24) + 3 * rng.standard_normal(24)).astype(np.float32)


@pytest.mark.parametrize("coordinates", ["first", "random"])
def test_sign_is_the_sign_of_coordinates(coordinates, X):
    encoder = Sign(10, coordinates=coordinates, random_state=1).fit(X)
    order = encoder.order_ if coordinates == "random" else np.arange(10)
    assert len(set(order)) == 10
    assert np.array_equal(encoder.transform(X), np.where(X[:, order] >= 0, 1, -1))


@pytest.mark.parametrize(
    "params, message",
    [
        ({"n_bits": 25}, "sign: n_bits = 25; at most the number of features, 24"),
        ({"coordinates": "frist"}, "sign: coordinates = 'frist'; did you mean 'first'"),
        ({"threshold": "medan"}, "sign: threshold = 'medan'; did you mean 'median'"),
        ({"center": "yes"}, "sign: center = 'yes'; allowed: True, False"),
        ({"pca": 3}, "'sign': pca = 3; allowed: True, False"),
        ({"centre": True}, "did you mean 'center'"),
    ],
)
def test_bad_parameters_are_errors(params, message, X):
    with pytest.raises(InputError, match=message):
        make_encoder("sign", **params).fit(X)


@pytest.mark.parametrize("name", NAMES)
def test_centred_projection_is_that_of_centred_rows(name, X):
    X = X.astype(np.float64)
    encoder = make_encoder(name, n_bits=20, center=True, random_state=2).fit(X)
    np.testing.assert_allclose(encoder.mean_, X.mean(axis=0))
    expected = encoder.encoder_.project(X - X.mean(axis=0))
    np.testing.assert_allclose(encoder.project(X), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), size=st.floats(0, 50))
def test_adding_a_constant_vector_leaves_centred_codes(name, seed, size):
    """Up to rounding: of 1,600 bits some lie within the precision of their threshold."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 24))
    shift = size * rng.standard_normal(24)
    one, two = (make_encoder(name, n_bits=16, center=True, random_state=1).fit(rows) for rows in (X, X + shift))
    assert np.mean(one.transform(X) != two.transform(X + shift)) < 0.01


@pytest.mark.parametrize("name", ["sign", "hd3"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_adding_a_constant_vector_leaves_centred_codes_and_rankings_exactly(name, seed):
    """Whole numbers, and a mean that is one: nothing is rounded."""
    rng = np.random.default_rng(seed)
    half = rng.integers(-50, 50, (40, 16))
    X, shift = np.concatenate([half, -half]).astype(np.float64), rng.integers(-500, 500, 16)
    one, two = (make_encoder(name, center=True, random_state=1).fit(rows) for rows in (X, X + shift))
    assert np.array_equal(one.project(X), two.project(X + shift))
    codes = one.encode(X), two.encode(X + shift)
    assert np.array_equal(*codes)
    assert np.array_equal(*(top_k(some[:10], some, 20)[1] for some in codes))


LONG = [("cbe-orth", 1 << 14, 1000, {}), ("cbe-orth", 2048, 128, {"rows": "strided"})]
SHORT = [
    ("cbe-orth", 96, 96),
    ("cbe-orth", 96, 41),
    ("cbe-orth", 96, 170),
    ("cbe-orth", 75, 200),
    ("hd3", 50, 150),
]


@pytest.mark.parametrize(
    "name, d, n_bits, params",
    [*((*one, {}) for one in SHORT), *(pytest.param(*one, marks=pytest.mark.slow) for one in LONG)],
)
def test_kernels_compare_with_thresholds_as_they_pack(name, d, n_bits, params, rng):
    X = (rng.standard_normal((30, d)) + rng.standard_normal(d)).astype(np.float32)
    encoder = make_encoder(name, n_bits=n_bits, center=True, random_state=2, **params).fit(X)
    assert np.array_equal(encoder.encode(X), pack_signs(encoder.project(X)))
    assert not np.array_equal(encoder.encode(X), encoder.encoder_.encode(X))


@pytest.mark.parametrize("name", NAMES)
def test_medians_balance_every_bit(name, X):
    signs = make_encoder(name, n_bits=16, center=True, threshold="median", random_state=1).fit(X).transform(X)
    assert np.abs(signs.sum(axis=0)).max() <= 2 + 4 * (name in ("aqbc", "sh"))  # ties of their values at the median


def test_medians_of_some_rows_of_many(X, monkeypatch):
    monkeypatch.setattr("cbe_bench.encoders.thresholds._MEDIAN_VALUES", 24 * 40)
    encoder = make_encoder("sign", threshold="median").fit(X)
    np.testing.assert_allclose(encoder.thresholds_, np.median(X[::2], axis=0), atol=1e-6)


@pytest.mark.parametrize("n_bits", [1, 10, 24, 40])
def test_encoder_of_principal_components(n_bits, X):
    X = X.astype(np.float64)
    encoder = make_encoder("cbe-orth", n_bits=n_bits, pca=True, random_state=3).fit(X)
    mean, directions = principal_directions(X, min(n_bits, 24))
    np.testing.assert_allclose(encoder.project(X), encoder.encoder_.project((X - mean) @ directions.T), atol=1e-5)


def test_fewer_directions_than_components(rng):
    X = rng.standard_normal((6, 3)) @ rng.standard_normal((3, 16))
    with pytest.warns(UserWarning, match="varies in 3 directions only, 8 components were asked for"):
        encoder = make_encoder("cbe-orth", n_bits=8, pca=True, random_state=0).fit(X)
    assert np.all(encoder.components_[3:] == 0)
    with pytest.raises(InputError, match="no two rows of the training set differ"):
        make_encoder("cbe-orth", n_bits=8, pca=True).fit(np.ones((5, 16)))


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("name", ["cbe-opt", "itq", "lsh", "sign"])
def test_steps_keep_the_contract(name, step, X, tmp_path):
    step = {"precondition": "hadamard-blocks"} | step
    encoder = make_encoder(name, n_bits=20, random_state=1, **step).fit(X)
    codes = encoder.encode(X)
    assert encoder.data_dependent
    assert np.array_equal(codes, pack_signs(encoder.project(X)))
    encoder.save(tmp_path / "e.npz")
    assert np.array_equal(load_encoder(tmp_path / "e.npz").encode(X), codes)
    assert np.array_equal(clone(encoder).fit(X).encode(X), codes)
    assert encoder.memory_bytes(24) > encoder.encoder_.memory_bytes(24)
    assert encoder.cost_estimate(24) > 0
    assert type(encoder).__name__.lower() in encoder.get_feature_names_out()[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrapper", [Thresholded, PrincipalComponents])
def test_steps_are_scikit_learn_estimators(wrapper):
    check_estimator(wrapper(CBEOrth(n_bits=16), random_state=5))


def test_labels_reach_the_encoder_through_all_steps(X):
    y = np.arange(80) % 3
    whole = make_encoder("cbe-opt", mu=1.0, center=True, pca=True, precondition="hadamard", random_state=3)
    with pytest.raises(InputError, match="needs labels"):
        clone(whole).fit(X)
    assert whole.fit(X, y).n_bits_ == 24


# What fit warns of


def test_a_large_mean_and_constant_bits_are_warned_of_with_the_remedy(rng):
    X = (rng.standard_normal((300, 64)) + 4).astype(np.float32)
    with pytest.warns(CodeWarning, match=r"cbe-opt: the mean carries 94% of the energy.*try center=True") as caught:
        make_encoder("cbe-opt", random_state=0).fit(X)
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    make_encoder("cbe-opt", center=True, random_state=0).fit(X)


def test_fractions_are_what_they_say(rng):
    X = rng.standard_normal((200, 40)).astype(np.float32)
    assert mean_energy(np.ones((3, 4))) == pytest.approx(1)
    assert mean_energy(np.zeros((3, 4))) == 0
    assert mean_energy(X) < 0.02
    assert mean_energy(X + 3) == pytest.approx(0.9, abs=0.02)
    signs = np.where(rng.random((50, 20)) < 0.5, -1, 1)
    signs[:, [3, 19]] = 1
    assert constant_bits(pack_signs(signs), 20) == pytest.approx(0.1)
    assert equal_codes(np.array([[1], [2], [1], [1]], np.uint8)) == 0.5


def test_equal_codes_of_different_rows_are_warned_of(rng):
    X = rng.standard_normal((200, 40)).astype(np.float32)
    X[:, 1:] = np.abs(X[:, 1:])
    with pytest.warns(CodeWarning, match=r"sign: 98% of the bits are constant, 99% of the codes are equal"):
        Thresholded(Sign(), center=False).fit(X)
    make_encoder("sign", center=True).fit(np.repeat(rng.standard_normal((10, 40)), 20, axis=0))  # so are the rows
    Thresholded(Sign(), center=False).fit(X[:50])  # too few to judge by
