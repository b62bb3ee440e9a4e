"""Feature files in every form, written here by hand, and what is said of damaged ones."""

import struct

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy import sparse

from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats import open_features
from cbe_bench.data.formats.convert import convert
from cbe_bench.data.formats.parquet_footer import read_footer
from cbe_bench.data.ground_truth import exact_neighbours, stated_neighbours
from cbe_bench.data.inspect import inspect
from cbe_bench.data.splits import PROTOCOLS, make_split
from cbe_bench.data.view import DatasetView


def write_fvecs(path, X):
    path.write_bytes(b"".join(struct.pack(f"<i{len(row)}f", len(row), *row) for row in X))


def write_bvecs(path, X):
    path.write_bytes(b"".join(struct.pack(f"<i{len(row)}B", len(row), *map(int, row)) for row in X))


def write_fbin(path, X):
    path.write_bytes(struct.pack("<II", *X.shape) + X.astype("<f4").tobytes())


def write_u8bin(path, X):
    path.write_bytes(struct.pack("<II", *X.shape) + X.astype("u1").tobytes())


def write_npy(path, X):
    np.save(path, X)


def write_fortran_npy(path, X):
    np.save(path, np.asfortranarray(X))


def write_h5(path, X):
    with h5py.File(path, "w") as file:
        file["features"] = X


def write_sparse_h5(path, X):
    matrix = sparse.csr_matrix(X)
    with h5py.File(path, "w") as file:
        group = file.create_group("features")
        group.attrs["shape"] = X.shape
        group["data"], group["indices"], group["indptr"] = matrix.data, matrix.indices, matrix.indptr


def write_sparse_npz(path, X):
    sparse.save_npz(path, sparse.csr_matrix(X))


def write_csc_npz(path, X):
    sparse.save_npz(path, sparse.csc_matrix(X))


def write_coo_npz(path, X):
    sparse.save_npz(path, sparse.coo_matrix(X.astype(np.int16)))


def write_dense_npz(path, X):
    np.savez(path, other=np.arange(3), vectors=X)


def write_compressed_npz(path, X):
    np.savez_compressed(path, only=np.asfortranarray(X))


def write_half_npy(path, X):
    np.save(path, X.astype(">f2"))


def write_csv(path, X):
    path.write_text("\n".join(",".join(map(str, row)) for row in X))


def write_named_csv(path, X):
    lines = [",".join(f"x{i}" for i in range(X.shape[1])), *(",".join(map(str, row)) for row in X.astype(int))]
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode())


def write_lists(path, X):
    table = pa.table({"id": pa.array(range(len(X))), "emb": pa.array(X.tolist(), pa.list_(pa.float64()))})
    pq.write_table(table, path, row_group_size=7)


def write_fixed_lists(path, X):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel().astype(np.float32)), X.shape[1])
    pq.write_table(pa.table({"vector": vectors, "label": pa.array(range(len(X)))}), path, row_group_size=10)


WRITERS = [
    ("x.fvecs", write_fvecs),
    ("x.bvecs", write_bvecs),
    ("x.fbin", write_fbin),
    ("x.u8bin", write_u8bin),
    ("x.npy", write_npy),
    ("f.npy", write_fortran_npy),
    ("x.h5", write_h5),
    ("s.h5", write_sparse_h5),
    ("x.npz", write_sparse_npz),
    ("c.npz", write_csc_npz),
    ("o.npz", write_coo_npz),
    ("d.npz", write_dense_npz),
    ("z.npz", write_compressed_npz),
    ("half.npy", write_half_npy),
    ("x.csv", write_csv),
    ("named.csv", write_named_csv),
    ("x.parquet", write_lists),
    ("y.PARQUET", write_fixed_lists),
]


@pytest.fixture
def whole_numbers(rng):
    return rng.integers(0, 4, (40, 12)).astype(np.float32)


@pytest.mark.parametrize("name, write", WRITERS, ids=lambda value: getattr(value, "__name__", value))
def test_every_form_gives_the_same_rows(name, write, whole_numbers, tmp_path):
    write(tmp_path / name, whole_numbers)
    with open_features(tmp_path / name) as features:
        assert (features.n_rows, features.n_features, features.kind) == (40, 12, "user")
        for rows in ([0], [39], [3, 4, 11, 12, 30], list(range(40))):
            got = features.read(np.array(rows))
            assert got.dtype == np.float32
            assert np.array_equal(got, whole_numbers[rows])
        assert "values" in features.describe()
        assert len(features.content_hash()) == 64


