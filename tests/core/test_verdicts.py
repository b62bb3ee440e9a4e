"""How parts make a verdict, and verdicts a list."""

import math

import pytest

from cbe_bench.core.claims import Claim, Estimate, Evidence, Source, outcome_of

HOLDS, FAILS, OPEN, SATURATED, LACKS = (
    Evidence(outcome or "saturated", 8, value, value - 1, value + 1, outcome)
    for outcome, value in (
        ("reproduced", 2.0),
        ("not reproduced", -3.0),
        ("inconclusive", 0.5),
        ("", 9.0),
        ("not tested", math.nan),
    )
)


def claim(judge=lambda claim, results: [], **values):
    texts = {"id": "X", "statement": "It holds.", "where": "Table 9", "rule": "above 0", "measure": "points"}
    return Claim(**texts | {"missing": "nothing was run", "judge": judge} | values)


@pytest.mark.parametrize(
    ("evidence", "outcome", "value"),
    [
        ([HOLDS], "reproduced", 2.0),
        ([HOLDS, SATURATED], "reproduced", 2.0),
        ([HOLDS, OPEN], "inconclusive", 0.5),
        ([HOLDS, OPEN, FAILS], "not reproduced", -3.0),
        ([LACKS, FAILS], "not reproduced", -3.0),
        ([HOLDS, OPEN, LACKS], "not tested", math.nan),
        ([SATURATED], "not tested", math.nan),
        ([], "not tested", math.nan),
    ],
)
def test_all_evidence_must_agree_and_one_refutes(evidence, outcome, value):
    verdict = claim(region=(0.0, math.nan)).decide(evidence, Source("toy", "real", "one"))
    assert verdict.outcome == outcome
    assert verdict.value == pytest.approx(value, nan_ok=True)


def test_the_value_is_the_evidence_nearest_to_a_bound_or_furthest_beyond():
    def of(outcome, *values):
        found = [Evidence(f"at {value}", 0, value, value, value, outcome) for value in values]
        return claim(region=(-1.0, 1.0)).decide(found, Source("toy", "real", "one"))

    assert of("reproduced", 0.0, -0.9, 0.5).value == -0.9
    assert of("not reproduced", 1.5, -4.0, 3.0).value == -4.0
    assert "at -4.0 decides" in of("not reproduced", 1.5, -4.0, 3.0).found


def test_a_verdict_has_what_its_claim_and_its_source_say():
    verdict = claim().verdict("reproduced", Estimate(1.0, 0.5, 1.5), "it does", Source("toy", "real", "one"))
    assert (verdict.claim, verdict.statement, verdict.where, verdict.rule) == ("X", "It holds.", "Table 9", "above 0")
    assert (verdict.value, verdict.low, verdict.high, verdict.measure) == (1.0, 0.5, 1.5, "points")
    assert (verdict.data, verdict.kind, verdict.experiment) == ("toy", "real", "one")
    side = claim().verdict("vacuous", Estimate(), "", Source("", "", ""), statement="One side.", rule="below 0")
    assert (side.statement, side.rule) == ("One side.", "below 0")


def test_without_rows_a_claim_is_not_tested_and_says_why():
    (verdict,) = claim().verdicts([])
    assert (verdict.outcome, verdict.found, verdict.kind) == ("not tested", "nothing was run", "")
    assert math.isnan(verdict.value)


def test_real_data_come_first():
    def judge(claim, results):
        return [claim.decide([HOLDS], Source("toy", kind, kind)) for kind in results]

    found = claim(judge).verdicts(["machine", "synthetic", "simulated", "real", "user"])
    assert [verdict.kind for verdict in found] == ["real", "user", "synthetic", "simulated", "machine"]


@pytest.mark.parametrize(
    ("inside", "outside", "outcome"),
    [(True, False, "reproduced"), (False, True, "not reproduced"), (False, False, "inconclusive")],
)
def test_intervals(inside, outside, outcome):
    assert outcome_of(inside, outside) == outcome
