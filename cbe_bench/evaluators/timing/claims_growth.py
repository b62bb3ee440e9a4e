"""Table 1: how encode time and memory grow with dimension and code length, and codes shorter or longer than d."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cbe_bench.core.claims import (
    Claim,
    Estimate,
    Evidence,
    Source,
    Verdict,
    outcome_of_interval,
)
from cbe_bench.core.results import Results
from cbe_bench.core.statistics import LEVEL, simultaneous_level
from cbe_bench.evaluators.times.device import HOST
from cbe_bench.evaluators.times.intervals import FEWEST_ROUNDS, exponent_over_rounds, ratio_over_rounds
from cbe_bench.evaluators.times.rows import TimingRow, encode_rows
from cbe_bench.evaluators.timing.tables import EXPECTED

EXPONENTS = (0.8, 1.2)
"""Exponents of time relative to a law that agree with it: the laws d log d, d sqrt(d) and d d differ by more."""
EXPONENTS_BEYOND_D = (0.9, 1.1)
NO_CHEAPER = 0.9
"""Time of fewer than d bits over that of d bits, down to which it counts as no less."""
SHORTEST = 16
"""Codes down to d over this are no cheaper."""
SPACE_RANGE = 1.25
"""Bytes over their law may vary by this factor: the sides of a bilinear matrix are at most twice as long as another."""
_SIZES, _DECADES, _LENGTHS = 6, 2, 3
"""The fewest dimensions, the orders of magnitude they span, and the fewest code lengths of an exponent."""
ROUNDS = f"{FEWEST_ROUNDS} or more rounds, each in a new process"


def host_rows(results: Sequence[Results]) -> dict[str, list[TimingRow]]:
    """Return the encode times on the processor that ended well, by the name of their experiment."""
    return {one.name: [row for row in encode_rows(one.rows) if row.ok and row.device == HOST] for one in results}


def timing_source(rows: Sequence[TimingRow], names: Sequence[str]) -> Source:
    """Return how times were taken.

    Parameters
    ----------
    rows : sequence of TimingRow
        The rows a verdict rests on.
    names : sequence of str
        The names of their experiments.

    Returns
    -------
    Source
    """
    batch, threads, rounds = (
        " and ".join(f"{n:,}" for n in sorted(set(values)))
        for values in zip(*((row.batch, row.threads, len(row.rounds_us)) for row in rows), strict=True)
    )
    threaded = f"{threads} thread{'' if threads == '1' else 's'}"
    rounded = f"{rounds} round{'' if rounds == '1' else 's'}"
    return Source(f"times on this machine: batches of {batch}, {threaded}, {rounded}", "machine", ", ".join(names))


def _of(rows: Sequence[TimingRow], method: str) -> list[TimingRow]:
    return [row for row in rows if row.method == method]


def _wide(rows: Sequence[TimingRow]) -> list[TimingRow]:
    """Return the rows with k = d, if they are of enough dimensions."""
    square = [row for row in rows if row.n_bits == row.n_features]
    dims = {row.n_features for row in square}
    return square if len(dims) >= _SIZES and max(dims) >= 10**_DECADES * min(dims) else []


def _at_one_d(rows: Sequence[TimingRow], keep: Callable[[TimingRow], bool]) -> list[TimingRow]:
    """Return the rows of the largest d that has enough code lengths among those kept."""
    chosen = [row for row in rows if keep(row)]
    for d in sorted({row.n_features for row in chosen}, reverse=True):
        mine = [row for row in chosen if row.n_features == d]
        if len({row.n_bits for row in mine}) >= _LENGTHS:
            return mine
    return []


def _largest(found: dict[str, list[TimingRow]]) -> tuple[str, list[TimingRow]]:
    """Return the experiment with the largest dimension, and of those the one with most rows."""
    name = max(found, key=lambda key: (max((row.n_features for row in found[key]), default=0), len(found[key])))
    return name, found[name]


def _exponent(subject: str, rows: list[TimingRow], law: Any, region: tuple[float, float], level: float) -> Evidence:
    estimate = exponent_over_rounds(rows, law, level) if rows else Estimate()
    return Evidence(subject, 0, *estimate, outcome_of_interval(estimate, region))


def time_growth(method: str, claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge T1-time: the exponent of time in d at k = d and, unless time does not depend on k, that in k at one d.

    Parameters
    ----------
    method : str
        The method of that line of Table 1.
    claim : Claim
    results : sequence of Results
    """
    rows = {name: _of(mine, method) for name, mine in host_rows(results).items()}
    wide = {name: _wide(mine) for name, mine in rows.items()}
    wide = {name: mine for name, mine in wide.items() if mine}
    if not wide:
        return []
    law, of = EXPECTED[method][:2]
    name, square = _largest(wide)
    used, names, level = list(square), [name], LEVEL if method == "cbe-rand" else simultaneous_level(2, LEVEL)
    evidence = [_exponent(f"exponent of time against {law}, k = d", square, of, EXPONENTS, level)]
    if method != "cbe-rand":
        also, fewer = _largest({key: _at_one_d(mine, _up_to_d) for key, mine in rows.items()})
        evidence.append(_exponent(f"exponent against {law} in k alone", fewer, of, EXPONENTS, level))
        used, names = used + fewer, list(dict.fromkeys([name, also])) if fewer else names
    dims = f"d = {min(row.n_features for row in square):,} to {max(row.n_features for row in square):,}"
    return [claim.decide(evidence, timing_source(used, names), dims)]


