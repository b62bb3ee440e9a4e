"""Searching files of codes: against definitions, in the terminal, and handed over to other libraries."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import cbe_bench
from cbe_bench import CodeIndex, encode_file
from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.resources import Resources
from cbe_bench.kernels.asymmetric import AsymmetricQueries
from cbe_bench.kernels.bits import pack_signs, unpack_signs
from cbe_bench.kernels.linalg.rescoring import exact_nearest
from cbe_bench.kernels.nearest import AsymmetricSearch, HammingSearch, asymmetric_top_k
from cbe_bench.vectors import code_file
from cbe_bench.vectors import results as vector_results


@pytest.fixture
def queries(vectors):
    return vectors[:20] + np.float32(0.1)


def hamming(a, b):
    return np.bitwise_count(a[:, None] ^ b[None]).sum(axis=-1, dtype=np.int64)


@pytest.mark.parametrize("threads", [1, 3])
def test_search_is_that_of_all_distances_ties_by_row(codes, queries, threads):
    with CodeIndex.open(codes, Resources(threads)) as index:
        found = index.search(queries, 7)
        asked = pack_signs(index.encoder.project(queries / np.linalg.norm(queries, axis=1, keepdims=True)))
        distances = hamming(asked, index.codes())
        order = np.argsort(distances, axis=1, kind="stable")[:, :7]
        assert np.array_equal(found.values, np.take_along_axis(distances, order, axis=1))
        assert np.array_equal(found.ids, index.file.ids()[order])


def test_asymmetric_search_is_that_of_all_scores(codes, queries):
    with CodeIndex.open(codes) as index:
        found = index.search(queries, 7, asymmetric=True)
        projections = index.encoder.project(queries / np.linalg.norm(queries, axis=1, keepdims=True))
        scores = projections.astype(float) @ unpack_signs(index.codes(), 100, np.float64).T
        np.testing.assert_allclose(found.values, -np.sort(-scores, axis=1)[:, :7], rtol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_reranking_all_candidates_is_exact_search(source, vectors, queries, tmp_path, metric):
    encode_file(source, tmp_path / "m.h5", method="cbe-rand", n_bits=100, metric=metric)
    with CodeIndex.open(tmp_path / "m.h5") as index:
        found = index.search(queries, 5, rerank=source, oversample=100)
        array = index.search(queries, 5, rerank=vectors, oversample=100, asymmetric=True)
    kept = np.delete(vectors.astype(float), 123, axis=0)
    asked = queries.astype(float)
    if metric == "cosine":
        kept, asked = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (kept, asked))
    products = asked @ kept.T
    squared = (asked**2).sum(axis=1)[:, None] + (kept**2).sum(axis=1) - 2 * products
    distances = {"cosine": 1 - products, "l2": np.sqrt(squared), "ip": -products}[metric]
    order = np.argsort(distances, axis=1)[:, :5]
    assert np.array_equal(found.ids, np.delete(np.arange(500), 123)[order])
    np.testing.assert_allclose(found.values, np.take_along_axis(distances, order, axis=1), rtol=1e-4, atol=1e-6)
    assert np.array_equal(array.ids, found.ids) and np.array_equal(array.values, found.values)


def test_pieces_and_units_do_not_matter(source, codes, queries, tmp_path, monkeypatch):
    with CodeIndex.open(codes) as index:
        expected = [index.search(queries, 9, asymmetric=asymmetric) for asymmetric in (False, True)]
    monkeypatch.setattr(code_file, "_BLOCK_BYTES", 13 * 20)
    encode_file(source, tmp_path / "pieces.h5", method="cbe-rand", n_bits=100)
    with CodeIndex.open(tmp_path / "pieces.h5") as index:
        assert len(index.file.parts()) > 20
        for asymmetric, own in enumerate(expected):
            found = index.search(queries, 9, asymmetric=bool(asymmetric))
            assert np.array_equal(found.values, own.values) and np.array_equal(found.ids, own.ids)


@pytest.mark.parametrize("n_bits", [1, 8, 61, 64, 200, 1100, 4200])
def test_kernels_find_the_nearest_with_ties_in_pieces(rng, n_bits):
    projections = rng.standard_normal((37, n_bits)).astype(np.float32)
    database = pack_signs(rng.standard_normal((300, n_bits)))
    database[100:150] = database[0]  # equal codes
    asked = pack_signs(projections)
    by_distance, by_score = HammingSearch(asked, 60), AsymmetricSearch(projections, 60)
    for first in range(0, 300, 70):
        by_distance.add(database[first : first + 70], first)
        by_score.add(database[first : first + 70], first)
    distances = hamming(asked, database)
    order = np.argsort(distances, axis=1, kind="stable")[:, :60]
    values, rows = by_distance.nearest()
    assert np.array_equal(rows, order) and np.array_equal(values, np.take_along_axis(distances, order, axis=1))
    assert np.array_equal(cbe_bench.top_k(asked, database, 60)[1], order)
    scores, rows = by_score.nearest()
    exact = projections.astype(float) @ unpack_signs(database, n_bits, np.float64).T
    np.testing.assert_allclose(scores, -np.sort(-exact, axis=1)[:, :60], rtol=1e-5, atol=1e-6 * n_bits)
    np.testing.assert_allclose(np.take_along_axis(exact, rows, axis=1), scores, rtol=1e-5, atol=1e-6 * n_bits)
    same = np.diff(scores, axis=1) == 0
    assert (np.diff(rows, axis=1)[same] > 0).all(), "equal scores in order of row"


@pytest.mark.parametrize("tail", [0.0, 1.0, 4.0])
def test_coarse_sums_bound_exact_ones_and_lose_nothing(rng, tail):
    """Also where a few values of a query are far larger than the others, and coarse values are mostly zero."""
    projections = rng.standard_normal((5, 1300)) * np.exp(tail * rng.standard_normal(1300))
    database = pack_signs(rng.standard_normal((700, 1300)))
    scores, rows = asymmetric_top_k(projections, database, 20)
    every = AsymmetricQueries(projections).scores(database)
    order = np.argsort(-every, axis=1, kind="stable")[:, :20]
    assert np.array_equal(rows, order) and np.array_equal(scores, np.take_along_axis(every, order, axis=1))


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_exact_nearest_is_the_definition(rng, metric):
    X, Q = rng.standard_normal((200, 17)).astype(np.float32), rng.standard_normal((9, 17)).astype(np.float32)
    if metric == "cosine":
        X, Q = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Q))
    X[7] = X[3]
    distances = -Q.astype(float) @ X.T if metric == "ip" else np.linalg.norm(Q[:, None].astype(float) - X, axis=-1)
    expected = np.argsort(distances.round(12), axis=1, kind="stable")[:, :10]
    assert np.array_equal(exact_nearest(Q, X, 10, metric), expected)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda Q: (Q[:, :-1], 3), "24 dimensions"),
        (lambda Q: (Q, 500), "from 1 to the 499 codes"),
        (lambda Q: (Q * np.float32(np.nan), 3), "NaN"),
        (lambda Q: (Q * 0, 3), "row 0 holds only zeros"),
    ],
)
def test_bad_queries_are_refused(codes, queries, change, match):
    with CodeIndex.open(codes) as index, pytest.raises(InputError, match=match):
        index.search(*change(queries))


def test_reranking_by_other_vectors_is_refused(codes, queries, vectors):
    with CodeIndex.open(codes) as index:
        for others in (vectors[:-1], vectors[:, :-1]):
            with pytest.raises(InputError, match="500 vectors of 24 dimensions"):
                index.search(queries, 3, rerank=others)


def test_reranking_reads_the_dataset_that_was_encoded(vectors, queries, tmp_path):
    import h5py

    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["b"] = vectors[:, ::-1], vectors
    encode_file(tmp_path / "two.h5", tmp_path / "b.h5", method="cbe-rand", n_bits=100, dataset="b")
    np.save(tmp_path / "b.npy", vectors)
    with CodeIndex.open(tmp_path / "b.h5") as index:
        found, same, own = (
            index.search(queries, 5, rerank=one) for one in (tmp_path / "two.h5", tmp_path / "b.npy", vectors)
        )
        with h5py.File(tmp_path / "changed.h5", "w") as file:  # another matrix is not taken in its place
            file["features"], file["b"] = vectors[:, ::-1], np.ones(3)
        with pytest.raises(InputError, match=r"changed\.h5: /b has shape"):
            index.search(queries, 5, rerank=tmp_path / "changed.h5")
    assert np.array_equal(found.ids, own.ids) and np.array_equal(same.ids, own.ids)


@pytest.mark.parametrize("kind", ["IndexBinaryFlat", "IndexBinaryHNSW", "IndexBinaryIVF"])
def test_faiss_finds_the_same_nearest(codes, kind):
    with CodeIndex.open(codes) as index:
        other = index.to_faiss(kind)
        assert other.ntotal == 499
        asked = np.ascontiguousarray(index.codes()[:50])
        if kind == "IndexBinaryIVF":
            other.nprobe = other.nlist
        distances, _rows = other.search(asked, 3)
        assert np.mean(distances == cbe_bench.top_k(asked, index.codes(), 3)[0]) > 0.95
        with pytest.raises(InputError, match="did you mean 'IndexBinaryFlat'"):
            index.to_faiss("IndexBinaryFlt")


def test_usearch_finds_the_same_nearest_in_the_mapped_codes(codes):
    pytest.importorskip("usearch")
    with CodeIndex.open(codes) as index:
        other = index.to_usearch()
        assert isinstance(other.codes, np.memmap), "the codes are those of the file"
        found = other.search(np.ascontiguousarray(other.codes[:50]), 3)
        assert np.mean(found.distances == cbe_bench.top_k(other.codes[:50], other.codes, 3)[0]) > 0.9


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.output


def test_encode_and_search_in_the_terminal(source, vectors, queries, tmp_path):
    np.save(tmp_path / "queries.npy", queries)
    out = tmp_path / "c.cbe.h5"
    code, text = run("encode", source, "-o", out, "--method", "cbe-rand", "--bits", 100)
    assert code == 0 and "499 codes" in text and "1 row of zeros was skipped" in text, text
    code, text = run("encode", source, "-o", out)
    assert code == 2 and "--force" in text
    for suffix in (".npy", ".jsonl", ".parquet"):
        target = tmp_path / f"found{suffix}"
        code, text = run("search", out, tmp_path / "queries.npy", "-k", 4, "--rerank", source, "-o", target)
        assert code == 0 and "20 queries among 499 codes" in text, text
    quiet = [run("encode", source, "-o", out, "--force", "-q", "--method", "cbe-rand", "--bits", 100)]
    quiet += [run("search", out, tmp_path / "queries.npy", "-k", 4, "-q", "-o", tmp_path / "q.npy")]
    assert quiet == [(0, ""), (0, "")]
    array = np.load(tmp_path / "found.npy")
    assert array.shape == (20, 4) and array.dtype.names == ("id", "distance")
    lines = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert [line["ids"] for line in lines] == array["id"].tolist()
    assert [line["distances"] for line in lines] == array["distance"].tolist()
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(tmp_path / "found.parquet").to_pydict()
    assert table["id"] == array["id"].ravel().tolist() and table["rank"][:5] == [0, 1, 2, 3, 0]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["codes.cbe.h5", "queries.npy", "-o", "x.txt"], "cannot be written as '.txt'"),
        (["codes.cbe.h5", "queries.npy", "-k", "1000", "-o", "x.npy"], "from 1 to the 499 codes"),
        (["queries.npy", "queries.npy", "-o", "x.npy"], "queries.npy: not a file of codes"),
        (["codes.cbe.h5", "narrow.npy", "-o", "x.npy"], "narrow.npy: 3 dimensions; the codes of codes.cbe.h5"),
        (["codes.cbe.h5", "nan.npy", "-o", "x.npy"], "nan.npy: row 7: NaN"),
        (["codes.cbe.h5", "zero.npy", "-o", "x.npy"], "zero.npy: row 7 holds only zeros"),
        (["codes.cbe.h5", "none.npy", "-o", "x.npy"], "no such file"),
        (["codes.cbe.h5", "queries.npy", "-o", "x.npy", "--param"], "No such option"),
    ],
)
def test_bad_searches_end_in_one_line(codes, queries, tmp_path, monkeypatch, arguments, match):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vector_results, "_BATCH_BYTES", 8 * 2400)  # a few queries at once
    np.save("queries.npy", queries)
    np.save("narrow.npy", queries[:, :3])
    for name, value in (("nan", np.nan), ("zero", 0.0)):
        bad = queries.copy()
        bad[7] = value
        np.save(f"{name}.npy", bad)
    code, text = run("search", *arguments)
    assert code == 2 and match in text and "Traceback" not in text
    assert not (tmp_path / "x.npy").exists()
