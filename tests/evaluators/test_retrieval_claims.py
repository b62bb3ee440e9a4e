"""Claims on retrieval judged from rows made by hand: reproduced, not reproduced, inconclusive, missing."""

import math
from dataclasses import replace

import numpy as np
import pytest
import retrieval_toys
from retrieval_toys import D, results, time_row

from cbe_bench.core.query_values import pack_queries
from cbe_bench.evaluators.base import all_claims, judge
from cbe_bench.evaluators.retrieval.at_equal_time import at_bits, bits_in_equal_time, compare_at_equal_time
from cbe_bench.evaluators.retrieval.claims import CLAIMS
from cbe_bench.evaluators.retrieval.rows import RetrievalRow
from cbe_bench.evaluators.times.rows import TimingRow

BY_ID = {claim.id: claim for claim in CLAIMS}
RECALL = {"cbe-rand": 50, "cbe-orth": 51, "lsh": 50.5, "bilinear-rand": 45, "cbe-opt": 60, "bilinear-opt": 55}
SEEDS = (0, 1, 2)
NOISE = (-0.1, 0.0, 0.1)
"""What a seed adds to a method: half of the interval of a difference is 0.1 t / sqrt(3) where only one has it."""


def recall_row(label, n_bits, points, seed=0, **values):
    """Return a row whose recall is so many points at both depths."""
    curve = {"recall": (points / 100, points / 100)}
    return retrieval_toys.recall_row(label, n_bits, points, seed, **curve | values)


def judged(claim, *experiments):
    return BY_ID[claim].verdicts(experiments)


def outcomes(claim, *experiments):
    return [verdict.outcome for verdict in judged(claim, *experiments)]


def verdict_of(claim, *experiments):
    (found,) = judged(claim, *experiments)
    return found


def figure(name="toy", kind="real", seeds=SEEDS, at_equal_time=40, noise=NOISE, **recall):
    """Figures 1 to 3 at 100 and 200 bits of 800 dimensions; others reach a tenth of the length in equal time."""
    rows = []
    for target in (100, 200):
        for label, value in (RECALL | {key.replace("_", "-"): value for key, value in recall.items()}).items():
            circulant = label.startswith("cbe")
            for seed in seeds:
                own = value + target / 100 + (noise[seed] if circulant else 0)
                rows.append(recall_row(label, target, own, seed, data_kind=kind))
                if not circulant:
                    rows.append(recall_row(label, target // 10, at_equal_time, seed, data_kind=kind))
    rows += [time_row("cbe-rand", k, k) for k in (10, 20, 100, 200)]
    rows += [time_row(label, k, 10 * k) for label in ("lsh", "bilinear-rand") for k in (10, 20, 100, 200)]
    return results(rows, name, fixed=["time", "bits"])


FIGURES = ("F-time-rand-lsh", "F-time-rand-bil-rand", "F-time-rand-bil-opt", "F-time-opt", "F-time-margin")
FIGURES += ("F-bits-lsh", "F-bits-bil-rand", "F-bits-bil-opt", "F-std-splits", "S5-kheur")


def test_draws_of_one_split_are_judged_by_themselves():
    """Methods differ in their draws: four more of them, with no deviation, make the interval narrower."""
    one = results(figure(noise=(-0.7, 0, 0.7)).rows, split_seed=3)
    found = verdict_of("F-std-draws", one)
    assert found.outcome == "reproduced"
    assert found.value == pytest.approx(0.7 * math.sqrt(2 / 5))
    assert found.high == pytest.approx(found.value * math.sqrt(10 / 3.24697)), "chi-squared of five times two"
    assert outcomes("F-std-splits", one) == outcomes("F-std-draws", figure()) == ["not tested"]


@pytest.mark.parametrize("claim", FIGURES)
def test_figures_1_to_3_are_reproduced(claim):
    assert outcomes(claim, figure()) == ["reproduced"]


@pytest.mark.parametrize(
    ("claim", "other", "value"),
    [
        ("F-time-rand-lsh", figure(at_equal_time=55), -4),
        ("F-time-opt", figure(at_equal_time=63), -2),
        ("F-time-margin", figure(at_equal_time=48), 3),
        ("F-bits-lsh", figure(lsh=54), -4),
        ("F-bits-bil-rand", figure(bilinear_rand=51), -1),
        ("F-bits-bil-opt", figure(bilinear_opt=61), -1),
        ("F-std-splits", figure(noise=(-9, 0, 9)), 9 * math.sqrt(2 / 5)),
        ("S5-kheur", figure(cbe_opt=49, noise=(0, 0, 0)), -1),
    ],
)
def test_figures_1_to_3_are_not_reproduced(claim, other, value):
    found = verdict_of(claim, other)
    assert found.outcome == "not reproduced"
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("claim", "other"),
    [
        ("F-time-rand-lsh", figure(at_equal_time=50.9)),
        ("F-bits-lsh", figure(lsh=51.4)),
        ("F-bits-bil-rand", figure(bilinear_rand=50.1)),
        ("F-std-splits", figure(noise=(-0.7, 0, 0.7))),
    ],
)
def test_an_interval_that_straddles_a_bound_decides_nothing(claim, other):
    assert outcomes(claim, other) == ["inconclusive"]


def test_intervals_hold_at_once_for_all_code_lengths():
    """The half-width of Student's interval of three seeds, by hand: 0.1 / sqrt(3) times the quantile."""
    found = verdict_of("F-bits-lsh", figure())
    assert found.value == pytest.approx(-0.5)
    assert found.high - found.value == pytest.approx(6.2053 * 0.1 / math.sqrt(3), rel=1e-4), "95 % of two intervals"
    found = verdict_of("F-bits-bil-rand", figure())
    assert found.high - found.value == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4), "one interval"


