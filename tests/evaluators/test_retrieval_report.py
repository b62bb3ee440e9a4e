"""Tables, figures and measurements of retrieval, from rows made by hand."""

import io
import math

import numpy as np
import pytest
from retrieval_toys import recall_row, results, time_row

from cbe_bench.core.statistics import difference_error
from cbe_bench.evaluators.retrieval.experiment import RetrievalExperiment
from cbe_bench.evaluators.retrieval.figures import recall_figure, retrieval_report
from cbe_bench.evaluators.retrieval.frontier import differences_table, frontier_finding, frontier_table
from cbe_bench.evaluators.retrieval.rows import RetrievalRow
from cbe_bench.evaluators.retrieval.sweep_figure import sweep_figure
from cbe_bench.evaluators.retrieval.tables import (
    data_label,
    equal_time_table,
    objective_table,
    recall_curves,
    recall_table,
    sweep_table,
    times_table,
)


def figure_rows(seeds=(0, 1)):
    """Two methods at 100 and 200 bits, lsh also at the code lengths that bracket 32 bits, those of equal time."""
    rows = [
        recall_row(name, k, 50 + k / 100 + seed, seed)
        for name in ("cbe-rand", "lsh")
        for k in (200, 100)
        for seed in seeds
    ]
    rows += [recall_row("lsh", k, k // 2 + seed, seed) for k in (16, 64) for seed in seeds]
    rows += [time_row("cbe-rand", k, 5.0) for k in (16, 64, 100, 200)]
    return rows + [time_row("lsh", k, us) for k, us in ((16, 2.5), (64, 10.0), (100, 50.0), (200, 150.0))]


def test_curves_are_means_over_seeds():
    curves = recall_curves([recall_row("lsh", 100, 50), recall_row("lsh", 100, 52, seed=1)])
    line = curves.query("scoring == 'symmetric' and depth == 2").iloc[0]
    assert (line["mean"], line["std"], line["seeds"]) == pytest.approx((0.51, 0.02 / math.sqrt(2), 2))
    assert set(curves["scoring"]) == {"symmetric", "asymmetric"}


def test_the_median_over_blocks_is_a_curve_of_its_own():
    plain, own = recall_row("hd3", 8, 40), recall_row("fbe", 8, 60, recall_median=(0.7, 0.8), depths=(1, 10))
    assert "recall_median@10" not in recall_table([plain])
    table = recall_table([plain, own]).set_index("encoder")
    assert np.isnan(table.loc["hd3", "recall_median@10"])
    assert table.loc["fbe", "recall_median@10"] == 0.8
    curves = recall_curves([plain, own])
    assert curves[curves["encoder"] == "fbe, median"]["mean"].tolist() == [0.7, 0.8]


def test_the_table_has_a_line_for_each_method_and_length_with_cost_and_failures():
    cost = {"fit_s": 2.0, "encode_us_per_vector": 3.0}
    rows = [recall_row("lsh", 100, 50, **cost), recall_row("lsh", 100, 0, seed=1, status="failed", reason="why")]
    rows.append(recall_row("itq", 50, 0, status="skipped", reason="memory", recall=(), depths=()))
    table = recall_table(rows)
    assert table["n_bits"].tolist() == [50, 100]
    line = table.iloc[1]
    assert (line["seeds"], line["recall@1"], line["fit_s"], line["encode_us_per_vector"]) == (1, 0.25, 2.0, 3.0)
    assert line["not_ok"] == "failed: why"
    assert table.iloc[0]["not_ok"] == "skipped: memory"


def test_equal_time_table_has_the_recall_interpolated_at_the_length_of_equal_time():
    table = equal_time_table(figure_rows(), "cbe-rand", [200, 100])
    assert table["target_bits"].tolist() == [100, 100, 200, 200]
    line = table.query("encoder == 'lsh' and target_bits == 200").iloc[0]
    assert (line["n_bits"], line["n_bits_shorter"], line["n_bits_longer"]) == pytest.approx((32, 16, 64))
    ratio = [line[f"time_ratio_{name}"] for name in ("low", "at_equal_bits", "high")]
    assert ratio == pytest.approx([30, 30, 30]) and not line["is_reference"]
    assert line["recall@1"] == pytest.approx((8 + 32 + 1) / 2 / 200), "half way in log bits, the mean of both seeds"
    own = table.query("encoder == 'cbe-rand' and target_bits == 200").iloc[0]
    assert (own["n_bits"], own["time_ratio_at_equal_bits"], own["reference_us_per_vector"]) == (200, 1, 5)
    failed = [time_row("lsh", 8, (), status="failed"), recall_row("lsh", 8, 1)]
    assert len(equal_time_table(failed, "lsh", [8])) == 0
    assert len(times_table(failed)) == 0


def test_steps_in_cost_are_shown():
    table = times_table(figure_rows()).set_index("encoder")
    assert table.loc["lsh"].to_dict() == {
        "us_at_16_bits": 2.5,
        "us_at_64_bits": 10,
        "us_at_100_bits": 50,
        "us_at_200_bits": 150,
    }


def test_report_of_a_figure(tmp_path):
    report = retrieval_report(results(figure_rows(), fixed=["time", "bits"]))
    names = ["equal-time", "times", "lengths", "frontier", "differences", "table", "recall"]
    assert [table.name for table in report.tables] == names
    assert [figure.name for figure in report.figures] == ["frontier", "differences", "recall", "recall-asymmetric"]
    assert all(figure.draw() is not None for figure in report.figures[:2])
    drawn = report.figures[2].draw()
    assert len(drawn.axes) == 4
    assert all(len(axis.lines) == 2 for axis in drawn.axes), "both methods at equal time, and at equal length"


def test_frontier_and_differences_by_hand():
    recalls = {"cbe-rand": (50, 54), "lsh": (49, 51), "hd3": (60, 60)}
    rows = [recall_row(name, 100, value, seed) for name, found in recalls.items() for seed, value in enumerate(found)]
    rows += [time_row("cbe-rand", 100, 5.0), time_row("lsh", 100, (140.0, 150.0, 170.0))]
    table = frontier_table(rows).set_index("encoder")
    assert list(table.index) == ["cbe-rand", "lsh"], "what was not timed is left out"
    assert table.loc["lsh", "encode_us_per_vector"] == 150
    assert table.loc["cbe-rand", "recall"] == pytest.approx(0.52)
    assert table.loc["lsh", "bytes"] == 13
    less = differences_table(rows, [100]).set_index("encoder")
    assert less["difference_points"].to_dict() == pytest.approx({"cbe-rand": 2.0, "hd3": 10.0})
    half = 100 * difference_error([[value / 100 for value in found] for found in recalls.values()])
    assert less.loc["hd3", "high"] - 10 == pytest.approx(half)
    assert "lsh takes 30 times as long" in frontier_finding(table.reset_index())


def test_rows_of_panels_that_have_nothing_are_left_out():
    assert len(recall_figure(results(recall_only()), "symmetric").axes) == 2
    times = [row for row in figure_rows() if not isinstance(row, RetrievalRow) or row.n_bits not in (100, 200)]
    assert len(recall_figure(results(times, fixed=["time"]), "symmetric").axes) == 2
    half_done = [row for row in times if row.label == "lsh"]
    assert len(recall_figure(results(half_done, fixed=["time"]), "symmetric").axes) == 2, "nothing to draw yet"
    without_reference = [row for row in figure_rows() if isinstance(row, RetrievalRow) or row.encoder == "lsh"]
    assert len(recall_figure(results(without_reference), "symmetric").axes) == 2


def recall_only():
    return [row for row in figure_rows() if isinstance(row, RetrievalRow)]


def test_tables_without_rows_are_left_out():
    assert retrieval_report(results([])).tables == ()
    failed = retrieval_report(results([recall_row("lsh", 100, 0, status="failed", recall=(), depths=())]))
    assert [table.name for table in failed.tables] == ["table"]
    assert failed.figures == ()


def sweep_rows(parameter, values, **more):
    return [
        recall_row(f"{parameter} = {value}", k, 50 + seed, seed, encoder="cbe-opt", params={parameter: value}, **more)
        for value in values
        for k in (100, 200)
        for seed in (0, 1)
    ]


def test_report_of_a_sweep():
    rows = sweep_rows("max_iter", (1, 5), objective_history=(90.0, 10.0, 8.0))
    one = results(rows, sweep="max_iter")
    report = retrieval_report(one)
    assert [table.name for table in report.tables] == ["sweep", "objective", "table", "recall"]
    assert [figure.name for figure in report.figures] == ["sweep"]
    drawn = report.figures[0].draw()
    assert [axis.get_xlabel() for axis in drawn.axes] == ["iterations", "iterations"]
    assert drawn.axes[0].get_ylabel() == "recall@2"
    table = sweep_table(rows, "max_iter")
    assert table["recall"].to_list() == pytest.approx([0.505] * 4)
    assert "averaged_auc" not in table
    objective = objective_table(rows)
    assert objective["iteration"].to_list() == [1, 2, 1, 2]
    assert objective["mean"].to_list() == pytest.approx([1, 0.8, 1, 0.8])


def test_a_sweep_to_infinity_and_one_with_auc_can_be_drawn():
    far = sweep_figure(results(sweep_rows("lam", (0.01, 1, math.inf)), sweep="lam"))
    assert far.axes[0].get_xlabel() == "λ"
    assert far.axes[0].get_xticklabels()[-1].get_text() == "∞"
    auc = sweep_figure(results(sweep_rows("mu", (0, 10, 1000), averaged_auc=0.7), sweep="mu"))
    assert [axis.get_ylabel() for axis in auc.axes] == ["recall@2", "averaged AUC less that at μ = 0 (points)"]
    one_seed = [row for row in sweep_rows("mu", (0, 10, 1000), averaged_auc=0.7) if row.seed == 0]
    assert len(sweep_figure(results(one_seed, sweep="mu")).axes) == 2, "without a deviation over seeds"
    assert sweep_figure(results(recall_only(), sweep="mu")) is None


def test_a_sweep_over_names_tells_objective_and_time_of_each():
    rows = [
        *sweep_rows("solver", ("closed-form",), objective_history=(90.0, 10.0, 8.0), fit_s=2.0),
        *sweep_rows("solver", ("gradient-descent",), objective_history=(90.0, 12.0, 9.0), fit_s=3.0),
    ]
    table = sweep_table(rows, "solver")
    assert table["objective"].to_list() == [8.0, 9.0, 8.0, 9.0]
    assert table["fit_s"].to_list() == [2.0, 3.0, 2.0, 3.0]
    history = objective_table(rows, "solver")
    assert history["solver"].to_list() == 2 * (2 * ["closed-form"] + 2 * ["gradient-descent"])
    assert history["mean"].to_list() == pytest.approx(2 * [1, 0.8, 1, 0.75])
    drawn = sweep_figure(results(rows, sweep="solver"))
    assert [tick.get_text() for tick in drawn.axes[0].get_xticklabels()] == ["closed-form", "gradient-descent"]
    assert len(drawn.axes[1].lines) == 4
    flips = sweep_figure(results(sweep_rows("sign_flips", (True, False)), sweep="sign_flips"))
    assert [tick.get_text() for tick in flips.axes[0].get_xticklabels()] == ["without", "with"]
    names = sweep_table(sweep_rows("precondition", (None, "hadamard")), "precondition")["precondition"]
    assert names.to_list() == 2 * ["hadamard", "none"]


def test_data_label():
    rows = [recall_row("lsh", 100, 50, seed) for seed in range(3)]
    sizes = "1,000 database rows, 500 queries, d = 800; 3 seeds"
    assert data_label(rows) == f"toy, real data: {sizes}; neighbours by cosine; protocol: paper"


def test_measurements():
    rows = [recall_row("lsh", 100, 50 + seed, seed, n_train=0, averaged_auc=0.6) for seed in range(2)]
    rows += [recall_row("cbe-opt", 100, 60, params={"lam": 1}), recall_row("lsh", 100, 0, seed=9, status="failed")]
    rows += [time_row("cbe-rand", 100, 2.0), time_row("lsh", 100, (60.0, 60.0)), time_row("lsh", 200, 9.0)]
    rows += [recall_row("cbe-rand", 100, 50, n_train=0), recall_row("lsh", 200, 50, n_train=0)]
    found = {(one.subject, one.metric): one for one in RetrievalExperiment.measurements(results(rows))}
    recall = found["lsh, d = 800, 100 bits", "recall, points"]
    assert (recall.value, recall.low, recall.high) == pytest.approx((50.5, 49.5, 51.5))
    assert found["lsh, d = 800, 100 bits", "averaged_auc, points"].value == pytest.approx(60)
    single = found["cbe-opt, d = 800, {'lam': 1}, 100 bits, 500 training rows", "recall, points"]
    assert (single.low, single.high) == pytest.approx((59, 61))
    ratio = found["lsh, d = 800, 100 bits, batches of 64", "time / reference"]
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((24, 30, 37.5))
    alike = found["cbe-opt, d = 800, {'lam': 1}, 100 bits, batches of 64", "time / reference"]
    assert (alike.low, alike.value, alike.high) == (1, 1, 1)


ODD_LABELS = (r"$\frac{1}$", "_price in $", "a$b$c", "$x_")


def test_labels_are_drawn_as_they_stand():
    rows = [recall_row(label, 100, 50) for label in ODD_LABELS]
    rows += [time_row(label, 100, 1.0) for label in ODD_LABELS]
    figure = recall_figure(results(rows, name="$", n_bits=[100], time_reference=ODD_LABELS[0]), "symmetric")
    figure.savefig(io.BytesIO(), format="png")
    drawn = [text._preprocess_math(text.get_text()) for text in figure.legends[0].get_texts()]
    assert {(text.strip(), is_math) for text, is_math in drawn} == {(label, False) for label in ODD_LABELS}
