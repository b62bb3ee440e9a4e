"""Search experiments: from a configuration to rows, tables and figures, and what their numbers mean."""

import numpy as np
import pytest
import yaml

from cbe_bench.core import runner
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened
from cbe_bench.evaluators.search import config as search_config
from cbe_bench.evaluators.search.indexes import bits_and_dims
from cbe_bench.evaluators.search.making import make_index
from cbe_bench.evaluators.search.reranking import (
    is_neighbour,
    least_oversampling,
    recall_curve,
    reranked_curve,
    rounded,
)
from cbe_bench.kernels.ranking import lowest

pytestmark = pytest.mark.usefixtures("png_only")

D = 64
CONFIG = {
    "title": "Toy vectors",
    "experiment": "search",
    "data": {"name": "toy", "file": "toy.npy", "dim": D, "synthetic": False},
    "n_bits": [32, 64, 128],
    "n_database": 300,
    "n_train": 300,
    "n_queries": 20,
    "depth": 100,
    "timed_depth": 20,
    "seeds": [0, 1],
    "encoders": [
        {"name": "sign", "label": "sign", "params": {"center": True}},
        {"name": "cbe-orth", "label": "asymmetric", "params": {"center": True, "scoring": "asymmetric"}},
        "rabitq",
    ],
}


@pytest.fixture
def toy(tmp_path, rng):
    X = rng.standard_normal((320, D)) * np.linspace(2, 0.2, D) + 2
    np.save(tmp_path / "toy.npy", X.astype(np.float32))
    return tmp_path / "toy.npy"


@pytest.fixture
def run(tmp_path, toy):
    def run(out, **keys):
        path = tmp_path / "toy.yaml"
        content = CONFIG | keys
        path.write_text(yaml.safe_dump(content | {"data": content["data"] | {"file": str(toy)}}))
        config = load_config(path, "quick")
        with opened(config, Resources(), Silent()) as experiment:
            job = job_of(experiment, "quick", tmp_path / out, "cbe-bench run")
            return experiment, runner.run(experiment, job, Silent())

    return run


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_rows_by_metric(run, metric):
    experiment, results = run(metric, metric=metric, seeds=[0])
    rows = results.rows
    assert all(row.ok for row in rows), [row.reason for row in rows]
    assert {(row.label, row.n_bits) for row in rows} == {
        *(("sign", n) for n in (32, 64)),
        *((label, n) for label in ("asymmetric", "rabitq") for n in (32, 64, 128)),
    }
    for row in rows:
        assert row.metric == metric
        assert row.bytes_per_vector == row.n_bits / 8 + (8 if row.label == "rabitq" else 0)
        assert row.oversampling == tuple(range(1, 11))
        assert row.recall == tuple(sorted(row.recall)) and 0.05 < row.recall[0] <= row.recall[-1] <= 1
        assert row.recall_float16[-1] == pytest.approx(row.recall[-1], abs=0.02)
        assert row.recall_int8[-1] == pytest.approx(row.recall[-1], abs=0.05)
        assert row.search_us_per_query > 0 and row.encode_us_per_vector > 0
    best = {label: max(row.recall[0] for row in rows if row.label == label) for label in ("sign", "rabitq")}
    assert best["rabitq"] > best["sign"]
    assert f"neighbours by {metric}" in experiment.headline


def test_tables_and_the_figure(run):
    experiment, results = run("report", encoders=CONFIG["encoders"][::2], metric="l2")
    report = experiment.report(results)
    summary, table = report.table("summary"), report.table("table")
    assert list(summary["method"]) == ["sign", "rabitq"]
    assert summary["128 bits"][0] == "" and "±" in summary["64 bits"][0]
    assert set(table["metric"]) == {"l2"} and set(table["seeds"]) == {2}
    own = [row for row in results.rows if row.label == "rabitq" and row.n_bits == 64]
    line = table[(table["encoder"] == "rabitq") & (table["n_bits"] == 64)].iloc[0]
    assert line["recall_percent@10"] == pytest.approx(50 * sum(row.recall[0] for row in own))
    half = 12.706 * 50 * abs(own[0].recall[0] - own[1].recall[0])
    assert line["recall_percent@10_half_interval"] == pytest.approx(half, rel=1e-3)
    (figure,) = report.figures
    axes = figure.draw().axes
    assert [axis.get_xlabel().split(" (")[0] for axis in axes] == ["bytes per vector", "search time"]
    assert axes[0].get_legend_handles_labels()[1] == ["sign", "rabitq"]
    found = {(one.subject.split(",")[0], one.metric) for one in experiment.measurements(results)}
    assert {("sign", "recall@10, points"), ("rabitq", "recall@100, points")} <= found


def test_without_the_library_its_methods_are_skipped_in_one_line(run, monkeypatch):
    monkeypatch.setattr(search_config, "missing_library", lambda: "faiss is not installed")
    experiment, results = run("absent", encoders=["sign", "faiss-pq", "faiss-itq"], seeds=[0])
    assert experiment.headline.endswith("; sign; skipped: faiss-pq, faiss-itq: faiss is not installed")
    assert {row.label for row in results.rows} == {"sign"}


