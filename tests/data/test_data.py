"""Feature files, splits, preparation and true neighbours."""

import h5py
import numpy as np
import pytest

from cbe_bench.core.errors import InputError
from cbe_bench.data import ground_truth
from cbe_bench.data.features import file_hash
from cbe_bench.data.formats.hdf5 import HDF5Features
from cbe_bench.data.ground_truth import exact_neighbours
from cbe_bench.data.splits import PROTOCOLS, make_split
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.data.view import DatasetView
from cbe_bench.kernels import parallel
from cbe_bench.kernels.linalg.products import squared_distances


def write(path, features, labels=None, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=features, **options)
        if labels is not None:
            file["labels"] = labels
    return path


LAYOUTS = [
    {},
    {"chunks": (1, 20)},
    {"chunks": (64, 3), "compression": "gzip"},
    {"chunks": (7, 20), "compression": "lzf", "shuffle": True},
    {"chunks": (200, 20)},
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hdf5_rows_in_any_layout(layout, dtype, rng, tmp_path):
    data = rng.standard_normal((200, 20)).astype(dtype)
    with HDF5Features(write(tmp_path / "x.h5", data, labels=np.arange(200), **layout)) as features:
        assert (features.n_rows, features.n_features) == (200, 20)
        assert (features.name, features.kind) == ("x", "user")
        for rows in ([0], [199], [0, 1, 2], [3, 50, 51, 60, 199], list(range(200))):
            got = features.read(np.array(rows))
            assert got.dtype == np.float32
            assert np.array_equal(got, data[rows].astype(np.float32))
        assert np.array_equal(features.labels(), np.arange(200))


def test_hdf5_reads_no_more_than_it_is_asked_for(tmp_path, monkeypatch, rng):
    path = write(tmp_path / "x.h5", rng.standard_normal((1000, 4)))
    with HDF5Features(path) as features:
        read = []
        real = features._data

        class Spy:
            dtype = real.dtype

            def __getitem__(self, key):
                read.append(key.stop - key.start)
                return real[key]

        features._data = Spy()
        features.read(np.array([0, 3, 500, 999]))
    assert sum(read) == 4 + 1 + 1


def bad_file(name, path, rng):
    good = rng.standard_normal((50, 6)).astype(np.float32)
    with h5py.File(path, "w") as file:
        if name == "no features":
            file["other"], file["one"] = good, good
        elif name == "group":
            file.create_group("features")
        elif name == "rank":
            file["features"] = good[0]
        elif name == "integers":
            file["features"] = good.astype(np.int32)
        elif name == "complex":
            file["features"] = good.astype(np.complex64)
        elif name == "empty":
            file["features"] = good[:0]
        elif name == "labels":
            file["features"] = good
            file["labels"] = np.arange(49)
        elif name == "kind":
            file["features"] = good
            file.attrs["kind"] = "made up"
    return path


@pytest.mark.parametrize(
    "name, message",
    [
        ("no features", r"x\.h5: no dataset called features, embeddings, vectors; found: one, other; choose with"),
        ("group", "no dataset /features"),
        ("rank", r"shape \(6,\); it must be rows x dimensions"),
        ("integers", "is int32; allowed: float16, float32, float64"),
        ("complex", "is complex64"),
        ("empty", "it is empty"),
        ("labels", r"/labels has shape \(49,\); 50 rows need \(50,\)"),
        ("kind", "allowed: user, real, synthetic"),
    ],
)
def test_bad_hdf5_is_told_in_one_line(name, message, tmp_path, rng):
    with pytest.raises(InputError, match=message) as caught:
        HDF5Features(bad_file(name, tmp_path / "x.h5", rng))
    assert "\n" not in str(caught.value)


def test_missing_foreign_and_truncated_files(tmp_path, rng):
    with pytest.raises(InputError, match="no such file"):
        HDF5Features(tmp_path / "none.h5")
    with pytest.raises(InputError, match="a folder, not a file"):
        HDF5Features(tmp_path)
    (tmp_path / "text.h5").write_text("not HDF5 at all")
    with pytest.raises(InputError, match="cannot be read as HDF5"):
        HDF5Features(tmp_path / "text.h5")
    whole = write(tmp_path / "whole.h5", rng.standard_normal((500, 50))).read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut\.h5.*truncated"):
        HDF5Features(tmp_path / "cut.h5")


def test_damaged_chunk_is_told_with_its_rows(tmp_path, rng):
    path = write(tmp_path / "x.h5", rng.standard_normal((100, 50)), chunks=(10, 50), compression="gzip")
    with h5py.File(path) as file:
        chunk = file["features"].id.get_chunk_info(5)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + chunk.size] = b"\x00" * chunk.size
    path.write_bytes(content)
    with HDF5Features(path) as features:
        assert len(features.read(np.arange(50))) == 50
        with pytest.raises(InputError, match=r"rows 50\.\.59 cannot be read"):
            features.read(np.arange(50, 60))


