"""Recommendations: measured as defined, the answer that follows from them, and whether the promised recall is kept."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench import CodeIndex, encode_file, recommend
from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.kernels.linalg.rescoring import exact_nearest
from cbe_bench.vectors.recommend.answer import Target, choose, sentence
from cbe_bench.vectors.recommend.extrapolate import Estimate
from cbe_bench.vectors.recommend.measure import Cell


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


def test_recall_on_the_sample_is_that_of_encoding_and_searching_it(file, tmp_path):
    """The definition: encode the file, search it, re-rank, compare with the exact neighbours."""
    X = np.load(file)
    asked, base = X[:60], X[60:]
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "asked.npy", asked)
    found = recommend(
        tmp_path / "base.npy", at=10, queries=tmp_path / "asked.npy", methods=["lsh"], n_bits=[128], n_queries=60
    )
    assert "on all 5,140 rows" in found.answer
    measured = {(one.search, more): one.recall[10, more].sample for one in found.cells for more in (1, 5)}
    encode_file(tmp_path / "base.npy", tmp_path / "c.h5", method="lsh", n_bits=128, n_train=5140)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (asked, base)]
    neighbours = exact_nearest(*unit, 10, "cosine")
    with CodeIndex.open(tmp_path / "c.h5") as index:
        for (search, more), promised in measured.items():
            rerank = None if more == 1 else base
            ids = index.search(asked, 10, asymmetric=search == "asymmetric", rerank=rerank, oversample=more).ids
            kept = np.mean([len(set(own) & set(true)) / 10 for own, true in zip(ids, neighbours, strict=True)])
            assert abs(kept - promised) < 0.03, (search, more)


def test_the_promise_for_all_rows_is_kept(file, tmp_path):
    promised = recommend(file, at=10, recall=0.9, methods=["lsh"], n_bits=[64, 128, 256], sample_rows=1500, seed=1)
    whole = recommend(file, at=10, recall=0.9, methods=["lsh"], n_bits=[64, 128, 256], sample_rows=10**6, seed=2)
    measured = {(one.n_bits, one.search): one for one in whole.cells}
    inside = []
    for one in promised.cells:
        for key, estimate in one.recall.items():
            true = measured[one.n_bits, one.search].recall[key].sample
            inside.append(estimate.low - 0.02 <= true <= estimate.high + 0.02)
    assert np.mean(inside) > 0.8


def test_a_length_that_a_method_cannot_do_is_skipped(file):
    found = recommend(file, at=10, methods=["sign", "lsh"], n_bits=[16, 64], n_queries=50)
    assert {(one.method, one.n_bits) for one in found.cells} == {("sign", 16), ("lsh", 16), ("lsh", 64)}
    assert len(found.skipped) == 1 and "sign: n_bits = 64" in found.skipped[0]


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