def test_peers_without_a_possible_length_are_skipped(run):
    pytest.importorskip("faiss")
    experiment, _ = run("lengths", encoders=["sign", "faiss-pq"], n_bits=[9], seeds=[0])
    assert "skipped: faiss-pq: n_bits = 9; PQ needs 8 times a divisor" in experiment.headline


@pytest.mark.parametrize("name", ["faiss-rabitq", "faiss-lsh", "faiss-itq", "faiss-pq", "faiss-opq"])
def test_peers_find_neighbours(name, rng):
    pytest.importorskip("faiss")
    X = rng.standard_normal((400, 32)).astype(np.float32) + 1
    params = {"n_iter": 2} if name in ("faiss-itq", "faiss-opq") else {}
    index = make_index(name, params, n_bits=32, n_features=32, metric="l2", seed=0, resources=Resources())
    index.fit(X)
    index.add(X[:200])
    index.add(X[200:])
    assert index.bytes_per_vector == 4 + 8 * (name == "faiss-rabitq")
    found = index.search(X[:50], 40)
    assert found.shape == (50, 40)
    assert np.mean((found == np.arange(50)[:, None]).any(axis=1)) > 0.8


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"encoders": ["sgin"]}, "encoders.sgin: unknown method 'sgin'; did you mean 'sign'"),
        ({"encoders": [{"name": "sign", "params": {"scoring": "both"}}]}, "sign: scoring = 'both'"),
        ({"encoders": [{"name": "rabitq", "params": {"bits": 2}}]}, "rabitq has no parameter 'bits'; did you mean"),
        ({"encoders": [{"name": "faiss-pq", "params": {"m": 2}}]}, "faiss-pq has no parameter 'm'; it has none"),
        ({"encoders": ["sign"], "n_bits": [128]}, "at most the number of features, 64"),
        ({"encoders": ["rabitq"], "n_bits": [1024]}, "n_bits = 1024; at most 4 for each of 64 features"),
        ({"timed_depth": 200}, "timed_depth: found 200; at most the depth, 100"),
        ({"metric": "dot"}, "metric: found 'dot'"),
    ],
)
def test_what_cannot_work_is_one_line(run, keys, message):
    with pytest.raises(InputError) as error:
        run("bad", **keys)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_bits_are_given_to_as_many_dimensions_as_there_are():
    assert [bits_and_dims(n, 64) for n in (16, 64, 128, 256)] == [(1, 16), (1, 64), (2, 64), (4, 64)]
    assert bits_and_dims(64, 64, 4) == (4, 16)


# Re-ranking


def test_recall_among_candidates_is_that_after_exact_re_ranking(rng):
    """Candidates in any order, re-ranked by the distances that decide the neighbours."""
    distances = rng.random((30, 200)).astype(np.float32)
    neighbours = np.argsort(distances, axis=1)[:, :10]
    candidates = np.argsort(distances + 0.3 * rng.standard_normal(distances.shape), axis=1)[:, :100]
    hits = is_neighbour(candidates, neighbours, 200)
    by_sets = [
        np.mean([len({*a[: 10 * c]} & {*b}) / 10 for a, b in zip(candidates, neighbours, strict=True)])
        for c in range(1, 11)
    ]
    assert recall_curve(hits, 10) == pytest.approx(by_sets)
    assert reranked_curve(hits, np.take_along_axis(distances, candidates, axis=1), 10) == pytest.approx(by_sets)


def test_least_oversampling():
    assert least_oversampling((0.5, 0.95, 0.97, 0.99), 0.95) == 2
    assert least_oversampling((0.96, 0.94, 0.97), 0.95) == 3
    assert least_oversampling((0.99,), 0.95) == 1
    assert least_oversampling((0.5, 0.9), 0.95) is None


def test_stored_rows_are_within_half_a_step(rng):
    X = (rng.standard_normal((20, 30)) * np.linspace(0, 9, 30)).astype(np.float32)
    low, high = X.min(axis=0), X.max(axis=0)
    assert np.abs(rounded(X, "float16", (low, high)) - X).max() <= 2.0**-11 * np.abs(X).max()
    stored, steps = rounded(X, "int8", (low, high)), (high - low) / 255
    assert np.all(np.abs(stored - X) <= 0.501 * steps)
    codes = (stored - low)[:, 1:] / steps[1:]
    np.testing.assert_allclose(codes, np.rint(codes), atol=1e-3)
    assert codes.min() == 0 and codes.max() == pytest.approx(255)


def test_lowest_orders_ties_by_position(rng):
    scores = rng.integers(0, 5, (40, 60))
    for k in (1, 7, 60):
        assert np.array_equal(lowest(scores, k), np.argsort(scores, axis=1, kind="stable")[:, :k])


def test_few_and_many_candidates_are_the_same_search(rng):
    X = rng.standard_normal((300, 24)).astype(np.float32)
    index = make_index("sign", {}, n_bits=24, n_features=24, metric="cosine", seed=0, resources=Resources())
    index.fit(X)
    index.add(X)
    assert np.array_equal(index.search(X[:9], 200)[:, :100], index.search(X[:9], 100))