def test_file_hash_is_remembered_until_the_file_changes(tmp_path, fresh_cache, monkeypatch):
    path = tmp_path / "x"
    path.write_text("one")
    first = file_hash(path)
    with monkeypatch.context() as patch:
        patch.setattr("hashlib.file_digest", None)
        assert file_hash(path) == first
    path.write_text("other")
    assert file_hash(path) != first


SIZES = {"database": 300, "train": 50, "queries": 20, "least": 100, "source": "x"}


def prepared(features, protocol="paper", seed=0, split_seed=1, **options):
    split = make_split(features.n_rows, seed=split_seed, **SIZES)
    return DatasetView(features, split, PROTOCOLS[protocol], seed=seed, **options)


def test_split_is_disjoint_seeded_and_sorted():
    split = make_split(400, seed=3, **SIZES)
    assert (len(split.queries), len(split.database), len(split.train_positions)) == (20, 300, 50)
    assert not set(split.queries) & set(split.database)
    assert split.train_positions.max() < 300
    for rows in (split.queries, split.database, split.train_positions):
        assert np.all(np.diff(rows) > 0)
    again, other = (make_split(400, seed=seed, **SIZES) for seed in (3, 4))
    assert np.array_equal(split.database, again.database)
    assert not np.array_equal(split.database, other.database)


def test_database_is_every_row_that_is_not_a_query():
    split = make_split(200, seed=3, **SIZES)
    assert sorted([*split.queries, *split.database]) == list(range(200))


def test_too_few_rows_are_told():
    with pytest.raises(InputError, match=r"x: 119 rows; 20 queries and a database of at least 100 need 120"):
        make_split(119, seed=0, **SIZES)


def array_features(tmp_path, data):
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    return HDF5Features(write(folder / "x.h5", data))


def test_paper_protocol_scales_to_unit_length(tmp_path, rng):
    data = rng.standard_normal((400, 24)).astype(np.float32) + 3
    view = prepared(array_features(tmp_path, data), block_rows=37)
    unit = data / np.linalg.norm(data, axis=1, keepdims=True)
    blocks = np.concatenate([block for _, block in view.database_blocks()])
    np.testing.assert_allclose(blocks, unit[view.split.database], atol=1e-6)
    np.testing.assert_allclose(view.queries(), unit[view.split.queries], atol=1e-6)
    np.testing.assert_allclose(view.training_set(), unit[view.split.database[view.split.train_positions]], atol=1e-6)


def test_released_code_protocol_centres_scales_and_permutes(tmp_path, rng):
    data = rng.standard_normal((400, 24)).astype(np.float32) + 3
    view = prepared(array_features(tmp_path, data), "released-code")
    used = np.concatenate([view.split.database, view.split.queries])
    assert len(used) < len(data)
    centred = data - data[used].mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    order = view._dims
    assert sorted(order) == list(range(24))
    assert not np.array_equal(order, np.arange(24))
    np.testing.assert_allclose(view.queries(), unit[view.split.queries][:, order], atol=1e-5)


