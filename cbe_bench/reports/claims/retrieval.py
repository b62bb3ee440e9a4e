"""Figures 1 to 3: recall at equal time and at equal bits, speed, and spread over seeds."""

from collections.abc import Sequence

import numpy as np

from cbe_bench.core.results import Experiment
from cbe_bench.reports.claims.claim import Claim, Finding, Part, Spread, finding
from cbe_bench.reports.claims.recall import (
    FEWEST,
    LEVEL,
    Gap,
    at_least,
    better,
    figures_1_to_3,
    gap_of,
    gaps,
    least,
    numbers_of_bits,
    points,
    recall_rows,
    source_of,
    times_of,
)

LARGE = 5.0
"""Points that make a large margin."""
ALIKE = 1.5
"""Points within which two methods are almost identical."""
FASTER = 2.0
"""The paper: two to three times as fast as bilinear codes; more is no objection."""
HUNDREDS = 100.0
LARGEST_STD = 1.0
_METHODS = ("cbe-rand", "cbe-opt", "bilinear-rand", "bilinear-opt", "lsh")
"""The methods of Figures 1 to 3."""
_RIVALS = ("lsh", "bilinear-rand", "bilinear-opt")


def equal_time(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F-time: cbe-rand at each number of bits against what others make in its time."""
    return [found for one in figures_1_to_3(experiments) if (found := _equal_time(one))]


def _equal_time(experiment: Experiment) -> Finding | None:
    found = {rival: _gaps_at_equal_time(experiment, rival) for rival in _RIVALS}
    parts = [at_least(mine, LARGE, f"cbe-rand against {rival} in its time") for rival, mine in found.items()]
    every = [gap for mine in found.values() for gap in mine]
    beyond = [gap for rival in _RIVALS for gap in _gaps_at_equal_time(experiment, rival, fewer=True)]
    if beyond:
        told = min(beyond, key=lambda gap: gap.mean)
        parts.append(Part(True, f"with fewer bits than the paper's, which does not decide, least {told}"))
    return finding(parts, source_of(experiment), least(every, LARGE)) if every else None


def _gaps_at_equal_time(experiment: Experiment, rival: str, *, fewer: bool = False) -> list[Gap]:
    """Return how far cbe-rand is ahead, at each of its numbers of bits; the bits told are its own."""
    rows = recall_rows(experiment)
    found = []
    for time in sorted(times_of(experiment, fewer=fewer), key=lambda row: row["target_bits"]):
        if time["label"] == rival:
            own = points(rows, "cbe-rand", time["target_bits"])
            other = points(rows, rival, time["n_bits"])
            found.append(gap_of(own, other, "cbe-rand", f"{rival} with {time['n_bits']:,} bits", time["target_bits"]))
    return [gap for gap in found if gap]


def like_lsh(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F-bits-lsh: cbe-rand and lsh at equal bits."""
    findings = []
    for one in figures_1_to_3(experiments):
        found = gaps(recall_rows(one), "cbe-rand", "lsh", numbers_of_bits(one))
        if found:
            worst = max(found, key=lambda gap: abs(gap.mean))
            part = Part(abs(worst.mean) <= ALIKE, f"largest difference of {len(found)}: {worst}")
            findings.append(finding([part], source_of(one), worst.spread))
    return findings


def above_bilinear(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F-bits-bil: random against random and learned against learned, in recall and in time."""
    return [found for one in figures_1_to_3(experiments) if (found := _above_bilinear(one))]


def _above_bilinear(experiment: Experiment) -> Finding | None:
    rows, bits = recall_rows(experiment), numbers_of_bits(experiment)
    parts, every = [], []
    for kind in ("rand", "opt"):
        own, other = f"cbe-{kind}", f"bilinear-{kind}"
        found = gaps(rows, own, other, bits)
        every += found
        speed = _speeds(experiment, own, other)
        told = _told(speed) if speed else "no times"
        parts += [
            better(found, f"{own} against {other}"),
            Part(min(speed.values()) >= FASTER if speed else None, f"time of {other} / {own}: {told}"),
        ]
    return finding(parts, source_of(experiment), least(every)) if every else None


def _speeds(experiment: Experiment, own: str, other: str) -> dict[int, float]:
    """Return, for each number of bits, the time of another method over that of one's own."""
    shares = {(row["label"], row["target_bits"]): row.get("share_at_equal_bits") for row in times_of(experiment)}
    pairs = {bits: (shares[other, bits], shares.get((own, bits))) for label, bits in sorted(shares) if label == other}
    return {bits: theirs / mine for bits, (theirs, mine) in pairs.items() if theirs and mine}


def _told(speed: dict[int, float]) -> str:
    return ", ".join(f"{ratio:.3g} at {bits:,}" for bits, ratio in speed.items()) + " bits"


def faster_than_lsh(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F-speed-lsh: the time of a full projection over that of cbe-rand."""
    findings = []
    for one in figures_1_to_3(experiments):
        speed = _speeds(one, "cbe-rand", "lsh")
        if speed:
            part = Part(min(speed.values()) >= HUNDREDS, f"time of lsh / cbe-rand, batches of 64: {_told(speed)}")
            ends = Spread(min(speed.values()), min(speed.values()), max(speed.values()))
            findings.append(finding([part], source_of(one), ends))
    return findings


def spread_over_seeds(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F-std: how much recall differs between seeds, at any depth."""
    findings = []
    for one in figures_1_to_3(experiments):
        found = _deviations(one)
        if found:
            (label, n_bits), largest = max(found.items(), key=lambda item: item[1])
            text = f"largest of {len(found)} curves: {largest:.2f} points, {label} at {n_bits:,} bits"
            part = Part(largest <= LARGEST_STD, f"{text}; median {np.median(list(found.values())):.2f}")
            findings.append(finding([part], source_of(one), Spread(largest, min(found.values()), largest)))
    return findings


def _deviations(experiment: Experiment) -> dict[tuple[str, int], float]:
    """Return the largest standard deviation over seeds, at any depth, of each curve of the paper's methods."""
    curves: dict[tuple[str, int], list[list[float]]] = {}
    for row in recall_rows(experiment):
        if row["label"] in _METHODS:
            curves.setdefault((row["label"], row["n_bits"]), []).append(row["recall"])
    return {key: 100 * float(np.std(some, axis=0, ddof=1).max()) for key, some in curves.items() if len(some) > 1}


_MISSING = "no experiment at equal time and equal bits was run (configs/flickr.yaml, configs/cifar10.yaml, ...)"
_DECIDES = f"k from d/{FEWEST} on, as in the paper; means over seeds of recall@100 decide"

CLAIMS = (
    Claim(
        id="F-time",
        statement="In equal time circulant codes, even random ones, find far more than LSH and bilinear codes.",
        where="Figures 1 to 3, top; Section 7.2",
        rule=f"at every k, cbe-rand is at least {LARGE:g} points above lsh, bilinear-rand and bilinear-opt, each with "
        "the bits it makes in the time of cbe-rand, wherever these have left as many points to find; "
        f"{_DECIDES}",
        measure="least margin, points of recall@100",
        missing=_MISSING,
        find=equal_time,
    ),
    Claim(
        id="F-bits-lsh",
        statement="With equal bits cbe-rand is almost identical to LSH.",
        where="Figures 1 to 3, bottom; Section 7.2",
        rule=f"cbe-rand is within {ALIKE:g} points of lsh at every k; {_DECIDES}",
        measure="largest difference cbe-rand - lsh, points of recall@100",
        missing=_MISSING,
        find=like_lsh,
    ),
    Claim(
        id="F-bits-bil",
        statement="With equal bits circulant codes find more than bilinear ones, random or learned, 2-3 times as fast.",
        where="Figures 1 to 3, bottom; Section 7.2",
        rule=f"cbe-rand against bilinear-rand and cbe-opt against bilinear-opt: at no k behind by more than {LEVEL:g} "
        "points, at half or more of those that leave room ahead by more; and at every k bilinear takes at least "
        f"{FASTER:g} times as long; {_DECIDES}",
        measure="least margin, points of recall@100",
        missing=_MISSING,
        find=above_bilinear,
    ),
    Claim(
        id="F-speed-lsh",
        statement="Circulant codes are made hundreds of times as fast as those of LSH.",
        where="Figures 1 to 3; Section 7.2",
        rule=f"at every k from d/{FEWEST} on, as in the paper, making codes takes lsh at least {HUNDREDS:g} times as "
        "long as cbe-rand",
        measure="least time of lsh / cbe-rand",
        missing=_MISSING,
        find=faster_than_lsh,
    ),
    Claim(
        id="F-std",
        statement="The standard deviation of recall is within 1%.",
        where="Figures 1 to 3",
        rule="for each method of the figures, at every number of bits and every depth up to 100, the standard "
        f"deviation over seeds is at most {LARGEST_STD:g} point",
        measure="largest standard deviation, points of recall",
        missing=_MISSING,
        find=spread_over_seeds,
    ),
)
