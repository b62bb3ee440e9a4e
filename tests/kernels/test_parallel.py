"""Threads, forks and BLAS: kernels work from many threads, after a fork and in nested calls."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import cbe_bench
from cbe_bench.kernels.nearest import top_k
from cbe_bench.kernels.parallel import for_slices, threads

METHODS = ("cbe-rand", "hd3", "lsh", "bilinear-rand")


def blas_threads() -> set[int]:
    """Return the threads of NumPy's and SciPy's BLAS; faiss has one of its own, whose number each thread sets."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and "faiss" not in pool["filepath"]]
    return {pool["num_threads"] for pool in pools}


def encode_and_search(encoders, X):
    codes = [encoder.encode(X) for encoder in encoders]
    return codes, top_k(codes[0][:3], codes[0], 5)


def _child(encoders, X, queue):
    queue.put(encode_and_search(encoders, X))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_encoders_and_search_work_in_a_forked_process():
    X = np.random.default_rng(0).standard_normal((300, 256), dtype=np.float32)
    with threads(2):
        encoders = [cbe_bench.make_encoder(name, n_bits=64, random_state=0).fit(X) for name in METHODS]
        expected, found = encode_and_search(encoders, X)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_child, args=(encoders, X, queue), daemon=True)
        child.start()
        codes, nearest = queue.get(timeout=60)
        child.join(60)
    for own, other in zip(expected, codes, strict=True):
        np.testing.assert_array_equal(own, other)
    for own, other in zip(found, nearest, strict=True):
        np.testing.assert_array_equal(own, other)


def test_encoders_give_the_same_codes_from_many_python_threads():
    X = np.random.default_rng(1).standard_normal((200, 256), dtype=np.float32)
    before = blas_threads()
    encoders = [cbe_bench.make_encoder(name, n_bits=64, random_state=0).fit(X) for name in METHODS]
    expected = [encoder.encode(X) for encoder in encoders]
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda _: [encoder.encode(X) for encoder in encoders], range(64)))
    for codes in found:
        for own, other in zip(expected, codes, strict=True):
            np.testing.assert_array_equal(own, other)
    assert blas_threads() == before, "the threads of BLAS are as they were"


def test_blas_has_one_thread_within_and_its_own_after_an_error():
    before = blas_threads()
    seen = []

    def work(part):
        seen.append(blas_threads())
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        for_slices(work, 4, 1, blas=True)
    assert set().union(*seen) == {1}
    assert blas_threads() == before


def test_slices_cover_every_row_once():
    for n, size, count in ((0, 3, 2), (1, 1, 2), (10, 3, 2), (1000, 7, 3)):
        rows = np.zeros(n, int)

        def work(part, rows=rows):
            rows[part] += 1

        with threads(count):
            for_slices(work, n, size)
        assert (rows == 1).all()