def test_the_verdict_has_the_value_that_decided():
    """The rival is almost level at 100 bits and ahead at 200."""
    rows = [row for row in figure(lsh=52).rows if (getattr(row, "label", ""), row.n_bits) != ("lsh", 100)]
    rows += [recall_row("lsh", 100, 51, seed) for seed in SEEDS]
    found = verdict_of("F-bits-lsh", results(rows, fixed=["time", "bits"]))
    assert (found.outcome, found.value) == ("not reproduced", pytest.approx(-2))
    assert "cbe-rand - lsh at 200 bits decides" in found.found
    assert [one.outcome for one in found.evidence] == ["reproduced", "not reproduced"]


def with_queries(rows, spread):
    """Return rows with values of queries around their own mean."""
    rng = np.random.default_rng(0)
    found = []
    for row in rows:
        noise = rng.standard_normal(400) * spread / 100
        found.append(replace(row, query_recall=pack_queries(np.mean(row.recall) + noise - noise.mean())))
    return found


@pytest.mark.parametrize(("spread", "outcome"), [(1, "reproduced"), (20, "inconclusive")])
def test_of_one_seed_the_interval_is_over_queries(spread, outcome):
    rows = [recall_row("cbe-rand", 100, 50), recall_row("lsh", 100, 50.5)]
    found = verdict_of("F-bits-lsh", results(with_queries(rows, spread), fixed=["time", "bits"]))
    assert found.outcome == outcome
    assert "1 seed: the interval is over queries only" in found.found
    half = 1.96 * math.sqrt(2) * spread / math.sqrt(400)
    assert found.high - found.value == pytest.approx(half, rel=0.1)


def test_of_one_seed_without_values_of_queries_nothing_is_decided():
    assert outcomes("F-bits-lsh", figure(seeds=(1,))) == ["not tested"]


def test_only_seeds_of_both_methods_are_compared():
    rows = [recall_row("cbe-rand", 100, 50 + (seed > 2) * 40, seed) for seed in range(4)]
    rows += [recall_row("lsh", 100, 50, seed) for seed in SEEDS]
    assert verdict_of("F-bits-lsh", results(rows, fixed=["time"])).value == 0


def test_real_data_come_first():
    found = judged("F-time-opt", figure("a", "synthetic"), figure("b", "real"))
    assert [verdict.experiment for verdict in found] == ["b", "a"]


def test_codes_shorter_than_the_papers_do_not_decide():
    shorter = [recall_row("cbe-rand", 50, 10), recall_row("lsh", 50, 90), time_row("cbe-rand", 50, 5e3)]
    short = results([*figure().rows, *shorter], fixed=["time", "bits"], n_bits=[50, 100, 200])
    assert [outcomes(claim, short) for claim in FIGURES] == [["reproduced"]] * len(FIGURES)


def test_where_a_rival_is_saturated_no_lead_is_asked_for():
    found = verdict_of("F-time-rand-lsh", figure(at_equal_time=96))
    assert found.outcome == "not tested"
    assert "saturated at 100, 200 bits" in found.found
    assert {one.outcome for one in found.evidence} == {""}


