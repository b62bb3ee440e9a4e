"""The Hadamard family against dense matrices: fjlt, fbe and its median distance, pre-conditioning."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.linalg import hadamard, toeplitz
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from cbe_bench import FBE, FJLT, HD3, CBERand, Preconditioned, load_encoder, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.kernels import parallel
from cbe_bench.kernels.bits import pack_signs
from cbe_bench.kernels.hadamard import fwht

SETTINGS = [("fjlt", {"density": 0.1}), ("fbe", {}), ("hd3", {}), ("cbe-rand", {"precondition": "hadamard"})]


def padded(X, length):
    return np.pad(X, ((0, 0), (0, length - X.shape[1])))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "d, n_bits, density", [(1, 1, 0.01), (5, 8, 0.5), (96, 60, 0.01), (100, 470, 0.1), (300, 70, 1.0)]
)
def test_fjlt_is_a_sparse_matrix_after_a_hadamard_matrix(d, n_bits, density, dtype, rng):
    X = rng.standard_normal((21, d)).astype(dtype)
    encoder = FJLT(n_bits, density=density, random_state=1).fit(X)
    n = len(encoder.signs_)
    P = np.zeros((n_bits, n))
    np.put_along_axis(P, encoder.columns_.astype(np.int64), encoder.entries_, axis=1)
    assert np.all(np.count_nonzero(P, axis=1) == max(1, round(density * n)))
    dense = padded(X, n) * encoder.signs_ @ hadamard(n) @ P.T
    np.testing.assert_allclose(encoder.project(X), dense, atol=np.finfo(dtype).eps * 20 * np.abs(dense).max())


def test_fjlt_of_long_vectors_has_wide_columns(rng):
    X = rng.standard_normal((2, 2**16 + 1)).astype(np.float32)
    encoder = FJLT(20, density=0.001, random_state=1).fit(X)
    assert encoder.columns_.dtype == np.uint32
    transformed = padded(X, 2**17) * encoder.signs_.astype(np.float32)
    fwht(transformed)
    dense = np.stack([(x[encoder.columns_] * encoder.entries_).sum(axis=1) for x in transformed])
    np.testing.assert_allclose(encoder.project(X), dense, rtol=1e-3, atol=1e-3 * dense.std())


def test_fjlt_entries_are_gaussian_and_everywhere(rng):
    encoder = FJLT(2000, density=0.1, random_state=0).fit(np.ones((1, 128)))
    assert abs(encoder.entries_.mean()) < 0.03
    assert abs(encoder.entries_.std() - 1) < 0.03
    seen = np.bincount(encoder.columns_.ravel(), minlength=128)
    assert abs(seen - 2000 * 13 / 128).max() < 6 * np.sqrt(2000 * 13 / 128)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 16, 17, 40])
@pytest.mark.parametrize("name, params", SETTINGS)
def test_one_by_one_or_together_makes_no_difference(name, params, size, rng):
    X = rng.standard_normal((41, 1500)).astype(np.float32)
    encoder = make_encoder(name, n_bits=333, random_state=2, **params).fit(X)
    with parallel.threads(1):
        whole = encoder.project(X)
    with parallel.threads(3):
        pieces = [encoder.project(X[i : i + size]) for i in range(0, len(X), size)]
    assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("density", [0, -0.1, 1.5, "some"])
def test_bad_density_is_told(density):
    with pytest.raises(InputError, match=r"fjlt: density = .*; it must be above 0 and at most 1"):
        FJLT(density=density).fit(np.ones((1, 8)))


FBE_CASES = [
    (1, 1, {}),
    (5, 8, {}),
    (96, 60, {}),
    (100, 47, {"blocks": 5, "n_rows": 33}),
    (96, 300, {}),
    (300, 1000, {"blocks": 3}),
    (700, 200, {"blocks": 1}),
    (64, 40, {"n_rows": 2}),
]


@pytest.mark.parametrize("d, n_bits, params", FBE_CASES)
def test_fbe_is_toeplitz_blocks_after_rows_of_a_hadamard_matrix(d, n_bits, params, rng):
    X = rng.standard_normal((7, d))
    encoder = FBE(n_bits, random_state=1, **params).fit(X)
    length, n = len(encoder.signs_), len(encoder.places_)
    assert n == params.get("n_rows", min(int(np.ceil(1.3 * n_bits)), length))
    assert len(np.unique(encoder.places_)) == n
    y = padded(X, length) * encoder.signs_ @ hadamard(length)[:, encoder.places_] / np.sqrt(length)
    generators = encoder.toeplitz_.astype(np.float64)
    matrices = [toeplitz(g[n - 1 :], g[:n][::-1]) for g in generators]
    sizes = [block.stop - block.start for block in encoder.code_blocks()]
    assert len(sizes) == min(params.get("blocks", 10), n_bits)
    assert max(sizes) - min(sizes) <= 1
    dense = np.concatenate([y @ T[:m].T for T, m in zip(matrices, sizes, strict=True)], axis=1)
    np.testing.assert_allclose(encoder.project(X), dense, atol=1e-11)
    assert np.array_equal(encoder.encode(X), pack_signs(encoder.project(X)))


@pytest.mark.parametrize(
    "params, message",
    [
        ({"n_rows": 17}, "n_rows = 17; it must be an integer from 1 to 16"),
        ({"n_rows": 0}, "n_rows = 0"),
        ({"blocks": 0}, "blocks = 0; it must be a positive integer"),
        ({"blocks": 2.5}, "blocks = 2.5"),
    ],
)
def test_bad_parameters_of_fbe_are_told(params, message):
    with pytest.raises(InputError, match=message):
        FBE(**params).fit(np.ones((1, 9)))


@pytest.mark.parametrize("name, params", SETTINGS)
def test_padding_by_hand_gives_the_same_code(name, params, rng):
    X = rng.standard_normal((20, 100))
    short, full = (make_encoder(name, n_bits=80, random_state=4, **params).fit(Z) for Z in (X, padded(X, 128)))
    assert np.array_equal(short.encode(X), full.encode(padded(X, 128)))


@pytest.mark.parametrize("name, params", SETTINGS)
def test_share_of_differing_bits_is_the_angle(name, params, rng):
    angle, d, n_bits, seeds = np.pi / 5, 200, 256, 30
    basis = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    pair = np.stack([basis[0], np.cos(angle) * basis[0] + np.sin(angle) * basis[1]])
    shares = []
    for seed in range(seeds):
        signs = make_encoder(name, n_bits=n_bits, random_state=seed, **params).fit(pair).transform(pair)
        shares.append(np.mean(signs[0] != signs[1]))
    assert abs(np.mean(shares) - angle / np.pi) < 4 * np.std(shares, ddof=1) / np.sqrt(seeds) + 1e-3


@pytest.mark.parametrize("name, params", [setting for setting in SETTINGS if setting[0] != "fbe"])
def test_codes_of_fewer_bits_begin_codes_of_more(name, params, rng):
    X = rng.standard_normal((9, 100)).astype(np.float32)
    long, short = (make_encoder(name, n_bits=n, random_state=3, **params).fit(X) for n in (300, 130))
    assert long.nested
    assert np.array_equal(long.project(X)[:, :130], short.project(X))


@pytest.mark.parametrize(
    "precondition, d, length, block",
    [("hadamard", 100, 128, 128), ("hadamard-blocks", 100, 100, 4), ("hadamard-blocks", 96, 96, 32)],
)
@pytest.mark.parametrize("name", ["cbe-rand", "lsh", "fbe", "hd3"])
def test_preconditioned_is_the_encoder_of_rotated_vectors(name, precondition, d, length, block, rng):
    X = rng.standard_normal((12, d))
    whole = make_encoder(name, precondition=precondition, n_bits=70, random_state=3).fit(X)
    rotation = np.kron(np.eye(length // block), hadamard(block)) / np.sqrt(block)
    rotated = padded(X, length) * whole.signs_ @ rotation
    np.testing.assert_allclose(rotated @ rotated.T, X @ X.T, atol=1e-12)
    np.testing.assert_allclose(whole.project(X), whole.encoder_.project(rotated), atol=1e-11)


def test_blocks_of_flickr_are_25_of_1024():
    assert Preconditioned(CBERand(), precondition="hadamard-blocks").shape(25_600) == (25_600, 1_024)
    assert Preconditioned(CBERand()).shape(25_600) == (32_768, 32_768)


@pytest.mark.parametrize("name, params", [("cbe-rand", {"rows": "random"}), ("lsh", {}), ("fbe", {"blocks": 3})])
@pytest.mark.parametrize("precondition", ["hadamard", "hadamard-blocks"])
def test_preconditioned_keeps_the_contract(name, params, precondition, rng, tmp_path):
    X = rng.standard_normal((33, 96)).astype(np.float32)
    X.setflags(write=False)
    encoder = make_encoder(name, precondition=precondition, n_bits=60, random_state=1, **params).fit(X)
    codes = encoder.encode(X)
    assert np.array_equal(codes, pack_signs(encoder.project(X)))
    encoder.save(tmp_path / "encoder.npz")
    loaded = load_encoder(tmp_path / "encoder.npz")
    assert np.array_equal(loaded.encode(X), codes)
    assert loaded.code_blocks() == encoder.code_blocks()
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).encode(X), codes)
    assert np.array_equal(clone(encoder).fit(X).encode(X), codes)
    other = make_encoder(name, precondition=precondition, n_bits=60, random_state=2, **params).fit(X)
    assert np.mean(np.unpackbits(other.encode(X) ^ codes)) > 0.1
    assert encoder.parameter_bytes() > encoder.encoder_.parameter_bytes()
    assert encoder.memory_bytes(96) > encoder.encoder_.memory_bytes(96)
    assert encoder.cost_estimate(96) > 0


@pytest.mark.filterwarnings("ignore")
def test_preconditioned_is_a_scikit_learn_estimator():
    check_estimator(Preconditioned(CBERand(n_bits=16), random_state=5))


def test_bits_and_seed_of_a_preconditioned_encoder(rng):
    X = rng.standard_normal((3, 24))
    assert Preconditioned(HD3()).fit(X).n_bits_ == 24
    assert Preconditioned(HD3(7)).fit(X).n_bits_ == 7
    assert Preconditioned(HD3(7), n_bits=9).fit(X).n_bits_ == 9
    one, two = (Preconditioned(CBERand(random_state=1), random_state=seed).fit(X) for seed in (2, 3))
    assert np.array_equal(one.encoder_.r_, two.encoder_.r_), "its own random state decides"


def test_labels_reach_the_preconditioned_encoder(rng):
    X, y = rng.standard_normal((60, 32)).astype(np.float32), np.arange(60) % 3
    whole = make_encoder("cbe-opt", mu=2.0, precondition="hadamard", random_state=3)
    whole.fit(X, y)
    inner = clone(whole.encoder_).fit(whole.transformed(X), y)
    assert np.array_equal(whole.encoder_.r_, inner.r_)
    assert not np.array_equal(whole.encoder_.r_, clone(whole).fit(X, y[::-1] // 2).encoder_.r_)
    with pytest.raises(InputError, match="needs labels"):
        clone(whole).fit(X)


def test_bad_preconditions_are_told(rng):
    with pytest.raises(InputError, match="precondition = 'hadamrd'; did you mean 'hadamard'"):
        make_encoder("lsh", precondition="hadamrd").fit(np.ones((1, 8)))
    with pytest.raises(InputError, match="needs an even number of features, found 13"):
        make_encoder("lsh", precondition="hadamard-blocks").fit(np.ones((1, 13)))
    with pytest.raises(InputError, match="n_bits = 'many'"):
        Preconditioned(HD3("many")).fit(np.ones((1, 8)))
    with pytest.raises(InputError, match="did you mean 'precondition'"):
        make_encoder("lsh", preconditions="hadamard")


@pytest.mark.parametrize("precondition", ["hadamard", "hadamard-blocks"])
def test_memory_of_a_preconditioned_encoder_is_estimated(precondition, rng):
    X = rng.standard_normal((4, 4100)).astype(np.float32)
    encoder = make_encoder("cbe-rand", precondition=precondition, n_bits=4100, random_state=0)
    tracemalloc.start()
    encoder.fit(X).encode(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < encoder.parameter_bytes() < peak <= encoder.memory_bytes(4100)


def test_hd3_keeps_the_memory_it_works_in(rng):
    X = rng.standard_normal((2, 100)).astype(np.float32)
    encoder = HD3(random_state=0).fit(X)
    codes = encoder.encode(X)
    before = encoder._memory().array("vector", (128,), np.float32)
    assert encoder._memory().array("vector", (128,), np.float32) is before
    assert "_scratch" not in pickle.loads(pickle.dumps(encoder)).__dict__
    assert np.array_equal(encoder.encode(X), codes)
    assert encoder.project(X.astype(np.float64)).dtype == np.float64
