"""Claims, tables and figures of experiments on angles, from rows that are made up."""

import math
from pathlib import Path

import pytest

from cbe_bench.core.claims import INCONCLUSIVE, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VACUOUS
from cbe_bench.core.results import Description, Results
from cbe_bench.core.style import drawing_style
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.claims import CLAIMS
from cbe_bench.evaluators.angles.experiment import AnglesExperiment, code_lengths
from cbe_bench.evaluators.angles.methods import FEATURE_METHODS, METHODS
from cbe_bench.evaluators.angles.pairs import PAIRS
from cbe_bench.evaluators.angles.rows import FeaturesRow, SimulationRow

ANGLES = (math.pi / 12, math.pi / 6, math.pi / 3, math.pi / 2)
METADATA = {"environment": "", "threads": 1, "peak_memory_bytes": 0, "ended": "", "code": "", "status": "ok"}


def simulated(method, pair, d, *, ratio=1.0, shift=0.0, draws=20_000, **changes):
    """Return a row whose variance is `ratio` times that of independent bits; ratio may depend on k."""
    n_bits = code_lengths(d)
    of = ratio if callable(ratio) else lambda k: ratio
    none = tuple((0,) * len(n_bits) for _ in ANGLES)
    values = {
        "key": f"{method} {pair} {d}",
        "label": method,
        "method": method,
        "pair": pair,
        "n_features": d,
        "n_bits": n_bits,
        "angles_rad": ANGLES,
        "draws": draws,
        "delta": 0.05,
        "seed": 0,
        "flatness": (d**-0.5,) * len(ANGLES),
        "mean": tuple(theta / math.pi + shift for theta in ANGLES),
        "variance": tuple(tuple(of(k) * theory.iid_variance(theta, k) for k in n_bits) for theta in ANGLES),
        "kurtosis": tuple((3.0,) * len(n_bits) for _ in ANGLES),
        "n_beyond_2_sigma": (0,) * len(ANGLES),
        "n_beyond_3_sigma": (0,) * len(ANGLES),
        "n_beyond_theorem2": none,
    }
    return SimulationRow(**METADATA | values | changes)


def on_features(method="cbe-rand", draw=0, *, worst=0.05, **changes):
    """Return a row of features with errors that fall as 1 / sqrt(k)."""
    n_bits = (16, 64, 256)
    values = {
        "key": f"{method} {draw}",
        "label": method,
        "data": "mine",
        "data_kind": "user",
        "method": method,
        "data_hash": "",
        "n_rows": 100,
        "n_vectors": 20,
        "n_features": 256,
        "n_bits": n_bits,
        "draw": draw,
        "seed": 0,
        "mean_error_over_pi": tuple((0.3 + draw / 100) / math.sqrt(k) for k in n_bits),
        "worst_error_over_pi": (0.4, 0.2, worst),
        "n_pairs": 190,
        "flatness_range": (0.1, 0.2),
        "angle_range_rad": (1.0, 2.0),
        "fraction_with_hypothesis": (0.0, 0.0, 0.0),
    }
    return FeaturesRow(**METADATA | values | changes)


def results(*rows, name="angles"):
    description = Description(
        name=name, title="Made up", kind="angles", scale="smoke", command="", config={}, labels={}
    )
    return Results(Path(name), description, list(rows))


def judged(claim, experiments):
    return next(one for one in CLAIMS if one.id == claim).verdicts(experiments)


def verdicts(claim, *rows):
    return judged(claim, [results(*rows)])


def outcomes(claim, *rows):
    return [verdict.outcome for verdict in verdicts(claim, *rows)]


# Claims


def test_the_mean():
    assert outcomes("S4-mean", simulated("cbe-rand", "dense", 256)) == [REPRODUCED]
    assert outcomes("S4-mean", simulated("cbe-rand", "dense", 256, shift=0.01)) == [NOT_REPRODUCED]
    assert outcomes("S4-mean", simulated("cbe-rand", "dense", 16, draws=100)) == [INCONCLUSIVE]
    assert outcomes("S4-mean", simulated("hd3", "dense", 256, shift=0.1)) == [NOT_TESTED]