@pytest.mark.parametrize("target", ["h5", "npy", "fvecs", "bvecs", "fbin", "parquet", "npz", "csv"])
@pytest.mark.parametrize("name, write", [WRITERS[0], WRITERS[6], WRITERS[8], WRITERS[-1]], ids=lambda v: str(v)[:12])
def test_conversion_changes_no_value(name, write, target, whole_numbers, tmp_path, monkeypatch):
    monkeypatch.setattr("cbe_bench.data.formats.convert._BLOCK_BYTES", 7 * 4 * 12)
    write(tmp_path / name, whole_numbers)
    with open_features(tmp_path / name) as features:
        convert(features, tmp_path / f"out.{target}")
    with open_features(tmp_path / f"out.{target}") as features:
        assert np.array_equal(features.read(np.arange(40)), whole_numbers)


@pytest.mark.parametrize(
    "target, kept", [("h5", True), ("parquet", True), ("npz", True), ("csv", True), ("npy", False)]
)
def test_labels_travel_where_there_is_room(target, kept, whole_numbers, tmp_path):
    write_fixed_lists(tmp_path / "x.parquet", whole_numbers)
    with open_features(tmp_path / "x.parquet") as features:
        assert convert(features, tmp_path / f"out.{target}") is not kept
    with open_features(tmp_path / f"out.{target}") as features:
        assert np.array_equal(features.labels(), np.arange(40)) if kept else features.labels() is None


def labelled(path, labels, X):
    """Write features with labels, in a format that can hold them."""
    if path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["features"], file["labels"] = X, labels
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"emb": pa.array(X.tolist()), "label": pa.array(labels)}), path)
    elif path.suffix == ".npz":
        np.savez(path, features=X, labels=labels)
    else:
        lines = [",".join([str(label), *map(str, row)]) for label, row in zip(labels, X, strict=True)]
        path.write_text("\n".join([",".join(["label", *"abcdefghijkl"]), *lines]))
    return path


@pytest.mark.parametrize("suffix", [".h5", ".parquet", ".npz", ".csv"])
def test_labels_may_be_words(suffix, whole_numbers, tmp_path):
    words = ["cat", "dög"] * 20
    path = labelled(tmp_path / f"x{suffix}", words, whole_numbers)
    with open_features(path) as features:
        assert [str(label) for label in features.labels()] == words
        assert inspect(features).labels == {"cat": 20, "dög": 20}
        convert(features, tmp_path / "y.h5")
    with open_features(tmp_path / "y.h5") as features:
        assert [label.decode() for label in features.labels()] == words


def test_labels_of_other_types_are_refused(whole_numbers, tmp_path):
    bad = {
        "list.parquet": [[1]] * 40,
        "none.parquet": [1] * 39 + [None],
        "long.parquet": ["a" * 5000] * 40,
        "long.csv": ["a" * 5000] * 40,
        "complex.npz": np.zeros(40, complex),
    }
    for name, labels in bad.items():
        path = labelled(tmp_path / name, labels, whole_numbers)
        with open_features(path) as features, pytest.raises(InputError, match=rf"{name}: .*(label|row 39)"):
            features.labels()


def test_values_without_room_are_told_and_nothing_is_left(whole_numbers, tmp_path):
    whole_numbers[17, 3] = 0.5
    write_npy(tmp_path / "x.npy", whole_numbers)
    with open_features(tmp_path / "x.npy") as features, pytest.raises(InputError, match=r"row 17 holds values"):
        convert(features, tmp_path / "out.bvecs")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def spoiled(path, content):
    path.write_bytes(content)


