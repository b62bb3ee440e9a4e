"""Tables, figures, measurements and claims of classification, from rows made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from cbe_bench.core.query_values import pack_queries
from cbe_bench.core.results import Description, Results
from cbe_bench.evaluators.classification.claims import CLAIMS
from cbe_bench.evaluators.classification.experiment import ClassificationExperiment
from cbe_bench.evaluators.classification.figures import classification_report
from cbe_bench.evaluators.classification.rows import ClassificationRow
from cbe_bench.evaluators.classification.tables import accuracy_table, data_label


def row(encoder, seed, accuracy=np.nan, symmetric=np.nan, *, n_bits=64, **values):
    return ClassificationRow(
        **{
            "encoder": encoder,
            "label": encoder,
            "params": {},
            "n_bits": n_bits,
            "n_train": 0,
            "seed": seed,
            "data": "toy",
            "data_kind": "real",
            "data_hash": "0",
            "data_rows": 96,
            "protocol": "paper",
            "n_features": 64,
            "n_classes": 12,
            "train_per_class": 4,
            "validation_per_class": 2,
            "test_per_class": 2,
            "costs": (1.0,),
            "bytes_per_vector": n_bits // 8,
            "accuracy": accuracy,
            "accuracy_symmetric": symmetric,
            "cost": 1.0,
            "key": f"{encoder}-{n_bits}-{seed}",
            "code": "",
            "status": "ok",
            "environment": "",
            "threads": 1,
            "peak_memory_bytes": 0,
            "ended": "",
        }
        | values
    )


def results(rows, folder):
    description = Description(
        name="toy", title="Toy", kind="classification", scale="quick", command="", config={}, labels={}
    )
    return Results(folder, description, rows)


def rows_with(opt, lsh=0.40, bilinear=0.40, gain=0.02, seeds=4):
    rows = []
    for seed in range(seeds):
        off = 0.001 * (seed % 2)
        rows.append(row("original", seed, 0.5, n_bits=32 * 64))
        for name, value in (("cbe-opt", opt + off), ("lsh", lsh - off), ("bilinear-opt", bilinear)):
            rows.append(row(name, seed, value, value - gain - off))
    return rows


def verdicts(rows, folder):
    found = [verdict for claim in CLAIMS for verdict in claim.verdicts([results(rows, folder)])]
    return {verdict.claim: verdict for verdict in found}


@pytest.mark.parametrize(
    ("rows", "no_loss", "asymmetric"),
    [
        (rows_with(0.41), "reproduced", "reproduced"),
        (rows_with(0.398), "reproduced", "reproduced"),
        (rows_with(0.395), "inconclusive", "reproduced"),
        (rows_with(0.38), "not reproduced", "reproduced"),
        (rows_with(0.41, gain=-0.02), "reproduced", "not reproduced"),
        (rows_with(0.41, gain=-0.0005), "reproduced", "inconclusive"),
        (rows_with(0.41, seeds=1), "not tested", "not tested"),
        (rows_with(0.99, lsh=0.99, bilinear=0.99, gain=0.01), "not tested", "not tested"),
        (rows_with(0.99, lsh=0.9, bilinear=0.99), "reproduced", "reproduced"),
        ([one for one in rows_with(0.41) if one.encoder != "lsh"], "not tested", "reproduced"),
        ([one for one in rows_with(0.41) if one.encoder == "original"], "not tested", "not tested"),
    ],
)
def test_outcomes(rows, no_loss, asymmetric, tmp_path):
    found = verdicts(rows, tmp_path)
    assert (found["T3-class-lsh"].outcome, found["T3-asym"].outcome) == (no_loss, asymmetric)


def test_each_rival_is_a_claim_of_its_own(tmp_path):
    found = verdicts(rows_with(0.41, bilinear=0.45), tmp_path)
    assert (found["T3-class-lsh"].outcome, found["T3-class-bil-opt"].outcome) == ("reproduced", "not reproduced")


def test_differences_are_paired_by_test_row(tmp_path):
    """Two rows differ of 400, all others being hard or easy for both: far less noise than the accuracies have."""
    easy = np.r_[np.ones(200), np.zeros(200)]
    better = np.r_[easy[:-2], 1, 1]
    values = {"cbe-opt": better, "lsh": easy}
    rows = [row(name, 0, v.mean(), 0.3, query_accuracy=pack_queries(v)) for name, v in values.items()]
    found = verdicts(rows, tmp_path)["T3-class-lsh"]
    assert (found.outcome, found.value) == ("reproduced", pytest.approx(0.5))
    assert "the interval is over queries only" in found.found


def test_a_verdict_has_the_difference_and_its_data(tmp_path):
    verdict = verdicts(rows_with(0.41, bilinear=0.405), tmp_path)["T3-class-bil-opt"]
    assert verdict.value == pytest.approx(0.55)
    assert verdict.low < verdict.value < verdict.high
    assert (verdict.kind, verdict.experiment) == ("real", tmp_path.name)
    assert verdict.data.startswith("toy (real data), 12 classes")


def test_codes_of_another_size_are_not_32_times_smaller(tmp_path):
    rows = [
        replace(one, bytes_per_vector=2 * one.bytes_per_vector) if one.encoder == "lsh" else one
        for one in rows_with(0.41)
    ]
    assert verdicts(rows, tmp_path)["T3-space"].outcome == "not reproduced"
    assert verdicts(rows_with(0.41), tmp_path)["T3-space"].outcome == "reproduced"


def test_the_same_data_counts_once_and_real_data_first(tmp_path):
    real = results(rows_with(0.41), tmp_path / "a")
    copy = results(rows_with(0.38), tmp_path / "b")
    drawn = results([replace(one, data_kind="synthetic") for one in rows_with(0.38)], tmp_path / "c")
    found = CLAIMS[0].verdicts([drawn, real, copy])
    assert [(verdict.experiment, verdict.outcome) for verdict in found] == [
        ("a", "reproduced"),
        ("c", "not reproduced"),
    ]


def test_table_by_hand():
    failed = row("hd3", 0, status="failed", reason="broken")
    table = accuracy_table(
        [row("lsh", 0, 0.3, 0.2), row("lsh", 1, 0.4, 0.2), failed, row("original", 0, 0.5, n_bits=2048)]
    ).set_index("encoder")
    assert list(table.index) == ["original", "lsh", "hd3"], "the longest first, then as they come"
    assert table.loc["lsh", "accuracy_percent"] == pytest.approx(35)
    assert table.loc["lsh", "accuracy_percent_std"] == pytest.approx(np.sqrt(50))
    assert table.loc["lsh", "symmetric_accuracy_percent_std"] == 0
    assert table.loc["lsh", "accuracy_percent_paper"] == 23.49
    assert np.isnan(table.loc["original", "symmetric_accuracy_percent"])
    assert table.loc["hd3", "not_ok"] == "failed: broken"
    assert table.loc["hd3", "n_seeds"] == 0


def test_the_paper_is_cited_for_its_own_settings_alone():
    table = accuracy_table([row("cbe-opt", 0, 0.3, params={"lam": 2}, label="b"), row("cbe-opt", 0, 0.3, n_bits=32)])
    assert table["accuracy_percent_paper"].isna().all()


def test_the_label_counts_seeds_that_ended_well():
    rows = [row("lsh", 0, 0.3), row("lsh", 1, status="failed")]
    assert data_label(rows).endswith("d = 64; 1 seed")


def test_figure_has_a_dot_for_every_method(tmp_path):
    report = classification_report(results(rows_with(0.41, seeds=2), tmp_path))
    drawing = report.figures[0].draw()
    assert len(drawing.axes) == 2
    labels = [text.get_text().split(",")[0] for text in drawing.axes[0].get_yticklabels()]
    assert sorted(labels) == ["bilinear-opt", "cbe-opt", "lsh", "original"]
    assert len(drawing.axes[0].containers) == 4, "each with its interval"


def test_reports_of_nothing(tmp_path):
    assert classification_report(results([], tmp_path)).tables == ()
    failed = classification_report(results([row("lsh", 0, status="failed")], tmp_path))
    assert failed.figures[0].draw() is None


def test_measurements_are_means_over_seeds_with_two_standard_errors(tmp_path):
    rows = [row("lsh", 0, 0.3, 0.2), row("lsh", 1, 0.4, 0.2), row("original", 0, 0.5, n_bits=2048)]
    rows.append(row("hd3", 0, status="failed"))
    found = {
        (one.subject.split(",")[0], one.metric): one
        for one in ClassificationExperiment.measurements(results(rows, tmp_path))
    }
    assert len(found) == 3
    lsh = found["lsh", "accuracy (%)"]
    assert (lsh.low, lsh.value, lsh.high) == pytest.approx((25, 35, 45))
    half = 2 * 50**0.5  # the deviation of lsh, the only method with two seeds
    assert found["original", "accuracy (%)"][2:] == pytest.approx((50, 50 - half, 50 + half)), "a single seed"


def test_labels_are_drawn_as_they_stand(tmp_path):
    labels = (r"$\frac{1}$", "_price in $", "a$b$c")
    rows = [row(f"m{i}", 0, 0.4, 0.3, label=label) for i, label in enumerate(labels)]
    figure = classification_report(results(rows, tmp_path)).figures[0].draw()
    figure.savefig(tmp_path / "x.png")
    drawn = [text._preprocess_math(text.get_text()) for text in figure.axes[0].get_yticklabels()]
    assert {text.rsplit(",", 1)[0].strip() for text, is_math in drawn if not is_math} >= set(labels)
