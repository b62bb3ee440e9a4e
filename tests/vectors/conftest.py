"""Small files of vectors with a mean far from zero, and a file of their codes."""

import numpy as np
import pytest

from cbe_bench import encode_file
from cbe_bench.vectors import blocks


@pytest.fixture
def vectors():
    rng = np.random.default_rng(7)
    centres = 3 * rng.standard_normal((20, 24))
    X = centres[rng.integers(0, 20, 500)] + rng.standard_normal((500, 24)) + 0.5
    X = X.astype(np.float32)
    X[123] = 0
    return X


@pytest.fixture
def source(vectors, tmp_path):
    np.save(tmp_path / "vectors.npy", vectors)
    return tmp_path / "vectors.npy"


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks even of a small file."""
    monkeypatch.setattr(blocks, "_MOST_ROWS", 64)


@pytest.fixture
def codes(source, tmp_path, small_blocks):
    encode_file(source, tmp_path / "codes.cbe.h5", method="cbe-rand", n_bits=100)
    return tmp_path / "codes.cbe.h5"
