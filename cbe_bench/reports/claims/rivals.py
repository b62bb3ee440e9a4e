"""Figures 4 and 5: methods for few dimensions, and the Hadamard family."""

from collections.abc import Iterable, Sequence

import numpy as np

from cbe_bench.core.results import Experiment, Row
from cbe_bench.reports.claims.claim import Claim, Finding, Part, finding
from cbe_bench.reports.claims.recall import (
    Gap,
    at_least,
    gap_of,
    gaps,
    least,
    numbers_of_bits,
    points,
    recall_rows,
    retrieval,
    source_of,
)
from cbe_bench.reports.claims.retrieval import ALIKE, LARGE

EQUIVALENT = 1.0
"""Points within which a method is equivalent to a better one."""
CLOSED = 0.5
"""Share of the gap at the fewest bits that may be left at the most."""
_FEW_DIMENSIONS = ("lsh", "bilinear-rand", "bilinear-opt", "cbe-rand", "sh", "sklsh", "aqbc")
"""The methods of Figure 4 but ITQ and cbe-opt."""


def few_dimensions(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F4-low: cbe-opt against methods that do not scale."""
    findings = []
    for one in retrieval(experiments):
        rows, bits = recall_rows(one), numbers_of_bits(one)
        others = [gap for name in _FEW_DIMENSIONS for gap in gaps(rows, "cbe-opt", name, bits)]
        to_itq = gaps(rows, "itq", "cbe-opt", bits)
        if to_itq and others:
            findings.append(finding([_equivalent(others), _closing(to_itq)], source_of(one), least(others)))
    return findings


def _equivalent(found: list[Gap]) -> Part:
    worst = min(found, key=lambda gap: gap.mean)
    return Part(worst.mean >= -EQUIVALENT, f"least {worst}")


def _closing(found: list[Gap]) -> Part:
    first, last = found[0], found[-1]
    if len(found) < 2:
        return Part(None, f"the gap to itq at several numbers of bits; {first}")
    return Part(last.mean <= max(EQUIVALENT, CLOSED * first.mean), f"{first}; {last}")


def hadamard_family(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F5-fbe: recall and speed against fbe and FJLT-p, of fbe with the better of its two distances."""
    findings = []
    for one in retrieval(experiments):
        rows, bits = recall_rows(one), numbers_of_bits(one)
        rivals = [name for name in dict.fromkeys(row["label"] for row in rows) if name.split("-")[0] in ("fbe", "fjlt")]
        if rivals:
            learned = _against(rows, "cbe-opt", ["cbe-rand", *rivals], bits)
            parts = [
                at_least(_against(rows, "cbe-rand", rivals, bits), -ALIKE, "cbe-rand against fbe and fjlt"),
                _faster(rows, rivals),
                at_least(learned, LARGE, "cbe-opt against the others"),
            ]
            findings.append(finding(parts, source_of(one), least(learned)))
    return findings


def _against(rows: list[Row], own: str, others: Iterable[str], bits: Iterable[int]) -> list[Gap]:
    """Return how far a method is ahead of each other one at each number of bits, of either distance of theirs."""
    found = []
    for name in others:
        for k in bits:
            kinds = [points(rows, name, k, metric) for metric in ("recall", "recall_median")]
            best = max(kinds, key=lambda some: np.mean(list(some.values())) if some else -1.0)
            found.append(gap_of(points(rows, own, k), best, own, name, k))
    return [gap for gap in found if gap]


def _faster(rows: list[Row], rivals: list[str]) -> Part:
    """Judge that cbe-rand takes less time than each of its rivals, at the bits that were encoded."""
    own, seconds = _encode_seconds(rows, "cbe-rand"), {name: _encode_seconds(rows, name) for name in rivals}
    ratios = {(name, k): some[k] / own[k] for name, some in seconds.items() for k in some.keys() & own.keys() if own[k]}
    if not ratios:
        return Part(None, "times of encoding the database")
    (name, k), ratio = min(ratios.items(), key=lambda item: item[1])
    return Part(ratio > 1, f"to encode the database takes at least {ratio:.2g} times as long ({name}, {k:,} bits)")


def _encode_seconds(rows: list[Row], label: str) -> dict[int, float]:
    """Return the median seconds of encoding the database, for each number of bits that was encoded."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row["label"] == label and row.get("encode_seconds") and row.get("encoded_bits") == row["n_bits"]:
            found.setdefault(row["n_bits"], []).append(row["encode_seconds"])
    return {k: float(np.median(some)) for k, some in found.items()}


CLAIMS = (
    Claim(
        id="F4-low",
        statement="At d = 2,048 cbe-opt is at least level with all methods but ITQ, whose lead shrinks with more bits.",
        where="Figure 4; Section 7.2",
        rule=f"at every k, cbe-opt is no more than {EQUIVALENT:g} point below any method of the figure but itq; the "
        f"lead of itq at the most bits is at most {CLOSED:g} of that at the fewest, or {EQUIVALENT:g} point; means "
        "over seeds of recall@100 decide",
        measure="least margin of cbe-opt over all but itq, points of recall@100",
        missing="no experiment with itq was run (configs/flickr2048.yaml, configs/cifar10-2048.yaml)",
        find=few_dimensions,
    ),
    Claim(
        id="F5-fbe",
        statement="cbe-rand matches or beats FBE and FJLT-p and is faster; cbe-opt is the best by a large margin.",
        where="Figure 5; Section 7.2",
        rule=f"at every k, cbe-rand is no more than {ALIKE:g} points below fbe (the better of its distances) and each "
        f"fjlt-p, and encodes the database in less time; cbe-opt is at least {LARGE:g} points above them and cbe-rand; "
        "means over seeds of recall@100 decide",
        measure="least margin of cbe-opt, points of recall@100",
        missing="no experiment with fbe or FJLT was run (configs/fbe.yaml, configs/cifar10-fbe.yaml)",
        find=hadamard_family,
    ),
)
