"""What every encoder promises, asked of every encoder in the registry."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import cbe_bench
from cbe_bench.core.errors import InputError
from cbe_bench.core.resources import Resources
from cbe_bench.encoders import Encoder, encoder_classes, load_encoder, make_encoder
from cbe_bench.encoders.registry import REGISTRY
from cbe_bench.kernels import parallel
from cbe_bench.kernels.bits import prefix

NAMES = list(encoder_classes())
D = 96
COMPILED_BYTES = 1 << 20
"""What loading compiled code may take, on first use."""
DRAWS_NOTHING = {"sh", "sign"}
LENGTHS = [1, 7, 8, 60, 96, 100, 200, None]

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*are computed and cut"),
    pytest.mark.filterwarnings("ignore:.*the training set varies in"),
]


def make(name, n_bits=None, **params):
    return make_encoder(name, n_bits=n_bits, random_state=5, **params)


def can(name, n_bits, d=D):
    """Whether the method has codes of this length: some have none longer than their vectors."""
    try:
        make(name, n_bits).check_params(d)
    except InputError:
        return False
    return True


def cases(lengths, dims=(D,)):
    """Every method with every length of code that it has."""
    return [(name, d, n_bits) for name in NAMES for d in dims for n_bits in lengths if can(name, n_bits, d)]


def rounding(X, encoder):
    """Bound the rounding error of single-precision projections: d u times the largest norms, u = 2^-24."""
    return X.shape[1] * 2.0**-24 * np.linalg.norm(X, axis=1).max() * np.abs(encoder.project(X)).max()


@pytest.fixture
def X(rng):
    X = rng.standard_normal((70, D)).astype(np.float32)
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("name", NAMES)
def test_is_a_scikit_learn_estimator(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(make(name, n_bits=16 if can(name, 16, d=1) else 1))


@pytest.mark.parametrize("name, d, n_bits", cases(LENGTHS))
def test_codes_are_the_packed_signs_of_the_projection(name, d, n_bits, X):
    encoder = make(name, n_bits).fit(X)
    k = n_bits or d
    values, codes = encoder.project(X), encoder.encode(X)
    assert values.shape == (70, k)
    assert values.dtype == np.float32
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, np.packbits(values >= 0, axis=1, bitorder="little"))
    assert np.array_equal(encoder.transform(X), np.where(values >= 0, 1, -1))


@pytest.mark.parametrize("name", NAMES)
def test_double_precision_on_request(name, X):
    encoder = make(name, 80).fit(X)
    single, double = encoder.project(X), encoder.project(X.astype(np.float64))
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-4 * np.abs(double).max())


@pytest.mark.parametrize("d", [1, 2, 13, 50, 128])
@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_features(name, d, rng):
    X = rng.standard_normal((20, d)).astype(np.float32)
    for n_bits in (n_bits for n_bits in (1, d, 2 * d + 3) if can(name, n_bits, d)):
        assert make(name, n_bits).fit(X).project(X).shape == (20, n_bits)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_code_other_seed_other_code(name, X):
    one, two = (make(name, 64).fit(X).encode(X) for _ in range(2))
    other = make_encoder(name, n_bits=64, random_state=6).fit(X).encode(X)
    assert np.array_equal(one, two)
    assert name in DRAWS_NOTHING or np.mean(np.unpackbits(one ^ other)) > 0.1


@pytest.mark.filterwarnings("ignore::cbe_bench.encoders.diagnostics.CodeWarning")
@pytest.mark.parametrize("name, d, n_bits", cases([64, 100], dims=[60, 64, 777]))
def test_codes_do_not_depend_on_batches_or_threads(name, d, n_bits, rng):
    X = rng.standard_normal((601, d)).astype(np.float32)
    encoder = make(name, n_bits).fit(X)
    with parallel.threads(1):
        whole = encoder.encode(X)
    for size in (2, 31, 300):
        with parallel.threads(2):
            pieces = [encoder.encode(X[part]) for part in parallel.slices(len(X), size)]
        assert np.array_equal(np.concatenate(pieces), whole)
    assert np.array_equal(np.concatenate([encoder.encode(row[None]) for row in X[:20]]), whole[:20])


@pytest.mark.parametrize("name", [name for name in NAMES if make_encoder(name).nested])
def test_nested_codes_begin_with_shorter_codes(name, X):
    longest = make(name, 200 if can(name, 200) else D).fit(X)
    for n_bits in (n_bits for n_bits in (1, 33, 96, 150) if can(name, n_bits)):
        shorter = make(name, n_bits).fit(X)
        assert np.array_equal(shorter.encode(X), prefix(longest.encode(X), n_bits))
        np.testing.assert_allclose(shorter.project(X), longest.project(X)[:, :n_bits], atol=rounding(X, longest))


@pytest.mark.parametrize("name, d, n_bits", cases([60, 200]))
def test_save_load_pickle_and_clone(name, d, n_bits, X, tmp_path):
    encoder = make(name, n_bits).fit(X)
    codes = encoder.encode(X)
    encoder.save(tmp_path / "encoder.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.npz"]
    loaded = load_encoder(tmp_path / "encoder.npz")
    assert type(loaded) is type(encoder)
    assert np.array_equal(loaded.encode(X), codes)
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).encode(X), codes)
    assert np.array_equal(clone(encoder).fit(X).encode(X), codes)


@pytest.mark.parametrize("name", NAMES)
def test_saves_what_scikit_learn_users_have(name, X, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(D)])
    encoder = make(name, np.int64(60)).fit(frame)
    encoder.save(tmp_path / "e.npz")
    loaded = load_encoder(tmp_path / "e.npz")
    assert np.array_equal(loaded.encode(frame), encoder.encode(frame))
    assert list(loaded.feature_names_in_) == list(frame.columns)


@pytest.mark.parametrize("name", NAMES)
def test_works_in_a_pipeline(name, X):
    signs = make_pipeline(StandardScaler(), make(name, 32)).fit_transform(X)
    assert signs.shape == (70, 32)
    assert set(np.unique(signs)) == {-1, 1}


@pytest.mark.parametrize("name", NAMES)
def test_hamming_distance_tracks_the_angle(name, rng):
    """E[Hamming/k] = angle/pi; averaged over pairs and seeds to within four standard errors of an LSH."""
    d, k, seeds = 128, 128, 40
    if encoder_classes()[name].data_dependent or name in DRAWS_NOTHING:
        pytest.skip("codes that are not random follow their data instead")
    for angle in (np.pi / 6, np.pi / 3, np.pi / 2):
        basis = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        pair = np.stack([basis[0], np.cos(angle) * basis[0] + np.sin(angle) * basis[1]]).astype(np.float32)
        shares = []
        for seed in range(seeds):
            signs = make_encoder(name, n_bits=k, random_state=seed).fit(pair).transform(pair)
            shares.append(np.mean(signs[0] != signs[1]))
        error = np.std(shares, ddof=1) / np.sqrt(seeds)
        assert abs(np.mean(shares) - angle / np.pi) < 4 * error + 1e-3


@pytest.mark.parametrize("times_d", [1 / 64, 1, 2.2])
@pytest.mark.parametrize("name", NAMES)
def test_memory_estimate_covers_what_is_allocated(name, times_d, rng):
    d = 1024 if "n_iter" in make(name).get_params() else 4096  # rounds of learning may take d^3 operations
    encoder = make(name, int(times_d * d))
    if not can(name, encoder.n_bits, d):
        pytest.skip("has no codes of this length")
    X = rng.standard_normal((4, d)).astype(np.float32)
    estimate = encoder.memory_bytes(d)
    tracemalloc.start()
    encoder.fit(X).encode(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 <= encoder.parameter_bytes() < peak <= estimate + COMPILED_BYTES
    assert encoder.cost_estimate(d) > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_bits", [0, -3, 2.5, "many"])
def test_bad_n_bits_is_told(name, n_bits, X):
    with pytest.raises(InputError, match="n_bits"):
        make(name, n_bits).fit(X)


def test_public_names_and_registry_agree():
    assert cbe_bench.CBERand is encoder_classes()["cbe-rand"]
    assert {"CBERand", "HD3", "load_encoder", "make_encoder"} <= set(dir(cbe_bench))
    with pytest.raises(AttributeError):
        _ = cbe_bench.NoSuchEncoder
    with pytest.raises(InputError, match="did you mean 'cbe-rand'"):
        make_encoder("cbe-rnd")
    with pytest.raises(InputError, match=r"no parameter 'row'.*did you mean 'rows'"):
        make_encoder("cbe-rand", row="first")


@pytest.mark.parametrize("name", NAMES)
def test_output_is_a_table_where_scikit_learn_is_asked_for_one(name, X):
    encoder = make(name, 24).set_output(transform="pandas").fit(X)
    frame = encoder.transform(X)
    assert list(frame.columns) == list(encoder.get_feature_names_out())
    assert frame.columns[7] == f"{type(encoder).__name__.lower()}7"
    assert np.array_equal(frame.to_numpy(), encoder.set_output(transform="default").transform(X))


@pytest.mark.parametrize("name", NAMES)
def test_memory_limit_decides_how_not_what(name, X):
    limited = make(name, 64).set_resources(Resources(threads=1, memory_bytes=1 << 20)).fit(X)
    assert np.array_equal(limited.encode(X), make(name, 64).fit(X).encode(X))
    assert "_resources" not in pickle.loads(pickle.dumps(limited)).__dict__


@pytest.mark.parametrize("call", ["fit", "project", "encode", "transform"])
def test_threads_are_those_of_the_encoder(call, X, monkeypatch):
    encoder, seen = make("lsh", 64).set_resources(Resources(threads=3)).fit(X), []
    part = "_fit" if call == "fit" else "_project"
    monkeypatch.setattr(type(encoder), "_encode", Encoder._encode)
    monkeypatch.setattr(type(encoder), part, lambda self, X, *others: seen.append(parallel.thread_count()) or X[:, :64])
    with parallel.threads(1):
        getattr(encoder, call)(X)
    assert set(seen) == {3}


PLUGIN = """
import numpy as np
from cbe_bench.encoders import Encoder

