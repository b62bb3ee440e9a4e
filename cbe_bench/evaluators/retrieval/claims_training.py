"""Claims on training circulant codes: convergence, codes shorter than d, pairs of known similarity, lambda."""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

import numpy as np

from cbe_bench.core.claims import (
    INCONCLUSIVE,
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    Evidence,
    Verdict,
    outcome_of,
)
from cbe_bench.core.results import Results
from cbe_bench.evaluators.comparisons import (
    NO_BOUND,
    Comparison,
    compared,
    every,
    judged_on,
    overall,
    pooled,
)
from cbe_bench.evaluators.retrieval.claims_recall import CURVE, DECIDES, MISSING
from cbe_bench.evaluators.retrieval.comparisons import (
    code_lengths,
    compare,
    done_rows,
    experiments_on,
    figures_1_to_3,
    query_points,
    source_of,
)
from cbe_bench.evaluators.retrieval.rows import RetrievalRow

ROUNDING = 1e-6
"""Fraction of the objective that an iteration may add by rounding: features are single precision."""
EQUIVALENT = 0.5
"""Points within which recall does not depend on a choice."""
ENOUGH, MOST = 10, 50
"""Iterations that are compared; fewer are shown beside."""
AUC_GAIN = 2.0
"""Points of averaged AUC that the paper reports."""
LAMBDAS = (0.1, 1, 10)
"""The values of lambda that the paper compares."""


