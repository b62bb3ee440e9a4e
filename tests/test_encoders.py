"""Each encoder against its own definition."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import circulant, hadamard
from sklearn.exceptions import NotFittedError

from cbe_bench import HD3, LSH, BilinearRand, CBEOrth, CBERand, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.core.resources import Resources
from cbe_bench.encoders.bilinear import code_sides, sides


@pytest.fixture
def X(rng):
    return rng.standard_normal((30, 60))


@pytest.mark.parametrize("cls", [CBERand, CBEOrth])
def test_circulant_projection_is_circ_r_times_d_x(cls, X):
    encoder = cls(n_bits=150, random_state=1).fit(X)
    dense = np.concatenate(
        [(X * s) @ circulant(r.astype(np.float64)).T for r, s in zip(encoder.r_, encoder.signs_, strict=True)], axis=1
    )
    np.testing.assert_allclose(encoder.project(X), dense[:, :150], atol=1e-11)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (17, 3), (29, 59)])
def test_one_number_that_is_not_finite_is_found(bad, place, X, monkeypatch):
    monkeypatch.setattr("cbe_bench.encoders.inputs._SLICE_VALUES", 200)
    encoder = CBERand(random_state=0).fit(X)
    X[place] = bad
    for refuses in (encoder.encode, CBERand(random_state=0).fit):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            refuses(X)


def test_finite_numbers_whose_sum_is_not_are_taken():
    X = np.full((4, 8), 3e38, np.float32)
    assert CBERand(random_state=0).fit(X).n_bits_ == 8


@pytest.mark.parametrize("d", [16, 17, 60])
def test_orthogonal_circulant_is_orthogonal(d, rng):
    r = CBEOrth(random_state=0).fit(rng.standard_normal((2, d))).r_[0].astype(np.float64)
    R = circulant(r)
    np.testing.assert_allclose(R @ R.T, np.eye(d), atol=1e-6)


def test_random_rows_are_a_choice_of_the_first_rows(X):
    first = CBERand(random_state=1).fit(X).project(X)
    encoder = CBERand(40, rows="random", random_state=1).fit(X)
    order = encoder.order_[0]
    assert sorted(order) == list(range(60))
    assert np.array_equal(encoder.project(X), first[:, order[:40]])


@pytest.mark.parametrize("name", ["cbe-rand", "cbe-orth", "cbe-opt"])
@pytest.mark.parametrize(
    "d, n_bits, stride",
    [
        (60, 60, 1),
        (60, 31, 1),
        (60, 30, 2),
        (60, 13, 4),
        (60, 2, 4),
        (61, 20, 2),
        (34, 4, 8),
        (60, 150, 1),
        (97, 1, 64),
    ],
)
def test_strided_rows_are_every_sth_row(name, d, n_bits, stride, rng):
    X = rng.standard_normal((40, d))
    encoder = make_encoder(name, n_bits=n_bits, rows="strided", random_state=1).fit(X)
    every = make_encoder(name, n_bits=-(-n_bits // d) * d, random_state=1).fit(X)
    every.r_ = encoder.r_
    values = encoder.project(X)
    np.testing.assert_allclose(values, every.project(X)[:, ::stride][:, :n_bits], atol=1e-11)
    assert np.array_equal(encoder.encode(X), np.packbits(values >= 0, axis=1, bitorder="little"))
    assert not encoder.nested


def test_without_sign_flips_the_constant_vector_gets_one_bit(rng):
    encoder = CBERand(random_state=0).fit(np.ones((1, 64)))
    assert len(np.unique(encoder.transform(np.ones((1, 64))))) == 2
    encoder.signs_[:] = 1
    encoder._products.clear()
    assert len(np.unique(encoder.transform(np.ones((1, 64))))) == 1


def test_unknown_rows_are_told(X):
    with pytest.raises(InputError, match="rows = 'frist'; did you mean 'first'"):
        CBERand(rows="frist").fit(X)


@pytest.mark.parametrize("d, n_bits", [(1, 1), (5, 8), (96, 60), (96, 128), (96, 300), (128, 128)])
def test_hd3_is_three_dense_rounds_and_padding_does_not_leak(d, n_bits, rng):
    X = rng.standard_normal((6, d))
    encoder = HD3(n_bits, random_state=1).fit(X)
    n = encoder.signs_.shape[2]
    H = hadamard(n)
    padded = np.pad(X, ((0, 0), (0, n - d)))
    blocks = [((padded * s[0]) @ H * s[1] @ H * s[2]) @ H / n for s in encoder.signs_]
    np.testing.assert_allclose(encoder.project(X), np.concatenate(blocks, axis=1)[:, :n_bits], atol=1e-10)


def test_hd3_of_a_long_vector(rng):
    X = rng.standard_normal((2, 2**20 - 5)).astype(np.float32)
    encoder = HD3(1000, random_state=0).fit(X)
    values = encoder.project(X)
    assert np.array_equal(encoder.encode(X), np.packbits(values >= 0, axis=1, bitorder="little"))
    assert 0.9 < values.std() / np.linalg.norm(X, axis=1).mean() < 1.1


def rounding(a, b):
    """Bound the difference of two single-precision products a b' of rows of length d: 2 d u |a| |b|, u = 2^-24."""
    return 2 * a.shape[1] * 2.0**-24 * np.linalg.norm(a, axis=1).max() * np.linalg.norm(b, axis=1).max()


