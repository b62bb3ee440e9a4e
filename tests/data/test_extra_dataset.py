"""Data sets added from outside the package, through an entry point alone: YAML files, one with a class of its own."""

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core import plugins
from cbe_bench.core.errors import InputError
from cbe_bench.data import catalogue

MODULE = """
from pathlib import Path
import numpy as np
from cbe_bench.data.catalogue import Dataset

FOLDER = Path(__file__).parent / "sets"

class Ramp(Dataset):
    dims: int

    def build(self, build):
        values = np.arange((build.rows or self.rows) * self.dims, dtype=np.float32)
        np.save(build.out, values.reshape(-1, self.dims))
        build.progress(1.0)

    @property
    def file(self):
        return f"{self.name}.npy"
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed package with two data sets in a folder."""
    site = tmp_path / "site"
    installed = site / "more_sets-1.0.dist-info"
    installed.mkdir(parents=True)
    (site / "sets").mkdir()
    (site / "more_sets_plugin.py").write_text(MODULE)
    (site / "sets" / "ramp.yaml").write_text("type: more_sets_plugin:Ramp\ntitle: a ramp\nrows: 10\ndims: 4\n")
    (site / "sets" / "noise512.yaml").write_text("type: synthetic\ntitle: noise\nrows: 300\ndims: 512\n")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: more-sets\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[cbe_bench.datasets]\nmore = more_sets_plugin:FOLDER\n")
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.syspath_prepend(str(site))
    catalogue.datasets.cache_clear()
    yield
    monkeypatch.undo()
    catalogue.datasets.cache_clear()


def invoke(*args, code=0):
    result = CliRunner().invoke(main, ["data", *map(str, args)])
    assert result.exit_code == code, result.output
    return result.output


def test_data_sets_from_outside_work_everywhere(plugin, tmp_path):
    folder = ["--folder", tmp_path / "data"]
    listed = invoke("list", *folder)
    assert "\nramp " in listed
    assert "noise512" in listed
    invoke("make", "ramp", "--rows", 7, *folder)
    assert np.load(tmp_path / "data" / "ramp.npy").shape == (7, 4)
    invoke("make", "noise512", "--rows", 20, *folder)
    with h5py.File(tmp_path / "data" / "noise512.h5") as file:
        assert file["features"].shape == (20, 512)
    assert "did you mean 'noise512'?" in invoke("make", "noise51", *folder, code=2)
    assert catalogue.hint(tmp_path / "ramp.npy") == "; to make it: cbe-bench data make ramp"


@pytest.mark.parametrize(
    "text, message",
    [
        ("title: x", "needs the key type"),
        ("type: picture", "type: found 'picture'"),
        ("type: synthetic\ntitle: x\nrows: 0\ndims: 3", "rows: "),
        ("type: synthetic\ntitle: x\nrows: 3", "dims: "),
        ("type: synthetic\ntitle: x\nrows: 3\ndims: 3\nodd: 1", "odd: "),
    ],
)
def test_bad_descriptions_are_refused_in_one_line(text, message, tmp_path):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InputError, match=rf"x\.yaml: .*{message}") as refused:
        catalogue.load_dataset(tmp_path / "x.yaml")
    assert "\n" not in str(refused.value)


def test_shipped_data_sets_are_complete():
    known = catalogue.datasets()
    images = [found for found in known.values() if isinstance(found, catalogue.ImageSet)]
    assert len(images) == 4
    assert sum(isinstance(found, catalogue.VladSet) for found in known.values()) == 9
    assert {name for name, found in known.items() if found.kind == "synthetic"} >= {"flickr25600", "imagenet51200"}
    for found in images:
        assert found.n_classes == (345 if found.name == "quickdraw" else 10)
    for found in catalogue.fetched_sets().values():
        assert len(found.sha256) == 64
        assert all(len(package.sha256) == 64 for package in found.packages)