def test_some_dimensions_are_kept_by_seed(tmp_path, rng):
    data = rng.standard_normal((400, 24)).astype(np.float32)
    one, other = (prepared(array_features(tmp_path, data), n_dims=10, seed=seed) for seed in (0, 1))
    kept = data[:, one._dims]
    expected = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    np.testing.assert_allclose(one.queries(), expected[one.split.queries], atol=1e-6)
    assert np.all(np.diff(one._dims) > 0)
    assert not np.array_equal(one._dims, other._dims)
    assert one.key() != other.key()


@pytest.mark.parametrize("bad, message", [(np.nan, "NaN or infinite"), (np.inf, "NaN or infinite"), (0, "only zeros")])
@pytest.mark.parametrize("protocol", ["paper", "released-code"])
def test_bad_values_are_told_with_their_rows(bad, message, protocol, tmp_path, rng):
    data = rng.standard_normal((400, 8)).astype(np.float32)
    view = prepared(array_features(tmp_path, data), protocol)
    victims = view.split.database[[5, 17]]
    data[victims] = bad
    view = prepared(array_features(tmp_path, data), protocol)
    with pytest.raises(InputError, match=rf"x\.h5: rows {victims[0]}, {victims[1]} hold {message}"):
        list(view.database_blocks())


@pytest.mark.parametrize("room, expected_reads", [(300, []), (50, [100] * 3), (49, [100] * 3 + [50, 20])])
def test_rows_are_read_again_only_where_there_is_no_room(room, expected_reads, tmp_path, rng):
    data = rng.standard_normal((400, 8)).astype(np.float32)
    features, reads = array_features(tmp_path, data), []
    view = prepared(features, block_rows=100, cache_bytes=room * 8 * 4)
    fresh = prepared(features, block_rows=100)
    assert (len(view.split.database), len(view.split.train_positions)) == (300, 50)

    def parts(some):
        return *(block for _, block in some.database_blocks()), some.training_set(), some.training_set(20)

    expected = parts(fresh)
    parts(view)
    real = features.read
    features.read = lambda rows: reads.append(len(rows)) or real(rows)
    again = parts(view)
    assert reads == expected_reads
    assert all(np.array_equal(a, b) for a, b in zip(again, expected, strict=True))


def brute_truth(view, k):
    database = np.concatenate([block for _, block in view.database_blocks()]).astype(np.float64)
    if view.metric == "ip":
        return np.argsort(-(view.queries().astype(np.float64) @ database.T), axis=1, kind="stable")[:, :k]
    distances = ((view.queries().astype(np.float64)[:, None] - database) ** 2).sum(axis=2)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("block_rows", [1, 7, 100, 1000])
def test_truth_is_exact_for_any_block_size(block_rows, tmp_path, rng, fresh_cache):
    data = rng.standard_normal((400, 16)).astype(np.float32)
    view = prepared(array_features(tmp_path, data), block_rows=block_rows)
    assert np.array_equal(exact_neighbours(view, 10), brute_truth(view, 10))


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_truth_by_metric(metric, tmp_path, rng, fresh_cache):
    """Rows of very different norms, away from the origin: the three metrics disagree."""
    data = ((rng.standard_normal((400, 16)) + 2) * 10 ** rng.uniform(-3, 3, (400, 1))).astype(np.float32)
    views = {one: prepared(array_features(tmp_path, data), block_rows=90, metric=one) for one in ("cosine", "l2", "ip")}
    found = exact_neighbours(views[metric], 10)
    assert np.array_equal(found, brute_truth(views[metric], 10))
    norms = np.linalg.norm(views[metric].queries(), axis=1)
    assert np.allclose(norms, 1, atol=1e-6) == (metric == "cosine")
    assert len({view.key() for view in views.values()}) == 3
    others = [exact_neighbours(view, 10) for name, view in views.items() if name != metric]
    assert all(np.mean(found == other) < 0.5 for other in others)


