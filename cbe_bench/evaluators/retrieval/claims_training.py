"""Claims on training circulant codes: convergence, cost, codes shorter than d, pairs of known similarity, lambda."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cbe_bench.core.claims import Claim, Estimate, Part, Source, Verdict
from cbe_bench.core.results import Results
from cbe_bench.evaluators.retrieval.claims_recall import MISSING
from cbe_bench.evaluators.retrieval.differences import (
    LEVEL,
    Difference,
    better,
    code_lengths,
    difference_of,
    differences,
    done_rows,
    experiments_on,
    figures_1_to_3,
    least,
    points,
    source_of,
)
from cbe_bench.evaluators.retrieval.rows import RetrievalRow

ROUNDING = 1e-6
"""Fraction of the objective that an iteration may add by rounding: features are single precision."""
ITERATIONS = {5: 1.0, 10: 0.5}
"""Points of recall that may be missing, to the most iterations run, by number of iterations."""
AUC_GAIN = 1.5
"""Points of averaged AUC that make 2 when rounded."""
LAMBDAS, LAMBDA_RANGE = (0.1, 1, 10), 0.5
"""The values of lambda that the paper compares, and the points of recall they may differ by."""
EXPONENTS = (0.75, 1.25)
_WIDE = 4
"""Exponents are fitted where sizes differ by this factor or more."""
_FEWEST_ITERATIONS = 5


def convergence(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S5-mono: the objective of every training, and recall after 5 and after 10 iterations.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for one in experiments_on(results, sweep="max_iter"):
        rows = done_rows(one)
        found = {n_iter: _to_most_iterations(rows, n_iter) for n_iter in ITERATIONS}
        parts = [_never_increases(rows), *(_enough(n_iter, mine) for n_iter, mine in found.items())]
        verdicts.append(claim.conclude(parts, source_of(one), least(found[max(ITERATIONS)])))
    return verdicts


def _never_increases(rows: list[RetrievalRow]) -> Part:
    histories = [row.objective_history for row in rows if len(row.objective_history) > 1]
    if not histories:
        return Part(None, "no objective history")
    worst = max((after - before) / abs(before) for one in histories for before, after in pairwise(one))
    return Part(
        worst <= ROUNDING, f"in {len(histories)} trainings an iteration changes the objective by {worst:+.2g} at most"
    )


def _to_most_iterations(rows: list[RetrievalRow], n_iter: int) -> list[Difference]:
    """Return, for each code length, how far recall after some iterations is above that after the most."""
    label = {row.params["max_iter"]: row.label for row in rows if row.params.get("max_iter")}
    most = max(label, default=0)
    if n_iter not in label or most <= n_iter:
        return []
    return differences(rows, label[n_iter], label[most], sorted({row.n_bits for row in rows}))


def _enough(n_iter: int, found: list[Difference]) -> Part:
    if not found:
        return Part(None, f"recall after {n_iter} iterations and after more")
    worst = min(found, key=lambda one: one.mean)
    evidence = tuple(one.evidence(-ITERATIONS[n_iter]) for one in found)
    return Part(worst.mean >= -ITERATIONS[n_iter], f"least {worst}", evidence)


def cost(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S5-cost: how the seconds of an iteration grow with training rows and dimensions.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    trainings = [(one.name, row) for one in results for row in done_rows(one) if _counts(row)]
    verdicts = []
    for machine in dict.fromkeys((row.environment, row.threads) for _, row in trainings):
        mine = [(name, row) for name, row in trainings if (row.environment, row.threads) == machine]
        seconds = _seconds_per_iteration([row for _, row in mine])
        if seconds:
            data = f"training times of cbe-opt on this machine, {len(seconds)} sizes (rows x dimensions)"
            parts, estimate = _growth(seconds)
            source = Source(data, "machine", ", ".join(sorted({name for name, _ in mine})))
            verdicts.append(claim.conclude(parts, source, estimate))
    return verdicts


def _counts(row: RetrievalRow) -> bool:
    """Whether a cell trained circulant codes, without pairs, for enough iterations."""
    return row.encoder == "cbe-opt" and len(row.objective_history) > _FEWEST_ITERATIONS and not row.params.get("mu", 0)


def _seconds_per_iteration(rows: list[RetrievalRow]) -> dict[tuple[int, int], float]:
    """Return the median seconds of an iteration for each number of training rows and dimensions."""
    found: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if row.fit_s > 0 and row.n_bits <= row.n_features:
            found.setdefault((row.n_train, row.n_features), []).append(row.fit_s / (len(row.objective_history) - 1))
    return {size: float(np.median(some)) for size, some in sorted(found.items())}


def _growth(seconds: dict[tuple[int, int], float]) -> tuple[list[Part], Estimate]:
    """Fit seconds = c N^a (d log d)^b and judge both exponents."""
    n, d = np.array(list(seconds), float).T
    listed = ", ".join(f"{1e3 * value:.3g} ms at {rows:,} x {dims:,}" for (rows, dims), value in seconds.items())
    wide = n.max() >= _WIDE * n.min() and d.max() >= _WIDE * d.min() and len(seconds) > 2
    if not wide:
        text = f"rows and dimensions that each differ {_WIDE}-fold; an iteration takes {listed}"
        return [Part(None, text)], Estimate()
    design = np.column_stack([np.ones(len(n)), np.log(n), np.log(d * np.log(d))])
    _, by_rows, by_dims = np.linalg.lstsq(design, np.log(list(seconds.values())), rcond=None)[0]
    parts = [
        Part(bool(EXPONENTS[0] <= value <= EXPONENTS[1]), f"seconds of an iteration grow as {what}^{value:.2f}")
        for value, what in ((by_rows, "N"), (by_dims, "(d log d)"))
    ]
    ends = Estimate(float(by_dims), float(min(by_rows, by_dims)), float(max(by_rows, by_dims)))
    return [*parts, Part(True, listed)], ends


def shorter_than_d(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S5-kheur: trained against random codes of fewer than d bits.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for one in figures_1_to_3(results):
        rows = done_rows(one)
        lengths = [k for k in code_lengths(one) if k < rows[0].n_features]
        found = differences(rows, "cbe-opt", "cbe-rand", lengths)
        if found:
            part = better(found, "cbe-opt against cbe-rand")
            verdicts.append(claim.conclude([part], source_of(one), least(found)))
    return verdicts


def semi_supervised(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S6-semi: averaged AUC with pairs, at the best mu over all code lengths, less that without.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for one in experiments_on(results, sweep="mu"):
        rows = [row for row in done_rows(one) if np.isfinite(row.averaged_auc)]
        label = {row.params.get("mu", 0): row.label for row in rows}
        lengths = sorted({row.n_bits for row in rows})
        tried = {
            mu: differences(rows, label[mu], label[0], lengths, "averaged_auc")
            for mu in sorted(label)
            if mu > 0 and 0 in label
        }
        gains = {mu: _over_lengths(found) for mu, found in tried.items() if found}
        if gains:
            best = max(gains.values(), key=lambda gain: gain.value)
            listed = ", ".join(f"{gain.value:+.2f} with mu = {mu:g}" for mu, gain in gains.items())
            evidence = tuple(one.evidence(AUC_GAIN) for found in tried.values() for one in found)
            part = Part(best.value >= AUC_GAIN, f"points of averaged AUC, mean over k: {listed}", evidence)
            verdicts.append(claim.conclude([part], source_of(one), best))
    return verdicts


def _over_lengths(found: list[Difference]) -> Estimate:
    """Return the mean of differences over code lengths, with minimum and maximum of any seed."""
    mean = float(np.mean([one.mean for one in found]))
    return Estimate(mean, min(one.low for one in found), max(one.high for one in found))


def weight_of_orthogonality(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge F-lambda: the range of recall over the values of lambda the paper names, with the whole training set.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for one in experiments_on(results, sweep="lam"):
        rows = [row for row in done_rows(one) if row.params.get("lam") in LAMBDAS]
        sizes = sorted({row.n_train for row in rows}, reverse=True)
        ranges = {n: _ranges([row for row in rows if row.n_train == n]) for n in sizes}
        if not sizes or not ranges[sizes[0]]:
            continue
        worst = max(ranges[sizes[0]], key=lambda found: found.mean)
        others = [(n, max(ranges[n], key=lambda found: found.mean)) for n in sizes[1:] if ranges[n]]
        beside = "".join(f"; with {n:,} rows, which does not decide, {found}" for n, found in others)
        evidence = tuple(found.evidence(most=LAMBDA_RANGE) for found in ranges[sizes[0]])
        text = f"{sizes[0]:,} training rows: largest {worst}{beside}"
        part = Part(worst.mean <= LAMBDA_RANGE, text, evidence)
        verdicts.append(claim.conclude([part], source_of(one), worst.estimate))
    return verdicts


def _ranges(rows: list[RetrievalRow]) -> list[Difference]:
    """Return, for each code length with all values of lambda, the best of them less the worst."""
    label = {row.params["lam"]: row.label for row in rows}
    found: list[Difference | None] = []
    for k in sorted({row.n_bits for row in rows}) if len(label) == len(LAMBDAS) else ():
        recalls = {name: points(rows, name, k) for name in label.values()}
        if all(recalls.values()):
            means = {name: np.mean(list(some.values())) for name, some in recalls.items()}
            best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
            found.append(difference_of(recalls[best], recalls[worst], best, worst, k))
    return [one for one in found if one]


CLAIMS = (
    Claim(
        id="S5-mono",
        order=30,
        statement="The objective of training never increases, and 5 to 10 iterations are enough.",
        where="Section 5.1",
        rule=f"no iteration adds more than {ROUNDING:g} of the objective (rounding); recall@100, mean over seeds, "
        "falls short of that after the most iterations run by "
        + " and ".join(f"at most {short:g} points after {n} iterations" for n, short in ITERATIONS.items())
        + ", at every k",
        measure="recall@100 after 10 iterations less that after the most, points",
        region=(-ITERATIONS[10], math.nan),
        missing="no training with several numbers of iterations was run (configs/convergence.yaml)",
        judge=convergence,
    ),
    Claim(
        id="S5-cost",
        order=31,
        statement="Training takes O(N d log d) time.",
        where="Section 5.1",
        rule=f"in a fit of the seconds of an iteration as N^a (d log d)^b, both exponents are within {EXPONENTS}; "
        f"needs training rows and dimensions that each differ {_WIDE}-fold",
        measure="exponent of d log d (interval: both exponents)",
        region=EXPONENTS,
        missing="no training of circulant codes was run",
        judge=cost,
    ),
    Claim(
        id="S5-kheur",
        order=32,
        statement="Training fewer than d bits, the other columns of the codes set to zero, works well.",
        where="Section 5.2",
        rule=f"of the k < d, cbe-opt is at none behind cbe-rand by more than {LEVEL:g} points of recall@100, and ahead "
        "by more at half or more of those with headroom; means over seeds decide",
        measure="least margin of cbe-opt over cbe-rand, points of recall@100",
        region=(-LEVEL, math.nan),
        missing=MISSING,
        judge=shorter_than_d,
    ),
    Claim(
        id="S6-semi",
        order=33,
        statement="Pairs of known similarity add 2% of averaged AUC.",
        where="Section 6.2",
        rule=f"averaged AUC, mean over k and seeds, gains at least {AUC_GAIN:g} points (2 when rounded) with the one "
        "mu of those tried that is best over all k",
        measure="gain of the best mu, points of averaged AUC",
        region=(AUC_GAIN, math.nan),
        missing="no training with pairs was run (configs/semisup.yaml)",
        judge=semi_supervised,
    ),
    Claim(
        id="F-lambda",
        order=44,
        statement="The weight of orthogonality hardly matters: 0.1, 1 and 10 differ by at most 0.5%.",
        where="Section 7",
        rule=f"at every k, the best of lambda = 0.1, 1, 10 is at most {LAMBDA_RANGE:g} points of recall@100 above the "
        "worst, with the largest training set of the experiment; means over seeds decide",
        measure="largest range, points of recall@100",
        region=(math.nan, LAMBDA_RANGE),
        missing="no sweep over lambda was run (configs/lambda.yaml)",
        judge=weight_of_orthogonality,
    ),
)