def test_recall_is_interpolated_in_the_logarithm_of_bits():
    rows = [recall_row("lsh", n_bits, 10 * math.log2(n_bits)) for n_bits in (16, 64, 256)]
    for n_bits, expected in ((16, 40), (32, 50), (100, 10 * math.log2(100)), (256, 80), (8, 40), (999, 80)):
        assert at_bits(rows, "lsh", n_bits)[0] == pytest.approx(expected)
    assert at_bits(rows[:1], "lsh", 99)[0] == pytest.approx(40)
    assert at_bits(rows, "itq", 99) == {}


def test_the_error_of_times_widens_the_interval():
    """lsh has 16 to 64 bits in the time of 100 bits: 20 points for each factor of 4, by hand."""
    rows = [recall_row("cbe-opt", 100, 60, seed) for seed in SEEDS]
    rows += [recall_row("lsh", k, 20 * math.log(k, 4), seed) for k in (16, 64) for seed in SEEDS]
    timed = [time_row("lsh", 16, (1.0, 1.0)), time_row("lsh", 64, (4.0, 4.0))]
    one = results([*rows, *timed, time_row("cbe-rand", 100, (1.0, 4.0))], fixed=["time"], n_bits=[100])
    assert bits_in_equal_time(one, "cbe-opt", "lsh", 100) == pytest.approx([16, 64]), "it encodes as cbe-rand does"
    (found,) = compare_at_equal_time(one, "cbe-opt", "lsh")
    assert found.by_round == pytest.approx((20, 0))
    estimate = found.estimate()
    assert estimate.value == pytest.approx(10)
    assert estimate.high - estimate.value == pytest.approx(12.7062 * math.sqrt(200 / 2), rel=1e-4)
    assert bits_in_equal_time(one, "cbe-opt", "hd3", 100) == bits_in_equal_time(one, "lsh", "cbe-opt", 32) == []


def test_without_times_nothing_is_said_of_equal_time():
    rows = [row for row in figure().rows if isinstance(row, RetrievalRow)]
    assert outcomes("F-time-rand-lsh", results(rows, fixed=["time", "bits"])) == ["not tested"]


def test_nothing_is_compared_where_a_method_was_skipped(recwarn):
    rows = [row for row in figure().rows if not (isinstance(row, RetrievalRow) and row.label == "cbe-opt")]
    assert outcomes("F-time-opt", results(rows, fixed=["time", "bits"])) == ["not tested"]
    assert not recwarn.list


def sweep(parameter, values, recall, seeds=SEEDS, **more):
    """An experiment over a parameter: recall as a function of it."""
    rows = [
        recall_row(
            f"{parameter} = {value}", k, recall(value), seed, encoder="cbe-opt", params={parameter: value}, **more
        )
        for value in values
        for k in (100, 200)
        for seed in seeds
    ]
    return results(rows, parameter, sweep=parameter)


FALLING = (9.0, 5.0, 4.0, 4.0)
ITERATIONS = (5, 10, 50, 100)


def test_the_objective_never_increases():
    assert outcomes("S5-mono", sweep("max_iter", ITERATIONS, lambda n: 60, objective_history=FALLING)) == ["reproduced"]
    rising = verdict_of("S5-mono", sweep("max_iter", ITERATIONS, lambda n: 60, objective_history=(9.0, 5.0, 5.1)))
    assert (rising.outcome, rising.value) == ("not reproduced", pytest.approx(0.02))
    assert outcomes("S5-mono", figure()) == ["not tested"]


def test_enough_iterations():
    assert outcomes("S5-iterations", sweep("max_iter", ITERATIONS, lambda n: 60 - 3 / n)) == ["reproduced"]
    slow = verdict_of("S5-iterations", sweep("max_iter", ITERATIONS, lambda n: 60 - 30 / n))
    assert (slow.outcome, slow.value) == ("not reproduced", pytest.approx(-2.4))
    assert outcomes("S5-iterations", sweep("max_iter", (5, 10), lambda n: 60)) == ["not tested"]


