"""A file format added from outside the package: read, converted to and from, listed, through its entry point alone."""

import textwrap

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core import plugins
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats import open_features, readable_suffixes, registry

PLUGIN = """
from contextlib import contextmanager
import numpy as np
from cbe_bench.data.formats import reader, writer
from cbe_bench.data.formats.base import ArrayFeatures

class RawFeatures(ArrayFeatures):
    def _map(self):
        return np.fromfile(self.path, "<f8").reshape(-1, 3)

@reader(".raw3")
def open_raw(path, name, part):
    return RawFeatures(path, name)

@writer(".raw3")
@contextmanager
def write_raw(path, features):
    with path.open("wb") as file:
        yield lambda rows, first: file.write(rows.astype("<f8").tobytes())
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed package, as far as Python can see: a module and the metadata that names its entry point."""
    site = tmp_path / "site"
    installed = site / "raw_format-1.0.dist-info"
    installed.mkdir(parents=True)
    (site / "raw_format_plugin.py").write_text(textwrap.dedent(PLUGIN))
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: raw-format\nVersion: 1.0\n")
    entries = "[cbe_bench.formats]\nraw = raw_format_plugin\nbroken = no_such_module\n"
    (installed / "entry_points.txt").write_text(entries)
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.syspath_prepend(str(site))
    readable_suffixes()  # the package's own formats are registered before the registry is copied
    monkeypatch.setattr(registry, "_READERS", dict(registry._READERS))
    monkeypatch.setattr(registry, "_WRITERS", dict(registry._WRITERS))
    registry._import_formats.cache_clear()
    yield
    monkeypatch.undo()
    registry._import_formats.cache_clear()


def test_a_format_from_outside_works_everywhere(plugin, tmp_path, rng, caplog):
    X = rng.standard_normal((20, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    assert ".raw3" in readable_suffixes()
    assert "entry point broken of cbe_bench.formats cannot be loaded" in caplog.text
    for source, target in (("x.npy", "y.raw3"), ("y.raw3", "z.npy")):
        result = CliRunner().invoke(main, ["data", "convert", str(tmp_path / source), str(tmp_path / target)])
        assert result.exit_code == 0, result.output
    assert np.array_equal(np.load(tmp_path / "z.npy"), X)
    with open_features(tmp_path / "y.raw3") as features:
        assert np.array_equal(features.read(np.array([2, 7])), X[[2, 7]])
    (tmp_path / "x.raw4").touch()
    with pytest.raises(InputError, match=r"did you mean '\.raw3'\?.* allowed: .*\.raw3"):
        open_features(tmp_path / "x.raw4")
    (tmp_path / "cut.raw3").write_bytes(b"12345678")
    with pytest.raises(InputError, match=r"cut\.raw3: cannot be read as \.raw3 \(cannot reshape"):
        open_features(tmp_path / "cut.raw3")
