"""Configurations on features and with encoders: short forms, own files, and what cannot work."""

import datetime
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from cbe_bench import CBEOpt
from cbe_bench.core.config import SCALES
from cbe_bench.core.errors import InputError
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.evaluators.configs import config_folders, find_config, load_config
from cbe_bench.evaluators.opening import open_data
from cbe_bench.evaluators.retrieval.config import RetrievalConfig

FLICKR = Path(__file__).parents[2] / "configs" / "flickr.yaml"
GOOD = {
    "title": "A test",
    "experiment": "retrieval",
    "data": {"name": "toy", "file": "toy.h5", "dim": 64},
    "n_bits": [16, 32],
    "seeds": [0, 1],
    "encoders": ["cbe-rand", {"name": "cbe-rand", "label": "shuffled", "params": {"rows": "random"}}],
    "scales": {"smoke": {"data.keep_dims": 32, "n_bits": [8]}},
}


@pytest.fixture
def load(tmp_path):
    def load(content=GOOD, *overrides, scale="quick"):
        path = tmp_path / "toy.yaml"
        path.write_text(yaml.safe_dump(content))
        return load_config(path, scale, overrides)

    return load


def test_a_good_file(load):
    config = load()
    assert (config.name, config.n_bits, config.n_features) == ("toy", (16, 32), 64)
    assert RetrievalConfig.sizes["quick"].items() <= vars(config).items()
    assert [encoder.label for encoder in config.encoders] == ["cbe-rand", "shuffled"]


def test_any_key_can_be_overridden(load):
    config = load(
        GOOD, "encoders.shuffled.params={}", "encoders.cbe-rand.params.rows=random", "data.name=other", scale="smoke"
    )
    assert [encoder.params for encoder in config.encoders] == [{"rows": "random"}, {}]
    assert (config.data.name, config.data.keep_dims, config.n_bits) == ("other", 32, (8,))


def test_dimensions_kept_are_at_most_those_there_are(load):
    assert load(GOOD, "data.dim=20", scale="smoke").n_features == 20


def grid(*entries):
    return GOOD | {"encoders": list(entries)}


def test_a_grid_is_every_combination(load):
    config = load(grid({"name": "cbe-opt", "params": {"max_iter": 2}, "grid": {"lam": [0.5, 2], "n_train": [None, 9]}}))
    assert [(one.label, one.params, one.n_train) for one in config.encoders] == [
        ("lam = 0.5", {"max_iter": 2, "lam": 0.5}, None),
        ("lam = 0.5, n_train = 9", {"max_iter": 2, "lam": 0.5}, 9),
        ("lam = 2", {"max_iter": 2, "lam": 2}, None),
        ("lam = 2, n_train = 9", {"max_iter": 2, "lam": 2}, 9),
    ]
    (only,) = load(grid({"name": "cbe-opt", "label": "x", "grid": {"lam": [3]}})).encoders
    assert only.label == "x, lam = 3"
    (changed,) = load(grid({"name": "cbe-opt", "grid": {"lam": [0.5]}}), "encoders.lam = 0.5.params.lam=4").encoders
    assert changed.params == {"lam": 4}


