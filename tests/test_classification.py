"""Classification on codes: machines against LinearSVC, splits, evaluation, the verb, the report and the verdicts."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.svm import LinearSVC

from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import load_rows
from cbe_bench.data.formats.hdf5 import HDF5Features
from cbe_bench.data.splits import PROTOCOLS, Split, make_class_split
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.data.view import PreparedData
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.classification import ClassificationEvaluator
from cbe_bench.evaluators.svm import train_machines
from cbe_bench.kernels.bits import pack_signs, unpack_signs
from cbe_bench.kernels.gram import code_gram, real_gram
from cbe_bench.kernels.hamming import inner_products
from cbe_bench.reports.claims.classification import classification_verdicts
from cbe_bench.reports.classification import accuracy_table

CONFIGS = Path(__file__).parents[1] / "configs"
NONE = np.empty(0, np.int64)
COSTS = [0.1, 1.0, 10.0, 100.0]


def silent(share):
    assert 0 <= share <= 1


@pytest.mark.parametrize("n_bits", [1, 13, 64, 200, 1500])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_inner_products_of_codes_are_those_of_signs(n, n_bits, rng):
    signs = np.where(rng.standard_normal((n + 7, n_bits)) >= 0, 1, -1).astype(np.float32)
    codes = pack_signs(signs)
    assert np.array_equal(inner_products(codes[:n], codes, n_bits), signs[:n] @ signs.T)


def test_gram_matrices_of_more_rows_than_a_strip(rng):
    X = rng.standard_normal((1500, 40), dtype=np.float32)
    signs = np.where(X >= 0, 1, -1)
    assert np.array_equal(code_gram(pack_signs(X), 40), signs @ signs.T)
    gram = real_gram(X)
    np.testing.assert_allclose(gram, X @ X.T, atol=1e-4)
    assert np.array_equal(gram, gram.T)


def test_two_points_by_hand():
    # x = +1 and -1: b = 0 by symmetry, and w minimises w^2 / 2 + 2 C (1 - w)^2, so w = 4 C / (1 + 4 C)
    X = np.array([[1.0], [-1.0]], np.float32)
    for cost, beta in zip(COSTS, train_machines(X @ X.T, np.array([0, 1]), 2, COSTS, silent), strict=True):
        w = 4 * cost / (1 + 4 * cost)
        np.testing.assert_allclose(X.T @ beta, [[w, -w]], atol=0.005)
        np.testing.assert_allclose(beta.sum(axis=0), 0, atol=1e-5)


@pytest.fixture(scope="module")
def medium():
    """About 1,000 rows of 25 classes as codes of 512 bits, of unit length."""
    features = SyntheticFeatures("medium", 5_000, 512)
    labels = features.labels()
    rows = np.flatnonzero(labels < 25)
    X = features.read(rows)
    codes = make_encoder("cbe-rand", random_state=0).fit(X).encode(X)
    return codes, labels[rows].astype(np.int64)


def test_machines_agree_with_linear_svc(medium):
    codes, labels = medium
    signs = unpack_signs(codes, 512, np.float32) / np.sqrt(np.float32(512))
    n = len(codes) * 2 // 3
    gram = code_gram(codes[:n], 512) / np.float32(512)
    costs = [1.0, 20.0]
    for cost, beta in zip(costs, train_machines(gram, labels[:n], 25, costs, silent), strict=True):
        theirs = LinearSVC(C=cost, tol=1e-6, max_iter=100_000).fit(signs[:n], labels[:n]).decision_function(signs[n:])
        ours = signs[n:] @ (signs[:n].T @ beta) + beta.sum(axis=0)
        assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.9999
        assert np.abs(ours - theirs).max() < 0.03
        accuracies = [(values.argmax(axis=1) == labels[n:]).mean() for values in (ours, theirs)]
        assert abs(accuracies[0] - accuracies[1]) <= 0.003 + 1 / len(ours)


def test_machines_that_do_not_converge_say_so(medium, monkeypatch):
    codes, labels = medium
    monkeypatch.setattr("cbe_bench.evaluators.svm._MOST_TURNS", 1)
    gram = code_gram(codes[:200], 512) / np.float32(512)
    with pytest.warns(UserWarning, match=r"C = 10: \d+ of 25 machines have not quite converged"):
        list(train_machines(gram, labels[:200], 25, [10.0], silent))


def split_of(labels, seed=0, **sizes):
    sizes = {"classes": None, "train": 3, "validation": 2, "test": 1} | sizes
    return make_class_split(labels, seed=seed, source="toy", **sizes)


def test_splits_are_disjoint_and_have_their_rows_of_every_class(rng):
    labels = rng.permutation(np.repeat([b"cat", b"dog", b"elk", b"fox"], 8))
    split = split_of(labels)
    assert not set(split.train) & set(split.held)
    assert np.all(np.diff(split.train) > 0)
    assert np.all(np.diff(split.held) > 0)
    assert np.array_equal(split.names[split.train_classes], labels[split.train])
    assert np.array_equal(split.names[split.held_classes], labels[split.held])
    assert list(np.bincount(split.train_classes)) == [3] * 4
    assert list(np.bincount(split.held_classes[split.is_test])) == [1] * 4
    assert list(np.bincount(split.held_classes[~split.is_test])) == [2] * 4


def test_seeds_draw_other_rows_of_the_same_classes(rng):
    labels = rng.permutation(np.repeat(np.arange(30), 8))
    one, other = split_of(labels, classes=5), split_of(labels, seed=1, classes=5)
    assert len(one.names) == 5
    assert np.array_equal(one.names, other.names)
    assert not np.array_equal(one.train, other.train)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "toy: has no labels"),
        (np.zeros(20), "toy: all rows have the label 0.0; classification needs at least 2 classes"),
        (np.repeat([4, 7], [20, 5]), "toy: class 7 has 5 rows; 3 for training, 2 for validation and 1 for the test"),
    ],
)
def test_labels_that_cannot_be_split(labels, message):
    with pytest.raises(InputError, match=re.escape(message)):
        split_of(labels)


def test_stand_ins_have_enough_rows_of_every_class():
    for per_class in (4, 16, 200):
        features = SyntheticFeatures("imagenet25600", SyntheticFeatures.rows_for(per_class), 64)
        assert np.bincount(features.labels(), minlength=100).min() >= per_class


def evaluator_of(features, split, costs, **options):
    def prepared(rows):
        return PreparedData(features, rows, PROTOCOLS["paper"], seed=0, **options)

    X = prepared(Split(queries=split.train, database=NONE, learn=NONE)).queries()
    held = prepared(Split(queries=NONE, database=split.held, learn=NONE))
    return ClassificationEvaluator(X, held, split, costs), X, held


def test_evaluation_against_its_definition():
    features = SyntheticFeatures("toy", 4_000, 200)
    split = split_of(features.labels(), classes=12, train=12, validation=6, test=8)
    evaluator, X, held = evaluator_of(features, split, COSTS, block_rows=33)
    found = evaluator.codes(make_encoder("cbe-orth", n_bits=190, random_state=3), silent)
    encoder = make_encoder("cbe-orth", n_bits=190, random_state=3).fit(X)
    H = np.concatenate([block for _, block in held.database_blocks()])
    real = encoder.project(H) / np.linalg.norm(encoder.project(H), axis=1, keepdims=True)
    cases = {
        "": (encoder.transform(X) / np.sqrt(190), real),
        "_symmetric": (encoder.transform(X) / np.sqrt(190), encoder.transform(H) / np.sqrt(190)),
        "original": (X, H),
    }
    for kind, (trained, tested) in cases.items():
        machines = [LinearSVC(C=c, tol=1e-6, max_iter=50_000).fit(trained, split.train_classes) for c in COSTS]
        right = np.array([machine.predict(tested) == split.held_classes for machine in machines])
        validation, test = right[:, ~split.is_test].mean(axis=1), right[:, split.is_test].mean(axis=1)
        row, end = (evaluator.original(silent), "") if kind == "original" else (found, kind)
        np.testing.assert_allclose(row[f"validation_accuracies{end}"], validation, atol=1.01 / 72)
        np.testing.assert_allclose(row[f"test_accuracies{end}"], test, atol=1.01 / 96)
        best = int(np.argmax(row[f"validation_accuracies{end}"]))
        assert row[f"cost{end}"] == COSTS[best]
        assert row[f"accuracy{end}"] == pytest.approx(row[f"test_accuracies{end}"][best])
    assert found["bytes_per_vector"] == 24
    assert found["accuracy"] > 3 / 12, "far above chance"


class FirstRows:
    """An encoder that tells what it learned from."""

    learns = True

    def fit(self, X, y):
        self.seen = X, y
        raise StopIteration


def test_learned_encoders_see_training_rows_and_their_classes():
    features = SyntheticFeatures("toy", 4_000, 64)
    split = split_of(features.labels(), classes=5, train=10, validation=2, test=2)
    evaluator, X, _ = evaluator_of(features, split, COSTS)
    for rows in (None, 20):
        spy = FirstRows()
        with pytest.raises(StopIteration):
            evaluator.codes(spy, silent, rows)
        seen, classes = spy.seen
        assert len(seen) == (rows or 50)
        where = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in seen]
        assert np.array_equal(split.train_classes[where], classes)


def toy_file(path, rng, labels=None, rows=12 * 16):
    """Write features around 12 centres, with labels unless told otherwise."""
    true = np.arange(rows) % 12
    centres = np.random.default_rng(0).standard_normal((12, 64))
    with h5py.File(path, "w") as file:
        file["features"] = (centres[true] + 1.5 * rng.standard_normal((rows, 64))).astype(np.float32)
        if labels is not False:
            file["labels"] = true if labels is None else labels
    return path


def run(out, file, *more, code=0):
    own = ["--set", f"data.file={file}", "--set", "bits=[16,64]", "--set", "name=classification"]
    args = ["run", str(CONFIGS / "classification.yaml"), "--scale", "smoke", "--out", str(out), *own, *more]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    return result


def test_run_writes_rows_table_and_figure_and_goes_on(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng)
    result = run(tmp_path, file)
    folder = tmp_path / "smoke" / "classification"
    names = {path.name for path in folder.iterdir()}
    outputs = {"table.csv", "table.md", "accuracy.png", "accuracy.pdf"}
    assert names == {"rows.jsonl", "experiment.json", "environments.json"} | outputs
    rows = load_rows(folder / "rows.jsonl")
    assert len(rows) == 2 * (1 + 6 * 2)
    assert {row["status"] for row in rows} == {"ok"}
    assert "T3-class: " in result.output
    assert "T3-asym: " in result.output
    table = pd.read_csv(folder / "table.csv").set_index(["encoder", "bits"])
    lsh = [row["accuracy"] for row in rows if (row["encoder"], row["n_bits"]) == ("lsh", 64)]
    assert table.loc[("lsh", 64), "accuracy"] == pytest.approx(100 * np.mean(lsh), rel=1e-4)
    assert table.loc[("lsh", 64), "bytes"] == 8
    assert table.loc[("original", 32 * 64), "bytes"] == 256
    assert table.loc[("cbe-opt", 64), "accuracy_paper"] == 24.55
    assert np.isnan(table.loc[("cbe-opt", 16), "accuracy_paper"])
    assert "| original | float32 | 256 |" in (folder / "table.md").read_text()
    kept = (folder / "rows.jsonl").read_bytes()
    again = run(tmp_path, file)
    assert "going on: 26 of 26 cells are in" in again.output
    assert (folder / "rows.jsonl").read_bytes() == kept


def test_values_do_not_depend_on_threads_or_memory(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng)
    few = ["--set", "seeds=[0]", "--set", "encoders=[cbe-opt, hd3]"]
    found = []
    for name, more in (("one", ["--threads", "1"]), ("two", ["--threads", "2", "--memory-limit", "2GiB"])):
        run(tmp_path / name, file, *few, *more)
        rows = load_rows(tmp_path / name / "smoke" / "classification" / "rows.jsonl")
        found.append([(row["key"], row["test_accuracies"], row["validation_accuracies"]) for row in rows])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (False, "has no labels"),
        (np.zeros(192, int), "all rows have the label 0"),
        (np.r_[np.zeros(190, int), 1, 1], "class 1 has 2 rows"),
    ],
)
def test_bad_labels_end_in_one_line_and_leave_nothing(labels, message, tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng, labels)
    result = run(tmp_path / "out", file, code=2)
    assert message in result.output
    assert str(file) in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("classes=1", "classes: found 1; input should be greater than or equal to 2"),
        ("costs=[1, 0]", "costs.1: found 0; input should be greater than 0"),
        ("costs=[1, 1]", "costs: 1.0 given more than once"),
        ("protocol=released-code", "protocol: found 'released-code'; input should be 'paper'"),
        ("encoders=[{name: lsh, label: original}]", "is what the features themselves are called"),
        ("tests=3", "tests: unknown key; did you mean 'test'?"),
    ],
)
def test_bad_configurations(override, message, tmp_path, rng):
    result = run(tmp_path / "out", toy_file(tmp_path / "toy.h5", rng), "--set", override, code=2)
    assert message in result.output


def test_too_little_memory_skips_with_a_reason(tmp_path, rng):
    run(tmp_path, toy_file(tmp_path / "toy.h5", rng), "--set", "encoders=[lsh]", "--memory-limit", "300MiB")
    rows = load_rows(tmp_path / "smoke" / "classification" / "rows.jsonl")
    assert {row["status"] for row in rows} == {"skipped"}
    assert "the memory limit is 300 MiB" in rows[0]["reason"]
    assert not (tmp_path / "smoke" / "classification" / "accuracy.png").exists()


def row_of(encoder, seed, accuracy, symmetric=None, n_bits=64):
    codes = {} if symmetric is None else {"accuracy_symmetric": symmetric, "encode_ms": 1.0}
    sizes = {"n_features": 64, "n_classes": 12, "train": 4, "validation": 2, "test": 2}
    return {
        "experiment": "classification",
        "status": "ok",
        "reason": "",
        "data": "toy",
        "data_kind": "real",
        "encoder": encoder,
        "label": encoder,
        "params": {},
        "n_bits": n_bits,
        "seed": seed,
        "bytes_per_vector": n_bits // 8,
        "accuracy": accuracy,
        "cost": 1.0,
        **sizes,
        **codes,
    }


def rows_with(opt, lsh=0.40, bilinear=0.40, gain=0.02, seeds=4):
    rows = []
    for seed in range(seeds):
        off = 0.001 * (seed % 2)
        rows.append(row_of("original", seed, 0.5, n_bits=32 * 64))
        for name, value in (("cbe-opt", opt + off), ("lsh", lsh - off), ("bilinear-opt", bilinear)):
            rows.append(row_of(name, seed, value, value - gain - off))
    return rows


@pytest.mark.parametrize(
    ("rows", "no_loss", "asymmetric"),
    [
        (rows_with(0.41), "reproduced", "reproduced"),
        (rows_with(0.395), "reproduced", "reproduced"),
        (rows_with(0.38), "not reproduced", "reproduced"),
        (rows_with(0.41, bilinear=0.45), "not reproduced", "reproduced"),
        (rows_with(0.41, gain=-0.02), "reproduced", "not reproduced"),
        (rows_with(0.41, gain=-0.0005), "reproduced", "not tested"),
        (rows_with(0.41, seeds=1), "not tested", "not tested"),
        (rows_with(0.99, lsh=0.99, bilinear=0.99), "vacuous", "vacuous"),
        (rows_with(0.99, lsh=0.9, bilinear=0.99), "reproduced", "reproduced"),
        ([row for row in rows_with(0.41) if row["encoder"] != "lsh"], "not tested", "reproduced"),
    ],
)
def test_verdicts(rows, no_loss, asymmetric):
    found = {verdict.claim: verdict for verdict in classification_verdicts(rows)}
    assert (found["T3-class"].verdict, found["T3-asym"].verdict) == (no_loss, asymmetric)
    assert "toy (real data), 12 classes" in found["T3-class"].data


def test_the_value_of_a_verdict_is_the_worst_difference():
    verdict = classification_verdicts(rows_with(0.41, bilinear=0.405))[0]
    assert verdict.value == pytest.approx(0.55)
    assert "cbe-opt - lsh: +1.10 points" in verdict.found
    assert "a code is 32 times smaller" in verdict.found


def test_codes_of_another_size_are_not_32_times_smaller():
    rows = rows_with(0.41)
    for row in rows:
        row["bytes_per_vector"] *= 2 if row["encoder"] == "lsh" else 1
    assert classification_verdicts(rows)[0].verdict == "not reproduced"


def test_table_by_hand():
    failed = row_of("hd3", 0, 0.0) | {"status": "failed", "reason": "broken"}
    rows = [row_of("original", 0, 0.5, n_bits=2048), row_of("lsh", 0, 0.3, 0.2), row_of("lsh", 1, 0.4, 0.2), failed]
    table = accuracy_table(rows).set_index("encoder")
    assert list(table.index) == ["original", "lsh", "hd3"]
    assert table.loc["lsh", "accuracy"] == pytest.approx(35)
    assert table.loc["lsh", "accuracy_std"] == pytest.approx(np.sqrt(50))
    assert table.loc["lsh", "symmetric_std"] == 0
    assert table.loc["lsh", "accuracy_paper"] == 23.49
    assert table.loc["hd3", "not_ok"] == "failed: broken"
    assert table.loc["hd3", "seeds"] == 0


def test_a_file_of_the_user_is_read_as_it_is(tmp_path, rng):
    with HDF5Features(toy_file(tmp_path / "toy.h5", rng)) as features:
        split = split_of(features.labels(), train=8, validation=4, test=4)
        evaluator, X, _ = evaluator_of(features, split, COSTS)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
        assert evaluator.original(silent)["accuracy"] > 0.3
    assert json.dumps(split.names.tolist()) == json.dumps(list(range(12)))


def test_a_bad_row_of_any_seed_ends_the_run_before_it_begins(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng, rows=12 * 40)
    with h5py.File(file, "r+") as stored:
        stored["features"][3] = np.nan
    many = ["--set", "encoders=[cbe-rand]", "--set", f"seeds={list(range(30))}"]
    result = run(tmp_path / "out", file, *many, code=2)
    assert "row 3 holds NaN or infinite values" in result.output
    assert not list((tmp_path / "out").rglob("rows.jsonl"))
