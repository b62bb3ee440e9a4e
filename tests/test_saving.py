"""Saved encoders that were changed: refused in one line, whatever was changed, before compiled code sees it."""

import io
import json
import os
import re
import zipfile

import numpy as np
import pytest

from cbe_bench.core.errors import InputError
from cbe_bench.encoders import encoder_classes, load_encoder, make_encoder
from cbe_bench.encoders.saving import _CHECKSUM, _HEAD, _checksum

NAMES = list(encoder_classes())
D, K = 24, 40
WRONG_VALUES = [None, -1, 0, 1, 10**6, 10**15, 10**30, 1.5, float("nan"), float("inf"), "", "x", True, [], [1], {}]
DTYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "?", "f2", "c8", "U1", "S3", "M8[s]", ">f4", ">i8"]
MUTATIONS = 25
"""Of each method; with all methods and steps about a thousand."""

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def X(rng):
    return rng.standard_normal((50, D)).astype(np.float32)


def saved(name, X, path, **params):
    n_bits = K
    try:
        make_encoder(name, n_bits=K, **params).check_params(D)
    except InputError:
        n_bits = 16
    encoder = make_encoder(name, n_bits=n_bits, random_state=1, **params).fit(X)
    encoder.save(path)
    return encoder


def members(path):
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def signed(path, arrays, head=None):
    """Write a file whose checksum fits, as somebody would who means harm."""
    if head is not None:
        arrays[_HEAD] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    arrays.pop(_CHECKSUM, None)
    arrays[_CHECKSUM] = _checksum({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    np.savez(path, **arrays)


def mutated(rng, arrays):
    """Change one thing of a file's content: a value of its head, or a name, a shape, a type or a number of an array."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    head = json.loads(arrays[_HEAD].tobytes())
    names = [name for name in arrays if not name.startswith("__")]
    kind = rng.choice(["head", "params", "state", "head-name", "delete", "rename", "shape", "type", "value"])
    if kind in ("head", "head-name"):
        key = rng.choice(list(head))
        value = head.pop(key)
        head[key if kind == "head" else key + "x"] = WRONG_VALUES[rng.integers(len(WRONG_VALUES))]
        head[key] = {"cbe-opt": 1} if value == head.get(key) else head.get(key, value)
    elif kind in ("params", "state") or not names:
        part = head["params" if kind == "params" else "state"]
        part[rng.choice(list(part))] = WRONG_VALUES[rng.integers(len(WRONG_VALUES))]
    else:
        name = rng.choice(names)
        array = arrays.pop(name)
        if kind == "rename":
            arrays[rng.choice(["q_", "n_bits_", "_x", "fit", "encoder_.r_", "../x_"])] = array
        elif kind == "shape":
            shapes = [array[:0], array[..., :-1], array[None], array.reshape(-1), np.repeat(array, 2, 0), array[:1]]
            arrays[name] = shapes[rng.integers(len(shapes))]
        elif kind == "type":
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(DTYPES[rng.integers(len(DTYPES))])
        elif kind == "value":
            bad = [np.nan, np.inf, -np.inf] if array.dtype.kind == "f" else [np.iinfo(array.dtype).max]
            array.reshape(-1)[rng.integers(array.size)] = bad[rng.integers(len(bad))]
            arrays[name] = array
    return arrays, head


def refused_or_usable(path, X):
    """Load; what is not refused in one line encodes rows as any encoder does."""
    try:
        encoder = load_encoder(path)
    except InputError as error:
        assert "\n" not in str(error)
        assert str(error).startswith(str(path))
        assert len(str(error)) < 500
        return True
    codes = encoder.encode(np.zeros((3, encoder.n_features_in_), np.float32))
    assert codes.shape == (3, -(-encoder.n_bits_ // 8))
    return False


STEPS = [{}, {"precondition": "hadamard"}, {"center": True, "pca": True}]


@pytest.mark.parametrize("params", STEPS, ids=["plain", "preconditioned", "centred-pca"])
@pytest.mark.parametrize("name", NAMES)
def test_changed_content_with_a_fitting_checksum(name, params, X, tmp_path):
    path = tmp_path / "e.npz"
    saved(name, X, path, **params)
    arrays = members(path)
    rng = np.random.default_rng(NAMES.index(name))
    refused = 0
    for _ in range(MUTATIONS):
        signed(path, *mutated(rng, arrays))
        refused += refused_or_usable(path, X)
    assert refused > MUTATIONS / 2


@pytest.mark.parametrize("name", ["cbe-rand", "itq", "lsh"])
def test_any_changed_byte_is_noticed(name, X, tmp_path, rng):
    path = tmp_path / "e.npz"
    expected = saved(name, X, path).encode(X)
    content = path.read_bytes()
    for place in rng.integers(0, len(content), 60):
        path.write_bytes(content[:place] + bytes([content[place] ^ (1 << rng.integers(8))]) + content[place + 1 :])
        try:  # dates and attributes of a zip's directory are no content
            assert np.array_equal(load_encoder(path).encode(X), expected)
        except InputError as error:
            assert "\n" not in str(error)
    for length in rng.integers(0, len(content), 20):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="not a saved encoder"):
            load_encoder(path)


def test_files_larger_inside_than_outside_are_refused(X, tmp_path):
    path = tmp_path / "e.npz"
    saved("cbe-rand", X, path)
    arrays = members(path)
    np.savez_compressed(path, **arrays, padding_=np.zeros(10**7))
    with pytest.raises(InputError, match="compressed"):
        load_encoder(path)
    with zipfile.ZipFile(path, "w") as archive:  # an array that says it has a terabyte
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, array)
            content = file.getvalue()
            if name == "r_":
                content = re.sub(rb"\((\d+), 24\), \}  ", rb"(99999999999, 24), }", content)[: len(content)]
            archive.writestr(f"{name}.npy", content)
    with pytest.raises(InputError, match="not a saved encoder"):
        load_encoder(path)


def test_what_is_not_a_regular_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_encoder(tmp_path / "none.npz")
    with pytest.raises(InputError, match="not a regular file"):
        load_encoder(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="not a regular file"):
        load_encoder(tmp_path / "fifo")


def test_another_schema_is_refused_with_the_remedy(X, tmp_path):
    path = tmp_path / "e.npz"
    saved("cbe-rand", X, path)
    arrays = members(path)
    head = json.loads(arrays[_HEAD].tobytes())
    signed(path, arrays, head | {"schema": 99})
    with pytest.raises(InputError, match=r"schema 99.*fit and save it again"):
        load_encoder(path)
    signed(path, arrays, head | {"encoder": "cbe-rnd"})
    with pytest.raises(InputError, match="did you mean 'cbe-rand'"):
        load_encoder(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_array_of_a_method_is_declared(name, X):
    encoder = make_encoder(name, n_bits=16, random_state=0).fit(X)
    state = encoder._fitted_state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    fields = encoder._state_fields(D, {key: value.shape for key, value in arrays.items()})
    assert fields.keys() == state.keys()
    for key, field in fields.items():
        field.check(key, state[key])
