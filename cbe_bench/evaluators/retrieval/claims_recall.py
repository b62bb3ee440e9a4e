"""Claims of Figures 1 to 3: recall at equal time and at equal code length, and its deviation over seeds."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.stats import chi2

from cbe_bench.core.claims import Claim, Estimate, Evidence, Verdict, outcome_of_interval
from cbe_bench.core.results import Results
from cbe_bench.core.statistics import LEVEL
from cbe_bench.evaluators.comparisons import (
    NO_BOUND,
    SATURATED,
    Comparison,
    every,
    judged_on,
    overall,
)
from cbe_bench.evaluators.retrieval.at_equal_time import compare_at_equal_time
from cbe_bench.evaluators.retrieval.comparisons import (
    FEWEST,
    code_lengths,
    compare,
    done_rows,
    experiments_on,
    figures_1_to_3,
    query_points,
    source_of,
)

LARGE = 5.0
"""Points that make a large margin."""
ALIKE = 1.5
"""Points within which two methods are almost identical."""
LARGEST_STD = 1.0
MISSING = "no experiment at equal time and equal code length was run (configs/cifar10.yaml, configs/flickr.yaml, ...)"
CURVE = "points of the mean of recall over depths"
DECIDES = f"rivals above {SATURATED:g} points are saturated and do not count"
_METHODS = ("cbe-rand", "cbe-opt", "bilinear-rand", "bilinear-opt", "lsh")
"""The methods of Figures 1 to 3."""
_RIVALS = {"lsh": "lsh", "bilinear-rand": "bil-rand", "bilinear-opt": "bil-opt"}
"""Those that circulant codes are compared with, and how claims abbreviate them."""
_EVERY = f"at every k from d/{FEWEST} on, as in the paper, intervals holding at once"


def _in_equal_time(own: str, rival: str) -> Claim:
    """Return the claim that a method finds more than another in the same time."""
    trained = own == "cbe-opt"
    return Claim(
        id="F-time-opt" if trained else f"F-time-rand-{_RIVALS[rival]}",
        order=40.4 if trained else 40 + list(_RIVALS).index(rival) / 10,
        statement=f"In equal time {own} finds {'much ' if trained else ''}more than {rival}.",
        where="Figures 1 to 3, top; Section 7.2",
        rule=f"{own} - {rival} > 0, the rival with the code length that it computes in the time of {own}; {_EVERY}; "
        f"{DECIDES}",
        measure=f"{own} - {rival} in equal time, {CURVE}",
        region=(0.0, NO_BOUND),
        missing=MISSING,
        judge=judged_on(
            figures_1_to_3,
            lambda claim, one: every(claim, compare_at_equal_time(one, own, rival), source_of(one)),
        ),
    )


def _by_a_large_margin(claim: Claim, results: Results) -> list[Verdict]:
    pairs = [("cbe-rand", rival) for rival in _RIVALS] + [("cbe-opt", "bilinear-opt")]
    found = [one for own, rival in pairs for one in compare_at_equal_time(results, own, rival)]
    return every(claim, found, source_of(results))


def _like_lsh(claim: Claim, results: Results) -> list[Verdict]:
    return every(claim, compare(done_rows(results), "cbe-rand", "lsh", code_lengths(results)), source_of(results))


def _above_bilinear(suffix: str) -> Claim:
    own, rival = f"cbe-{suffix}", f"bilinear-{suffix}"

    def judge(claim: Claim, results: Results) -> list[Verdict]:
        found: list[Comparison] = compare(done_rows(results), own, rival, code_lengths(results))
        return overall(claim, found, source_of(results))

    return Claim(
        id=f"F-bits-bil-{suffix}",
        order=42 if suffix == "rand" else 42.1,
        statement=f"With equal bits {own} finds more than {rival}.",
        where="Figures 1 to 3, bottom; Section 7.2",
        rule=f"{own} - {rival} > 0, the mean over k from d/{FEWEST} on; {DECIDES}",
        measure=f"{own} - {rival}, {CURVE}",
        region=(0.0, NO_BOUND),
        missing=MISSING,
        judge=judged_on(figures_1_to_3, judge),
    )


def _own_splits(results: Sequence[Results]) -> list[Results]:
    return [one for one in figures_1_to_3(results) if one.description.config.get("split_seed") is None]


def _one_split(results: Sequence[Results]) -> list[Results]:
    return [one for one in experiments_on(results) if one.description.config.get("split_seed") is not None]


def _deviation(claim: Claim, results: Results, *, shared: bool) -> list[Verdict]:
    """Judge the standard deviation of recall over seeds, pooled over methods and code lengths.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : Results
        The rows of one experiment.
    shared : bool
        Whether what differs between seeds is the same for all methods: then all together say no more of the deviation
        than one. The code lengths of a method never do.

    Returns
    -------
    list of Verdict
        Empty without several seeds.
    """
    rows = done_rows(results)
    found = {
        (label, k): means
        for label in _METHODS
        for k in code_lengths(results)
        if len(means := [one.mean() for one in query_points(rows, label, k).values()]) > 1
    }
    if not found:
        return []
    freedom = (min(map(len, found.values())) - 1) * (1 if shared else len({label for label, _ in found}))
    pooled = math.sqrt(float(np.mean([np.var(means, ddof=1) for means in found.values()])))
    low, high = (pooled * math.sqrt(freedom / chi2.ppf(q, freedom)) for q in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    estimate = Estimate(pooled, low, high)
    outcome = outcome_of_interval(estimate, claim.region)
    evidence = [Evidence(f"pooled over {len(found)} curves", 0, *estimate, outcome)]
    for (label, k), means in found.items():
        std = float(np.std(means, ddof=1))
        evidence.append(Evidence(label, k, std, std, std, ""))
    return [claim.decide(evidence, source_of(results))]


def _std(over: str, drawn: str, missing: str) -> Claim:
    """Return the claim on the deviation over splits, which all methods share, or over the draws of each."""
    splits = over == "splits"
    return Claim(
        id=f"F-std-{over}",
        order=45 if splits else 45.1,
        statement=f"The standard deviation of recall over {over} is within 1%.",
        where="Figures 1 to 3",
        rule=f"the standard deviation over seeds, {drawn}, pooled over the methods of the figures and k, "
        f"< {LARGEST_STD:g} point",
        measure=f"pooled standard deviation, {CURVE}",
        region=(NO_BOUND, LARGEST_STD),
        missing=missing,
        judge=judged_on(_own_splits if splits else _one_split, partial(_deviation, shared=splits)),
    )


CLAIMS = (
    *(_in_equal_time("cbe-rand", rival) for rival in _RIVALS),
    _in_equal_time("cbe-opt", "bilinear-opt"),
    Claim(
        id="F-time-margin",
        order=40.5,
        statement="In equal time circulant codes lead by a large margin.",
        where="Figures 1 to 3, top; Section 7.2",
        rule=f"cbe-rand - lsh, - bilinear-rand and - bilinear-opt, and cbe-opt - bilinear-opt, > {LARGE:g} points "
        f"in equal time, {_EVERY}; {DECIDES}",
        measure=f"least difference in equal time, {CURVE}",
        region=(LARGE, NO_BOUND),
        missing=MISSING,
        judge=judged_on(figures_1_to_3, _by_a_large_margin),
    ),
    Claim(
        id="F-bits-lsh",
        order=41,
        statement="With equal bits cbe-rand is almost identical to LSH.",
        where="Figures 1 to 3, bottom; Section 7.2",
        rule=f"cbe-rand - lsh within {ALIKE:g} points, {_EVERY}; {DECIDES}",
        measure=f"largest difference cbe-rand - lsh, {CURVE}",
        region=(-ALIKE, ALIKE),
        missing=MISSING,
        judge=judged_on(figures_1_to_3, _like_lsh),
    ),
    _above_bilinear("rand"),
    _above_bilinear("opt"),
    _std("splits", "each with a split and draws of its own", MISSING),
    _std(
        "draws",
        "each with draws of its own on one split",
        "no experiment with several seeds on one split was run (configs/draws.yaml)",
    ),
)