def damaged(tmp_path):
    """Files that are broken, each with what must be said."""
    good = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_fvecs(tmp_path / "good.fvecs", good)
    fvecs = (tmp_path / "good.fvecs").read_bytes()
    write_npy(tmp_path / "good.npy", good)
    npy = (tmp_path / "good.npy").read_bytes()
    write_lists(tmp_path / "good.parquet", good)
    parquet = (tmp_path / "good.parquet").read_bytes()
    spoiled(tmp_path / "cut.fvecs", fvecs[:-3])
    yield "cut.fvecs", "no whole number of rows of 4 values"
    spoiled(tmp_path / "zero.fvecs", b"\0" * 40)
    yield "zero.fvecs", "announces 0 values"
    spoiled(tmp_path / "empty.fvecs", b"")
    yield "empty.fvecs", "announces 0 values"
    spoiled(tmp_path / "cut.fbin", struct.pack("<II", 3, 4) + good.tobytes()[:-1])
    yield "cut.fbin", "55 bytes; the 3 x 4 values announced need 56"
    spoiled(tmp_path / "short.fbin", b"abc")
    yield "short.fbin", "3 bytes; it must begin with two"
    spoiled(tmp_path / "none.fbin", struct.pack("<II", 0, 4))
    yield "none.fbin", "empty"
    spoiled(tmp_path / "cut.npy", npy[:-5])
    yield "cut.npy", r"171 bytes; the values announced, \(3, 4\) of float32, need 176"
    spoiled(tmp_path / "text.npy", b"hello")
    yield "text.npy", "cannot be read as a NumPy array"
    np.save(tmp_path / "flat.npy", np.arange(5.0))
    yield "flat.npy", r"shape \(5,\); it must be rows x dimensions"
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    yield "words.npy", "real numbers"
    np.save(tmp_path / "pickled.npy", np.array([[None, {}]]), allow_pickle=True)
    yield "pickled.npy", "pickled objects, which are never loaded"
    spoiled(tmp_path / "bad.npz", b"PK nonsense")
    yield "bad.npz", "cannot be read as .npz"
    spoiled(tmp_path / "cut.parquet", parquet[:-20])
    yield "cut.parquet", "cannot be read as .parquet"
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "columns.parquet")
    yield "columns.parquet", "no column called features.*none found"
    pq.write_table(pa.table({"emb": [[1.0, 2.0], [3.0]]}), tmp_path / "ragged.parquet")
    yield "ragged.parquet", "row 0 of column emb has 2 values|row 1 of column emb has 1 values"
    pq.write_table(pa.table({"emb": [[1.0, 2.0], None]}), tmp_path / "missing.parquet")
    yield "missing.parquet", "row 1 of column emb is missing"
    spoiled(tmp_path / "x.doc", b"")
    yield "x.doc", "unknown format '.doc'.* allowed: .*.h5"
    with h5py.File(tmp_path / "half.h5", "w") as file:
        file.create_group("features")["data"] = [1.0]
    yield "half.h5", "has no indices, indptr"
    with h5py.File(tmp_path / "starts.h5", "w") as file:
        group = file.create_group("features")
        group["data"], group["indices"], group["indptr"] = [1.0], [0], [0, 5]
        group.attrs["shape"] = (1, 4)
    yield "starts.h5", "indptr does not cut 1 values into rows"
    with h5py.File(tmp_path / "bits.h5", "w") as file:
        file["train"] = np.ones((3, 2), np.float32)
        file.attrs["point_type"] = "bit"
    yield "bits.h5", "its points are bit"
    with h5py.File(tmp_path / "differ.h5", "w") as file:
        file["train"], file["test"] = np.ones((3, 2), np.float32), np.ones((3, 4), np.float32)
    yield "differ.h5", "/test has 4 dimensions, /train 2"


def test_damaged_files_are_told_in_one_line(tmp_path):
    for name, message in damaged(tmp_path):
        with pytest.raises(InputError, match=message) as told, open_features(tmp_path / name) as features:
            features.read(np.arange(features.n_rows))
        assert name in str(told.value)
        assert "\n" not in str(told.value)


