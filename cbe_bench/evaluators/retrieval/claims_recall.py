"""Claims of Figures 1 to 3: recall at equal time and at equal code length, speed, and deviation over seeds."""

import math
from collections.abc import Sequence

import numpy as np

from cbe_bench.core.claims import Claim, Estimate, Evidence, Part, Verdict, outcome_of
from cbe_bench.core.results import Results
from cbe_bench.evaluators.retrieval.differences import (
    FEWEST,
    LEVEL,
    Difference,
    at_least,
    better,
    code_lengths,
    difference_of,
    differences,
    done_rows,
    figures_1_to_3,
    least,
    points,
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


def equal_time(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F-time: cbe-rand at each code length against what others reach in its time.

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
    return [found for one in figures_1_to_3(results) if (found := _equal_time(claim, one))]


def _equal_time(claim: Claim, results: Results) -> Verdict | None:
    found = {rival: _at_equal_time(results, rival) for rival in _RIVALS}
    parts = [at_least(mine, LARGE, f"cbe-rand against {rival} in its time") for rival, mine in found.items()]
    every = [one for mine in found.values() for one in mine]
    beyond = [one for rival in _RIVALS for one in _at_equal_time(results, rival, shorter=True)]
    if beyond:
        worst = min(beyond, key=lambda one: one.mean)
        parts.append(Part(True, f"with codes shorter than the paper's, which does not decide, least {worst}"))
    return claim.conclude(parts, source_of(results), least(every, LARGE)) if every else None


def _at_equal_time(results: Results, rival: str, *, shorter: bool = False) -> list[Difference]:
    """Return how far cbe-rand is ahead at each of its code lengths."""
    rows = done_rows(results)
    found = []
    for time in sorted(times_of(results, shorter=shorter), key=lambda row: row.target_bits):
        if time.label == rival:
            own, other = points(rows, "cbe-rand", time.target_bits), points(rows, rival, time.n_bits)
            name = f"{rival} with {time.n_bits:,} bits"
            found.append(difference_of(own, other, "cbe-rand", name, time.target_bits))
    return [one for one in found if one]


def like_lsh(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F-bits-lsh: cbe-rand and lsh at equal code length.

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
    for one in figures_1_to_3(results):
        found = differences(done_rows(one), "cbe-rand", "lsh", code_lengths(one))
        if found:
            worst = max(found, key=lambda difference: abs(difference.mean))
            evidence = tuple(difference.evidence(-ALIKE, ALIKE) for difference in found)
            part = Part(abs(worst.mean) <= ALIKE, f"largest difference of {len(found)}: {worst}", evidence)
            verdicts.append(claim.conclude([part], source_of(one), worst.estimate))
    return verdicts


def above_bilinear(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F-bits-bil: random against random and trained against trained, in recall and in time.

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
    return [found for one in figures_1_to_3(results) if (found := _above_bilinear(claim, one))]


def _above_bilinear(claim: Claim, results: Results) -> Verdict | None:
    rows, lengths = done_rows(results), code_lengths(results)
    parts, every = [], []
    for suffix in ("rand", "opt"):
        own, other = f"cbe-{suffix}", f"bilinear-{suffix}"
        found = differences(rows, own, other, lengths)
        every += found
        ratios = _time_ratios(results, own, other)
        name = f"time of {other} / {own}"
        text = f"{name}: {_listed(ratios) if ratios else 'no times'}"
        parts += [
            better(found, f"{own} against {other}"),
            Part(min(ratios.values()) >= FASTER if ratios else None, text, _evidence(name, ratios, FASTER)),
        ]
    return claim.conclude(parts, source_of(results), least(every)) if every else None


def _time_ratios(results: Results, own: str, other: str) -> dict[int, float]:
    """Return, for each code length, the encode time of another method over that of one's own."""
    ratio = {(row.label, row.target_bits): row.time_ratio_at_equal_bits for row in times_of(results)}
    found = {k: ratio[other, k] / ratio.get((own, k), np.nan) for label, k in sorted(ratio) if label == other}
    return {k: value for k, value in found.items() if np.isfinite(value)}


def _listed(ratios: dict[int, float]) -> str:
    return ", ".join(f"{ratio:.3g} at {k:,}" for k, ratio in ratios.items()) + " bits"


def _evidence(name: str, ratios: dict[int, float], least: float) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(name, k, ratio, ratio, ratio, outcome_of(ratio >= least, True)) for k, ratio in ratios.items()
    )


def faster_than_lsh(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F-speed-lsh: the encode time of a full projection over that of cbe-rand.

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
    for one in figures_1_to_3(results):
        ratios = _time_ratios(one, "cbe-rand", "lsh")
        if ratios:
            smallest, largest = min(ratios.values()), max(ratios.values())
            evidence = _evidence("time of lsh / cbe-rand", ratios, HUNDREDS)
            part = Part(smallest >= HUNDREDS, f"time of lsh / cbe-rand, batches of 64: {_listed(ratios)}", evidence)
            verdicts.append(claim.conclude([part], source_of(one), Estimate(smallest, smallest, largest)))
    return verdicts


def deviation_over_seeds(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F-std: the standard deviation of recall over seeds, at any depth.

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
    for one in figures_1_to_3(results):
        found = _deviations(one)
        if found:
            (label, n_bits), largest = max(found.items(), key=lambda item: item[1])
            text = f"largest of {len(found)} curves: {largest:.2f} points, {label} at {n_bits:,} bits"
            evidence = tuple(
                Evidence(name, k, std, std, std, outcome_of(std <= LARGEST_STD, True))
                for (name, k), std in sorted(found.items())
            )
            median = np.median(list(found.values()))
            part = Part(largest <= LARGEST_STD, f"{text}; median {median:.2f}", evidence)
            verdicts.append(claim.conclude([part], source_of(one), Estimate(largest, min(found.values()), largest)))
    return verdicts


def _deviations(results: Results) -> dict[tuple[str, int], float]:
    """Return the largest standard deviation over seeds, at any depth, of each curve of the paper's methods."""
    curves: dict[tuple[str, int], list[tuple[float, ...]]] = {}
    for row in done_rows(results):
        if row.label in _METHODS:
            curves.setdefault((row.label, row.n_bits), []).append(row.recall)
    return {key: 100 * float(np.std(some, axis=0, ddof=1).max()) for key, some in curves.items() if len(some) > 1}


MISSING = "no experiment at equal time and equal code length was run (configs/flickr.yaml, configs/cifar10.yaml, ...)"
_DECIDES = f"k from d/{FEWEST} on, as in the paper; means over seeds of recall@100 decide"

CLAIMS = (
    Claim(
        id="F-time",
        order=40,
        statement="In equal time circulant codes, even random ones, find far more than LSH and bilinear codes.",
        where="Figures 1 to 3, top; Section 7.2",
        rule=f"at every k, cbe-rand is at least {LARGE:g} points above lsh, bilinear-rand and bilinear-opt, each with "
        "the code length it reaches in the time of cbe-rand, wherever these have as many points of headroom; "
        f"{_DECIDES}",
        measure="least margin, points of recall@100",
        region=(LARGE, math.nan),
        missing=MISSING,
        judge=equal_time,
    ),
    Claim(
        id="F-bits-lsh",
        order=41,
        statement="With equal bits cbe-rand is almost identical to LSH.",
        where="Figures 1 to 3, bottom; Section 7.2",
        rule=f"cbe-rand is within {ALIKE:g} points of lsh at every k; {_DECIDES}",
        measure="largest difference cbe-rand - lsh, points of recall@100",
        region=(-ALIKE, ALIKE),
        missing=MISSING,
        judge=like_lsh,
    ),
    Claim(
        id="F-bits-bil",
        order=42,
        statement="With equal bits circulant codes find more than bilinear ones, random or trained, 2-3 times as fast.",
        where="Figures 1 to 3, bottom; Section 7.2",
        rule=f"cbe-rand against bilinear-rand and cbe-opt against bilinear-opt: at no k behind by more than {LEVEL:g} "
        "points, at half or more of those with headroom ahead by more; and at every k bilinear takes at least "
        f"{FASTER:g} times as long; {_DECIDES}",
        measure="least margin, points of recall@100",
        region=(-LEVEL, math.nan),
        missing=MISSING,
        judge=above_bilinear,
    ),
    Claim(
        id="F-speed-lsh",
        order=43,
        statement="Circulant codes are computed hundreds of times as fast as those of LSH.",
        where="Figures 1 to 3; Section 7.2",
        rule=f"at every k from d/{FEWEST} on, as in the paper, encoding takes lsh at least {HUNDREDS:g} times as long "
        "as cbe-rand",
        measure="least time of lsh / cbe-rand",
        region=(HUNDREDS, math.nan),
        missing=MISSING,
        judge=faster_than_lsh,
    ),
    Claim(
        id="F-std",
        order=45,
        statement="The standard deviation of recall is within 1%.",
        where="Figures 1 to 3",
        rule="for each method of the figures, at every code length and every depth up to 100, the standard deviation "
        f"over seeds is at most {LARGEST_STD:g} point",
        measure="largest standard deviation, points of recall",
        region=(math.nan, LARGEST_STD),
        missing=MISSING,
        judge=deviation_over_seeds,
    ),
)