def _up_to_d(row: TimingRow) -> bool:
    return bool(row.n_bits <= row.n_features)


def space_growth(method: str, claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge T1-space: the bytes of the parameters over their law, at every size up to k = d.

    Parameters
    ----------
    method : str
        The method of that line of Table 1.
    claim : Claim
    results : sequence of Results
    """
    rows = {name: [row for row in _of(mine, method) if _up_to_d(row)] for name, mine in host_rows(results).items()}
    used = [row for mine in rows.values() for row in mine]
    if len({row.n_features for row in used}) < _LENGTHS:
        return []
    law, of = EXPECTED[method][2:]
    constants = [row.parameter_bytes / float(of(row.n_features, row.n_bits)) for row in used]
    value = max(constants) / min(constants)
    estimate = Estimate(value, value, value)
    evidence = [Evidence(f"range of bytes / {law}", 0, *estimate, outcome_of_interval(estimate, claim.region))]
    found = f"{min(constants):.3g} to {max(constants):.3g} bytes times {law} at {len(used)} sizes"
    return [claim.decide(evidence, timing_source(used, [name for name, mine in rows.items() if mine]), found)]


def more_bits(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge T1-kgtd: how the time of cbe-rand grows with k from d on.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    found = {
        name: _at_one_d(_of(rows, "cbe-rand"), lambda row: row.n_bits >= row.n_features)
        for name, rows in host_rows(results).items()
    }
    if not any(found.values()):
        return []
    name, rows = _largest(found)
    law, of = EXPECTED["cbe-rand"][:2]
    evidence = [_exponent(f"exponent of time against {law}, k from d on", rows, of, claim.region, LEVEL)]
    return [claim.decide(evidence, timing_source(rows, [name]), f"d = {rows[0].n_features:,}")]


def fewer_bits(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S3-kltd: the time of cbe-rand for k < d over that for k = d, at every k down to d/16.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    found = {name: _at_one_d(_of(rows, "cbe-rand"), _counts_as_fewer) for name, rows in host_rows(results).items()}
    found = {name: rows for name, rows in found.items() if any(row.n_bits == row.n_features for row in rows)}
    if not found:
        return []
    name, rows = _largest(found)
    whole = next(row for row in rows if row.n_bits == row.n_features)
    shorter = sorted((row for row in rows if row is not whole), key=lambda row: row.n_bits)
    level = simultaneous_level(len(shorter), LEVEL)
    evidence = []
    for row in shorter:
        ratio = ratio_over_rounds(row, whole, level)
        subject = f"time of k = d/{row.n_features / row.n_bits:.3g} over that of k = d"
        evidence.append(Evidence(subject, row.n_bits, *ratio, outcome_of_interval(ratio, claim.region)))
    strided = {row.n_bits: row for row in _of(host_rows(results)[name], "cbe-rand-strided")}
    listed = ", ".join(
        f"{ratio_over_rounds(strided[row.n_bits], whole).value:.2f} for {row.n_bits:,} bits"
        for row in shorter
        if row.n_bits in strided
    )
    beside = f"; rows on a stride, which are ours, take {listed}" if listed else ""
    return [claim.decide(evidence, timing_source(rows, [name]), f"d = {whole.n_features:,}{beside}")]


def _counts_as_fewer(row: TimingRow) -> bool:
    return bool(row.n_features <= SHORTEST * row.n_bits and row.n_bits <= row.n_features)


def _lines(order: float, name: str, method: str, words: str, time: str, space: str) -> tuple[Claim, Claim]:
    """Return the claims of a line of Table 1."""
    also = "" if method == "cbe-rand" else f", and in k at one d, {_LENGTHS} lengths up to d or more (simultaneous)"
    missing = f"fewer than {_SIZES} dimensions over {_DECADES} decades were timed (configs/table1.yaml)"
    growth = Claim(
        id=f"T1-time-{name}",
        order=order,
        statement=f"{words}: time grows as {time}.",
        where="Table 1",
        rule=f"the exponent of time relative to the law, in d at k = d over {_SIZES} sizes and {_DECADES} decades or "
        f"more{also}, is within {EXPONENTS} by its 95% interval over {ROUNDS}",
        measure="exponent of time relative to the law",
        region=EXPONENTS,
        missing=missing,
        judge=partial(time_growth, method),
    )
    memory = Claim(
        id=f"T1-space-{name}",
        order=order + 0.3,
        statement=f"{words}: space grows as {space}.",
        where="Table 1",
        rule=f"the bytes of the parameters over the law vary by a factor of at most {SPACE_RANGE:g} over all sizes up "
        "to k = d: exact",
        measure="largest bytes / law over the smallest",
        region=(math.nan, SPACE_RANGE),
        missing=f"fewer than {_LENGTHS} dimensions were timed (configs/table1.yaml)",
        judge=partial(space_growth, method),
    )
    return growth, memory


GROWTH_CLAIMS = (
    *_lines(10, "circ", "cbe-rand", "Circulant codes", "d log d", "d"),
    *_lines(11, "bil", "bilinear-rand", "Bilinear codes", "d sqrt(k)", "sqrt(d k)"),
    *_lines(12, "full", "lsh", "Full projections", "d k", "d k"),
    Claim(
        id="T1-kgtd",
        order=13,
        statement="For more than d bits circulant codes take k log d time.",
        where="Table 1; Section 3.3",
        rule=f"the exponent of the time of cbe-rand in k, for {_LENGTHS} or more k from d on at one d, is within "
        f"{EXPONENTS_BEYOND_D} by its 95% interval over {ROUNDS}",
        measure="exponent of time in k",
        region=EXPONENTS_BEYOND_D,
        missing=f"fewer than {_LENGTHS} code lengths from d on were timed at one d (configs/table1-bits.yaml)",
        judge=more_bits,
    ),
    Claim(
        id="S3-kltd",
        order=15,
        statement="Fewer than d bits cost no less time than d bits.",
        where="Section 3.3",
        rule=f"the time of cbe-rand for k < d is more than {NO_CHEAPER:g} of that for k = d, at every k down to "
        f"d/{SHORTEST}, by 95% simultaneous intervals over {ROUNDS}",
        measure="time for k < d / time for k = d",
        region=(NO_CHEAPER, math.nan),
        missing="no codes of fewer than d bits were timed (configs/table1-bits.yaml)",
        judge=fewer_bits,
    ),
)