def never_increases(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S5-mono: the objective of every training that was run.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : sequence of Results
        The rows of each experiment.

    Returns
    -------
    list of Verdict
        One for each experiment with an objective.
    """
    verdicts = []
    for one in results:
        rows = [row for row in done_rows(one) if len(row.objective_history) > 1]
        changes = [(b - a) / abs(a) for row in rows for a, b in pairwise(row.objective_history)]
        if changes:
            worst = max(changes)
            outcome = outcome_of(worst <= ROUNDING, worst > ROUNDING)
            evidence = Evidence(f"{len(rows)} trainings, {len(changes):,} iterations", 0, worst, worst, worst, outcome)
            verdicts.append(claim.decide([evidence], source_of(one)))
    return verdicts


def _enough_iterations(claim: Claim, results: Results) -> list[Verdict]:
    rows = done_rows(results)
    label = {row.params["max_iter"]: row.label for row in rows if row.params.get("max_iter")}
    if not {ENOUGH, MOST} <= label.keys():
        return []
    lengths = sorted({row.n_bits for row in rows})
    found = compare(rows, label[ENOUGH], label[MOST], lengths)
    others = [name for n_iter, name in sorted(label.items()) if n_iter not in (ENOUGH, MOST)]
    also = [one for name in others for one in compare(rows, name, label[MOST], lengths)]
    return every(claim, found, source_of(results), also)


def _shorter_than_d(claim: Claim, results: Results) -> list[Verdict]:
    rows = done_rows(results)
    lengths = [k for k in code_lengths(results) if k < rows[0].n_features]
    beside = compare(rows, "cbe-orth", "cbe-rand", lengths)
    return overall(claim, compare(rows, "cbe-opt", "cbe-rand", lengths), source_of(results), also=beside)


def _semi_supervised(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S6-semi: the gain of the best mu, chosen on half of the queries, on the other half."""
    found = _gain_of_best_mu(done_rows(results))
    return overall(claim, found, source_of(results))


def _as_much_as_the_paper(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S6-semi-size: an interval that holds the paper's gain and excludes none at all."""
    found = _gain_of_best_mu(done_rows(results))
    evidence = []
    for one in pooled(found):
        estimate = one.estimate()
        outcome = INCONCLUSIVE if estimate.low <= 0 or math.isnan(estimate.low) else REPRODUCED
        outcome = outcome if estimate.low <= AUC_GAIN <= estimate.high else NOT_REPRODUCED
        evidence.append(Evidence(one.subject, 0, *estimate, outcome))
    return [claim.decide(evidence, source_of(results))] if evidence else []


def _gain_of_best_mu(rows: list[RetrievalRow]) -> list[Comparison]:
    """Return what the best weight of pairs adds to the AUC of odd queries at each code length; even ones choose it."""
    rows = [row for row in rows if np.isfinite(row.averaged_auc)]
    label = {row.params.get("mu", 0): row.label for row in rows}
    lengths = sorted({row.n_bits for row in rows})
    if 0 not in label:
        return []
    gains = {mu: compare(rows, label[mu], label[0], lengths, "auc") for mu in sorted(label) if mu > 0}
    chosen = {mu: _halves(found, 0) for mu, found in gains.items() if found}
    if not chosen:
        return []
    best = max(chosen, key=lambda mu: np.mean([one.estimate().value for one in chosen[mu]]))
    return _halves(gains[best], 1)


def _halves(found: Sequence[Comparison], half: int) -> list[Comparison]:
    """Return comparisons on every other query; on all where the values of queries were not stored."""
    return [
        Comparison(
            f"{one.subject}, held-out queries",
            one.n_bits,
            {seed: values[half::2] if len(values) > 1 else values for seed, values in one.differences.items()},
            one.rival,
        )
        for one in found
    ]


def _weight_of_orthogonality(claim: Claim, results: Results) -> list[Verdict]:
    """Judge F-lambda: all pairs of the paper's values, with the largest training set; others are shown."""
    rows = [row for row in done_rows(results) if row.params.get("lam") in LAMBDAS]
    sizes = sorted({row.n_train for row in rows}, reverse=True)
    by_size = [
        _pairs([row for row in rows if row.n_train == n], f", {n:,} training rows" if n < sizes[0] else "")
        for n in sizes
    ]
    if not by_size or not by_size[0]:
        return []
    return every(claim, by_size[0], source_of(results), also=[one for found in by_size[1:] for one in found])


def _pairs(rows: list[RetrievalRow], note: str) -> list[Comparison]:
    label = {row.params["lam"]: row.label for row in rows}
    if len(label) < len(LAMBDAS):
        return []
    return [
        one
        for a, b in combinations(LAMBDAS, 2)
        for k in sorted({row.n_bits for row in rows})
        for one in compared(
            query_points(rows, label[b], k), query_points(rows, label[a], k), f"lambda {b:g} - lambda {a:g}{note}", k
        )
    ]


def sweeps(parameter: str) -> Callable[[Sequence[Results]], list[Results]]:
    """Return what chooses the experiments that sweep over a parameter."""
    return lambda results: experiments_on(results, sweep=parameter)


CLAIMS = (
    Claim(
        id="S5-mono",
        order=30,
        statement="The objective of training never increases.",
        where="Section 5.1",
        rule=f"no iteration of any training adds more than {ROUNDING:g} of the objective, which is rounding",
        measure="largest change of the objective in an iteration, as a fraction of it",
        region=(NO_BOUND, ROUNDING),
        exact=True,
        missing="no training with an objective was run",
        judge=never_increases,
    ),
    Claim(
        id="S5-iterations",
        order=31,
        statement="5 to 10 iterations of training are enough in practice.",
        where="Section 5.1",
        rule=f"recall after {ENOUGH} iterations is within {EQUIVALENT:g} points of that after {MOST}, at every k, "
        "intervals holding at once",
        measure=f"{ENOUGH} - {MOST} iterations, {CURVE}",
        region=(-EQUIVALENT, EQUIVALENT),
        missing="no training with several numbers of iterations was run (configs/convergence.yaml)",
        judge=judged_on(sweeps("max_iter"), _enough_iterations),
    ),
    Claim(
        id="S5-kheur",
        order=32,
        statement="Training fewer than d bits, the other columns of the codes set to zero, works well.",
        where="Section 5.2",
        rule=f"cbe-opt - cbe-rand > 0, the mean over k < d; {DECIDES}",
        measure=f"cbe-opt - cbe-rand, {CURVE}",
        region=(0.0, NO_BOUND),
        missing=MISSING,
        judge=judged_on(figures_1_to_3, _shorter_than_d),
    ),
    Claim(
        id="S6-semi",
        order=33,
        statement="Pairs of known similarity add to the averaged AUC.",
        where="Section 6.2",
        rule="the gain, mean over k, of the weight mu that is best on half of the queries is > 0 on the other half",
        measure="gain of the best mu on held-out queries, points of averaged AUC",
        region=(0.0, NO_BOUND),
        missing="no training with pairs was run (configs/semisup.yaml)",
        judge=judged_on(sweeps("mu"), _semi_supervised),
    ),
    Claim(
        id="S6-semi-size",
        order=33.1,
        statement="Pairs of known similarity add 2% of averaged AUC.",
        where="Section 6.2",
        rule=f"the interval of that gain holds {AUC_GAIN:g} points, and not 0",
        measure="gain of the best mu on held-out queries, points of averaged AUC",
        missing="no training with pairs was run (configs/semisup.yaml)",
        judge=judged_on(sweeps("mu"), _as_much_as_the_paper),
    ),
    Claim(
        id="F-lambda",
        order=44,
        statement="The weight of orthogonality hardly matters: 0.1, 1 and 10 differ by at most 0.5%.",
        where="Section 7",
        rule=f"all pairs of lambda = 0.1, 1, 10 are within {EQUIVALENT:g} points, with the largest training set of the "
        "experiment, at every k, intervals holding at once",
        measure=f"largest difference, {CURVE}",
        region=(-EQUIVALENT, EQUIVALENT),
        missing="no sweep over lambda was run (configs/lambda.yaml)",
        judge=judged_on(sweeps("lam"), _weight_of_orthogonality),
    ),
)
