"""Learning circulant codes: its course, its cost, few bits, pairs of known similarity, its weight."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cbe_bench.core.results import Experiment, Row
from cbe_bench.reports.claims.claim import Claim, Finding, Part, Source, Spread, finding
from cbe_bench.reports.claims.recall import (
    LEVEL,
    Gap,
    better,
    figures_1_to_3,
    gap_of,
    gaps,
    least,
    numbers_of_bits,
    points,
    recall_rows,
    retrieval,
    source_of,
)

ROUNDING = 1e-6
"""Share of the objective that a turn may add by rounding: features are single precision."""
TURNS = {5: 1.0, 10: 0.5}
"""Points of recall that may be missing, to the most turns taken, after so many."""
AUC_GAIN = 1.5
"""Points of averaged AUC that make 2 when rounded."""
WEIGHTS, WEIGHT_RANGE = (0.1, 1, 10), 0.5
"""The weights of orthogonality that the paper compares, and the points of recall they may differ by."""
EXPONENTS = (0.75, 1.25)
_WIDE = 4
"""Exponents are fitted where sizes differ by this factor or more."""
_FEWEST_TURNS = 5


def course(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge S5-mono: the objective of every learning, and recall after 5 and after 10 turns."""
    findings = []
    for one in retrieval(experiments, sweep="max_iter"):
        rows = recall_rows(one)
        found = {turns: _gaps_to_most(rows, turns) for turns in TURNS}
        parts = [_never_increases(rows), *(_enough(turns, mine) for turns, mine in found.items())]
        findings.append(finding(parts, source_of(one), least(found[max(TURNS)])))
    return findings


def _never_increases(rows: list[Row]) -> Part:
    courses = [row["objective"] for row in rows if len(row.get("objective", ())) > 1]
    if not courses:
        return Part(None, "no course of the objective")
    worst = max((after - before) / abs(before) for one in courses for before, after in pairwise(one))
    return Part(worst <= ROUNDING, f"in {len(courses)} learnings a turn changes the objective by {worst:+.2g} at most")


def _gaps_to_most(rows: list[Row], turns: int) -> list[Gap]:
    """Return, for each number of bits, how far recall after some turns is above that after most."""
    label = {row["params"].get("max_iter"): row["label"] for row in rows}
    most = max((number for number in label if number), default=0)
    if turns not in label or most <= turns:
        return []
    return gaps(rows, label[turns], label[most], sorted({row["n_bits"] for row in rows}))


def _enough(turns: int, found: list[Gap]) -> Part:
    if not found:
        return Part(None, f"recall after {turns} turns and after more")
    worst = min(found, key=lambda gap: gap.mean)
    return Part(worst.mean >= -TURNS[turns], f"least {worst}")


