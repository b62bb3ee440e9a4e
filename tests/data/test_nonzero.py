"""Features less their rows of zeros: all other rows, labels and queries are those of the file."""

import h5py
import numpy as np
import pytest

from cbe_bench.data import nonzero
from cbe_bench.data.formats import open_features
from cbe_bench.data.nonzero import without_zeros


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("zeros", [[0], [39], [0, 1, 2, 17, 18, 30, 38, 39], [3, 5, 7, 9, 11]])
def test_other_rows_and_labels_are_those_of_the_file(zeros, tmp_path, rng):
    X = rng.standard_normal((40, 5)).astype(np.float32)
    X[zeros] = 0
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["features"], file["labels"] = X, np.arange(40)
    with open_features(tmp_path / "x.h5") as features:
        kept, others = without_zeros(features), np.delete(np.arange(40), zeros)
        assert kept.n_rows == len(others)
        assert np.array_equal(kept.read(np.arange(kept.n_rows)), X[others])
        assert np.array_equal(kept.read(np.arange(1, kept.n_rows, 3)), X[others][1::3])
        assert np.array_equal(kept.labels(), others)
        assert kept.content_hash() != features.content_hash()


def test_queries_are_those_of_the_file(tmp_path, rng):
    train, test = rng.standard_normal((30, 5)).astype(np.float32), rng.standard_normal((10, 5)).astype(np.float32)
    train[[4, 29]], test[[0, 9]] = 0, 0
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["train"], file["test"] = train, test
    with open_features(tmp_path / "x.h5") as features:
        kept = without_zeros(features)
        assert (kept.n_rows, kept.own_queries) == (36, 8)
        assert np.array_equal(kept.read(np.arange(28, 36)), test[1:9])


def test_a_large_file_is_announced_unless_its_zeros_are_known(tmp_path, monkeypatch):
    monkeypatch.setattr(nonzero, "_LARGE_BYTES", 100)
    np.save(tmp_path / "x.npy", np.ones((10, 5), np.float32))
    said = []
    with open_features(tmp_path / "x.npy") as features:
        assert without_zeros(features, said.append) is features
        assert without_zeros(features, said.append) is features
    assert said == [f"checking all rows of {tmp_path / 'x.npy'}, 200 B of float32"]
