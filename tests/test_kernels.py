"""Every fast path against its definition."""

import gzip
import hashlib
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import circulant, hadamard
from scipy.stats import kstest

from cbe_bench.kernels import bits, hamming, nearest, parallel
from cbe_bench.kernels import random as gaussian
from cbe_bench.kernels.fft import fftw
from cbe_bench.kernels.fft.circulant import CirculantProduct
from cbe_bench.kernels.fft.circulant_long import LongCirculantProduct, layout
from cbe_bench.kernels.fft.circulant_strided import StridedCirculantProduct, row_stride
from cbe_bench.kernels.fft.column_fft import column_fft, column_plan
from cbe_bench.kernels.hadamard import fwht
from cbe_bench.kernels.memory import aligned_empty
from cbe_bench.kernels.random import gaussian_pairs

DIMENSIONS = [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 64, 96, 97, 100, 121, 210, 257, 1000, 1018, 1024, 2053]


def dense(r, signs, X):
    return (X.astype(np.float64) * signs) @ circulant(r).T


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_circulant_product_is_the_dense_product(d, dtype, tolerance, rng):
    r, signs = rng.standard_normal(d), rng.choice([-1, 1], d)
    X = rng.standard_normal((7, d)).astype(dtype)
    values = np.empty((7, d), dtype)
    CirculantProduct(r, signs, dtype).project(X, values)
    expected = dense(r, signs, X)
    assert np.abs(values - expected).max() <= tolerance * np.abs(expected).max()