def cost(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge S5-cost: how the seconds of a turn of learning grow with rows and dimensions."""
    rows = [row for one in experiments if one.about.experiment == "retrieval" for row in _learnings(one)]
    findings = []
    for circumstances in dict.fromkeys((row["environment"], row["threads"]) for row in rows):
        mine = [row for row in rows if (row["environment"], row["threads"]) == circumstances]
        names = sorted({row["experiment_name"] for row in mine})
        seconds = _seconds_a_turn(mine)
        if seconds:
            data = f"learning times of cbe-opt on this machine, {len(seconds)} sizes (rows x dimensions)"
            findings.append(finding(*_growth(seconds, Source(data, "machine", ", ".join(names)))))
    return findings


def _learnings(experiment: Experiment) -> list[Row]:
    """Return the cells that learned circulant codes without pairs, for some turns or more, and say where they lie."""
    return [
        {**row, "experiment_name": experiment.name}
        for row in recall_rows(experiment)
        if row["encoder"] == "cbe-opt" and len(row.get("objective", ())) > _FEWEST_TURNS and not row["params"].get("mu")
    ]


def _seconds_a_turn(rows: list[Row]) -> dict[tuple[int, int], float]:
    """Return the median seconds of a turn for each number of rows and dimensions."""
    found: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row.get("fit_seconds") and row["n_bits"] <= row["n_features"]:
            turns = len(row["objective"]) - 1
            found.setdefault((row["n_learn"], row["n_features"]), []).append(row["fit_seconds"] / turns)
    return {size: float(np.median(some)) for size, some in sorted(found.items())}


def _growth(seconds: dict[tuple[int, int], float], source: Source) -> tuple[list[Part], Source, Spread]:
    """Fit seconds = c N^a (d log d)^b and judge both exponents."""
    n, d = np.array(list(seconds), float).T
    told = ", ".join(f"{1e3 * value:.3g} ms at {rows:,} x {dims:,}" for (rows, dims), value in seconds.items())
    wide = n.max() >= _WIDE * n.min() and d.max() >= _WIDE * d.min() and len(seconds) > 2
    if not wide:
        return [Part(None, f"rows and dimensions that each differ {_WIDE}-fold; a turn takes {told}")], source, Spread()
    design = np.column_stack([np.ones(len(n)), np.log(n), np.log(d * np.log(d))])
    _, by_rows, by_dims = np.linalg.lstsq(design, np.log(list(seconds.values())), rcond=None)[0]
    parts = [
        Part(bool(EXPONENTS[0] <= value <= EXPONENTS[1]), f"seconds of a turn grow as {what}^{value:.2f}")
        for value, what in ((by_rows, "N"), (by_dims, "(d log d)"))
    ]
    ends = Spread(float(by_dims), float(min(by_rows, by_dims)), float(max(by_rows, by_dims)))
    return [*parts, Part(True, told)], source, ends


def few_bits(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge S5-kheur: learned against random codes of fewer than d bits."""
    findings = []
    for one in figures_1_to_3(experiments):
        rows = recall_rows(one)
        bits = [k for k in numbers_of_bits(one) if k < rows[0]["n_features"]]
        found = gaps(rows, "cbe-opt", "cbe-rand", bits)
        if found:
            part = better(found, "cbe-opt against cbe-rand")
            findings.append(finding([part], source_of(one), least(found)))
    return findings


def semi_supervised(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge S6-semi: averaged AUC with pairs, at the best weight for all bits, less that without."""
    findings = []
    for one in retrieval(experiments, sweep="mu"):
        rows = [row for row in recall_rows(one) if row.get("auc") is not None]
        label = {row["params"].get("mu", 0): row["label"] for row in rows}
        bits = sorted({row["n_bits"] for row in rows})
        tried = {mu: gaps(rows, label[mu], label[0], bits, "auc") for mu in label if mu > 0 and 0 in label}
        tried = {mu: found for mu, found in tried.items() if found}
        if tried:
            gains = {mu: _over_bits(found) for mu, found in sorted(tried.items())}
            best = max(gains.values(), key=lambda gain: gain.value)
            told = ", ".join(f"{gain.value:+.2f} with mu = {mu:g}" for mu, gain in gains.items())
            part = Part(best.value >= AUC_GAIN, f"points of averaged AUC, mean over k: {told}")
            findings.append(finding([part], source_of(one), best))
    return findings


def _over_bits(found: list[Gap]) -> Spread:
    """Return the mean of gaps over bits, with the least and the greatest of any seed."""
    mean = float(np.mean([gap.mean for gap in found]))
    return Spread(mean, min(gap.low for gap in found), max(gap.high for gap in found))


def weight(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge F-lambda: the range of recall over the weights the paper names, with all rows to learn from."""
    findings = []
    for one in retrieval(experiments, sweep="lam"):
        rows = [row for row in recall_rows(one) if row["params"].get("lam") in WEIGHTS]
        sizes = sorted({row["n_learn"] for row in rows}, reverse=True)
        ranges = {n: _ranges([row for row in rows if row["n_learn"] == n]) for n in sizes}
        if not sizes or not ranges[sizes[0]]:
            continue
        worst = max(ranges[sizes[0]], key=lambda gap: gap.mean)
        others = [(n, max(ranges[n], key=lambda gap: gap.mean)) for n in sizes[1:] if ranges[n]]
        told = "".join(f"; with {n:,} rows, which does not decide, {gap}" for n, gap in others)
        part = Part(worst.mean <= WEIGHT_RANGE, f"{sizes[0]:,} rows to learn from: largest {worst}{told}")
        findings.append(finding([part], source_of(one), worst.spread))
    return findings


def _ranges(rows: list[Row]) -> list[Gap]:
    """Return, for each number of bits with all the weights, the best of them less the worst."""
    label = {row["params"]["lam"]: row["label"] for row in rows}
    found: list[Gap | None] = []
    for k in sorted({row["n_bits"] for row in rows}) if len(label) == len(WEIGHTS) else ():
        recalls = {name: points(rows, name, k) for name in label.values()}
        if all(recalls.values()):
            best, least = _ends(recalls)
            found.append(gap_of(recalls[best], recalls[least], best, least, k))
    return [gap for gap in found if gap]


def _ends(recalls: dict[str, dict[int, float]]) -> tuple[str, str]:
    means = {name: np.mean(list(some.values())) for name, some in recalls.items()}
    return max(means, key=lambda name: means[name]), min(means, key=lambda name: means[name])


CLAIMS = (
    Claim(
        id="S5-mono",
        statement="The objective of learning never increases, and 5 to 10 turns are enough.",
        where="Section 5.1",
        rule=f"no turn adds more than {ROUNDING:g} of the objective (rounding); recall@100, mean over seeds, falls "
        "short of that after the most turns taken by "
        + " and ".join(f"at most {short:g} points after {turns} turns" for turns, short in TURNS.items())
        + ", at every k",
        measure="recall@100 after 10 turns less that after the most, points",
        missing="no learning with several numbers of turns was run (configs/convergence.yaml)",
        find=course,
    ),
    Claim(
        id="S5-cost",
        statement="Learning takes O(N d log d) time.",
        where="Section 5.1",
        rule=f"in a fit of the seconds of a turn as N^a (d log d)^b, both exponents are within {EXPONENTS}; needs rows "
        f"and dimensions that each differ {_WIDE}-fold",
        measure="exponent of d log d (spread: both exponents)",
        missing="no learning of circulant codes was run",
        find=cost,
    ),
    Claim(
        id="S5-kheur",
        statement="Learning fewer than d bits, the other columns of the codes set to zero, works well.",
        where="Section 5.2",
        rule=f"of the k < d, cbe-opt is at none behind cbe-rand by more than {LEVEL:g} points of recall@100, and ahead "
        "by more at half or more of those that leave room; means over seeds decide",
        measure="least margin of cbe-opt over cbe-rand, points of recall@100",
        missing="no experiment at equal time and equal bits was run (configs/flickr.yaml, configs/cifar10.yaml, ...)",
        find=few_bits,
    ),
    Claim(
        id="S6-semi",
        statement="Pairs of known similarity add 2% of averaged AUC.",
        where="Section 6.2",
        rule=f"averaged AUC, mean over k and seeds, gains at least {AUC_GAIN:g} points (2 when rounded) with the one "
        "mu of those tried that is best over all k",
        measure="gain of the best mu, points of averaged AUC",
        missing="no learning with pairs was run (configs/semisup.yaml)",
        find=semi_supervised,
    ),
    Claim(
        id="F-lambda",
        statement="The weight of orthogonality hardly matters: 0.1, 1 and 10 differ by at most 0.5%.",
        where="Section 7",
        rule=f"at every k, the best of lambda = 0.1, 1, 10 is at most {WEIGHT_RANGE:g} points of recall@100 above "
        "the worst, with as many rows to learn from as the experiment has; means over seeds decide",
        measure="largest range, points of recall@100",
        missing="no sweep over lambda was run (configs/lambda.yaml)",
        find=weight,
    ),
)