def test_theorem1_is_judged_apart_where_it_is_vacuous():
    small, large = (simulated("cbe-rand", "flat", d) for d in (4096, 65_536))
    assert outcomes("S4-var", small) == [VACUOUS]
    all_the_same = simulated("cbe-rand", "flat", 65_536, ratio=lambda k: k)
    assert outcomes("S4-var", small, all_the_same) == [VACUOUS, NOT_REPRODUCED]
    vacuous, says = verdicts("S4-var", small, large)
    assert (vacuous.outcome, says.outcome) == (VACUOUS, REPRODUCED)
    assert vacuous.statement != says.statement
    assert vacuous.rule != says.rule
    assert vacuous.high <= 1
    worst = max(theory.iid_variance(theta, 4) / theory.variance_bound(theta, 4, 1 / 256) for theta in ANGLES)
    assert says.value == pytest.approx(worst)


def test_theorem2():
    assert outcomes("S4-tail", simulated("cbe-rand", "flat", 4096)) == [VACUOUS]
    flat = {"flatness": (1e-8,) * len(ANGLES)}  # as if there were dimensions enough
    assert outcomes("S4-tail", simulated("cbe-rand", "flat", 65_536, **flat)) == [REPRODUCED]
    beyond = tuple((2000,) * len(code_lengths(65_536)) for _ in ANGLES)
    refuting = simulated("cbe-rand", "flat", 65_536, n_beyond_theorem2=beyond, **flat)
    assert outcomes("S4-tail", refuting) == [NOT_REPRODUCED]
    assert verdicts("S4-tail", refuting)[0].value == pytest.approx(0.1)


def test_the_corollary_is_judged_on_features():
    verdict = verdicts("S4-JL", on_features())[0]
    assert (verdict.outcome, verdict.value, verdict.kind) == (VACUOUS, 256, "user")
    assert math.isnan(verdicts("S4-JL", on_features(worst=0.3))[0].value)
    met = {"n_features": 10**6, "fraction_with_hypothesis": (0.0, 0.0, 0.5)}
    assert outcomes("S4-JL", on_features(**met)) == [REPRODUCED]
    assert outcomes("S4-JL", on_features(**met), on_features(draw=1, worst=0.3, **met)) == [NOT_REPRODUCED]


def test_the_sign_flips():
    pairs = ("smooth", "periodic")
    flipped = [simulated("cbe-rand", pair, 256) for pair in pairs]
    fails = [simulated("cbe-rand without D", pair, 256, ratio=50) for pair in pairs]
    works = [simulated("cbe-rand without D", pair, 256) for pair in pairs]
    assert outcomes("S4-D", *flipped, *fails) == [REPRODUCED]
    assert outcomes("S4-D", *flipped, *works) == [NOT_REPRODUCED]
    assert outcomes("S4-D", *flipped) == [NOT_TESTED]
    both = [on_features(method, draw) for method in ("cbe-rand", "cbe-rand without D") for draw in range(2)]
    assert "mine (user's file)" in verdicts("S4-D", *flipped, *fails, *both)[0].found


def test_the_fall_of_the_variance():
    assert outcomes("S6-var", simulated("cbe-rand", "dense", 256)) == [REPRODUCED]
    floor = simulated("cbe-rand", "dense", 256, ratio=lambda k: 1 + k / 64)
    assert outcomes("S6-var", floor) == [NOT_REPRODUCED]
    assert outcomes("S6-var", simulated("cbe-rand", "dense", 256, draws=100)) == [INCONCLUSIVE]
    assert verdicts("S6-var", simulated("cbe-rand", "dense", 256))[0].value == pytest.approx(-1)


def test_every_claim_is_not_tested_without_rows_or_with_failed_ones():
    failed = simulated("cbe-rand", "dense", 256, status="failed", mean=(), variance=(), kurtosis=(), flatness=())
    skipped = FeaturesRow(**{**vars(on_features()), "status": "skipped", "worst_error_over_pi": ()})
    for claim in CLAIMS:
        for experiments in ([], [results()], [results(failed, skipped)]):
            assert [verdict.outcome for verdict in judged(claim.id, experiments)] == [NOT_TESTED], claim.id