@given(d=st.integers(1, 300), k=st.integers(1, 300), n=st.integers(0, 5), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_circulant_codes_are_the_packed_signs_of_its_values(d, k, n, seed):
    rng = np.random.default_rng(seed)
    k = min(k, d)
    product = CirculantProduct(rng.standard_normal(d), rng.choice([-1, 1], d), np.float32)
    X = rng.standard_normal((n, d)).astype(np.float32)
    values, codes = np.empty((n, k), np.float32), np.empty((n, -(-k // 8)), np.uint8)
    product.project(X, values)
    product.encode(X, k, codes)
    assert np.array_equal(codes, np.packbits(values >= 0, axis=1, bitorder="little"))


@pytest.mark.parametrize(
    "dtype, tolerance", [(np.float32, 2e-6), pytest.param(np.float64, 1e-14, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("d", [2, 63, 64, 97, 128, 1000, 1024, 2048, 4001, 12_288, 25_600, 65_536, 100_000])
def test_long_product_is_the_convolution(d, dtype, tolerance, rng):
    r, signs = rng.standard_normal(d), rng.choice([-1, 1], d).astype(np.int8)
    X = rng.standard_normal((2, d)).astype(dtype)
    expected = np.fft.irfft(np.fft.rfft(r) * np.fft.rfft(X * signs.astype(float)), n=d)
    product = LongCirculantProduct(r, signs, dtype)
    for n_values in (d, d // 2 + 1):
        values, codes = np.empty((2, n_values), dtype), np.empty((2, -(-n_values // 8)), np.uint8)
        with parallel.threads(2):
            product.project(X, values)
        with parallel.threads(1):
            product.encode(X, n_values, codes)
        assert np.abs(values - expected[:, :n_values]).max() <= tolerance * np.abs(expected).max()
        assert np.array_equal(codes, np.packbits(values >= 0, axis=1, bitorder="little"))


STRIDED = [(8, 4), (64, 2), (97, 4), (1000, 8), (1009, 8), (1536, 4), (2048, 64), (4096, 16), (5120, 16), (7001, 4)]


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("product", [StridedCirculantProduct, LongCirculantProduct])
@pytest.mark.parametrize("d, stride", STRIDED)
def test_strided_product_is_every_sth_value(d, stride, product, dtype, tolerance, rng):
    r, signs = rng.standard_normal(d), rng.choice([-1, 1], d).astype(np.int8)
    X = rng.standard_normal((33, d)).astype(dtype)
    expected = np.fft.irfft(np.fft.rfft(r) * np.fft.rfft(X * signs.astype(float)), n=d)
    strided = product(r, signs, dtype=dtype, stride=stride)
    for k in {1, d // stride // 2 + 1, d // stride}:
        values, codes = np.empty((33, k), dtype), np.empty((33, -(-k // 8)), np.uint8)
        strided.project(X, values)
        strided.encode(X, k, codes)
        assert np.abs(values - expected[:, ::stride][:, :k]).max() <= tolerance * np.abs(expected).max()
        assert np.array_equal(codes, np.packbits(values >= 0, axis=1, bitorder="little"))


@given(d=st.integers(1, 10_000), k=st.integers(1, 10_000))
def test_strided_rows_are_as_far_apart_as_the_bits_allow(d, k):
    stride = row_stride(d, k)
    assert stride & (stride - 1) == 0
    assert stride == 1 if k > d else stride * k <= d < 8 * stride * k


@pytest.mark.parametrize("d", [1536, 5120])
def test_strided_product_does_not_depend_on_threads_or_batches(d, rng):
    product = StridedCirculantProduct(rng.standard_normal(d), rng.choice([-1, 1], d), 4)
    X = rng.standard_normal((300, d)).astype(np.float32)
    whole, pieces = np.empty((300, d // 4), np.float32), np.empty((300, d // 4), np.float32)
    with parallel.threads(2):
        product.project(X, whole)
    with parallel.threads(1):
        for part in parallel.slices(len(X), 7):
            product.project(X[part], pieces[part])
    assert np.array_equal(whole, pieces)


def test_every_length_has_a_layout_in_a_reasonable_padding(rng):
    for d in (2, 3, 1009, 2**18, 2**18 + 1, 3 * 2**17, 10**6, 2**20, 2**27):
        length, shape = layout(d)
        assert shape.n1 * shape.n2 * 2 == length
        assert shape.n2 % 16 == 0
        assert length == d if d % 2**12 == 0 else length <= 2.3 * d + 512


def test_first_column_of_the_matrix_is_r(rng):
    r = rng.standard_normal(10)
    unit = np.zeros((1, 10))
    unit[0, 0] = 1
    values = np.empty((1, 10))
    CirculantProduct(r, np.ones(10), np.float64).project(unit, values)
    np.testing.assert_allclose(values[0], r, atol=1e-14)


def test_circulant_product_does_not_depend_on_threads_or_batches(rng):
    product = CirculantProduct(rng.standard_normal(600), rng.choice([-1, 1], 600))
    X = rng.standard_normal((4000, 600)).astype(np.float32)
    whole, pieces = np.empty_like(X), np.empty_like(X)
    with parallel.threads(2):
        product.project(X, whole)
    with parallel.threads(1):
        for part in parallel.slices(len(X), 7):
            product.project(X[part], pieces[part])
    assert np.array_equal(whole, pieces)


def test_good_lengths_are_even_and_factor_well():
    for least in (1, 2, 3, 127, 1000, 51_199, 51_201):
        length = fftw.good_length(least)
        assert length >= least
        assert length % 2 == 0
        assert fftw.has_small_factors(length)
        assert length <= max(2, 1.1 * least + 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wisdom_is_named_after_its_content_and_has_the_lengths_it_should(dtype):
    path = fftw.wisdom_path(dtype)
    content = gzip.decompress(path.read_bytes())
    assert path.name == f"{dtype}-{hashlib.sha256(content).hexdigest()[:8]}.gz"
    library = fftw.Library(dtype)
    if content.splitlines()[0] != library.exported_wisdom().splitlines()[0]:
        pytest.skip("FFTW was built otherwise here")
    with library.wisdom(content):
        for length in (2, 48, 400, 480, 1536, 6400, 8192, 16384):
            a, b = (aligned_empty((length,), library.complex) for _ in range(2))
            assert all(library.plan(length, a, b, way, fftw._WISDOM_ONLY) for way in (-1, 1)), length
        a, b = (aligned_empty((17,), library.complex) for _ in range(2))
        assert not library.plan(17, a, b, -1, fftw._WISDOM_ONLY)


PLANNED = """
import sys, numpy as np, pyfftw
from cbe_bench.kernels.fft import fftw
from cbe_bench.kernels.memory import aligned_empty
if sys.argv[1] == "measured":
    for n in (480, 768, 1001, 17):
        pyfftw.FFTW(*(pyfftw.empty_aligned(n, "c8") for _ in range(2)), flags=("FFTW_MEASURE",))
wisdom = lambda: sorted(fftw.Library("float32").exported_wisdom().splitlines())
before = wisdom()
for n in (480, 768, 1001, 17):
    plans = fftw.complex_plans(n, "float32")
    a, b = (aligned_empty((n,), "c8") for _ in range(2))
    a[:] = np.random.default_rng(0).standard_normal(n)
    run = fftw.ctypes.CFUNCTYPE(None, *[fftw.ctypes.c_void_p] * 3)(plans.function)
    run(plans.forward, a.ctypes.data, b.ctypes.data)
    sys.stdout.write(b.tobytes().hex())
assert wisdom() == before, "what the process measured itself is as it was"
"""


def test_transforms_are_equal_to_the_bit_whatever_else_a_process_measured():
    said = [
        subprocess.run([sys.executable, "-c", PLANNED, how], capture_output=True, check=True).stdout
        for how in ("cold", "measured")
    ]
    assert said[0] and said[0] == said[1]


def test_another_build_of_fftw_estimates_its_plans(monkeypatch, caplog):
    monkeypatch.setattr(fftw, "_packaged_wisdom", lambda _: b"(fftw-9.9 of another machine")
    fftw.complex_plans.cache_clear()
    with caplog.at_level(logging.INFO, logger="cbe_bench"):
        plans = fftw.complex_plans(48, "float32")
    assert plans.forward and plans.inverse
    assert "estimates" in caplog.text
    fftw.complex_plans.cache_clear()


@pytest.mark.parametrize(
    "rows", [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 25, 32, 45, 64, 90, 128, 256, 384, 512, 1600, 4096]
)
@pytest.mark.parametrize("dtype, tolerance", [("float32", 5e-7), ("float64", 1e-15)])
def test_column_transform_is_the_fft(rows, dtype, tolerance, rng):
    z = rng.standard_normal((rows, 16)) + 1j * rng.standard_normal((rows, 16))
    a = np.stack([z.real, z.imag], axis=1).astype(dtype).ravel()
    b = np.empty_like(a)
    result = (b if column_fft(a, b, column_plan(rows, dtype)) else a).reshape(rows, 2, 16)
    expected = np.fft.fft(z, axis=0)
    assert np.abs(result[:, 0] + 1j * result[:, 1] - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("rows", [0, -4, 7, 14, 121])
def test_column_transform_refuses_other_lengths(rows):
    with pytest.raises(ValueError, match="product of 2, 3 and 5"):
        column_plan(rows, "float32")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2**power for power in range(13)])
def test_walsh_hadamard_is_the_dense_matrix(n, dtype, rng):
    X = rng.integers(-8, 9, (5, n)).astype(dtype)  # small integers: every sum is exact
    signs = rng.choice([-1, 1], n).astype(np.int8)
    expected, plain = (X * signs) @ hadamard(n).astype(dtype), X @ hadamard(n).astype(dtype)
    flipped = X.copy()
    with parallel.threads(2):
        fwht(flipped, signs)
        fwht(X)
    assert np.array_equal(flipped, expected)
    assert np.array_equal(X, plain)


@pytest.mark.parametrize("power", [15, 16, 17, 18, 20, 21])
def test_long_walsh_hadamard_is_the_kronecker_product(power, rng):
    x = rng.integers(-3, 4, (1, 2**power)).astype(np.float64)
    signs = rng.choice([-1, 1], 2**power).astype(np.int8)
    expected = (x[0] * signs).reshape(2**10, -1)
    expected = hadamard(2**10) @ expected
    fwht(expected)
    with parallel.threads(2):
        fwht(x, signs)
    assert np.array_equal(x[0], expected.ravel())


@pytest.mark.parametrize("X", [np.zeros((2, 12)), np.zeros((2, 8), int), np.zeros(8), np.zeros((8, 2)).T])
def test_walsh_hadamard_refuses_what_it_cannot_do(X):
    with pytest.raises(ValueError, match=r"power of two|C order"):
        fwht(X)


@given(n=st.integers(0, 40), size=st.integers(1, 12))
def test_slices_cover_everything_once_and_evenly(n, size):
    parts = parallel.slices(n, size)
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n))
    lengths = [part.stop - part.start for part in parts]
    assert max(lengths, default=0) <= size
    assert max(lengths, default=0) - min(lengths, default=0) <= 1


def test_threads_are_limited_and_restored():
    before = parallel.thread_count()
    with parallel.threads(3):
        assert parallel.thread_count() == 3
        with parallel.threads(None):
            assert parallel.thread_count() == 3
        with ThreadPoolExecutor(1) as others:
            assert others.submit(parallel.thread_count).result() == before, "other threads have numbers of their own"
    assert parallel.thread_count() == before == len(os.sched_getaffinity(0))


def test_an_error_in_a_thread_reaches_the_caller():
    def work(part):
        raise RuntimeError("from a thread")

    with parallel.threads(2), pytest.raises(RuntimeError, match="from a thread"):
        parallel.for_slices(work, 10, 1)


@given(n_bits=st.integers(1, 70), seed=st.integers(0, 1000))
def test_pack_and_unpack(n_bits, seed):
    values = np.random.default_rng(seed).integers(-1, 2, (3, n_bits)).astype(np.float32)
    codes = bits.pack_signs(values)
    assert codes.shape == (3, bits.code_bytes(n_bits))
    assert np.array_equal(codes, np.packbits(values >= 0, axis=1, bitorder="little"))
    assert np.array_equal(bits.unpack_signs(codes, n_bits), np.where(values >= 0, 1, -1))
    for k in range(1, n_bits + 1):
        assert np.array_equal(bits.prefix(codes, k), bits.pack_signs(values[:, :k]))
    assert np.array_equal(codes, bits.pack_signs(values)), "prefix must not change the longer codes"


def test_sign_convention_by_hand():
    values = np.array([[0.0, -0.0, -1.0, 2.0, -3.0, -1.0, -1.0, -1.0, 5.0]])
    assert bits.pack_signs(values).tolist() == [[0b00001011, 1]]


def brute_distances(queries, database):
    difference = queries[:, None, :] ^ database[None, :, :]
    return np.unpackbits(difference, axis=2).sum(axis=2)


@given(
    n_queries=st.integers(1, 11),
    n_codes=st.integers(1, 60),
    width=st.sampled_from([1, 2, 7, 8, 9, 19, 64, 127, 128, 129, 200]),
    k=st.integers(1, 60),
    levels=st.sampled_from([2, 256]),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=80)
def test_top_k_is_a_stable_sort_of_all_distances(n_queries, n_codes, width, k, levels, seed):
    rng = np.random.default_rng(seed)
    k = min(k, n_codes)
    queries, database = (rng.integers(0, levels, (n, width), dtype=np.uint8) for n in (n_queries, n_codes))
    everything = brute_distances(queries, database)
    order = np.argsort(everything, axis=1, kind="stable")[:, :k]
    distances, rows = nearest.top_k(queries, database, k)
    assert np.array_equal(rows, order)
    assert np.array_equal(distances, np.take_along_axis(everything, order, axis=1))


def test_top_k_over_many_blocks_and_threads(rng):
    queries, database = (rng.integers(0, 4, (n, 16), dtype=np.uint8) for n in (37, 40_001))
    order = np.argsort(brute_distances(queries[:5], database), axis=1, kind="stable")[:, :50]
    with parallel.threads(2):
        _distances, rows = nearest.top_k(queries, database, 50)
    assert np.array_equal(rows[:5], order)
    with parallel.threads(1):
        assert np.array_equal(nearest.top_k(queries, database, 50)[1], rows)


@given(
    n_queries=st.integers(1, 9),
    n_codes=st.integers(1, 50),
    width=st.integers(1, 9),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=40)
def test_distance_counts(n_queries, n_codes, width, seed):
    rng = np.random.default_rng(seed)
    queries, database = (rng.integers(0, 256, (n, width), dtype=np.uint8) for n in (n_queries, n_codes))
    expected = [np.bincount(row, minlength=8 * width + 1) for row in brute_distances(queries, database)]
    assert np.array_equal(hamming.distance_counts(queries, database), expected)


def test_top_k_agrees_with_faiss_on_our_layout(rng):
    faiss = pytest.importorskip("faiss")
    values = rng.standard_normal((300, 128)).astype(np.float32)
    codes = bits.pack_signs(values)
    index = faiss.IndexBinaryFlat(128)
    index.add(codes)
    distances, _ = index.search(codes[:20], 10)
    assert np.array_equal(nearest.top_k(codes[:20], codes, 10)[0], distances)
    assert np.array_equal(faiss.vector_to_array(index.xb).reshape(codes.shape), codes)


def test_no_queries_have_no_neighbours():
    distances, rows = nearest.top_k(np.empty((0, 4), np.uint8), np.zeros((5, 4), np.uint8), 2)
    assert distances.shape == rows.shape == (0, 2)


@pytest.mark.parametrize(
    "queries, database, k, message",
    [
        (np.zeros((2, 3), np.uint8), np.zeros((4, 5), np.uint8), 1, "must agree"),
        (np.zeros((2, 3), np.int64), np.zeros((4, 3), np.uint8), 1, "uint8"),
        (np.zeros((2, 3), np.uint8), np.zeros((4, 3), np.uint8), 5, "must be from 1 to the 4"),
        (np.zeros((2, 3), np.uint8), np.zeros((4, 3), np.uint8), 0, "must be from 1"),
    ],
)
def test_top_k_refuses_what_it_cannot_do(queries, database, k, message):
    with pytest.raises(ValueError, match=message):
        nearest.top_k(queries, database, k)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2**22, 2**23 - 3, 3 * 2**20])
def test_huge_product_is_the_convolution(d, rng):
    r, signs = rng.standard_normal(d, dtype=np.float32), rng.choice(np.array([-1, 1], np.int8), d)
    x = rng.standard_normal((1, d), dtype=np.float32)
    expected = np.fft.irfft(np.fft.rfft(r) * np.fft.rfft(x[0] * signs), n=d)
    values = np.empty((1, d), np.float32)
    LongCirculantProduct(r, signs).project(x, values)
    assert np.abs(values[0] - expected).max() <= 2e-6 * np.abs(expected).max()


@pytest.mark.slow
def test_a_huge_product_needs_little_memory():
    """At most 24 bytes a value beside the input: 3 GiB at 2^27."""
    code = (
        "import resource, numpy as np; from cbe_bench import CBERand\n"
        "d = 2**25; X = np.ones((1, d), np.float32); CBERand().fit(X[:, :2**20]).encode(X[:, :2**20])\n"
        "peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); CBERand().fit(X).encode(X)\n"
        "assert peak() - before <= 24 * d, (peak() - before) / d"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def definition_of_gaussian_pairs(words):
    share = ((words & np.uint64(2**31 - 1)).astype(np.float64) + 0.5) / 2**31
    turn = (words >> np.uint64(32)).astype(np.int64)
    angle = ((turn + 2**29) % 2**30 - 2**29) * np.pi / 2**31
    pair = np.where(turn & 2**30, [np.sin(angle), np.cos(angle)], [np.cos(angle), np.sin(angle)])
    return np.where(turn & 2**31, -1, 1) * np.sqrt(-2 * np.log(share)) * pair


def test_gaussian_pairs_are_those_of_box_and_muller(rng):
    words = rng.integers(0, 2**64, 100_000, dtype=np.uint64)
    rare = [0, 1, 2**31 - 1, 2**29 << 32, (2**29 - 1) << 32, 2**30 << 32, 2**31 << 32, 2**64 - 1]
    words = np.append(words, np.array(rare, np.uint64))
    pairs = gaussian_pairs(words)
    assert pairs.dtype == np.float32
    np.testing.assert_allclose(pairs, definition_of_gaussian_pairs(words), atol=2e-4)
    typical = np.linalg.norm(pairs, axis=0) > 0.1  # where u is close to one, its last digit in single precision tells
    np.testing.assert_allclose(pairs[:, typical], definition_of_gaussian_pairs(words)[:, typical], atol=3e-6)


@pytest.mark.parametrize("shape", [(0,), (1,), (7, 3), (333, 1001)])
def test_gaussian_numbers_fill_arrays_of_any_shape(shape, monkeypatch):
    monkeypatch.setattr(gaussian, "_CHUNK_WORDS", 1000)
    out = np.full(shape, np.nan, np.float32)
    gaussian.fill_gaussian(np.random.default_rng(0), out)
    assert np.all(np.isfinite(out))
    assert len(np.unique(out)) >= 0.99 * out.size


def test_gaussian_numbers_are_normal_and_independent():
    out = np.empty((500, 2000), np.float32)
    gaussian.fill_gaussian(np.random.default_rng(1), out)
    assert kstest(out.reshape(-1), "norm").pvalue > 0.01
    assert kstest(np.sum(out.astype(np.float64) ** 2, axis=1), "chi2", args=(2000,)).pvalue > 0.01
    products = out @ out.T / np.sqrt(2000)
    assert kstest(products[np.triu_indices(500, 1)], "norm").pvalue > 0.001
