"""Zarr folders: both versions of the format, one of several arrays, encoded, and hostile ones in one line."""

import json
import os

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench import CodeIndex
from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats import open_features

zarr = pytest.importorskip("zarr")


@pytest.fixture
def X(rng):
    return rng.integers(-50, 50, (300, 7)).astype(np.float32)


def write(path, X, version=3, **options):
    array = zarr.create_array(
        store=str(path), shape=X.shape, dtype=X.dtype, zarr_format=version, **{"chunks": (64, 4), **options}
    )
    array[:] = X
    return path


FORMS = [
    {},
    {"version": 2},
    {"version": 2, "compressors": None},
    {"shards": (128, 8)},
    {"chunks": (1, 7)},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16", ">f8", "int8"])
def test_every_form_gives_the_same_rows(form, dtype, X, tmp_path):
    with open_features(write(tmp_path / "x.zarr", X.astype(dtype), **form)) as features:
        assert (features.n_rows, features.n_features) == X.shape
        for rows in (np.arange(300), np.array([0, 63, 64, 65, 200, 299]), np.arange(100, 180)):
            np.testing.assert_array_equal(features.read(rows), X[rows])
        known = features.content_hash()
    zarr.open_array(str(tmp_path / "x.zarr"))[5, 5] = 99
    with open_features(tmp_path / "x.zarr") as features:
        assert features.content_hash() != known


def test_one_of_several_arrays_is_selected(X, tmp_path):
    zarr.create_group(store=str(tmp_path / "x.zarr"))
    write(tmp_path / "x.zarr/left", X)
    with open_features(tmp_path / "x.zarr") as features:
        assert features.n_features == 7
    write(tmp_path / "x.zarr/right", 2 * X)
    with pytest.raises(InputError, match="found: left, right; choose with --dataset"):
        open_features(tmp_path / "x.zarr")
    with open_features(tmp_path / "x.zarr", part="right") as features:
        np.testing.assert_array_equal(features.read(np.arange(9)), 2 * X[:9])
    for part in ("..", "up", "../x.zarr/left"):
        with pytest.raises(InputError, match="no array"):
            open_features(tmp_path / "x.zarr", part=part)


def test_a_folder_is_described_and_encoded_as_a_file_is(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    write(tmp_path / "x.zarr", X)
    codes = []
    for name in ("x.npy", "x.zarr"):
        out = tmp_path / f"{name}.h5"
        words = ["encode", tmp_path / name, "-o", out, "--method", "lsh", "--bits", 64]
        result = CliRunner().invoke(main, list(map(str, words)))
        assert result.exit_code == 0, result.output
        with CodeIndex.open(out) as index:
            codes.append(index.file.read(0).copy())
    np.testing.assert_array_equal(*codes)
    shown = CliRunner().invoke(main, ["data", "info", str(tmp_path / "x.zarr")])
    assert shown.exit_code == 0 and "300 rows x 7 dimensions" in shown.output


def changed(path, **values):
    """Change metadata of an array of version 2."""
    metadata = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(metadata | values))


class Harmful:
    """Unpickled, it leaves a mark."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def hostile(tmp_path, X):
    for name in ("empty", "file", "json", "codec", "chunk", "shape", "deep", "fifo", "huge", "flat", "words", "nested"):
        path = tmp_path / f"{name}.zarr"
        if name not in ("empty", "file", "flat", "nested"):
            write(path, X, 2)
        yield name, path


def test_hostile_folders_end_in_one_line(X, tmp_path):
    import pickle

    paths = dict(hostile(tmp_path, X))
    paths["empty"].mkdir()
    paths["file"].write_bytes(b"x")
    (paths["json"] / ".zarray").write_text("[" * 100_000)
    changed(paths["codec"], filters=[{"id": "pickle"}], compressor=None)
    for chunk in paths["codec"].glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Harmful(tmp_path / "mark")))
    next(paths["chunk"].glob("[0-9]*")).write_bytes(b"\0" * 50)
    changed(paths["shape"], shape=[1 << 50, 7])
    changed(paths["deep"], shape=[300, "7"])
    os.mkfifo(paths["fifo"] / "9.9")
    changed(paths["huge"], chunks=[1 << 40, 7])
    write(paths["flat"], X[:, 0], chunks=(64,))
    changed(paths["words"], dtype="|O")
    write(paths["nested"], X, shards=(128, 8))
    text = (paths["nested"] / "zarr.json").read_text()
    (paths["nested"] / "zarr.json").write_text(text.replace('"crc32c"', '"numcodecs.pickle"'))
    reasons = {
        "codec": "'pickle' is not read",
        "nested": "'numcodecs.pickle' is not read",
        "fifo": "not a regular file",
    }
    reasons |= {"shape": "announces", "huge": "chunks of shape", "file": "not a folder", "flat": "has shape"}
    for name, path in paths.items():
        with pytest.raises(InputError, match=reasons.get(name)) as raised, open_features(path) as features:
            features.read(np.arange(300))
        assert "\n" not in str(raised.value) and str(path) in str(raised.value), name
    assert not (tmp_path / "mark").exists()
