"""Encoders on arrays of other libraries: array_api_strict, which allows no more than the standard, JAX, torch."""

import pickle
import warnings

import array_api_strict
import numpy as np
import pytest

from cbe_bench.core.errors import InputError
from cbe_bench.encoders import device as module
from cbe_bench.encoders import encoder_classes, load_encoder, make_encoder
from cbe_bench.encoders.device import takes_device_arrays
from cbe_bench.kernels.arrays import dtype_name, to_host

METHODS = [name for name, cls in encoder_classes().items() if takes_device_arrays(cls)]
FORMS = [(name, {}) for name in METHODS] + [
    *((name, {"rows": "strided"}) for name in ("cbe-rand", "cbe-orth", "cbe-opt")),
    ("cbe-orth", {"rows": "random"}),
    ("bilinear-rand", {"permute": False}),
    ("lsh", {"store": False}),
]
STEPS = [
    {"center": True},
    {"threshold": "median"},
    {"pca": True},
    {"precondition": "hadamard"},
    {"precondition": "hadamard-blocks", "center": True},
]

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*are computed and cut"),
    pytest.mark.filterwarnings("ignore::cbe_bench.encoders.diagnostics.CodeWarning"),
]


def _strict():
    # NumPy cannot read the arrays of this device: a copy to the host would be an error
    device = array_api_strict.Device("device1")
    return lambda X: array_api_strict.asarray(X, device=device)


def _jax():
    return pytest.importorskip("jax.numpy").asarray


def _torch():
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return lambda X: torch.tensor(np.array(X), device=device)


@pytest.fixture(params=[_strict, _jax, _torch], ids=["strict", "jax", "torch"])
def put(request):
    """Return a function that copies a NumPy array to a library."""
    return request.param()


@pytest.fixture
def X(rng):
    return rng.standard_normal((40, 96)).astype(np.float32)


def fitted(name, X, n_bits=None, **params):
    return make_encoder(name, n_bits=n_bits, random_state=3, **params).fit(X)


def rounding(encoder, X):
    """Bound the rounding of linear projections in single precision on either side: d u |a| |x| each, u = 2^-24."""
    origin = encoder.project(np.zeros((1, X.shape[1])))
    rows = np.linalg.norm(encoder.project(np.eye(X.shape[1])) - origin, axis=0)
    sizes = np.linalg.norm(X, axis=1)[:, None] * rows + np.abs(origin)
    return 2 * X.shape[1] * 2.0**-24 * sizes


def same_kind(found, like, dtype):
    assert type(found) is type(like)
    assert found.device == like.device
    assert dtype_name(found) == dtype
    return to_host(found)


def check(encoder, X, put):
    """Compare what an encoder returns for arrays of a library with that for NumPy arrays; return the flipped bits."""
    Y = put(X)
    expected, margin = encoder.project(X), rounding(encoder, X)
    values = same_kind(encoder.project(Y), Y, "float32")
    np.testing.assert_array_less(np.abs(values - expected), margin)
    codes = same_kind(encoder.encode(Y), Y, "uint8")
    np.testing.assert_array_equal(codes, np.packbits(values >= 0, axis=1, bitorder="little"))
    np.testing.assert_array_equal(same_kind(encoder.transform(Y), Y, "int8"), np.where(values >= 0, 1, -1))
    flipped = (values >= 0) != (expected >= 0)
    assert (np.abs(expected)[flipped] <= margin[flipped]).all()
    return int(flipped.sum())


@pytest.mark.parametrize(("name", "params"), FORMS)
def test_methods_project_and_encode_as_with_numpy(name, params, put, X):
    flips = sum(check(fitted(name, X, n_bits, **params), X, put) for n_bits in (20, 96, 203))
    assert flips <= 1, "of 12,760 bits"


@pytest.mark.parametrize("d", [1, 13, 128])
def test_any_number_of_features(d, put, rng):
    X = rng.standard_normal((20, d)).astype(np.float32)
    for name in METHODS:
        check(fitted(name, X), X, put)


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("name", ["cbe-opt", "lsh"])
def test_steps_around_a_method(name, steps, put, X, rng):
    encoder = fitted(name, rng.standard_normal((301, 96)).astype(np.float32) + 0.5, 24, **steps)
    assert check(encoder, X, put) <= 1


