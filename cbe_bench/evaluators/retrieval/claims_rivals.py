"""Claims of Figures 4 and 5: methods for few dimensions, and the Hadamard family."""

from collections.abc import Iterable, Sequence

import numpy as np

from cbe_bench.core.claims import Claim, Verdict
from cbe_bench.core.results import Results
from cbe_bench.evaluators.comparisons import (
    NO_BOUND,
    Comparison,
    compared,
    every,
    judged_on,
)
from cbe_bench.evaluators.retrieval.claims_recall import ALIKE, CURVE, DECIDES, LARGE
from cbe_bench.evaluators.retrieval.comparisons import (
    code_lengths,
    compare,
    done_rows,
    experiments_on,
    query_points,
    source_of,
)
from cbe_bench.evaluators.retrieval.rows import RetrievalRow

EQUIVALENT = 1.0
"""Points that a method may be behind one that it is equivalent to."""
COMPARABLE = 2.0
"""Points within which the best method is comparable."""
SHRUNK = 0.5
"""Fraction of the lead at the shortest code that must not be left at the longest."""
_FEW_DIMENSIONS = ("lsh", "bilinear-rand", "bilinear-opt", "cbe-rand", "sh", "sklsh", "aqbc")
"""The methods of Figure 4 but ITQ and cbe-opt."""
_HADAMARD = ("fbe", "fjlt")
"""The rivals of Figure 5; a sparsity or a number of blocks may follow in their labels."""
_NO_ITQ = "no experiment with itq was run (configs/cifar10-2048.yaml, configs/flickr2048.yaml)"
_NO_FBE = "no experiment with fbe or FJLT was run (configs/cifar10-fbe.yaml, configs/fbe.yaml)"


def _figure_4(results: Sequence[Results]) -> list[Results]:
    return [one for one in experiments_on(results) if {"itq", "cbe-opt"} <= _labels(done_rows(one))]


def _figure_5(results: Sequence[Results]) -> list[Results]:
    return [one for one in experiments_on(results) if _rivals(done_rows(one))]


def _labels(rows: Iterable[RetrievalRow]) -> set[str]:
    return {row.label for row in rows}


def _rivals(rows: Iterable[RetrievalRow], family: str = "") -> list[str]:
    """Return the labels of the Hadamard family, or of one method of it."""
    wanted = (family,) if family else _HADAMARD
    return [name for name in dict.fromkeys(row.label for row in rows) if name.split("-")[0] in wanted]


def _equivalent(rival: str) -> Claim:
    """Return the claim that cbe-opt is better than or equivalent to another method."""

    def judge(claim: Claim, results: Results) -> list[Verdict]:
        return every(claim, compare(done_rows(results), "cbe-opt", rival, code_lengths(results)), source_of(results))

    return Claim(
        id=f"F4-text-{rival}",
        order=46 + _FEW_DIMENSIONS.index(rival) / 100,
        statement=f"At d = 2,048 cbe-opt is better than or equivalent to {rival}.",
        where="Section 7.2, Figure 4",
        rule=f"cbe-opt - {rival} > {-EQUIVALENT:g} point at every k, intervals holding at once; {DECIDES}",
        measure=f"least difference cbe-opt - {rival}, {CURVE}",
        region=(-EQUIVALENT, NO_BOUND),
        missing=_NO_ITQ,
        judge=judged_on(_figure_4, judge),
    )


def _comparable(claim: Claim, results: Results) -> list[Verdict]:
    """Judge F4-caption: every other method at the longest code."""
    rows, longest = done_rows(results), code_lengths(results)[-1:]
    others = [name for name in (*_FEW_DIMENSIONS, "itq") if name in _labels(rows)]
    found = [one for name in others for one in compare(rows, name, "cbe-opt", longest)]
    return every(claim, found, source_of(results))


def _lead_shrinks(claim: Claim, results: Results) -> list[Verdict]:
    """Judge F4-itq: the lead at the longest code less half of that at the shortest, query by query."""
    found = compare(done_rows(results), "itq", "cbe-opt", code_lengths(results))
    if len(found) < 2:
        return []
    first, last = found[0], found[-1]
    half = {seed: SHRUNK * values for seed, values in first.differences.items()}
    name = f"lead of itq at {last.n_bits:,} bits less half of that at {first.n_bits:,}"
    return every(claim, compared(last.differences, half, name, 0), source_of(results), also=found)