def test_released_code_sets_the_baselines_as_they_were_run(load):
    entries = ["cbe-opt", {"name": "cbe-opt", "label": "ten", "params": {"max_iter": 10}}, "lsh"]
    entries += [{"name": "itq", "params": {"n_iter": 50}}, "aqbc", "sklsh"]
    config = load(grid(*entries) | {"protocol": "released-code"})
    found = {entry.label: config.params_of(entry) for entry in config.encoders}
    default = CBEOpt().max_iter
    assert found == {
        "cbe-opt": {"max_iter": default + 1},
        "ten": {"max_iter": 11},
        "lsh": {},
        "itq": {"n_iter": 6, "pca_rows": 1000},
        "aqbc": {"n_iter": 1},
        "sklsh": {"gamma": 1.0},
    }
    paper = load(grid(*entries))
    assert [paper.params_of(entry) for entry in paper.encoders] == [entry.params for entry in paper.encoders]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"name": "cbe-opt", "grid": {"lam": 3}}, "encoders.cbe-opt.grid: must map parameters to lists of values"),
        ({"name": "cbe-opt", "grid": {"lam": []}}, "encoders.cbe-opt.grid: must map parameters to lists of values"),
        ({"name": "cbe-opt", "grid": {"lam": [1, 1]}}, "encoders: lam = 1 given more than once"),
        ({"name": "cbe-opt", "grid": {"lam": [1]}, "params": 3}, "encoders.lam = 1.params: found 3; "),
        ({"name": "cbe-opt", "grid": {"lma": [1]}}, "encoders.lma = 1: encoder 'cbe-opt' has no parameter 'lma'; "),
    ],
)
def test_bad_grids(entry, expected, load):
    with pytest.raises(InputError, match=re.escape(expected)):
        load(grid(entry))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"n_bits": [8, 8]}, "n_bits: 8 given more than once"),
        ({"seeds": [True]}, "seeds.0: found True"),
        ({"seeds": [-1]}, "seeds.0: found -1; input should be greater than or equal to 0"),
        ({"encoders": ["lsh", "lsh"]}, "encoders: lsh given more than once"),
        ({"encoders": ["cbe-rnd"]}, "encoders.cbe-rnd: unknown encoder 'cbe-rnd'; did you mean 'cbe-rand'? allowed: "),
        ({"encoders": [{"name": "lsh", "params": {"stor": 1}}]}, "encoders.lsh: encoder 'lsh' has no parameter 'stor'"),
        ({"encoders": [{"name": "lsh", "params": {"name": 1}}]}, "encoders.lsh: encoder 'lsh' has no parameter 'name'"),
        ({"encoders": [{"name": "cbe-rand", "params": {"rows": "last"}}]}, "encoders.cbe-rand: "),
        ({"encoders": [{"name": "lsh", "params": {"n_bits": 3}}]}, "encoders.lsh: n_bits and random_state are set by"),
        (
            {"encoders": ["lsh", {"name": "lsh", "label": "x"}]},
            "encoders.x: the same method and parameters as encoders.lsh",
        ),
        ({"encoders": [{"name": "lsh", "params": {"store": datetime.date(2020, 1, 1)}}]}, "encoders.lsh.params: "),
        (
            {"encoders": [{"name": "itq", "n_train": 5000}]},
            "encoders.itq.n_train: found 5000; the training set has 600",
        ),
        ({"experiment": "retreival"}, "experiment: found 'retreival'; did you mean 'retrieval'"),
        ({"protocol": "papers"}, "protocol: found 'papers'; input should be 'paper' or 'released-code'"),
        ({"n_train": 20_000}, "n_train: found 20000; the database it is drawn from has 1000 rows"),
        ({"n_database": 50, "n_train": 10}, "n_database: found 50; n_neighbours and depth need at least 100 rows"),
        ({"data": {"name": "x", "dim": 4, "synthetic": False}}, "data.file: required where data.synthetic is false"),
    ],
)
def test_bad_content(change, expected, load):
    with pytest.raises(InputError) as raised:
        load(GOOD | change)
    assert re.match(rf".*toy\.yaml: {re.escape(expected)}", str(raised.value)), str(raised.value)


def test_a_file_asked_for_by_name_has_no_surrogate_and_gives_its_name(load):
    assert load().data.synthetic
    own = load(GOOD, "title=Mine", "data.file=some/mine.h5", "data.dim=40")
    assert not own.data.synthetic
    assert (own.name, own.title, own.data.name) == ("mine", "Mine", "mine")


def test_an_own_file_brings_its_dimensions_and_code_lengths_follow(tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((5, 96), np.float32))
    file = f"data.file={tmp_path / 'mine.npy'}"
    config = load_config(FLICKR, "quick", [file])
    assert (config.name, config.data.dim, config.n_bits) == ("mine", 96, (12, 24, 48, 96, 192, 384, 512))
    assert load_config(FLICKR, "quick", [file, "n_bits=[7]"]).n_bits == (7,)
    assert load_config(FLICKR, "smoke", [file]).n_bits == config.n_bits
    fewer = load_config(FLICKR, "quick", [file, "data.keep_dims=48"])
    assert (fewer.n_features, fewer.n_bits) == (48, (6, 12, 24, 48, 96, 192, 512))
    with pytest.raises(InputError, match="no such file"):
        load_config(FLICKR, "quick", [f"data.file={tmp_path / 'none.npy'}"])


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_all_rows_of_an_own_file_are_used_and_centred(scale, tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((12_000, 96), np.float32))
    file = f"data.file={tmp_path / 'mine.npy'}"
    config = load_config(FLICKR, scale, [file])
    assert (config.n_database >= 12_000, config.n_train, config.n_features) == (True, 10_000, 96)
    assert {entry.name for entry in config.encoders} >= {"sign", "itq", "cbe-opt", "lsh"}
    assert all(config.params_of(entry)["center"] for entry in config.encoders)
    by_name = {entry.name: entry for entry in config.encoders}
    assert config.lengths(by_name["itq"]) == [12, 24, 48, 96]
    assert config.lengths(by_name["cbe-opt"])[-1] == 512
    assert "itq at 192, 384, 512 bits" in config.lengths_left_out
    chosen = load_config(FLICKR, scale, [file, "center=false", "encoders=[cbe-rand]", "n_database=500"])
    assert (chosen.params_of(chosen.encoders[0]), chosen.n_database, chosen.n_train) == ({}, 500, 500)
    released = load_config(FLICKR, scale, [file, "protocol=released-code"])
    assert "center" not in released.params_of(by_name["lsh"]), "that protocol centres the features themselves"