class Coordinates(Encoder):
    def _fit(self, X, y, rng):
        self.order_ = rng.permutation(X.shape[1] * -(-self.n_bits_ // X.shape[1]))[: self.n_bits_] % X.shape[1]

    def _project(self, X):
        return X[:, self.order_]
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A method of another package, with nothing but `_fit` and `_project`, installed after all others were found."""
    assert "coordinates" not in encoder_classes()
    (tmp_path / "other_package.py").write_text(PLUGIN)
    (tmp_path / "other_package-1.dist-info").mkdir()
    (tmp_path / "other_package-1.dist-info/METADATA").write_text("Name: other-package\nVersion: 1\n")
    entries = "[cbe_bench.encoders]\ncoordinates = other_package:Coordinates\nbroken = other_package:Missing\n"
    (tmp_path / "other_package-1.dist-info/entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(tmp_path)
    yield "coordinates"
    REGISTRY.pop("coordinates", None)


def test_a_method_of_another_package_keeps_the_whole_contract(plugin, rng, X, tmp_path, caplog):
    assert make_encoder("coordinates", n_bits=8).name == "coordinates"
    assert {"coordinates", "cbe-rand"} <= encoder_classes().keys()
    assert "entry point broken of cbe_bench.encoders cannot be loaded" in caplog.text
    test_is_a_scikit_learn_estimator(plugin)
    for n_bits in LENGTHS:
        test_codes_are_the_packed_signs_of_the_projection(plugin, D, n_bits, X)
    test_double_precision_on_request(plugin, X)
    test_same_seed_same_code_other_seed_other_code(plugin, X)
    test_save_load_pickle_and_clone(plugin, D, 60, X, tmp_path / "saved")
    test_works_in_a_pipeline(plugin, X)
    test_memory_estimate_covers_what_is_allocated(plugin, 1, rng)
    test_bad_n_bits_is_told(plugin, 0, X)
    test_output_is_a_table_where_scikit_learn_is_asked_for_one(plugin, X)
