"""Every way a configuration can be wrong, told with the file and the key."""

import datetime
from pathlib import Path

import numpy as np
import pytest
import yaml
from cbe_bench.config import RetrievalConfig, load_config

from cbe_bench.core.errors import InputError

CONFIGS = Path(__file__).parents[1] / "configs"
FLICKR = CONFIGS / "flickr.yaml"

GOOD = {
    "title": "A test",
    "experiment": "retrieval",
    "data": {"name": "toy", "file": "toy.h5", "dim": 64},
    "bits": [16, 32],
    "seeds": [0, 1],
    "encoders": ["cbe-rand", {"name": "cbe-rand", "label": "shuffled", "params": {"rows": "random"}}],
    "scales": {"smoke": {"data.keep_dims": 32, "bits": [8]}},
}


def write(tmp_path, text):
    path = tmp_path / "toy.yaml"
    path.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
    return path


def test_a_good_file(tmp_path):
    config = load_config(write(tmp_path, GOOD), "quick")
    assert config.name == "toy"
    assert config.bits == (16, 32)
    assert RetrievalConfig.sizes["quick"].items() <= vars(config).items()
    assert [encoder.label for encoder in config.encoders] == ["cbe-rand", "shuffled"]
    assert config.n_features == 64


def test_scales_and_overrides_in_order(tmp_path):
    path = write(tmp_path, GOOD | {"queries": 30})
    config = load_config(path, "smoke", ["bits=[4]", "data.name=other", "encoders.1.label=x", "database=700"])
    assert config.queries == 30, "the file's keys come before the scale's sizes"
    assert config.data.keep_dims == 32
    assert (config.bits, config.data.name, config.encoders[1].label) == ((4,), "other", "x")
    assert config.database == 700


def test_a_file_asked_for_by_name_has_no_stand_in_and_gives_its_name(tmp_path):
    path = write(tmp_path, GOOD)
    assert load_config(path).data.stand_in
    own = load_config(path, overrides=["title=Mine", "data.file=some/mine.h5", "data.dim=40"])
    assert not own.data.stand_in
    assert (own.name, own.title, own.data.name) == ("mine", "Mine", "mine")


def test_any_key_can_be_overridden(tmp_path):
    overrides = ["encoders.0.params.rows=random", "encoders.1.params={}", "scales.smoke.bits=[4]"]
    config = load_config(write(tmp_path, GOOD), "smoke", overrides)
    assert config.encoders[0].params == {"rows": "random"}
    assert config.bits == (4,)