def with_pairs(gain, spread=1.0, mus=(0, 1, 10), seeds=SEEDS):
    """Sweep over mu where only 10 adds to the AUC; queries vary, alike for all mu, its gain evenly."""
    rng = np.random.default_rng(0)
    queries = 0.5 + rng.uniform(-0.1, 0.1, 400)
    rows = []
    for row in sweep("mu", mus, lambda mu: 50, seeds).rows:
        added = gain + (row.seed - 1) / 10 + spread * np.tile([1, -1, -1, 1], 100)
        values = queries + (row.params["mu"] == 10) * added / 100
        rows.append(replace(row, averaged_auc=float(values.mean()), query_auc=pack_queries(values)))
    return results(rows, "mu", sweep="mu")


@pytest.mark.parametrize(
    ("gain", "direction", "size"),
    [(2, "reproduced", "reproduced"), (9, "reproduced", "not reproduced"), (-9, "not reproduced", "not reproduced")],
)
def test_pairs_of_known_similarity(gain, direction, size):
    one = with_pairs(gain, mus=(0, 10))
    assert outcomes("S6-semi", one) == [direction]
    assert outcomes("S6-semi-size", one) == [size]
    assert verdict_of("S6-semi", one).value == pytest.approx(gain, abs=0.02)


def test_the_weight_of_pairs_is_chosen_on_other_queries_than_those_that_judge_it():
    (overall, *_) = verdict_of("S6-semi", with_pairs(2)).evidence
    assert "mu = 10" in overall.subject and "held-out" in overall.subject
    assert outcomes("S6-semi-size", with_pairs(2, spread=40, mus=(0, 10), seeds=(1,))) == ["inconclusive"]


def test_weight_of_orthogonality():
    values = (0.01, 0.1, 1, 10)
    assert outcomes("F-lambda", sweep("lam", values, lambda lam: 50 + 0.4 * (lam == 10))) == ["reproduced"]
    far = verdict_of("F-lambda", sweep("lam", values, lambda lam: 50 - 20 * (lam == 0.01) + 0.8 * (lam == 1)))
    assert far.outcome == "not reproduced" and abs(far.value) == pytest.approx(0.8)
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


def choice(parameter, values, recall, **more):
    """An experiment with two values of a parameter for cbe-rand and cbe-opt."""
    rows = [
        recall_row(f"{name} {value}", k, recall(value), seed, encoder=name, params={parameter: value}, **more)
        for name in ("cbe-rand", "cbe-opt")
        for value in values
        for k in (100, 200)
        for seed in SEEDS
    ]
    return results(rows, parameter, sweep=parameter)


def test_choices_that_do_not_matter():
    for claim, parameter, values in (
        ("S4-precondition", "precondition", (None, "hadamard-blocks")),
        ("S5-scaling", "scaling", ("one", "1/sqrt(d)")),
    ):
        alike = choice(parameter, values, lambda value: 50 + 0.3 * (value == values[1]))  # noqa: B023
        assert outcomes(claim, alike) == ["reproduced"]
        other = verdict_of(claim, choice(parameter, values, lambda value: 50 - 2 * (value == values[1])))  # noqa: B023
        assert (other.outcome, other.value) == ("not reproduced", pytest.approx(-2))
        assert outcomes(claim, choice(parameter, values[:1], lambda value: 50)) == ["not tested"]


def test_flatness_is_told_beside_the_transform():
    one = choice("precondition", (None, "hadamard-blocks"), lambda value: 50)
    rows = [
        replace(row, flatness=(0.1, 0.5, 0.9) if row.params["precondition"] is None else (0, 0.1, 0.2))
        for row in one.rows
    ]
    found = verdict_of("S4-precondition", results(rows, sweep="precondition")).found
    assert "as they are 0.5, at most 0.9; transformed 0.1, at most 0.2" in found


@pytest.mark.parametrize(("ends", "outcome"), [((4.0, 4.1), "reproduced"), ((4.1, 4.0), "not reproduced")])
def test_solvers(ends, outcome):
    rows = [
        recall_row(
            solver, 100, 50, seed, encoder="cbe-opt", params={"solver": solver}, objective_history=(9.0, end), fit_s=s
        )
        for solver, end, s in zip(("closed-form", "gradient-descent"), ends, (1.0, 3.0), strict=True)
        for seed in SEEDS
    ]
    found = verdict_of("S5-solver", results(rows, sweep="solver"))
    assert (found.outcome, found.value) == (outcome, pytest.approx(ends[0] / ends[1]))
    assert [one.value for one in found.evidence if "time" in one.subject] == [3.0]


