"""Recommendations: measured as defined, the answer that follows from them, and whether the promised recall is kept."""

import csv

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench import CodeIndex, encode_file, recommend
from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.data.formats import open_features
from cbe_bench.kernels.linalg.rescoring import exact_nearest
from cbe_bench.vectors.recommend.answer import Target, choose, sentence
from cbe_bench.vectors.recommend.extrapolate import Estimate, Points, on_all_rows
from cbe_bench.vectors.recommend.measure import Cell
from cbe_bench.vectors.recommend.sample import draw_sample


def cell(n_bits, search="hamming", search_us=100.0, **recall):
    estimates = {(10, int(name[1:])): Estimate(value, value, value, value) for name, value in recall.items()}
    return Cell("lsh", n_bits, search, estimates, 0.0, 1.0, search_us)


def test_the_answer_has_the_fewest_bytes_then_candidates_then_time():
    cells = [
        cell(64, x1=0.5, x2=0.8, x10=0.94),
        cell(128, x1=0.7, x2=0.9, x10=0.99),
        cell(128, "asymmetric", 300.0, x1=0.8, x2=0.96, x10=0.995),
        cell(256, x1=0.97, x2=0.99, x10=1.0),
    ]
    choice, reached = choose(cells, Target(0.95, 10))
    assert reached and (choice.cell.n_bits, choice.cell.search, choice.oversample) == (128, "asymmetric", 2)
    choice, reached = choose(cells, Target(0.9, 10))
    assert (choice.cell.n_bits, choice.oversample) == (64, 10)
    choice, reached = choose(cells, Target(0.95, 10, most_bytes=8))
    assert not reached and choice.cell.n_bits == 64
    assert "nothing tried reaches 0.95; best: lsh, 64 bits" in sentence(choice, reached, Target(0.95, 10), (5,), 5)
    choice, reached = choose(cells, Target(None, 10, most_bytes=16))
    assert reached and choice.cell.search == "asymmetric" and choice.oversample == 10


@pytest.mark.parametrize("bad", [{"recall": 1.0}, {"at": 0}, {"most_bytes": 0}])
def test_impossible_targets_are_refused(bad):
    with pytest.raises(InputError):
        Target(**bad)


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5200, 12)) @ rng.standard_normal((12, 32)) + 0.3 * rng.standard_normal((5200, 32)) + 0.4
    np.save(tmp_path / "own.npy", X.astype(np.float32))
    return tmp_path / "own.npy"


@pytest.fixture
def base_and_queries(file, tmp_path):
    X = np.load(file)
    np.save(tmp_path / "base.npy", X[200:])
    np.save(tmp_path / "asked.npy", X[:200])
    return tmp_path / "base.npy", tmp_path / "asked.npy"


def test_recall_on_all_rows_is_that_of_encoding_and_searching_them(base_and_queries, tmp_path):
    """The definition: encode the file with the same seed, search it, re-rank, compare with the exact neighbours."""
    base, queries = base_and_queries
    same = {"n_train": 900, "seed": 3}
    found = recommend(base, at=10, queries=queries, methods=["itq"], n_bits=[24], **same)
    assert "on all 5,000 rows" in found.answer
    measured = {(one.search, more): one.recall[10, more].full for one in found.cells for more in (1, 5)}
    encode_file(base, tmp_path / "c.h5", method="itq", n_bits=24, **same)
    rows, asked = np.load(base), np.load(queries)
    unit = [values / np.linalg.norm(values, axis=1, keepdims=True) for values in (asked, rows)]
    neighbours = exact_nearest(*unit, 10, "cosine")
    with CodeIndex.open(tmp_path / "c.h5") as index:
        for (search, more), promised in measured.items():
            rerank = None if more == 1 else rows
            ids = index.search(asked, 10, asymmetric=search == "asymmetric", rerank=rerank, oversample=more).ids
            kept = np.mean([len(set(own) & set(true)) / 10 for own, true in zip(ids, neighbours, strict=True)])
            assert abs(kept - promised) < (0.02 if search == "hamming" else 0.002), (search, more)  # ties


def test_the_recall_on_all_rows_lies_in_the_interval(base_and_queries):
    """Of trained and random codes, from a fifth of the rows, for all depths and oversamplings."""
    base, queries = base_and_queries
    inside, widths, errors, naive = [], [], [], []
    for seed in (1, 2):
        same = {"at": 10, "queries": queries, "methods": ["itq", "lsh"], "n_bits": [16, 32], "seed": seed}
        promised = recommend(base, sample_rows=1000, n_train=500, **same)
        whole = recommend(base, sample_rows=5000, n_train=500, **same)
        for one, true in zip(promised.cells, whole.cells, strict=True):
            for key in one.recall.keys() & true.recall.keys():
                estimate, recall = one.recall[key], true.recall[key].full
                inside.append(estimate.low <= recall <= estimate.high)
                widths.append(estimate.high - estimate.low)
                errors.append(abs(estimate.full - recall))
                naive.append(abs(estimate.sample - recall))
    assert len(inside) > 100 and np.mean(inside) >= 0.95
    assert np.mean(widths) < 0.08
    assert np.mean(errors) < 0.25 * np.mean(naive)


