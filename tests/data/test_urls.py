"""Feature files by URL: the same rows as from the disk, and what is refused, in one line."""

import io
import json

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench import CodeIndex, encode_file
from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import RemotePath
from cbe_bench.data.formats import open_features
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.opening import open_data

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def memory():
    """A file system of fsspec, empty."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def X(rng):
    return rng.standard_normal((1500, 24)).astype(np.float32)


def content(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def hdf5(**datasets):
    def write(file):
        with h5py.File(file, "w") as target:
            for name, values in datasets.items():
                target.create_dataset(name, data=values, chunks=True, compression="gzip")

    return content(write)


def parquet(X):
    import pyarrow
    import pyarrow.parquet

    column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), X.shape[1])
    table = pyarrow.table({"embedding": column, "label": np.arange(len(X))})
    return content(lambda file: pyarrow.parquet.write_table(table, file, row_group_size=400))


def put(memory, X):
    """Write X in every format that is read by URL and return where, and which part."""
    zarr = pytest.importorskip("zarr")
    memory.pipe_file("/d/x.npy", content(lambda file: np.save(file, X)))
    memory.pipe_file("/d/double.npy", content(lambda file: np.save(file, X.astype(np.float64))))
    memory.pipe_file("/d/x.h5", hdf5(features=X, labels=np.arange(len(X))))
    memory.pipe_file("/d/two.h5", hdf5(a=X, b=X[:, :3]))
    memory.pipe_file("/d/x.parquet", parquet(X))
    store = zarr.storage.FsspecStore.from_url
    zarr.create_array(store("memory://d/x.zarr"), shape=X.shape, dtype=X.dtype, chunks=(64, 20))[:] = X
    group = zarr.create_group(store("memory://d/group.zarr"))
    for name, values in (("a", X), ("b", X[:, :3])):
        group.create_array(name, shape=values.shape, dtype=X.dtype, chunks=(64, 20))[:] = values
    whole = ("x.npy", "double.npy", "x.h5", "x.parquet", "x.zarr")
    return [*((name, None) for name in whole), ("two.h5", "a"), ("group.zarr", "a")]


def test_rows_are_those_of_the_file_in_every_format(memory, X, rng):
    rows = np.sort(rng.choice(len(X), 300, replace=False))
    for name, part in put(memory, X):
        with open_features(f"memory://d/{name}", part=part) as features:
            assert (features.n_rows, features.n_features, features.name) == (*X.shape, name.partition(".")[0])
            assert np.array_equal(features.read(rows), X[rows]), name
            assert np.array_equal(features.read(np.arange(len(X))), X), name
            assert features.source == f"memory://d/{name}"
            labels = features.labels()
            assert labels is None or np.array_equal(labels, np.arange(len(X)))
            assert (labels is not None) == (name in ("x.h5", "x.parquet"))


def test_a_file_by_url_has_the_hash_of_the_file_itself_until_it_changes(memory, X, tmp_path):
    put(memory, X)
    for name in ("x.npy", "x.h5", "x.parquet"):
        (tmp_path / name).write_bytes(memory.cat_file(f"/d/{name}"))
        with open_features(tmp_path / name) as local, open_features(f"memory://d/{name}") as remote:
            assert local.content_hash() == remote.content_hash()
            before = remote.stamp()
    memory.pipe_file("/d/x.parquet", parquet(X + 1))
    with open_features("memory://d/x.parquet") as features:
        assert features.stamp() != before
        assert features.content_hash() != local.content_hash()


def test_a_file_by_http_is_known_by_what_the_server_says_of_it(memory, monkeypatch):
    """fsspec takes such files to be the same for ever."""
    memory.pipe_file("/d/x.npy", b"content")
    monkeypatch.setattr(type(memory), "ukey", lambda self, path: "the same")
    about, known = memory.info("/d/x.npy"), []
    for tag in ("one", "one", "two"):
        monkeypatch.setattr(type(memory), "info", lambda self, path, tag=tag: about | {"ETag": tag})
        known.append(RemotePath("memory://d/x.npy").stat())
    assert known[0] == known[1] != known[2]


def test_a_server_that_fails_is_one_line(memory, X, monkeypatch):
    put(memory, X)
    for name in ("x.npy", "x.zarr"):
        with open_features(f"memory://d/{name}") as features, monkeypatch.context() as patch:
            patch.setattr(RemotePath, "open", lambda self, mode: 1 / 0)
            with pytest.raises(InputError, match=f"^memory://d/{name}: cannot be read"):
                features.content_hash()


def test_a_url_in_a_configuration_is_named_before_it_is_reached(tmp_path, monkeypatch):
    """Someone else may have written the configuration."""
    said = []
    monkeypatch.setattr(RemotePath, "exists", lambda self: said.append("reached"))
    data = {"name": "x", "file": "memory://d/x.npy", "dim": 25_600, "synthetic": True}
    config = load_config("flickr", "smoke", [f"data={json.dumps(data)}"])
    open_data(config, said.append)
    assert said[:2] == ["reading memory://d/x.npy over the network", "reached"]


def test_file_urls_are_local_paths(X, tmp_path):
    np.save(tmp_path / "a b.npy", X)
    with open_features((tmp_path / "a b.npy").as_uri()) as features:
        assert np.array_equal(features.read(np.arange(9)), X[:9]) and features.source == str(tmp_path / "a b.npy")


def test_codes_of_a_url_are_those_of_the_file(memory, X, tmp_path):
    put(memory, X)
    (tmp_path / "x.npy").write_bytes(memory.cat_file("/d/x.npy"))
    for source, out in (("memory://d/x.npy", "url.h5"), (tmp_path / "x.npy", "file.h5")):
        encode_file(source, tmp_path / out, method="cbe-opt", n_bits=24)
    assert (tmp_path / "url.h5").read_bytes() == (tmp_path / "file.h5").read_bytes()
    with CodeIndex.open(tmp_path / "url.h5") as index:
        by_url, by_array = (index.search(X[:5] + 1, 3, rerank=one) for one in ("memory://d/x.parquet", X))
    assert np.array_equal(by_url.ids, by_array.ids)


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_every_verb_takes_urls(memory, X, tmp_path, monkeypatch, png_only):
    monkeypatch.chdir(tmp_path)
    put(memory, X)
    memory.pipe_file("/d/asked.npy", content(lambda file: np.save(file, X[:40] + 1)))
    url, asked = "memory://d/x.npy", "memory://d/asked.npy"
    for arguments in (
        ("encode", url, "-o", "c.h5", "--method", "lsh"),
        ("search", "c.h5", asked, "-o", "found.npy", "--rerank", url, "-k", 3),
        ("recommend", url, "--queries", asked, "--methods", "lsh", "--bits", 16, "--at", 10),
        ("data", "check", url),
        ("data", "info", url),
        ("data", "convert", url, "copy.npy"),
    ):
        code, text = run(*arguments)
        assert code == 0, (arguments, text)
    assert np.array_equal(np.load("copy.npy"), X)
    small = [f"--set={one}" for one in ("n_bits=[16]", "seeds=[0]", "fixed=[bits]", "encoders=[lsh]")]
    code, text = run("run", "flickr", "--scale", "smoke", "--set", f"data.file={url}", *small)
    assert code == 0 and "reading memory://d/x.npy over the network" in text, text
    stored = json.loads((tmp_path / "results/smoke/x/experiment.json").read_text())
    assert stored["config"]["data"]["file"] == url
    assert not (tmp_path / "memory:").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode", "memory://d/none.npy", "-o", "c.h5"], "memory://d/none.npy: no such file"),
        (["encode", "memory://d/x.csv", "-o", "c.h5"], "only .h5, .hdf5, .npy, .parquet, .zarr are read by URL"),
        (["encode", "nowhere://d/x.npy", "-o", "c.h5"], "nowhere://d/x.npy: fsspec cannot reach it"),
        (["encode", "simplecache::memory://d/x.npy", "-o", "c.h5"], "leads to another place"),
        (["encode", "reference://d/x.zarr", "-o", "c.h5"], "leads to another place"),
        (["encode", "https://me:secret@d/x.npy", "-o", "c.h5"], "https:// with a password: give credentials"),
        (["encode", "zip::https://me:secret@d/x.npy", "-o", "c.h5"], "with a password: give credentials"),
        (["encode", "memory://[d/x.npy", "-o", "c.h5"], "memory://[d/x.npy: no such file"),
        (["encode", "memory://d/x.npy", "-o", "s3://d/c.h5"], "only feature files are read by URL"),
        (["search", "s3://d/c.h5", "q.npy", "-o", "f.npy"], "only feature files are read by URL"),
        (["encode", "memory://d/cut.npy", "-o", "c.h5"], "the values announced"),
        (["encode", "memory://d/cut.h5", "-o", "c.h5"], "cut.h5: cannot be read as HDF5"),
        (["encode", "memory://d/cut.parquet", "-o", "c.h5"], "cut.parquet: cannot be read as .parquet"),
        (["run", "flickr", "--set", "data.file=memory://d/none.npy"], "memory://d/none.npy: no such file"),
    ],
)
def test_what_cannot_be_read_is_one_line(memory, X, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    put(memory, X)
    for name in ("x.npy", "x.h5", "x.parquet"):
        memory.pipe_file(f"/d/cut{name[1:]}", memory.cat_file(f"/d/{name}")[:5000])
    code, text = run(*arguments)
    assert code == 2 and message in text and text.count("\n") == 1 and "secret" not in text, text
    assert not [path for path in tmp_path.iterdir() if path.name != "results"]


def test_without_fsspec_one_line_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r"^memory://d/x.npy: needs fsspec: pip install 'cbe-bench\[fsspec\]'$"):
        open_features("memory://d/x.npy")


def test_a_file_names_no_other_place(memory, X, tmp_path):
    """An HDF5 file by URL is as closed as one on the disk: links in it are not followed."""

    def linked(file):
        with h5py.File(file, "w") as target:
            target["features"] = h5py.ExternalLink("memory://d/x.h5", "features")

    memory.pipe_file("/d/link.h5", content(linked))
    with pytest.raises(InputError, match="is a link to another place"):
        open_features("memory://d/link.h5")