def few_dimensions(leads, **recall):
    values = {"cbe-opt": 50, "lsh": 40, "sh": 30, "sklsh": 20, "aqbc": 50.5} | recall
    rows = [recall_row(label, k, value, seed) for label, value in values.items() for k in (100, 200) for seed in SEEDS]
    rows += [recall_row("itq", k, 50 + lead, s) for k, lead in zip((100, 200), leads, strict=True) for s in SEEDS]
    return results(rows)


def test_few_dimensions():
    assert outcomes("F4-text-aqbc", few_dimensions((10, 4))) == ["reproduced"]
    behind = verdict_of("F4-text-sh", few_dimensions((10, 4), sh=52))
    assert (behind.outcome, behind.value) == ("not reproduced", pytest.approx(-2))
    assert outcomes("F4-text-bilinear-opt", few_dimensions((10, 4))) == ["not tested"]
    for leads, shrinks, comparable in (((10, 4), True, False), ((4, 1), True, True), ((1, 0.9), False, True)):
        assert outcomes("F4-itq", few_dimensions(leads)) == ["reproduced" if shrinks else "not reproduced"]
        assert outcomes("F4-caption", few_dimensions(leads)) == ["reproduced" if comparable else "not reproduced"]


def hadamard(rand=50.0, opt=70.0, fbe=45.0, median=None):
    values = {"cbe-rand": rand, "cbe-opt": opt, "fbe": fbe, "fjlt-1": 40}
    rows = [
        recall_row(
            label,
            100,
            value,
            seed,
            recall_median=() if median is None or label != "fbe" else (median / 100, median / 100),
        )
        for label, value in values.items()
        for seed in SEEDS
    ]
    return results(rows, "hadamard", n_bits=[100])


def test_hadamard_family():
    for claim in ("F5-recall-fbe", "F5-recall-fjlt", "F5-best", "F5-margin"):
        assert outcomes(claim, hadamard()) == ["reproduced"]
    assert outcomes("F5-recall-fbe", hadamard(median=54.0)) == ["not reproduced"]
    assert outcomes("F5-recall-fjlt", hadamard(median=54.0)) == ["reproduced"]
    assert outcomes("F5-best", hadamard(opt=49)) == ["not reproduced"]
    assert (outcomes("F5-best", hadamard(opt=53)), outcomes("F5-margin", hadamard(opt=53))) == (
        ["reproduced"],
        ["not reproduced"],
    )


def test_small_scales_say_which_way_it_points():
    quick, smoke = figure(), replace(figure(), description=replace(figure().description, scale="smoke"))
    for one, outcome, text in ((quick, "direction only", "points as claimed"), (smoke, "not tested", "too small")):
        (found,) = [verdict for verdict in judge([one]) if verdict.claim == "F-bits-lsh"]
        assert found.outcome == outcome and text in found.found
    (found,) = [verdict for verdict in judge([figure(lsh=60)]) if verdict.claim == "F-bits-lsh"]
    assert found.outcome == "direction only" and "points the other way" in found.found
    history = sweep("max_iter", ITERATIONS, lambda n: 60, objective_history=FALLING)
    assert [v.outcome for v in judge([history]) if v.claim == "S5-mono"] == ["reproduced"], "exact at any scale"


EVERYTHING = [figure(), few_dimensions((10, 4)), hadamard(), with_pairs(2)]
EVERYTHING += [
    sweep("max_iter", ITERATIONS, lambda n: 60, objective_history=FALLING),
    sweep("lam", (0.1, 1, 10), lambda lam: 50),
]


def spoilt(row, status):
    """Return a row as it is stored where its cell did not end well: without metrics."""
    lost = {"recall": (), "recall_asymmetric": (), "depths": (), "fit_s": math.nan, "objective_history": ()}
    lost |= {"averaged_auc": math.nan, "query_auc": ""}
    if isinstance(row, TimingRow):
        lost = {"encode_us_per_vector": math.nan, "rounds_us": (), "samples_us": ()}
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
    assert names[:4] == ["S4-precondition", "S5-mono", "S5-iterations", "S5-kheur"]
    assert names[4:8] == ["S5-scaling", "S5-solver", "S6-semi", "S6-semi-size"]
    assert names[8:17] == [*FIGURES[:8], "F-lambda"]
    assert len(set(names)) == len(names) == len({claim.statement for claim in CLAIMS})


def test_dimension_of_the_toys_makes_their_codes_count():
    assert 100 >= D / 8 > 50
