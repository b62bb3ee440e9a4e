"""Claims on choices that are said not to matter: a Hadamard transform first, the size of codes, how r is found."""

import math

import numpy as np

from cbe_bench.core.claims import Claim, Evidence, Verdict, outcome_of
from cbe_bench.core.results import Results
from cbe_bench.evaluators.comparisons import NO_BOUND, Comparison, compared, every, judged_on
from cbe_bench.evaluators.retrieval.claims_recall import CURVE, DECIDES
from cbe_bench.evaluators.retrieval.claims_training import EQUIVALENT, ROUNDING, sweeps
from cbe_bench.evaluators.retrieval.comparisons import done_rows, query_points, source_of
from cbe_bench.evaluators.retrieval.rows import RetrievalRow

_ALIKE = f"within {EQUIVALENT:g} points at every k, intervals holding at once; {DECIDES}"


def _choices(rows: list[RetrievalRow], parameter: str) -> dict[str, dict[object, str]]:
    """Return, for each method, the labels of the values of a parameter."""
    found: dict[str, dict[object, str]] = {}
    for row in rows:
        found.setdefault(row.encoder, {})[row.params.get(parameter)] = row.label
    return found


def _compare(rows: list[RetrievalRow], parameter: str, changed: object, usual: object) -> list[Comparison]:
    """Compare, method by method, a value of a parameter with the usual one."""
    return [
        one
        for method, label in _choices(rows, parameter).items()
        if changed in label and usual in label
        for k in sorted({row.n_bits for row in rows})
        for one in compared(
            query_points(rows, label[changed], k),
            query_points(rows, label[usual], k),
            f"{method}: {parameter} {changed} - {usual if usual else 'none'}",
            k,
        )
    ]


def _preconditioned(claim: Claim, results: Results) -> list[Verdict]:
    rows = done_rows(results)
    found = _compare(rows, "precondition", "hadamard-blocks", None)
    return every(claim, found, source_of(results), note=_flatness(rows))


def _flatness(rows: list[RetrievalRow]) -> str:
    """Say what a transform makes of the flatness of the vectors: its median and its largest value."""
    texts = []
    for name, with_transform in (("as they are", None), ("transformed", "hadamard-blocks")):
        mine = [row.flatness for row in rows if row.params.get("precondition") == with_transform and row.flatness]
        if mine:
            median, largest = np.mean([one[1] for one in mine]), max(one[2] for one in mine)
            texts.append(f"{name} {median:.3g}, at most {largest:.3g}")
    return f"flatness max|x| / ||x||, median: {'; '.join(texts)}" if texts else ""


def _scaled(claim: Claim, results: Results) -> list[Verdict]:
    return every(claim, _compare(done_rows(results), "scaling", "1/sqrt(d)", "one"), source_of(results))


def _solved(claim: Claim, results: Results) -> list[Verdict]:
    """Judge S5-solver: the last objective of the closed form over that of gradient descent, seed by seed."""
    rows = done_rows(results)
    ends = {(row.params.get("solver"), row.n_bits, row.seed): row for row in rows if row.objective_history}
    evidence = []
    for k in sorted({row.n_bits for row in rows}):
        pairs = [
            (mine, ends["gradient-descent", k, seed])
            for (solver, n_bits, seed), mine in ends.items()
            if solver == "closed-form" and n_bits == k and ("gradient-descent", k, seed) in ends
        ]
        if pairs:
            ratios = [mine.objective_history[-1] / other.objective_history[-1] for mine, other in pairs]
            worst = max(ratios)
            outcome = outcome_of(worst <= 1 + ROUNDING, worst > 1 + ROUNDING)
            evidence.append(
                Evidence("objective of the closed form / gradient descent", k, worst, min(ratios), worst, outcome)
            )
            times = [other.fit_s / mine.fit_s for mine, other in pairs]
            slower = float(np.median(times))
            evidence.append(Evidence("time of gradient descent / closed form", k, slower, min(times), max(times), ""))
    evidence += [one.evidence((NO_BOUND, NO_BOUND), counts=False) for one in _recall_of_solvers(rows)]
    return [claim.decide(evidence, source_of(results))] if any(one.outcome for one in evidence) else []


def _recall_of_solvers(rows: list[RetrievalRow]) -> list[Comparison]:
    return _compare(rows, "solver", "closed-form", "gradient-descent")


CLAIMS = (
    Claim(
        id="S4-precondition",
        order=18,
        statement="A Hadamard transform first makes the theory's condition hold, and costs no recall.",
        where="Section 4, after Theorem 1",
        rule=f"recall with the transform less that without, {_ALIKE}; the flatness of the vectors is shown",
        measure=f"with - without, {CURVE}",
        region=(-EQUIVALENT, EQUIVALENT),
        missing="no experiment with a transform first was run (configs/precondition.yaml)",
        judge=judged_on(sweeps("precondition"), _preconditioned),
    ),
    Claim(
        id="S5-scaling",
        order=32.1,
        statement="Codes of -1/sqrt(d) and +1/sqrt(d) in the objective instead of -1 and +1 change nothing.",
        where="Section 5, footnote",
        rule=f"recall with 1/sqrt(d) less that with 1, {_ALIKE}",
        measure=f"1/sqrt(d) - 1, {CURVE}",
        region=(-EQUIVALENT, EQUIVALENT),
        missing="no experiment with both sizes was run (configs/scaling.yaml)",
        judge=judged_on(sweeps("scaling"), _scaled),
    ),
    Claim(
        id="S5-solver",
        order=32.2,
        statement="For given codes r is found in closed form, where the paper uses gradient descent (ours).",
        where="Section 5.1",
        rule="after as many iterations from the same start, the objective of the closed form is at most that of "
        "gradient descent, for every seed and k; recall and times are shown",
        measure="largest objective of the closed form / gradient descent",
        region=(math.nan, 1 + ROUNDING),
        exact=True,
        missing="no experiment with both solvers was run (configs/solver.yaml)",
        judge=judged_on(sweeps("solver"), _solved),
    ),
)
