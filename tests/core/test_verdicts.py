"""How parts make a verdict, and verdicts a list."""

import math

import pytest

from cbe_bench.core.claims import Claim, Estimate, Part, Source, outcome_of

HOLDS, FAILS, OPEN = Part(True, "a"), Part(False, "b"), Part(None, "c")


def claim(judge=lambda claim, results: [], **values):
    texts = {"id": "X", "statement": "It holds.", "where": "Table 9", "rule": "above 0", "measure": "points"}
    return Claim(**texts | {"missing": "nothing was run", "judge": judge} | values)


@pytest.mark.parametrize(
    ("parts", "outcome", "found"),
    [
        ([HOLDS], "reproduced", "a"),
        ([HOLDS, HOLDS], "reproduced", "a; a"),
        ([HOLDS, FAILS], "not reproduced", "a; fails: b"),
        ([OPEN, FAILS], "not reproduced", "not measured: c; fails: b"),
        ([HOLDS, OPEN], "not tested", "a; not measured: c"),
        ([], "not tested", ""),
    ],
)
def test_all_parts_must_hold_and_one_refutes(parts, outcome, found):
    verdict = claim().conclude(parts, Source("toy", "real", "one"), Estimate(1.0, 0.5, 1.5))
    assert (verdict.outcome, verdict.found) == (outcome, found)


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
        return [claim.conclude([HOLDS], Source("toy", kind, kind), Estimate()) for kind in results]

    found = claim(judge).verdicts(["machine", "synthetic", "simulated", "real", "user"])
    assert [verdict.kind for verdict in found] == ["real", "user", "synthetic", "simulated", "machine"]


@pytest.mark.parametrize(
    ("inside", "outside", "outcome"),
    [(True, False, "reproduced"), (False, True, "not reproduced"), (False, False, "inconclusive")],
)
def test_intervals(inside, outside, outcome):
    assert outcome_of(inside, outside) == outcome