def test_truth_separates_neighbours_that_single_precision_cannot(tmp_path, rng, fresh_cache):
    """300 rows within 1e-7 of each other: only the double-precision ranking orders them."""
    base = rng.standard_normal(2000)
    data = (base + 2e-6 * rng.standard_normal((400, 2000))).astype(np.float32)
    view = prepared(array_features(tmp_path, data), block_rows=50)
    database = np.concatenate([block for _, block in view.database_blocks()]).astype(np.float64)
    query = view.queries().astype(np.float64)
    distances = ((query[:, None] - database) ** 2).sum(axis=2)
    found = np.take_along_axis(distances, exact_neighbours(view, 10), axis=1)
    np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :10], rtol=2000 * 2.0**-52)


def test_truth_of_sparse_rows_is_exact(tmp_path, rng, fresh_cache, monkeypatch):
    """Rows of few values at nearly one distance: a query's own values bound the error, so few are compared exactly."""
    columns = rng.choice(1 << 14, 60, replace=False)
    data = np.zeros((400, 1 << 14), np.float32)
    data[:, columns] = 1 + 0.05 * rng.standard_normal((400, 60))
    view = prepared(array_features(tmp_path, data), block_rows=50)
    compared = []
    monkeypatch.setattr(
        ground_truth,
        "squared_distances",
        lambda query, block, rows: compared.append(len(rows)) or squared_distances(query, block, rows),
    )
    found = exact_neighbours(view, 10)
    database = np.concatenate([block[:, columns] for _, block in view.database_blocks()]).astype(np.float64)
    distances = ((view.queries()[:, None, columns].astype(np.float64) - database) ** 2).sum(axis=2)
    assert np.array_equal(found, np.argsort(distances, axis=1, kind="stable")[:, :10])
    assert sum(compared) < 20 * 300 / 4


def test_equal_rows_are_ranked_by_position(tmp_path, fresh_cache):
    data = np.ones((400, 4), np.float32)
    view = prepared(array_features(tmp_path, data), block_rows=33)
    assert np.array_equal(exact_neighbours(view, 10), np.tile(np.arange(10), (20, 1)))


def test_truth_is_cached_by_content(tmp_path, rng, fresh_cache, monkeypatch):
    data = rng.standard_normal((400, 16)).astype(np.float32)
    view = prepared(array_features(tmp_path, data))
    first = exact_neighbours(view, 10)
    with monkeypatch.context() as patch:
        patch.setattr("cbe_bench.data.ground_truth._search", None)
        assert np.array_equal(exact_neighbours(view, 10), first)
    (cached,) = (fresh_cache / "truth").iterdir()
    content = cached.read_bytes()
    for damaged in (b"damaged", content[:-8], content[:-1] + b"\1", content + content, b""):
        cached.write_bytes(damaged)
        assert np.array_equal(exact_neighbours(view, 10), first)
    data[view.split.database] *= rng.choice([-1, 1], (300, 1))
    other = prepared(array_features(tmp_path, data))
    assert not np.array_equal(exact_neighbours(other, 10), first)


def test_synthetic_rows_are_seeded_streamed_and_like_vlad():
    features = SyntheticFeatures("x", 1000, 5120, seed=1)
    whole = features.read(np.arange(1000))
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 1, atol=1e-5)
    assert 0.35 < np.mean(whole != 0) < 0.47
    words = (whole.reshape(1000, 40, 128) != 0).any(axis=2)
    assert np.all(words.sum(axis=1) >= 1)
    assert not words.all()
    rows = np.array([3, 255, 256, 700, 999])
    with parallel.threads(1):
        assert np.array_equal(features.read(rows), whole[rows])
    assert np.array_equal(SyntheticFeatures("x", 5000, 5120, seed=1).read(rows), whole[rows])
    assert not np.array_equal(SyntheticFeatures("x", 1000, 5120, seed=2).read(rows), whole[rows])
    assert len(features.labels()) == 1000


def test_synthetic_neighbours_share_labels():
    features = SyntheticFeatures("x", 3000, 1280)
    X, labels = features.read(np.arange(3000)), features.labels()
    scores = X @ X.T
    np.fill_diagonal(scores, -1)
    assert np.mean(labels[scores.argmax(axis=1)] == labels) > 5 / 100
