"""What encoders take: any type of number, any magnitude, any container; a right result or one clear error."""

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import open_memmap

from cbe_bench import CBERand, make_encoder
from cbe_bench.core.errors import InputError
from cbe_bench.encoders import encoder_classes

NAMES = list(encoder_classes())
SCALED_WITH_DATA = {"sh", "sklsh"}
"""Their bits are waves whose length follows the data: codes of scaled data are equal up to rounding."""

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*are computed and cut"),
    pytest.mark.filterwarnings("ignore:.*the training set varies in"),
]


def whole_numbers(rng, n=40, d=24):
    return rng.integers(-9, 10, (n, d))


def differing_bits(a, b):
    return np.mean(np.unpackbits(a ^ b))


@pytest.mark.parametrize("dtype", ["f2", "i1", "u1", "i4", "i8", ">f4", ">f8", "?", "g", "F-order"])
@pytest.mark.parametrize("name", NAMES)
def test_other_types_of_numbers_are_those_numbers(name, dtype, rng):
    X = whole_numbers(rng)
    X = np.asfortranarray(X, np.float32) if dtype == "F-order" else X.astype(dtype)
    encoder = make_encoder(name, n_bits=16, random_state=0).fit(X)
    same = make_encoder(name, n_bits=16, random_state=0).fit(np.ascontiguousarray(X, np.float32))
    assert differing_bits(encoder.encode(X), same.encode(X.astype(np.float32))) < 0.01
    assert encoder.project(X).dtype in (np.float32, np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_read_only_and_memory_mapped_rows(name, rng, tmp_path):
    X = rng.standard_normal((30, 24)).astype(np.float32)
    encoder = make_encoder(name, n_bits=16, random_state=0).fit(X)
    mapped = open_memmap(tmp_path / "X.npy", "w+", np.float32, X.shape)
    mapped[:] = X
    mapped.flush()
    for rows in (open_memmap(tmp_path / "X.npy", "r"), X[::1], np.broadcast_to(X, (1, *X.shape))[0]):
        assert np.array_equal(make_encoder(name, n_bits=16, random_state=0).fit(rows).encode(rows), encoder.encode(X))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, ">f4"])
def test_other_types_are_converted_slice_by_slice(dtype, rng, monkeypatch):
    X = whole_numbers(rng, 50).astype(dtype)
    encoder = CBERand(random_state=0).fit(X)
    whole = encoder.encode(X)
    monkeypatch.setattr("cbe_bench.encoders.inputs._SLICE_VALUES", 24 * 7)
    assert np.array_equal(encoder.encode(X), whole)


@pytest.mark.parametrize("exponent", [-140, -100, -70, 0, 70, 100, 120])
@pytest.mark.parametrize("name", NAMES)
def test_scale_of_single_precision_data_does_not_matter(name, exponent, rng):
    """Powers of two scale exactly, denormal numbers (2**-140) up to their own rounding."""
    X = rng.standard_normal((60, 24)).astype(np.float32)
    scaled = (X * 2.0**exponent).astype(np.float32)
    params = {"lam": np.inf, "max_iter": 1} if name == "cbe-opt" else {}  # here the scale has no part
    expected = make_encoder(name, n_bits=16, random_state=0, **params).fit(X).encode(X)
    encoder = make_encoder(name, n_bits=16, random_state=0, **params)
    if exponent < -126 and name in ("cbe-opt", "sklsh"):
        with pytest.raises(InputError, match="scale"):
            encoder.fit(scaled)
        return
    encoder.fit(scaled)
    allowed = 0.02 if exponent < -126 or name in SCALED_WITH_DATA else 0.003
    assert differing_bits(encoder.encode(scaled), expected) <= allowed
    assert encoder.project(scaled).dtype == np.float32
    assert not np.isnan(encoder.project(scaled)).any()


@pytest.mark.parametrize("scale", [1e18, 1e30, 1e-30])
def test_learned_circulant_codes_of_data_of_any_scale(scale, rng):
    X = rng.standard_normal((200, 32)).astype(np.float32)
    encoder = make_encoder("cbe-opt", random_state=0).fit(X * np.float32(scale))
    codes = encoder.encode(X * np.float32(scale))
    assert np.isfinite(encoder.r_).all()
    assert np.isfinite(encoder.objective_).all()
    assert np.all(np.diff(encoder.objective_) <= 1e-6 * np.abs(encoder.objective_[:-1]))
    assert len(np.unique(codes, axis=0)) > 190


@pytest.mark.parametrize("scale, size", [(1e200, "large"), (1e-200, "small"), (5e-324, "small")])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_out_of_reach_are_an_error(name, scale, size, rng):
    X = np.round(4 * rng.standard_normal((20, 8))) * scale
    with pytest.raises(InputError, match=f"too {size}"):
        make_encoder(name, n_bits=4, random_state=0).fit(X)
    if size == "large":
        with pytest.raises(InputError, match="too large"):
            make_encoder(name, n_bits=4, random_state=0).fit(X / scale).encode(X)


@pytest.mark.parametrize("name", NAMES)
def test_constant_rows_and_columns(name, rng):
    X = rng.standard_normal((40, 12)).astype(np.float32)
    X[:, 3:6] = 7
    X[10:15] = -2
    X[20:25] = 0
    encoder = make_encoder(name, n_bits=8, random_state=0).fit(X)
    codes = encoder.encode(X)
    assert np.isfinite(encoder.project(X)).all()
    assert len(np.unique(codes[10:15], axis=0)) == len(np.unique(codes[20:25], axis=0)) == 1


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_few_rows_of_few_features(name, n, d, rng):
    X = rng.standard_normal((n, d)).astype(np.float32)
    encoder = make_encoder(name, n_bits=1, random_state=0)
    try:
        encoder.fit(X)
    except InputError as error:
        assert n == 1, error
        return
    values = encoder.project(X)
    assert np.isfinite(values).all()
    assert np.array_equal(encoder.encode(X), np.packbits(values >= 0, axis=1, bitorder="little"))
    assert np.array_equal(encoder.encode(X[:1]), encoder.encode(X)[:1]) or abs(values[0, 0]) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_no_rows_have_no_codes_and_teach_nothing(name, rng):
    X = rng.standard_normal((20, 9)).astype(np.float32)
    encoder = make_encoder(name, n_bits=9, random_state=0).fit(X)
    assert encoder.encode(X[:0]).shape == (0, 2)
    assert encoder.project(X[:0]).shape == encoder.transform(X[:0]).shape == (0, 9)
    with pytest.raises(ValueError, match="0 sample"):
        make_encoder(name, n_bits=9).fit(X[:0])


@pytest.mark.parametrize("name", [name for name, cls in encoder_classes().items() if not cls.data_dependent])
def test_untrained_methods_read_only_the_shape(name):
    X = np.broadcast_to(np.ones(16, np.float32), (1 << 40, 16))  # would take 64 TiB
    assert make_encoder(name, n_bits=8, random_state=0).fit(X).n_features_in_ == 16


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", NAMES)
def test_memory_does_not_grow_over_encode_calls(name, rng):
    X = rng.standard_normal((40, 16)).astype(np.float32)
    encoder = make_encoder(name, n_bits=8, random_state=0).fit(X)
    row = X[:1]

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(100):
        encoder.encode(row, check_input=False)
    gc.collect()
    before = resident()
    for _ in range(10_000):
        encoder.encode(row, check_input=False)
    assert resident() - before < 2 << 20, "less than 200 bytes a call"