def test_dimensions_kept_are_at_most_those_there_are(tmp_path):
    assert load_config(write(tmp_path, GOOD), "smoke", ["data.dim=20"]).n_features == 20


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIGS.glob("*.yaml")))
@pytest.mark.parametrize("scale", list(RetrievalConfig.sizes))
def test_our_configurations_are_valid(name, scale):
    load_config(CONFIGS / f"{name}.yaml", scale)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"bit": [3]}, r"bit: unknown key; did you mean 'bits'\?"),
        ({"data": {"name": "x", "dim": 4, "fiel": "x"}}, r"data\.fiel: unknown key; did you mean 'file'\?"),
        (
            {"encoders": [{"name": "lsh", "param": {}}]},
            r"encoders\.0\.param: unknown key; did you mean 'params'\?",
        ),
        ({"data": {"name": "x"}}, r"data\.dim: this key is required"),
        ({"bits": [16, "many"]}, r"bits\.1: found 'many'; input should be a valid integer"),
        ({"bits": [16, 2.5]}, r"bits\.1: found 2\.5; input should be a valid integer"),
        ({"bits": [0]}, r"bits\.0: found 0; input should be greater than 0"),
        ({"bits": []}, r"bits: .*at least 1 item"),
        ({"bits": [8, 8]}, r"bits: 8 given more than once"),
        ({"seeds": [True]}, r"seeds\.0: found True"),
        ({"seeds": [-1]}, r"seeds\.0: found -1; input should be greater than or equal to 0"),
        ({"encoders": ["lsh", "lsh"]}, r"encoders: lsh given more than once"),
        (
            {"encoders": ["cbe-rnd"]},
            r"encoders\.0: unknown encoder 'cbe-rnd'; did you mean 'cbe-rand'\? allowed: .*lsh",
        ),
        ({"encoders": [{"name": "lsh", "params": {"stor": 1}}]}, r"encoders\.0: .*did you mean 'store'"),
        (
            {"encoders": [{"name": "cbe-rand", "params": {"rows": "last"}}]},
            r"encoders\.0: cbe-rand: rows = 'last'",
        ),
        (
            {"encoders": [{"name": "lsh", "params": {"n_bits": 3}}]},
            r"encoders\.0: n_bits and random_state are set by",
        ),
        ({"experiment": "retreival"}, r"experiment: found 'retreival'; did you mean 'retrieval'"),
        ({"protocol": "papers"}, r"protocol: found 'papers'; input should be 'paper' or 'released-code'"),
        ({"learn": 20_000}, r"learn: found 20000; the database it is drawn from has 2500 rows"),
        ({"database": 50, "learn": 10}, r"database: found 50; neighbours and depth need at least 100 rows"),
        ({"encoders": ["lsh", {"name": "lsh", "label": "again"}]}, r"encoders\.1: the same method and parameters as"),
        (
            {"encoders": [{"name": "lsh", "params": {"store": datetime.date(2020, 1, 1)}}]},
            r"encoders\.0\.params: .*date",
        ),
        ({"name": "../out"}, r"name: found '../out'"),
        ({"bits": 64}, r"bits: found 64; input should be a valid list"),
        ({"data": {"name": "x", "dim": 4, "stand_in": False}}, r"data\.file: required where"),
        ({"scales": {"smok": {}}}, r"scales\.smok: unknown scale; did you mean 'smoke'\?"),
        ({"scales": [1]}, r"scales: must map a scale"),
    ],
)
def test_bad_content_is_told_with_its_key(change, message, tmp_path):
    path = write(tmp_path, GOOD | change)
    with pytest.raises(InputError, match=rf"^{path}: {message}") as caught:
        load_config(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("bits: [1, 2", r"line 1: expected ',' or '\]'"),
        ("bits: [1]\nbits: [2]\n", "line 2: key 'bits' given twice"),
        ("just words", "must hold keys and values, found str"),
        ("", "must hold keys and values, found NoneType"),
        ("a: \x00", "not YAML"),
        ("a: 2020-13-45", "not YAML"),
        ("? [a]\n: 1", "line 1: keys are words"),
    ],
)
def test_bad_yaml_is_told(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load_config(write(tmp_path, text))


def test_missing_file_names_the_nearest(tmp_path):
    write(tmp_path, GOOD)
    with pytest.raises(InputError, match=r"tox\.yaml: no such file; did you mean '.*toy\.yaml'"):
        load_config(tmp_path / "tox.yaml")


@pytest.mark.parametrize(
    "override, message",
    [
        ("bits", "must be key=value"),
        ("bits=[1", "is not a YAML value"),
        ("data.name.x=1", "there is nothing under 'name'"),
        ("encoders.7.label=x", "there is nothing under '7'"),
        ("title=2020-13-45", "is not a YAML value"),
        ("bits.9=4", "there is no position '9'"),
        ("colour=red", "colour: unknown key"),
    ],
)
def test_bad_overrides_are_told(override, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load_config(write(tmp_path, GOOD), overrides=[override])


def test_an_own_file_brings_its_dimensions_and_bits_follow(tmp_path):
    np.save(tmp_path / "mine.npy", np.ones((5, 96), np.float32))
    file = f"data.file={tmp_path / 'mine.npy'}"
    config = load_config(FLICKR, "quick", [file])
    assert (config.name, config.data.dim, config.bits) == ("mine", 96, (12, 24, 48, 96))
    assert not config.data.stand_in
    assert load_config(FLICKR, "quick", [file, "bits=[7]"]).bits == (7,)
    assert load_config(FLICKR, "smoke", [file]).bits == (12, 24, 48, 96)
    with pytest.raises(InputError, match="no such file"):
        load_config(FLICKR, "quick", [f"data.file={tmp_path / 'none.npy'}"])
