"""Claims of Figures 4 and 5: methods for few dimensions, and the Hadamard family."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from cbe_bench.core.claims import Claim, Part, Verdict
from cbe_bench.core.results import Results
from cbe_bench.evaluators.retrieval.claims_recall import ALIKE, LARGE
from cbe_bench.evaluators.retrieval.differences import (
    Difference,
    at_least,
    code_lengths,
    difference_of,
    differences,
    done_rows,
    experiments_on,
    least,
    points,
    source_of,
)
from cbe_bench.evaluators.retrieval.rows import RetrievalRow

EQUIVALENT = 1.0
"""Points within which a method is equivalent to a better one."""
SHRUNK = 0.5
"""Fraction of the lead at the shortest code that may be left at the longest."""
_FEW_DIMENSIONS = ("lsh", "bilinear-rand", "bilinear-opt", "cbe-rand", "sh", "sklsh", "aqbc")
"""The methods of Figure 4 but ITQ and cbe-opt."""


def few_dimensions(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F4-low: cbe-opt against methods that do not scale.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : sequence of Results
        The rows of each experiment.

    Returns
    -------
    list of Verdict
        Empty if no rows measure it.
    """
    verdicts = []
    for one in experiments_on(results):
        rows, lengths = done_rows(one), code_lengths(one)
        others = [found for name in _FEW_DIMENSIONS for found in differences(rows, "cbe-opt", name, lengths)]
        to_itq = differences(rows, "itq", "cbe-opt", lengths)
        if to_itq and others:
            parts = [_equivalent(others), _lead_shrinks(to_itq)]
            verdicts.append(claim.conclude(parts, source_of(one), least(others)))
    return verdicts


def _equivalent(found: list[Difference]) -> Part:
    worst = min(found, key=lambda one: one.mean)
    return Part(worst.mean >= -EQUIVALENT, f"least {worst}", tuple(one.evidence(-EQUIVALENT) for one in found))


def _lead_shrinks(found: list[Difference]) -> Part:
    first, last = found[0], found[-1]
    if len(found) < 2:
        return Part(None, f"the lead of itq at several code lengths; {first}")
    most = max(EQUIVALENT, SHRUNK * first.mean)
    evidence = (*(one.evidence(counts=False) for one in found[:-1]), last.evidence(most=most))
    return Part(last.mean <= most, f"{first}; {last}", evidence)


def hadamard_family(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F5-fbe: recall and speed against fbe and FJLT-p, of fbe with the better of its two distances.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : sequence of Results
        The rows of each experiment.

    Returns
    -------
    list of Verdict
        Empty if no rows measure it.
    """
    verdicts = []
    for one in experiments_on(results):
        rows, lengths = done_rows(one), code_lengths(one)
        rivals = [name for name in dict.fromkeys(row.label for row in rows) if name.split("-")[0] in ("fbe", "fjlt")]
        if rivals:
            trained = _against(rows, "cbe-opt", ["cbe-rand", *rivals], lengths)
            parts = [
                at_least(_against(rows, "cbe-rand", rivals, lengths), -ALIKE, "cbe-rand against fbe and fjlt"),
                _faster(rows, rivals),
                at_least(trained, LARGE, "cbe-opt against the others"),
            ]
            verdicts.append(claim.conclude(parts, source_of(one), least(trained)))
    return verdicts


def _against(rows: list[RetrievalRow], own: str, others: Iterable[str], lengths: Iterable[int]) -> list[Difference]:
    """Return how far a method is ahead of each other one at each code length, by the better of their distances."""
    found = []
    for name in others:
        for k in lengths:
            by_distance = [points(rows, name, k, metric) for metric in ("recall", "recall_median")]
            best = max(by_distance, key=lambda some: np.mean(list(some.values())) if some else -1.0)
            found.append(difference_of(points(rows, own, k), best, own, name, k))
    return [one for one in found if one]


def _faster(rows: list[RetrievalRow], rivals: list[str]) -> Part:
    """Judge that cbe-rand takes less time than each of its rivals, at the code lengths that were encoded."""
    own, times = _encode_us(rows, "cbe-rand"), {name: _encode_us(rows, name) for name in rivals}
    ratios = {(name, k): some[k] / own[k] for name, some in times.items() for k in some.keys() & own.keys()}
    if not ratios:
        return Part(None, "times of encoding the database")
    (name, k), ratio = min(ratios.items(), key=lambda item: item[1])
    return Part(ratio > 1, f"to encode the database takes at least {ratio:.2g} times as long ({name}, {k:,} bits)")


def _encode_us(rows: list[RetrievalRow], label: str) -> dict[int, float]:
    """Return the median time per vector, for each code length that was encoded."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row.label == label and row.encode_us_per_vector > 0 and row.encoded_bits == row.n_bits:
            found.setdefault(row.n_bits, []).append(row.encode_us_per_vector)
    return {k: float(np.median(some)) for k, some in found.items()}


CLAIMS = (
    Claim(
        id="F4-low",
        order=46,
        statement="At d = 2,048 cbe-opt is at least level with all methods but ITQ, whose lead shrinks with more bits.",
        where="Figure 4; Section 7.2",
        rule=f"at every k, cbe-opt is no more than {EQUIVALENT:g} point below any method of the figure but itq; the "
        f"lead of itq at the longest code is at most {SHRUNK:g} of that at the shortest, or {EQUIVALENT:g} point; "
        "means over seeds of recall@100 decide",
        measure="least margin of cbe-opt over all but itq, points of recall@100",
        region=(-EQUIVALENT, math.nan),
        missing="no experiment with itq was run (configs/flickr2048.yaml, configs/cifar10-2048.yaml)",
        judge=few_dimensions,
    ),
    Claim(
        id="F5-fbe",
        order=47,
        statement="cbe-rand matches or beats FBE and FJLT-p and is faster; cbe-opt is the best by a large margin.",
        where="Figure 5; Section 7.2",
        rule=f"at every k, cbe-rand is no more than {ALIKE:g} points below fbe (the better of its distances) and each "
        f"fjlt-p, and encodes the database in less time; cbe-opt is at least {LARGE:g} points above them and cbe-rand; "
        "means over seeds of recall@100 decide",
        measure="least margin of cbe-opt, points of recall@100",
        region=(LARGE, math.nan),
        missing="no experiment with fbe or FJLT was run (configs/fbe.yaml, configs/cifar10-fbe.yaml)",
        judge=hadamard_family,
    ),
)