def test_double_precision_stays_double(X):
    put = _strict()
    for name in METHODS:
        encoder = fitted(name, X, 50)
        wide = X.astype(np.float64)
        found = same_kind(encoder.project(put(wide)), put(wide), "float64")
        np.testing.assert_allclose(found, encoder.project(wide), atol=1e-10)


def test_rows_pass_in_blocks(X, put, monkeypatch):
    encoder = fitted("cbe-rand", X)
    whole, codes = to_host(encoder.project(put(X))), to_host(encoder.encode(put(X)))
    monkeypatch.setattr(module, "_VALUES", 7 * 96)
    np.testing.assert_allclose(to_host(encoder.project(put(X))), whole, atol=1e-4)
    assert np.unpackbits(to_host(encoder.encode(put(X))) ^ codes).sum() <= 1


def test_other_types_and_sizes(X, put):
    encoder = fitted("hd3", X)
    whole = np.rint(10 * X)
    np.testing.assert_array_equal(to_host(encoder.encode(put(whole.astype(np.int16)))), encoder.encode(whole))
    assert encoder.encode(put(X[:0])).shape == (0, 12)
    assert encoder.project(put(X[:0])).shape == (0, 96)
    large = X * np.float32(2.0**70)
    if dtype_name(put(np.zeros(1))) == "float64":
        found = same_kind(encoder.project(put(large)), put(large), "float32")
        np.testing.assert_allclose(found, encoder.project(large), rtol=1e-3, atol=1e17)
    else:
        with pytest.raises(InputError, match="too large"):
            encoder.encode(put(large))


@pytest.mark.parametrize("params", [{}, {"rows": "strided"}, {"mu": 0.5}, {"n_bits": 150}, {"lam": np.inf}], ids=str)
def test_cbe_opt_learns_the_same_where_the_data_are(params, put, rng):
    X, labels = rng.standard_normal((300, 96)).astype(np.float32), rng.integers(0, 4, 300)
    params = {"n_bits": 24, "random_state": 0, "max_iter": 3} | params
    expected = make_encoder("cbe-opt", **params).fit(X, labels)
    found = make_encoder("cbe-opt", **params).fit(put(X), put(labels))
    assert isinstance(found.r_, np.ndarray)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-4)
    np.testing.assert_allclose(found.r_, expected.r_, atol=1e-4 * np.abs(expected.r_).max())


@pytest.mark.parametrize("steps", [{}, *STEPS[:2], *STEPS[3:]], ids=str)
@pytest.mark.parametrize("name", ["cbe-rand", "cbe-opt"])
def test_fitting_where_the_data_are(name, steps, put, X, rng):
    train = rng.standard_normal((201, 96)).astype(np.float32) + 0.5
    params = {"n_bits": 24, "random_state": 0, **steps} | ({"max_iter": 1} if name == "cbe-opt" else {})
    expected, found = make_encoder(name, **params).fit(train), make_encoder(name, **params).fit(put(train))
    assert found.n_features_in_ == 96
    np.testing.assert_allclose(found.project(X), expected.project(X), atol=1e-4 * np.abs(expected.project(X)).max())


def test_what_cannot_be_fitted_there_says_so(X, put):
    for encoder in (make_encoder("bilinear-opt"), make_encoder("cbe-rand", pca=True)):
        with pytest.raises(InputError, match=r"fit takes no array of .*; fit it to a NumPy array"):
            encoder.fit(put(X))
    with pytest.raises(InputError, match="a training set needs rows"):
        make_encoder("cbe-rand").fit(put(X[:0]))


def test_a_method_that_takes_no_such_arrays_names_those_that_do(X, put):
    with pytest.raises(InputError, match=r"^itq: takes no array of \w+, only NumPy's; .*cbe-opt, cbe-orth, cbe-rand"):
        fitted("itq", X, 8).encode(put(X))
    assert set(METHODS) == {"bilinear-opt", "bilinear-rand", "cbe-opt", "cbe-orth", "cbe-rand", "hd3", "lsh"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.astype(np.complex64), "X holds complex64; real numbers"),
        (lambda X: X > 0, "X holds bool; real numbers"),
        (lambda X: X[0], "X has 1 dimensions"),
        (lambda X: X[:, :5].copy(), "X has 5 features, but CBERand is expecting 96"),
        (lambda X: np.where(X > 1, np.float32(np.nan), X), "X holds NaN or infinity"),
        (lambda X: np.where(X > 1, np.float32(np.inf), X), "X holds NaN or infinity"),
    ],
)
def test_bad_arrays_get_one_line(change, message, X, put):
    encoder = fitted("cbe-rand", X)
    for call in (encoder.encode, encoder.project, encoder.transform):
        with pytest.raises(InputError, match=message) as error:
            call(put(change(X)))
        assert "\n" not in str(error.value)