def _matches(family: str, name: str) -> Claim:
    """Return the claim that cbe-rand is comparable to or better than one of the Hadamard family."""

    def judge(claim: Claim, results: Results) -> list[Verdict]:
        rows = done_rows(results)
        return every(claim, _against(rows, "cbe-rand", _rivals(rows, family), results), source_of(results))

    return Claim(
        id=f"F5-recall-{family}",
        order=47 + _HADAMARD.index(family) / 100,
        statement=f"cbe-rand is comparable to or better than {name}.",
        where="Figure 5; Section 7.2",
        rule=f"cbe-rand - {family} > {-ALIKE:g} points at every k, fbe by the better of its distances, intervals "
        f"holding at once; {DECIDES}",
        measure=f"least difference cbe-rand - {family}, {CURVE}",
        region=(-ALIKE, NO_BOUND),
        missing=_NO_FBE,
        judge=judged_on(_figure_5, judge),
    )


def _best(claim: Claim, results: Results) -> list[Verdict]:
    """Judge F5-best and F5-margin: cbe-opt against each other method of the figure."""
    rows = done_rows(results)
    return every(claim, _against(rows, "cbe-opt", ["cbe-rand", *_rivals(rows)], results), source_of(results))


def _against(rows: list[RetrievalRow], own: str, others: Iterable[str], results: Results) -> list[Comparison]:
    """Compare a method with others at each code length, by the better of their distances."""
    found = []
    for name in others:
        for k in code_lengths(results):
            by_distance = [query_points(rows, name, k, metric) for metric in ("recall", "recall_median")]
            best = max(by_distance, key=lambda some: np.mean([one.mean() for one in some.values()]) if some else -1.0)
            found += compared(query_points(rows, own, k), best, f"{own} - {name}", k)
    return found


CLAIMS = (
    *(_equivalent(rival) for rival in _FEW_DIMENSIONS),
    Claim(
        id="F4-caption",
        order=46.2,
        statement="At d = 2,048 the methods become comparable as the number of bits grows.",
        where="Figure 4, caption",
        rule=f"every other method - cbe-opt < {COMPARABLE:g} points at the longest code, intervals holding at once",
        measure=f"largest lead over cbe-opt at the longest code, {CURVE}",
        region=(NO_BOUND, COMPARABLE),
        missing=_NO_ITQ,
        judge=judged_on(_figure_4, _comparable),
    ),
    Claim(
        id="F4-itq",
        order=46.3,
        statement="The lead of ITQ over cbe-opt shrinks with more bits.",
        where="Figure 4; Section 7.2",
        rule=f"the lead at the longest code is less than {SHRUNK:g} of that at the shortest",
        measure=f"lead at the longest code less half of that at the shortest, {CURVE}",
        region=(NO_BOUND, 0.0),
        missing=_NO_ITQ,
        judge=judged_on(_figure_4, _lead_shrinks),
    ),
    _matches("fbe", "FBE"),
    _matches("fjlt", "FJLT"),
    Claim(
        id="F5-best",
        order=47.2,
        statement="cbe-opt has the highest recall of the methods of Figure 5.",
        where="Figure 5; Section 7.2",
        rule=f"cbe-opt - each other method > 0 at every k, intervals holding at once; {DECIDES}",
        measure=f"least difference, {CURVE}",
        region=(0.0, NO_BOUND),
        missing=_NO_FBE,
        judge=judged_on(_figure_5, _best),
    ),
    Claim(
        id="F5-margin",
        order=47.3,
        statement="cbe-opt leads the methods of Figure 5 by a large margin.",
        where="Figure 5; Section 7.2",
        rule=f"cbe-opt - each other method > {LARGE:g} points at every k, intervals holding at once; {DECIDES}",
        measure=f"least difference, {CURVE}",
        region=(LARGE, NO_BOUND),
        missing=_NO_FBE,
        judge=judged_on(_figure_5, _best),
    ),
)
