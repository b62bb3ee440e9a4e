"""Claims on retrieval judged from rows made by hand: reproduced, not reproduced, missing."""

import math
from dataclasses import replace

import pytest
from retrieval_toys import D, equal_time_row, recall_row, results

from cbe_bench.evaluators.base import all_claims
from cbe_bench.evaluators.retrieval.claims import CLAIMS
from cbe_bench.evaluators.retrieval.rows import EqualTimeRow, RetrievalRow

BY_ID = {claim.id: claim for claim in CLAIMS}
RECALL = {"cbe-rand": 50, "lsh": 50.5, "bilinear-rand": 45, "cbe-opt": 60, "bilinear-opt": 55}
RATIOS = {"cbe-rand": 1, "cbe-opt": 1, "lsh": 150, "bilinear-rand": 3, "bilinear-opt": 3}


def judged(claim, *experiments):
    return BY_ID[claim].verdicts(experiments)


def outcomes(claim, *experiments):
    return [verdict.outcome for verdict in judged(claim, *experiments)]


def verdict_of(claim, *experiments):
    (found,) = judged(claim, *experiments)
    return found


def figure(name="toy", kind="real", seeds=(0, 1), ratios=RATIOS, at_equal_time=40, **recall):
    """Figures 1 to 3 at 100 and 200 bits of 800 dimensions; others reach a tenth of the length in equal time."""
    rows = []
    for target in (100, 200):
        for label, value in (RECALL | {key.replace("_", "-"): value for key, value in recall.items()}).items():
            circulant = label.startswith("cbe")
            for seed in seeds:
                rows.append(recall_row(label, target, value + target / 100 + seed / 10, seed, data_kind=kind))
                if not circulant:
                    rows.append(recall_row(label, target // 10, at_equal_time + seed / 10, seed, data_kind=kind))
            rows.append(equal_time_row(label, target, target if circulant else target // 10, ratios[label]))
    return results(rows, name, fixed=["time", "bits"])


FIGURES = ("F-time", "F-bits-lsh", "F-bits-bil", "F-speed-lsh", "F-std", "S5-kheur")


@pytest.mark.parametrize("claim", FIGURES)
def test_figures_1_to_3_are_reproduced(claim):
    assert outcomes(claim, figure()) == ["reproduced"]


@pytest.mark.parametrize(
    ("claim", "other", "value"),
    [
        ("F-time", figure(at_equal_time=46.5), 4.5),
        ("F-bits-lsh", figure(lsh=52), -2),
        ("F-bits-bil", figure(bilinear_opt=61), -1),
        ("F-bits-bil", figure(ratios=RATIOS | {"bilinear-rand": 1.5}), 5),
        ("F-speed-lsh", figure(ratios=RATIOS | {"lsh": 90}), 90),
        ("F-std", figure(seeds=(0, 30)), 3 / math.sqrt(2)),
        ("S5-kheur", figure(cbe_opt=50), 0),
    ],
)
def test_figures_1_to_3_are_not_reproduced(claim, other, value):
    found = verdict_of(claim, other)
    assert found.outcome == "not reproduced"
    assert found.value == pytest.approx(value)


def test_values_carry_minimum_and_maximum_over_seeds():
    rows = [recall_row("cbe-rand", 100, 50 + seed, seed) for seed in range(3)]
    rows += [recall_row("lsh", 100, 49 + 2 * seed, seed) for seed in range(3)]
    found = verdict_of("F-bits-lsh", results(rows, fixed=["time"]))
    assert (found.value, found.low, found.high) == pytest.approx((0, -1, 1))


def test_only_seeds_of_both_methods_are_compared():
    rows = [recall_row("cbe-rand", 100, 50, 0), recall_row("cbe-rand", 100, 90, 1), recall_row("lsh", 100, 50, 0)]
    assert verdict_of("F-bits-lsh", results(rows, fixed=["time"])).value == 0


def test_real_data_come_first():
    found = judged("F-time", figure("a", "synthetic"), figure("b", "real"))
    assert [verdict.experiment for verdict in found] == ["b", "a"]


def test_codes_shorter_than_the_papers_do_not_decide():
    shorter = [recall_row("cbe-rand", 50, 10), recall_row("lsh", 50, 90), equal_time_row("lsh", 50, 200, 10)]
    short = results([*figure().rows, *shorter], fixed=["time", "bits"], n_bits=[50, 100, 200])
    assert [outcomes(claim, short) for claim in FIGURES] == [["reproduced"]] * len(FIGURES)
    assert "-42.50" in verdict_of("F-time", short).found, "but they are shown"


def test_where_a_rival_is_saturated_no_margin_is_asked_for():
    full = figure(at_equal_time=96, cbe_rand=97, lsh=97, bilinear_rand=97, cbe_opt=97.2, bilinear_opt=99.4)
    found = verdict_of("F-time", full)
    assert found.outcome == "not tested"
    assert "saturated at 100, 200 bits" in found.found
    assert outcomes("S5-kheur", figure(cbe_rand=99, cbe_opt=99.1)) == ["not tested"]


def test_parts_that_were_not_measured_are_not_reproduced_by_the_others():
    rows = [row for row in figure().rows if isinstance(row, RetrievalRow)]
    without_times = results(rows, fixed=["time", "bits"])
    for claim in ("F-bits-bil", "F-time", "F-speed-lsh"):
        assert outcomes(claim, without_times) == ["not tested"]


def sweep(parameter, values, recall, **more):
    """An experiment over a parameter: recall as a function of it."""
    rows = [
        recall_row(
            f"{parameter} = {value}", k, recall(value), seed, encoder="cbe-opt", params={parameter: value}, **more
        )
        for value in values
        for k in (100, 200)
        for seed in (0, 1)
    ]
    return results(rows, parameter, sweep=parameter)


FALLING = (9.0, 5.0, 4.0, 4.0)
ITERATIONS = (1, 5, 10, 20)


def test_iterations_of_training():
    steady = sweep("max_iter", ITERATIONS, lambda n: 60 - 3 / n, objective_history=FALLING)
    assert outcomes("S5-mono", steady) == ["reproduced"]
    slow = verdict_of("S5-mono", sweep("max_iter", ITERATIONS, lambda n: 60 - 30 / n, objective_history=FALLING))
    assert (slow.outcome, slow.value) == ("not reproduced", pytest.approx(-1.5))
    rising = sweep("max_iter", ITERATIONS, lambda n: 60, objective_history=(9.0, 5.0, 5.1))
    assert outcomes("S5-mono", rising) == ["not reproduced"]
    few = sweep("max_iter", (1, 5), lambda n: 60, objective_history=FALLING)
    assert outcomes("S5-mono", few) == ["not tested"]


def trainings(seconds, sizes=((500, 1_000), (5_000, 1_000), (5_000, 64_000)), **more):
    history = (1.0,) * 11
    return results(
        [
            recall_row(
                "cbe-opt", 100, 50, n_train=n, n_features=d, objective_history=history, fit_s=10 * seconds(n, d), **more
            )
            for n, d in sizes
        ]
    )


def test_cost_of_training():
    assert outcomes("S5-cost", trainings(lambda n, d: 1e-9 * n * d * math.log(d))) == ["reproduced"]
    found = verdict_of("S5-cost", trainings(lambda n, d: 1e-9 * n**2 * d * math.log(d)))
    assert (found.outcome, found.value, found.high) == ("not reproduced", pytest.approx(1), pytest.approx(2))
    narrow = trainings(lambda n, d: 1.0, [(500, 64), (501, 64), (500, 999)])
    assert outcomes("S5-cost", narrow) == ["not tested"]
    with_pairs = trainings(lambda n, d: 1e-9 * n * d * math.log(d), params={"mu": 1})
    assert outcomes("S5-cost", with_pairs) == ["not tested"]


def test_times_of_different_machines_are_judged_apart():
    law = trainings(lambda n, d: 1e-9 * n * d * math.log(d))
    there = results([replace(row, environment="there", fit_s=100 * row.fit_s) for row in law.rows])
    assert outcomes("S5-cost", law, there) == ["reproduced", "reproduced"]


@pytest.mark.parametrize(("gain", "outcome"), [(1.6, "reproduced"), (1.4, "not reproduced")])
def test_pairs_of_known_similarity(gain, outcome):
    one = sweep("mu", (0, 1, 10), lambda mu: 50)
    rows = [replace(row, averaged_auc=0.5 + gain / 100 * (row.params["mu"] == 10)) for row in one.rows]
    found = verdict_of("S6-semi", results(rows, sweep="mu"))
    assert (found.outcome, found.value) == (outcome, pytest.approx(gain))


def test_weight_of_orthogonality():
    values = (0.01, 0.1, 1, 10)
    assert outcomes("F-lambda", sweep("lam", values, lambda lam: 50 + 0.4 * (lam == 10))) == ["reproduced"]
    far = verdict_of("F-lambda", sweep("lam", values, lambda lam: 50 - 20 * (lam == 0.01) + 0.6 * (lam == 1)))
    assert (far.outcome, far.value) == ("not reproduced", pytest.approx(0.6))
    assert outcomes("F-lambda", sweep("lam", (0.1, 1), lambda lam: 50)) == ["not tested"]


def test_the_largest_training_set_decides_on_lambda():
    values = (0.1, 1, 10)
    large = sweep("lam", values, lambda lam: 50).rows
    small = [
        replace(row, label=f"{row.label}, few", n_train=100)
        for row in sweep("lam", values, lambda lam: 50 + 9 * (lam == 1)).rows
    ]
    found = verdict_of("F-lambda", results([*large, *small], sweep="lam"))
    assert (found.outcome, found.value) == ("reproduced", 0)


def few_dimensions(leads, **recall):
    values = {"cbe-opt": 50, "lsh": 40, "sh": 30, "sklsh": 20, "aqbc": 50.5} | recall
    rows = [recall_row(label, k, value) for label, value in values.items() for k in (100, 200)]
    return results([*rows, *(recall_row("itq", k, 50 + lead) for k, lead in zip((100, 200), leads, strict=True))])


def test_few_dimensions():
    assert outcomes("F4-low", few_dimensions((10, 4))) == ["reproduced"]
    assert outcomes("F4-low", few_dimensions((0.5, 0.9))) == ["reproduced"]
    assert outcomes("F4-low", few_dimensions((10, 6))) == ["not reproduced"]
    behind = verdict_of("F4-low", few_dimensions((10, 4), sh=51.5))
    assert (behind.outcome, behind.value) == ("not reproduced", pytest.approx(-1.5))


def hadamard(rand=50.0, opt=60.0, fbe=45.0, median=None, time_us=2.0):
    values = {"cbe-rand": rand, "cbe-opt": opt, "fbe": fbe, "fjlt-1": 40}
    rows = [
        recall_row(
            label,
            100,
            value,
            encode_us_per_vector=1.0 if label == "cbe-rand" else time_us,
            encoded_bits=100,
            recall_median=() if median is None or label != "fbe" else (median / 100,),
        )
        for label, value in values.items()
    ]
    return results(rows, "hadamard", n_bits=[100])


def test_hadamard_family():
    assert outcomes("F5-fbe", hadamard()) == ["reproduced"]
    for other in (hadamard(median=52.0), hadamard(time_us=0.5), hadamard(opt=54)):
        assert outcomes("F5-fbe", other) == ["not reproduced"]
    prefixes = [replace(row, encoded_bits=200) for row in hadamard().rows]
    assert outcomes("F5-fbe", results(prefixes, n_bits=[100])) == ["not tested"], "times are those of longer codes"


EVERYTHING = [figure(), few_dimensions((10, 4)), hadamard(), trainings(lambda n, d: 1.0)]
EVERYTHING += [
    sweep("max_iter", ITERATIONS, lambda n: 60, objective_history=FALLING),
    sweep("mu", (0, 1), lambda mu: 50, averaged_auc=0.5),
    sweep("lam", (0.1, 1, 10), lambda lam: 50),
]


def spoilt(row, status):
    """Return a row as it is stored where its cell did not end well: without metrics."""
    lost = {"recall": (), "recall_asymmetric": (), "depths": (), "fit_s": math.nan, "objective_history": ()}
    if isinstance(row, EqualTimeRow):
        lost = {"n_bits": 0, "time_ratio": math.nan, "time_ratio_at_equal_bits": math.nan}
    return replace(row, status=status, **lost)


@pytest.mark.parametrize("status", ["failed", "skipped", "timeout"])
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_rows_that_did_not_end_well_are_no_trouble(status, step):
    experiments = [
        replace(one, rows=[spoilt(row, status) if i % step == 0 else row for i, row in enumerate(one.rows)])
        for one in EVERYTHING
    ]
    few = [replace(one, rows=one.rows[:keep]) for one in EVERYTHING for keep in (0, 1, 7)]
    for claim in CLAIMS:
        assert claim.verdicts(experiments) and claim.verdicts(few)


def test_claims_are_judged_where_nothing_was_run_and_keep_their_place():
    for claim in CLAIMS:
        (found,) = claim.verdicts([])
        assert found.outcome == "not tested" and found.found and found.where and found.rule
    names = [claim.id for claim in all_claims() if claim.id in BY_ID]
    assert names == [
        *("S5-mono", "S5-cost", "S5-kheur", "S6-semi", "F-time", "F-bits-lsh"),
        *("F-bits-bil", "F-speed-lsh", "F-lambda", "F-std", "F4-low", "F5-fbe"),
    ]


def test_dimension_of_the_toys_makes_their_codes_count():
    assert 100 >= D / 8 > 50