def test_pairs_that_several_experiments_simulated_count_once():
    row = simulated("cbe-rand", "dense", 256)
    same = [results(row), results(row, name="angles-mine")]
    assert [verdict.experiment for verdict in judged("S4-mean", same)] == ["angles"]
    other = [results(row), results(simulated("cbe-rand", "dense", 512), name="angles-mine")]
    assert len(judged("S4-mean", other)) == 2
    assert {verdict.kind for verdict in judged("S4-mean", other)} == {"simulated"}
    own = [results(on_features()), results(on_features(data="others"), name="angles-others")]
    assert [verdict.experiment for verdict in judged("S4-JL", own)] == ["angles", "angles-others"]


def test_claims_stand_in_the_order_of_the_paper():
    assert [claim.order for claim in CLAIMS] == sorted(claim.order for claim in CLAIMS)
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) == 6


# Tables, figures, comparisons


def whole():
    simulations = [simulated(method, pair, 64) for method in METHODS for pair in PAIRS]
    return results(*simulations, *(on_features(method, draw) for method in FEATURE_METHODS for draw in range(3)))


def test_tables_of_a_whole_experiment():
    report = AnglesExperiment.report(whole())
    cells, lengths = len(METHODS) * len(PAIRS), len(code_lengths(64))
    frames = {table.name: table.frame for table in report.tables}
    assert {name: len(frame) for name, frame in frames.items()} == {
        "mean": cells * len(ANGLES),
        "variance": len(METHODS) * len(ANGLES) * lengths,
        "signs": cells * lengths,
        "tails": cells * len(ANGLES),
        "features": len(FEATURE_METHODS) * 3,
    }
    assert set(frames["variance"]["pair"]) == {"dense"}
    for name in ("variance", "signs"):
        assert (frames[name]["low"] <= frames[name]["variance"]).all()
        assert (frames[name]["variance"] <= frames[name]["high"]).all()
        assert frames[name]["ratio"].to_numpy() == pytest.approx(1)
    assert [table.name for table in report.tables if table.shown] == ["features"]
    errors = frames["features"]
    assert set(errors["draws"]) == {3}
    assert errors["mean_error_over_pi"].to_numpy() == pytest.approx(0.31 / errors["n_bits"].to_numpy() ** 0.5)
    assert (errors["mean_error_over_pi_low"] < errors["mean_error_over_pi"]).all()


def test_figures_are_drawn_from_what_there_is():
    report = AnglesExperiment.report(whole())
    assert [figure.name for figure in report.figures] == ["mean", "variance", "signs", "features"]
    for figure in report.figures:
        drawing = figure.draw()
        assert drawing is not None, figure.name
        with drawing_style():
            drawing.draw_without_rendering()
        labels = " ".join(axis.get_xlabel() + axis.get_ylabel() for axis in drawing.axes)
        assert "code length $k$ (bits)" in labels or figure.name == "mean"
    few = AnglesExperiment.report(results(simulated("cbe-rand", "dense", 64)))
    assert [figure.draw() for figure in few.figures] == [None, None, None]
    same = on_features(worst_error_over_pi=(0.0, 0.0, 0.0), mean_error_over_pi=(0.0, 0.0, 0.0))
    assert AnglesExperiment.report(results(same)).figures[0].draw() is None
    assert AnglesExperiment.report(results()).tables == AnglesExperiment.report(results()).figures == ()


def test_a_single_draw_of_features_has_no_interval():
    frame = AnglesExperiment.report(results(on_features())).table("features")
    assert frame["mean_error_over_pi"].notna().all()
    assert frame["mean_error_over_pi_low"].isna().all()


def test_measurements_tell_runs_apart_by_method_pair_and_size():
    found = list(AnglesExperiment.measurements(whole()))
    assert len(found) == len({one[:2] for one in found}) == len(METHODS) * len(PAIRS) + len(FEATURE_METHODS)
    assert all(one.low < one.value < one.high for one in found)
    single = next(AnglesExperiment.measurements(results(on_features())))
    assert (single.low, single.high) == (-math.inf, math.inf)