def several(tmp_path, X):
    """Files with several matrices, none of a usual name."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/left"], file["right"], file["flat"] = X, X + 1, X[0]
    np.savez(tmp_path / "x.npz", left=X, right=X + 1, flat=X[0])
    lists = {name: pa.array(values.tolist()) for name, values in (("left", X), ("right", X + 1))}
    pq.write_table(pa.table({**lists, "flat": pa.array(X[:, 0])}), tmp_path / "x.parquet")
    return [(tmp_path / "x.h5", "a/left"), (tmp_path / "x.npz", "left"), (tmp_path / "x.parquet", "left")]


def test_one_of_several_matrices_is_selected(whole_numbers, tmp_path):
    for path, left in several(tmp_path, whole_numbers):
        with pytest.raises(InputError, match=rf"found: {left}, right; choose with --"):
            open_features(path)
        with pytest.raises(InputError, match=r"'flat' of rows x dimensions|/flat has shape"):
            open_features(path, part="flat")
        with open_features(path, part=left) as one, open_features(path, part="right") as other:
            assert np.array_equal(one.read(np.arange(40)) + 1, other.read(np.arange(40)))
            assert one.content_hash() != other.content_hash()
    write_npy(tmp_path / "x.npy", whole_numbers)
    with pytest.raises(InputError, match=r"holds one matrix only; --dataset and --column select in .h5, .hdf5, .npz"):
        open_features(tmp_path / "x.npy", part="left")


@pytest.mark.parametrize(
    "bad", ["1,2\n3\n", "1,2\n3,x\n", "1,2\n3,\n", "a,b\n1,2\n\n3,4\n", "1,2\n3,4,5\n", '1,2\n"3,4\n5"']
)
def test_bad_lines_of_text_are_reported_with_their_rows(bad, tmp_path):
    (tmp_path / "x.csv").write_text(bad)
    with open_features(tmp_path / "x.csv") as features, pytest.raises(InputError, match=r"rows 0\.\.1: |rows 0\.\.2: "):
        features.read(np.arange(features.n_rows))


def test_text_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbf1,2\n3,4\n")
    with open_features(tmp_path / "x.csv") as features:
        assert np.array_equal(features.read(np.arange(2)), [[1, 2], [3, 4]])


def test_text_keeps_every_float32_and_not_a_number(tmp_path, rng):
    X = rng.standard_normal((30, 7)).astype(np.float32) * 10.0 ** rng.integers(-30, 30, (30, 1))
    X[3, 2] = np.nan
    write_npy(tmp_path / "x.npy", X.astype(np.float32))
    with open_features(tmp_path / "x.npy") as features:
        convert(features, tmp_path / "x.csv")
    with open_features(tmp_path / "x.csv") as features:
        assert np.array_equal(features.read(np.arange(30)), X.astype(np.float32), equal_nan=True)


def test_half_precision_is_converted_in_slices(tmp_path, monkeypatch, rng):
    X = rng.standard_normal((100, 8)).astype(np.float16)
    write_npy(tmp_path / "x.npy", X)
    monkeypatch.setattr("cbe_bench.data.formats.base._SLICE_BYTES", 7 * 4 * 8)
    rows = np.array([0, 1, 2, 50, 51, 99])
    with open_features(tmp_path / "x.npy") as features:
        assert np.array_equal(features.read(rows), X[rows].astype(np.float32))
        assert np.array_equal(features.read(np.arange(100)), X.astype(np.float32))


@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_the_footer_is_read_as_pyarrow_reads_it(version, tmp_path, rng):
    lists = [None if i % 7 == 0 else list(range(i % 5)) for i in range(300)]
    table = pa.table({"emb": lists, "label": [str(i) for i in range(300)], "a": [i % 2 == 0 for i in range(300)]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=20, version=version, write_page_index=True)
    found = read_footer(tmp_path / "x.parquet")
    metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    assert found.group_rows == [group.num_rows for group in groups] == [20] * 15
    for i, name in enumerate(("emb", "label", "a")):
        assert found.n_values[name] == sum(group.column(i).num_values for group in groups)


def test_parquet_rows_are_read_in_any_order(tmp_path, monkeypatch, rng):
    X = rng.standard_normal((60, 4)).astype(np.float32)
    pq.write_table(
        pa.table({"emb": pa.array(list(X), pa.list_(pa.float32()))}), tmp_path / "x.parquet", row_group_size=25
    )
    monkeypatch.setattr("cbe_bench.data.formats.parquet._BATCH_BYTES", 3 * 4 * 4)
    with open_features(tmp_path / "x.parquet") as features:
        for rows in ([59], [0], [24, 25], [3, 4, 40], list(range(60)), [10]):
            assert np.array_equal(features.read(np.array(rows)), X[rows])


def test_rows_of_other_lengths_are_told_when_read(tmp_path):
    rows = [struct.pack("<i2f", 2, 1, 2), struct.pack("<i2f", 3, 1, 2)]
    (tmp_path / "x.fvecs").write_bytes(b"".join(rows))
    with open_features(tmp_path / "x.fvecs") as features:
        assert np.array_equal(features.read(np.array([0])), [[1, 2]])
        with pytest.raises(InputError, match="row 1 has 3 values, the first 2"):
            features.read(np.array([0, 1]))


def test_sparse_values_beyond_the_dimensions_are_told(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = file.create_group("features")
        group["data"], group["indices"], group["indptr"] = [1.0], [9], [0, 1]
        group.attrs["shape"] = (1, 4)
    with (
        open_features(tmp_path / "x.h5") as features,
        pytest.raises(InputError, match=r"rows 0..0: indices holds 9; allowed: 0 to 3"),
    ):
        features.read(np.array([0]))


def test_sparse_rows_may_be_very_long(tmp_path):
    X = sparse.random(6, 1 << 20, density=1e-5, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "x.npz", X)
    with open_features(tmp_path / "x.npz") as features:
        assert np.array_equal(features.read(np.array([1, 4])), X[[1, 4]].toarray().astype(np.float32))


@pytest.fixture
def ann_file(tmp_path, rng):
    """A file as ann-benchmarks lays it out, neighbours by brute force."""
    train, test = rng.standard_normal((200, 8)).astype(np.float32), rng.standard_normal((30, 8)).astype(np.float32)
    unit = train / np.linalg.norm(train, axis=1, keepdims=True)
    order = np.argsort(-(test @ unit.T), axis=1)[:, :20]
    path = tmp_path / "glove.hdf5"
    with h5py.File(path, "w") as file:
        file["train"], file["test"], file["neighbors"] = train, test, order.astype(np.int32)
        file.attrs.update({"distance": "angular", "dimension": 8, "type": "dense", "point_type": "float"})
    return path, train, test, order


def view(features, protocol="paper", database=1000):
    split = make_split(
        features.n_rows,
        database=database,
        train=0,
        queries=10,
        least=10,
        seed=0,
        source="x",
        own_queries=features.own_queries,
    )
    return DatasetView(features, split, PROTOCOLS[protocol], seed=0)


def test_own_queries_and_truth_are_used(ann_file, fresh_cache):
    path, train, test, order = ann_file
    with open_features(path) as features:
        assert (features.n_rows, features.own_queries) == (230, 30)
        assert np.array_equal(features.read(np.arange(230)), np.concatenate([train, test]))
        data = view(features)
        assert data.split.queries.min() >= 200
        assert np.array_equal(data.split.database, np.arange(200))
        expected = order[data.split.queries - 200, :10]
        assert np.array_equal(exact_neighbours(data, 10), expected)
        assert not fresh_cache.exists()
        assert stated_neighbours(data, 21) is None
        assert stated_neighbours(view(features, database=100), 10) is None
        assert stated_neighbours(view(features, "released-code"), 10) is None
        assert not np.isin(view(features, database=100).split.database, data.split.queries).any()


def test_stated_neighbours_agree_with_the_search(ann_file, fresh_cache):
    path, *_ = ann_file
    with open_features(path) as features:
        data = view(features)
        stated = exact_neighbours(data, 10)
        features.own_neighbours = lambda: None
        assert np.array_equal(exact_neighbours(data, 10), stated)


def test_neighbours_beyond_the_database_are_told(ann_file):
    path, *_ = ann_file
    with h5py.File(path, "a") as file:
        file["neighbors"][3, 3] = 200
    with open_features(path) as features, pytest.raises(InputError, match="names rows beyond the 200"):
        features.own_neighbours()


def test_inspection_finds_what_is_there(tmp_path, rng):
    X = rng.standard_normal((50, 6)).astype(np.float32)
    X[7], X[20, 2], X[21, 3], X[30] = 0, np.nan, np.inf, X[4]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["features"], file["labels"] = X, np.repeat([0, 1], [20, 30])
    with open_features(tmp_path / "x.h5") as features:
        found = inspect(features)
    assert (found.zero, found.not_finite, found.duplicates) == ([7], [20, 21], [30])
    usable = np.delete(X, [7, 20, 21], axis=0)
    norms = np.linalg.norm(usable, axis=1)
    np.testing.assert_allclose(found.norms, [norms.min(), np.median(norms), norms.max()], rtol=1e-6)
    rho = np.abs(usable).max(axis=1) / norms
    np.testing.assert_allclose(found.flatness, [rho.min(), np.median(rho), rho.max()], rtol=1e-6)
    assert found.labels == {"0": 20, "1": 30}
    assert found.sampled == 0
    assert found.problems == ["rows 20, 21 (2 in all) hold NaN or infinite values", "row 7 holds only zeros"]


def test_labels_of_neighbours_are_compared(tmp_path, rng):
    X, labels = rng.standard_normal((80, 3)).astype(np.float32), rng.integers(0, 2, 80)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["features"], file["labels"] = X, labels
    closeness = X @ X.T / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=1)) - 9 * np.eye(80)
    with open_features(tmp_path / "x.h5") as features:
        found = inspect(features)
    assert found.sampled == 80
    assert found.same_label == np.mean(labels[closeness.argmax(axis=1)] == labels)


def test_values_of_every_size_are_inspected_without_warnings(tmp_path, rng):
    X = (rng.standard_normal((30, 4)) * 10.0 ** rng.integers(-44, 38, (30, 1))).astype(np.float32)
    X = X[np.abs(X).max(axis=1) > 0]
    X[3] = np.frombuffer(b"\x01\x00\xa0\x7f" * 4, np.float32)  # a signalling NaN
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["features"], file["labels"] = X, np.arange(len(X)) % 2
    with open_features(tmp_path / "x.h5") as features:
        assert inspect(features).not_finite == [3]
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["features"], file["labels"] = np.delete(X, 3, 0), np.arange(len(X) - 1) % 2
    with open_features(tmp_path / "y.h5") as features:
        assert inspect(features).sampled == len(X) - 1


def invoke(*args, code=0):
    result = CliRunner().invoke(main, ["data", *map(str, args)])
    assert result.exit_code == code, result.output
    return result.output


def test_check_tells_and_fails_where_the_file_cannot_be_used(whole_numbers, tmp_path):
    write_npy(tmp_path / "x.npy", whole_numbers + 1)
    told = invoke("check", tmp_path / "x.npy")
    assert "can be used" in told
    assert "note: the mean carries" in told and "try center=True" in told  # all values are positive
    write_npy(tmp_path / "x.npy", np.concatenate([whole_numbers + 1, -whole_numbers - 1]))
    told = invoke("check", tmp_path / "x.npy")
    assert "energy of the mean, rows scaled to unit length: 0.0%" in told and "note:" not in told
    whole_numbers[5] = np.nan
    write_npy(tmp_path / "x.npy", whole_numbers)
    assert "cannot be used: row 5 holds NaN" in invoke("check", tmp_path / "x.npy", code=1)
    assert "no such file" in invoke("check", tmp_path / "y.npy", code=2)


def test_convert_writes_over_nothing_unasked(whole_numbers, tmp_path):
    write_npy(tmp_path / "x.npy", whole_numbers)
    assert "40 rows x 12 dimensions" in invoke("convert", tmp_path / "x.npy", tmp_path / "y.fbin")
    assert "is there already" in invoke("convert", tmp_path / "x.npy", tmp_path / "y.fbin", code=2)
    invoke("convert", tmp_path / "x.npy", tmp_path / "y.fbin", "--force")
    assert "cannot be written as '.u8bin'" in invoke("convert", tmp_path / "x.npy", tmp_path / "y.u8bin", code=2)


def test_commands_select_a_matrix(whole_numbers, tmp_path):
    for path, left in several(tmp_path, whole_numbers):
        assert "choose with --" in invoke("info", path, code=2)
        for verb in ("info", "check"):
            assert "40 rows x 12 dimensions" in invoke(verb, path, "--dataset", left, code=0)
        invoke("convert", path, tmp_path / "out.npy", "--column", "right", "--force")
        assert np.array_equal(np.load(tmp_path / "out.npy"), whole_numbers + 1)
    assert ".parquet" in invoke("formats")


def test_info_tells_without_reading_rows(ann_file):
    told = invoke("info", ann_file[0])
    assert "230 rows x 8 dimensions" in told
    assert "its last 30 rows, with their exact neighbours" in told
    assert "distance: angular" in told