def test_the_papers_protocol_does_not_centre():
    config = load_config(FLICKR, "quick")
    assert (config.center, config.data.own) == (False, False)
    assert not any("center" in config.params_of(entry) for entry in config.encoders)


def test_comparisons_with_and_without_centring_stay_as_they_are(tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((5, 96), np.float32))
    config = load_config(FLICKR.with_name("embeddings.yaml"), "quick", [f"data.file={tmp_path / 'mine.npy'}"])
    labels = {entry.label: config.params_of(entry) for entry in config.encoders}
    assert (labels["cbe-orth"], labels["cbe-orth, centred"]) == ({}, {"center": True})


def test_a_method_is_left_out_where_it_cannot_have_a_code_length(load):
    config = load(GOOD | {"n_bits": [32, 96], "encoders": ["lsh", "itq"]})
    assert [config.lengths(entry) for entry in config.encoders] == [[32, 96], [32]]
    with pytest.raises(InputError, match=r"encoders\.itq: itq: n_bits = 96; at most the number of features, 64"):
        load(GOOD | {"n_bits": [96], "encoders": ["itq"]})


@pytest.mark.parametrize("data", [{"dim": 0}, {"keep_dims": "many"}, {"keep_dims": 0}, {"dim": None}])
def test_an_own_file_for_a_bad_configuration(data, load, tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((5, 96), np.float32))
    content = GOOD | {"data": GOOD["data"] | data}
    if "keep_dims" in data:
        with pytest.raises(InputError, match=r"data\.keep_dims: found"):
            load(content, f"data.file={tmp_path / 'mine.npy'}")
    else:
        assert load(content, f"data.file={tmp_path / 'mine.npy'}").data.dim == 96


def test_features_are_those_of_the_file_or_a_surrogate(load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    features = open_data(load(), said.append)
    assert isinstance(features, SyntheticFeatures)
    assert (features.n_rows, features.n_features) == (1_200, 64)
    assert said == ["toy.h5 is absent: using a synthetic surrogate of the same shape"]
    np.save("toy.npy", np.ones((5, 64), np.float32))
    features = open_data(load(GOOD, "data={name: toy, file: toy.npy, dim: 64}"), said.append)
    assert (features.kind, features.n_rows, len(said)) == ("user", 5, 1)
    with pytest.raises(InputError, match=r"toy\.npy: has 64 dimensions; data\.dim says 32"):
        open_data(load(GOOD, "data={name: toy, file: toy.npy, dim: 32}"))
    with pytest.raises(InputError, match=r"toy\.h5: no such file"):
        open_data(load(GOOD, "data.synthetic=false"))


CONFIGS = sorted({path.stem for folder in config_folders() for path in folder.glob("*.yaml")})


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("scale", SCALES)
def test_configurations_of_the_suite_are_valid(name, scale):
    assert load_config(name, scale).name == name


def test_configurations_are_found_by_name_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config("flickr") == find_config("flickr.yaml") == find_config("configs/flickr.yaml") == FLICKR
    own = tmp_path / "configs" / "flickr.yaml"
    own.parent.mkdir()
    own.write_text("title: mine")
    assert find_config("configs/flickr.yaml").resolve() == find_config("flickr").resolve() == own
    with pytest.raises(InputError, match="no such configuration; did you mean 'flickr'"):
        find_config("flicker")
    with pytest.raises(InputError, match="no such configuration"):
        find_config(tmp_path / "other" / "configs" / "flickr.yaml")


def test_unknown_scales(load):
    with pytest.raises(InputError, match="scale: found 'smok'; did you mean 'smoke'"):
        load(GOOD, scale="smok")


def test_a_slow_method_is_run_with_fewer_seeds(load):
    config = load(grid("cbe-rand", {"name": "lsh", "n_seeds": 1}) | {"seeds": [4, 2]})
    assert [config.seeds_of(entry) for entry in config.encoders] == [(4, 2), (4,)]