def test_what_is_searched_does_not_depend_on_the_training_set(file):
    """Of the sampled database as many rows are trained on as of the file, and of the queries none."""
    with open_features(file) as features:
        drawn = draw_sample(features, metric="l2", n_rows=1000, n_queries=400, n_train=1300, depth=10, seed=0)
    trained = {row.tobytes() for row in drawn.training_set}
    assert not trained & {row.tobytes() for row in drawn.queries}
    share = np.mean([row.tobytes() in trained for row in drawn.database])
    assert abs(share - 0.25) < 0.06  # four standard errors


def test_recall_that_follows_the_model_is_extrapolated_exactly():
    """g quadratic in the logarithm of the fraction of neighbours, less a term that falls as one over their number."""
    counts, sizes = (values.ravel() for values in np.meshgrid([1, 2, 4, 8, 16], [4000, 2000, 1000]))

    def recall(count, size):
        place = np.log(count / size)
        return 0.4 - 0.03 * place + 0.002 * place**2 - 0.1 / count

    points = Points(counts, sizes, np.repeat(recall(counts, sizes)[:, None], 5, axis=1))
    estimate = on_all_rows(points, 10, 40_000, 0.0)
    assert abs(estimate.full - recall(10, 40_000)) < 1e-9
    assert estimate.low <= estimate.full <= estimate.high
    far = on_all_rows(points, 10, 40_000_000, 0.0)
    assert far.high - far.low > 5 * (estimate.high - estimate.low)


def test_a_length_that_a_method_cannot_do_is_skipped(file):
    found = recommend(file, at=10, methods=["sign", "lsh"], n_bits=[16, 64], n_queries=50)
    assert {(one.method, one.n_bits) for one in found.cells} == {("sign", 16), ("lsh", 16), ("lsh", 64)}
    assert len(found.skipped) == 1 and "(left out: 64 bits)" in found.skipped[0]


def test_queries_are_in_the_dataset_of_the_same_name_and_zeros_are_counted(base_and_queries, tmp_path):
    base, queries = (np.load(path) for path in base_and_queries)
    base[40:43] = 0
    for name, rows in (("base", base), ("asked", queries)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["a"], file["b"] = rows[:, :7], rows
    np.save(base_and_queries[0], base)
    same, said = {"at": 10, "methods": ["lsh"], "n_bits": [32], "n_queries": 50}, []
    found = recommend(tmp_path / "base.h5", queries=tmp_path / "asked.h5", dataset="b", message=said.append, **same)
    assert found.answer == recommend(base_and_queries[0], queries=base_and_queries[1], **same).answer
    assert "3 of the rows of the sample hold only zeros: skipped, zeros have no direction" in said


def test_recommend_in_the_terminal(file, tmp_path):
    arguments = [
        "recommend",
        file,
        "--bytes",
        16,
        "--methods",
        "lsh",
        "--bits",
        "64,128,256",
        "-o",
        tmp_path / "r",
    ]
    result = CliRunner().invoke(main, [str(argument) for argument in [*arguments, "--n-queries", 40]])
    assert result.exit_code == 0, result.output
    answer = [line for line in result.output.splitlines() if "recall@100" in line and "bytes" in line][-1]
    assert "128 bits" in answer and "at 16 bytes" in answer
    with (tmp_path / "r/recommend.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert {row["bits"] for row in rows} == {"64", "128"} and len(rows) == 4
    assert all(float(row["encode_us_per_vector"]) > 0 for row in rows)
    assert {path.name for path in (tmp_path / "r").iterdir()} >= {"frontier.csv", "recommend.png", "recommend.pdf"}


@pytest.mark.parametrize(
    ("arguments", "match"),
    [(["--methods", "lhs"], "did you mean"), (["--bits", "a"], "by commas"), (["--at", "4000"], "needs more than")],
)
def test_bad_input_ends_in_one_line(file, tmp_path, arguments, match):
    result = CliRunner().invoke(main, ["recommend", str(file), "-o", str(tmp_path / "r"), *arguments])
    assert result.exit_code == 2 and match in result.output and "Traceback" not in result.output


def test_methods_lists_all_with_cost_and_use():
    from cbe_bench.encoders import encoder_classes

    result = CliRunner().invoke(main, ["methods"])
    assert result.exit_code == 0
    for name, cls in encoder_classes().items():
        assert name in result.output
        assert cls.good_for, f"{name} does not say what it is good for"
    assert "cannot" not in CliRunner().invoke(main, ["methods", "--bits", "64"]).output
    described = CliRunner().invoke(main, ["methods", "itq", "--dims", "50", "--bits", "64"]).output
    assert "at most the number of features, 50" in described
    assert CliRunner().invoke(main, ["methods", "lhs"]).exit_code == 2