def test_unfitted_encoders_say_so(X, put):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        make_encoder("cbe-rand").encode(put(X))


def test_parameters_are_copied_once_and_never_saved(X, put, tmp_path, monkeypatch):
    encoder = fitted("lsh", X, 64, store=False).to_device(put(X))
    drawn = []
    monkeypatch.setattr(type(encoder), "_draw", lambda self, first, stop: drawn.append(first))
    encoder.encode(put(X))
    assert not drawn
    monkeypatch.undo()
    assert not pickle.loads(pickle.dumps(encoder)).__dict__.get("_device_copies")
    encoder.save(tmp_path / "e.npz")
    loaded = load_encoder(tmp_path / "e.npz")
    np.testing.assert_array_equal(to_host(loaded.encode(put(X))), to_host(encoder.encode(put(X))))
    assert encoder.to_device("cpu")._copies() == {}
    np.testing.assert_array_equal(encoder.encode(X), loaded.encode(X))


def test_a_new_fit_replaces_the_copies(X, put):
    encoder = fitted("cbe-rand", X)
    before = to_host(encoder.encode(put(X)))
    encoder.set_params(random_state=4).fit(X)
    after = to_host(encoder.encode(put(X)))
    assert np.mean(np.unpackbits(before ^ after)) > 0.1
    assert np.unpackbits(after ^ encoder.encode(X)).sum() <= 1


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("jxa", r"unknown device 'jxa'; did you mean 'jax'\? allowed: "),
        ("array_api_strict:moon", r"device 'array_api_strict:moon': no device found \("),
        ("jax:gpu:77", r"device 'jax:gpu:77': (no device found|jax is not installed)"),
        ("cuda:77", r"device 'cuda:77': (no device found|torch is not installed)"),
        (None, "to_device takes the name of a device or an array on it, found None"),
    ],
)
def test_unknown_devices(device, message, X):
    with pytest.raises(InputError, match=message) as error:
        fitted("cbe-rand", X).to_device(device)
    assert "\n" not in str(error.value)


def test_a_device_by_name(X):
    encoder = fitted("cbe-rand", X).to_device("array_api_strict:device2")
    assert len(encoder._copies()) == 1
    Y = array_api_strict.asarray(X, device=array_api_strict.Device("device2"))
    assert encoder.encode(Y).device == Y.device
    assert len(encoder._copies()) == 1


def test_a_device_that_takes_no_parameters(X, put, monkeypatch):
    def full(*args, **kwargs):
        raise RuntimeError("out of memory\nand much more")

    encoder = fitted("cbe-rand", X)
    monkeypatch.setattr(encoder, "_device_state", full, raising=False)
    with pytest.raises(InputError, match=r"cannot be copied to device .* of \w+: out of memory$"):
        encoder.encode(put(X))


def test_codes_compiled_by_jax(X):
    jax = pytest.importorskip("jax")
    encoder = fitted("cbe-orth", X, 50)
    encode = jax.jit(lambda rows: encoder.encode(rows, check_input=False))
    with pytest.raises(InputError, match="call to_device before jax compiles"):
        encode(jax.numpy.asarray(X))
    encoder.to_device("jax")
    assert np.unpackbits(np.asarray(encode(jax.numpy.asarray(X))) ^ encoder.encode(X)).sum() <= 1
    with pytest.raises(InputError, match="cannot be read"):
        jax.jit(encoder.encode)(jax.numpy.asarray(X))


def test_torch_tensors_without_values(X):
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="'meta' of torch cannot be read"):
        fitted("cbe-rand", X).encode(torch.tensor(X, device="meta"))


def test_numpy_keeps_its_kernels(X, monkeypatch):
    monkeypatch.setattr(module.DeviceEncoder, "_state_at", lambda self, place: 1 / 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in METHODS:
            assert isinstance(fitted(name, X).encode(X), np.ndarray)
