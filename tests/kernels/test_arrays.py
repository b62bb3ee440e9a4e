"""Operations on arrays of any library, against their definitions."""

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import circulant, hadamard

from cbe_bench.core.errors import InputError
from cbe_bench.kernels import array_search, devices, nearest
from cbe_bench.kernels.arrays import (
    Place,
    circulant_product,
    hadamard_factors,
    hadamard_transform,
    library_of,
    pack_signs,
    unpack_signs,
)
from cbe_bench.kernels.devices import find_device, wait_for

DEVICE = xp.Device("device1")


def put(array):
    return xp.asarray(np.array(array), device=DEVICE)


def host(array):
    return np.asarray(array.to_device(xp.Device("CPU_DEVICE")))


def test_which_arrays_have_a_library():
    assert library_of(put([1.0])) is xp
    for other in (np.ones(2), np.float32(1), [1.0], "x", None):
        assert library_of(other) is None


@settings(max_examples=50, deadline=None)
@given(n=st.integers(0, 5), n_bits=st.integers(1, 40), seed=st.integers(0, 99))
def test_bits_are_packed_as_numpy_packs_them(n, n_bits, seed):
    values = np.random.default_rng(seed).integers(-1, 2, (n, n_bits)).astype(np.float32)
    codes = pack_signs(xp, put(values))
    assert np.array_equal(host(codes), np.packbits(values >= 0, axis=1, bitorder="little"))
    assert np.array_equal(host(unpack_signs(xp, codes, n_bits, xp.int8)), np.where(values >= 0, 1, -1))


@pytest.mark.parametrize("d", [1, 2, 7, 12, 31])
def test_circulant_products(d, rng):
    X, r, signs = rng.standard_normal((3, d)), rng.standard_normal(d), rng.choice([-1.0, 1.0], d)
    found = circulant_product(xp, put(X), put(signs), put(np.fft.rfft(r)))
    np.testing.assert_allclose(host(found), (X * signs) @ circulant(r).T, atol=1e-12)


@pytest.mark.parametrize(("length", "block"), [(1, 1), (2, 2), (32, 32), (64, 64), (2048, 2048), (96, 32), (192, 64)])
def test_hadamard_transforms(length, block, rng):
    X = rng.standard_normal((2, length))
    factors = [put(factor.astype(np.float64)) for factor in hadamard_factors(block)]
    expected = X.reshape(2, -1, block) @ hadamard(block)
    np.testing.assert_allclose(host(hadamard_transform(xp, put(X), factors)), expected.reshape(2, -1), atol=1e-11)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 60),
    width=st.integers(1, 5),
    queries=st.integers(0, 9),
    at_once=st.integers(1, 200),
    data=st.data(),
)
def test_nearest_codes_with_their_ties(n, width, queries, at_once, data):
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    codes, some = (rng.integers(0, 4, (rows, width), dtype=np.uint8) for rows in (n, queries))
    patch = pytest.MonkeyPatch()
    with patch.context() as limits:
        limits.setattr(array_search, "_VALUES", 8 * at_once)
        limits.setattr(array_search, "_QUERIES", 4)
        limits.setattr(array_search, "_BYTES", 2)
        found = nearest.top_k(put(some), put(codes), k)
    for array, expected in zip(found, nearest.top_k(some, codes, k), strict=True):
        assert array.device == DEVICE
        assert np.array_equal(host(array), expected)


@pytest.mark.parametrize("n_bits", [3, 16, 61])
def test_asymmetric_scores(n_bits, rng, monkeypatch):
    queries = rng.standard_normal((6, n_bits)).astype(np.float32)
    signs = rng.choice([-1, 1], (300, n_bits))
    codes = np.packbits(signs > 0, axis=1, bitorder="little")
    exact = queries.astype(np.float64) @ signs.T
    best = -np.sort(-exact, axis=1)[:, :9]
    for at_once in (1 << 24, 40 * n_bits):
        monkeypatch.setattr(array_search, "_VALUES", at_once)
        scores, rows = nearest.asymmetric_top_k(queries, codes, 9)
        np.testing.assert_allclose(scores, best, atol=1e-5)
        np.testing.assert_allclose(np.take_along_axis(exact, rows, axis=1), best, atol=1e-5)
        scores, rows = (host(array) for array in nearest.asymmetric_top_k(put(queries), put(codes), 9))
        np.testing.assert_allclose(scores, best, atol=1e-4)
        np.testing.assert_allclose(np.take_along_axis(exact, rows, axis=1), best, atol=1e-4)


def test_equal_scores_are_in_order_of_row():
    codes = np.array([[1], [3], [1], [3]], np.uint8)
    assert nearest.asymmetric_top_k(np.ones((1, 2)), codes, 4)[1].tolist() == [[1, 3, 0, 2]]
    assert host(nearest.asymmetric_top_k(put(np.ones((1, 2))), put(codes), 4)[1]).tolist() == [[1, 3, 0, 2]]


def test_searches_that_cannot_work():
    codes = np.zeros((3, 2), np.uint8)
    for search, queries in ((nearest.top_k, codes), (nearest.asymmetric_top_k, np.ones((1, 16)))):
        with pytest.raises(InputError, match="the database is one of array_api_strict: they must agree"):
            search(queries, put(codes), 1)
        for k in (0, 4):
            with pytest.raises(InputError, match=f"k = {k}: must be from 1 to the 3 codes"):
                search(put(queries), put(codes), k)
    with pytest.raises(InputError, match="queries have 1 bytes a code, the database has 2"):
        nearest.top_k(put(codes[:, :1]), put(codes), 1)
    with pytest.raises(InputError, match="database: packed codes are a 2-d uint8 array, found 2-d int16"):
        nearest.top_k(put(codes), put(codes.astype(np.int16)), 1)
    for arrays in ((np.ones((1, 20)), codes), (put(np.ones((1, 20))), put(codes))):
        with pytest.raises(ValueError, match="projections of 20 bits, but the database has 2 bytes a code"):
            nearest.asymmetric_top_k(*arrays, 1)


def test_devices_by_name():
    found = find_device("array_api_strict")
    assert (found.xp, found.is_gpu) == (xp, False)
    array = Place(found.xp, found.device, "float32").put(np.ones(3))
    wait_for(array)
    assert array.dtype == xp.float32


def test_any_graphics_processor(monkeypatch):
    monkeypatch.setattr(devices, "_GPUS", ("nowhere", "array_api_strict:device2"))
    assert find_device("gpu").device == xp.Device("device2")
    monkeypatch.setattr(devices, "_GPUS", ("nowhere",))
    with pytest.raises(InputError, match="device 'gpu': no device found"):
        find_device("gpu")