def test_lsh_is_a_gaussian_matrix_stored_or_generated(rng):
    X = rng.standard_normal((40, 300)).astype(np.float32)
    stored = LSH(700, store=True, random_state=3).fit(X)
    generated = LSH(700, store=False, random_state=3).fit(X)
    assert not hasattr(generated, "matrix_")
    assert generated.parameter_bytes() == 0
    np.testing.assert_allclose(stored.project(X), (X @ stored.matrix_.T)[:, :700], atol=rounding(X, stored.matrix_))
    np.testing.assert_allclose(stored.project(X), generated.project(X), atol=rounding(X, stored.matrix_))
    assert np.array_equal(stored.encode(X), generated.encode(X))
    assert abs(stored.matrix_.mean()) < 0.01
    assert abs(stored.matrix_.std() - 1) < 0.01


def test_lsh_generates_in_groups_what_it_would_store(rng, monkeypatch):
    monkeypatch.setattr("cbe_bench.encoders.lsh._GROUP_BYTES", 1)
    X = rng.standard_normal((40, 64)).astype(np.float32)
    stored, generated = (LSH(700, store=store, random_state=3).fit(X) for store in (True, False))
    assert np.array_equal(stored.encode(X), generated.encode(X))
    np.testing.assert_allclose(stored.project(X), generated.project(X), atol=rounding(X, stored.matrix_))


def test_lsh_keeps_its_matrix_only_where_memory_allows(rng):
    X = rng.standard_normal((2, 1024)).astype(np.float32)
    for limit, kept in ((16 << 20, True), ((16 << 20) - 1, False)):  # the matrix has 4 MiB
        encoder = LSH(1024).set_resources(Resources(memory_bytes=limit)).fit(X)
        assert hasattr(encoder, "matrix_") == kept


def test_sides_by_hand():
    assert [sides(n) for n in (25_600, 51_200, 2_048, 13)] == [(160, 160), (200, 256), (32, 64), (1, 13)]
    flickr = (160, 160)
    expected = {3_200: (50, 64), 5_000: (50, 100), 6_400: (80, 80), 12_800: (100, 128), 15_000: (120, 125)}
    assert {k: code_sides(k, flickr) for k in expected} == expected
    assert code_sides(10_007, flickr) == (72, 139), "10,007 is prime; 10,008 is the next that fits"


@pytest.mark.parametrize("permute", [True, False])
@pytest.mark.parametrize("n_bits", [1, 12, 30, 60, 132])
def test_bilinear_projection_is_a_kronecker_product(permute, n_bits, X):
    encoder = BilinearRand(n_bits, permute=permute, random_state=2).fit(X)
    Z = X[:, encoder.order_] if permute else X
    d1, d2 = sides(60)
    left, right = encoder.left_.astype(np.float64), encoder.right_.astype(np.float64)
    dense, i, j = [], 0, 0
    for c1, c2 in encoder.shapes(60):
        R1, R2 = left[i : i + c1], right[j : j + c2]
        dense.append(Z @ np.kron(R1, R2).T)
        i, j = i + c1, j + c2
    assert R1.shape[1] == d1
    assert R2.shape[1] == d2
    np.testing.assert_allclose(encoder.project(X), np.concatenate(dense, axis=1)[:, :n_bits], atol=1e-10)


def test_bilinear_says_when_bits_are_padded(X):
    with pytest.warns(UserWarning, match="59 bits have no sides that fit .* 60 are computed and cut"):
        encoder = BilinearRand(59, random_state=0).fit(X)
    assert encoder.project(X).shape == (30, 59)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, {}) for name in ("cbe-rand", "cbe-opt", "hd3", "lsh", "itq")),
        ("cbe-orth", {"rows": "strided"}),
        ("cbe-rand", {"rows": "random"}),
        ("cbe-rand", {"center": True}),
    ],
)
def test_one_vector_has_the_bits_of_a_row(name, params, rng):
    for d, n_bits in ((96, 20), (96, 96), (61, 61), (96, 150)):
        if name == "itq" and n_bits > d:
            continue
        X = rng.standard_normal((120, d)).astype(np.float32)
        encoder = make_encoder(name, n_bits=n_bits, random_state=0, **params).fit(X)
        codes = encoder.encode(X)
        for form in (X, X.astype(np.float64), np.asfortranarray(X), X.tolist()):
            found = np.stack([encoder.encode_one(x) for x in form])
            assert found.dtype == np.uint8
            assert np.array_equal(found, codes)
        encoder.set_params(random_state=1).fit(X)
        assert np.array_equal(encoder.encode_one(X[3]), encoder.encode(X[3:4])[0]), "bound to the latest fit"


@pytest.mark.parametrize("name", ["cbe-rand", "hd3", "lsh"])
def test_one_vector_is_checked_as_rows_are(name, rng):
    x = rng.standard_normal(64).astype(np.float32)
    encoder = make_encoder(name, random_state=0)
    with pytest.raises(NotFittedError):
        encoder.encode_one(x)
    encoder.fit(x[None])
    for scale in (0, 2.0**60, 2.0**-62, 2.0**100, 2.0**-100):
        scaled = x * np.float32(scale)
        assert np.array_equal(encoder.encode_one(scaled), encoder.encode(scaled[None])[0])
    for bad in (np.nan, np.inf, -np.inf):
        broken = x.copy()
        broken[-1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            encoder.encode_one(broken)
    with pytest.raises(ValueError, match="63 features"):
        encoder.encode_one(x[:-1])
    with pytest.raises(InputError, match="encode_one takes a vector, found 2 dimensions"):
        encoder.encode_one(x[None])


def test_one_vector_from_several_threads(rng):
    X = rng.standard_normal((64, 256)).astype(np.float32)
    encoder = make_encoder("cbe-rand", random_state=0).fit(X)
    with ThreadPoolExecutor(4) as pool:
        found = np.stack(list(pool.map(encoder.encode_one, list(X) * 20)))
    assert np.array_equal(found, np.tile(encoder.encode(X), (20, 1)))
