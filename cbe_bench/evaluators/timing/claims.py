"""Tables 1 and 2: how time and memory grow, circulant against bilinear, and codes shorter or longer than d."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from cbe_bench.core.claims import Claim, Estimate, Evidence, Part, Source, Verdict, outcome_of
from cbe_bench.core.results import SKIPPED, Results
from cbe_bench.evaluators.timing.claims_device import GPU_CLAIM
from cbe_bench.evaluators.timing.device import HOST
from cbe_bench.evaluators.timing.paper import ENCODE_MS
from cbe_bench.evaluators.timing.rows import TimingRow
from cbe_bench.evaluators.timing.tables import EXPECTED

TIME_OFF = 0.2
"""How far an exponent of time may be off: the laws d log d, d sqrt(d) and d d are further apart than twice this."""
SPACE_OFF = 0.1
NO_CHEAPER = 0.8
"""Time of fewer than d bits over that of d bits, down to which it counts as no less: fewer bits are to be packed."""
RATIO_LEAST = 2 / 3
"""Fraction of the paper's ratio that ours must reach: machines and libraries differ."""
LEAST_DIM = 1 << 14
"""Dimensions that must be reached: below, times are those of calls."""
_FEWEST = 3
"""Points that make a slope."""
_LAST_FULL = min(ENCODE_MS)
"""The largest d at which a full projection fitted the paper's memory."""


def _by_name(results: Sequence[Results]) -> dict[str, list[TimingRow]]:
    """Return the rows of the processor by the name of their experiment."""
    return {one.name: [row for row in one.rows if row.device == HOST] for one in results}


def _done(rows: list[TimingRow], encoder: str) -> list[TimingRow]:
    return [row for row in rows if row.ok and row.encoder == encoder]


def _source(rows: list[TimingRow], names: Sequence[str]) -> Source:
    """Return how times were taken."""
    batch = " and ".join(f"{n:,}" for n in sorted({row.batch for row in rows}))
    threads = " and ".join(f"{n}" for n in sorted({row.threads for row in rows}))
    data = f"times on this machine: batches of {batch}, {threads} thread{'' if threads == '1' else 's'}"
    return Source(data, "machine", ", ".join(names))


def growth_with_d(encoder: str, claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge a line of Table 1: exponents of time and space in d at k = d, and in k at one d where that was varied.

    Of several experiments the one that reaches the largest d decides on d, the other exponent comes from where bits
    were varied.

    Parameters
    ----------
    encoder : str
        The method of that line.
    claim : Claim
    results : sequence of Results
    """
    rows = {name: _done(mine, encoder) for name, mine in _by_name(results).items()}
    square = {name: [row for row in mine if row.n_bits == row.n_features] for name, mine in rows.items()}
    square = {name: mine for name, mine in square.items() if _points(mine, "n_features") >= _FEWEST}
    square = {name: mine for name, mine in square.items() if max(row.n_features for row in mine) >= LEAST_DIM}
    if not square:
        return []
    name = max(square, key=lambda key: max(row.n_features for row in square[key]))
    slope, error = _slope(square[name], "n_features", "encode_us_per_vector")
    parts = _exponents(square[name], encoder, "n_features", "d")
    fewer = {key: _at_largest_d(mine, below=True) for key, mine in rows.items()}
    fewer = {key: mine for key, mine in fewer.items() if _points(mine, "n_bits") >= _FEWEST}
    used = [name]
    if encoder != "cbe-rand" and fewer:
        also = max(fewer, key=lambda key: len(fewer[key]))
        parts += _exponents(fewer[also], encoder, "n_bits", "k")
        used += [also] if also != name else []
    source = _source([row for key in used for row in rows[key]], used)
    law = _law_slope(square[name], "n_features", EXPECTED[encoder][1])
    region = (law - TIME_OFF, law + TIME_OFF)
    return [claim.conclude(parts, source, Estimate(slope, slope - 2 * error, slope + 2 * error), region)]


def _points(rows: list[TimingRow], size: str) -> int:
    return len({getattr(row, size) for row in rows})


def _at_largest_d(rows: list[TimingRow], *, below: bool) -> list[TimingRow]:
    """Return the rows of the largest d, if it is large, with several code lengths up to d, or from d on."""
    chosen = [row for row in rows if (row.n_bits <= row.n_features) == below or row.n_bits == row.n_features]
    points = Counter(row.n_features for row in chosen)
    largest = max((d for d, count in points.items() if count >= _FEWEST and d >= LEAST_DIM), default=0)
    return [row for row in chosen if row.n_features == largest]


def _slope(rows: list[TimingRow], size: str, what: str) -> tuple[float, float]:
    """Return the slope of a logarithm over that of a size, three or more of them, and its standard error."""
    x, y = (np.log([getattr(row, name) for row in rows]) for name in (size, what))
    slope, level = np.polyfit(x, y, 1)
    left = y - slope * x - level
    return float(slope), float(np.sqrt(np.sum(left**2) / (len(x) - 2) / np.sum((x - x.mean()) ** 2)))


def _law_slope(rows: list[TimingRow], size: str, law: Callable[..., Any]) -> float:
    """Return the slope that a law of d and k has over the sizes of some rows."""
    d, k = (np.array([getattr(row, key) for row in rows], float) for key in ("n_features", "n_bits"))
    return float(np.polyfit(np.log([getattr(row, size) for row in rows]), np.log(law(d, k)), 1)[0])


def _exponents(rows: list[TimingRow], encoder: str, size: str, name: str) -> list[Part]:
    """Judge the exponents of time and space in a size against those of their laws over the same points."""
    time_law, time_of, space_law, space_of = EXPECTED[encoder]
    span = f"{name} = {min(getattr(row, size) for row in rows):,} to {max(getattr(row, size) for row in rows):,}"
    parts = []
    for what, key, law, of, off in (
        ("time", "encode_us_per_vector", time_law, time_of, TIME_OFF),
        ("space", "parameter_bytes", space_law, space_of, SPACE_OFF),
    ):
        found = _slope(rows, size, key)[0]
        expected = _law_slope(rows, size, of)
        holds = abs(found - expected) <= off
        largest = max(getattr(row, size) for row in rows)
        evidence = Evidence(f"exponent of {what} in {name}", largest, found, found, found, outcome_of(holds, not holds))
        parts.append(Part(holds, f"{what} as {name}^{found:.2f} ({law}: {expected:.2f}) for {span}", (evidence,)))
    return parts


def more_bits(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge T1-kgtd: how the time of cbe-rand grows with k from d on.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    found = {name: _at_largest_d(_done(rows, "cbe-rand"), below=False) for name, rows in _by_name(results).items()}
    found = {name: rows for name, rows in found.items() if _points(rows, "n_bits") >= _FEWEST}
    if not found:
        return []
    name = max(found, key=lambda key: len(found[key]))
    rows = found[name]
    slope, error = _slope(rows, "n_bits", "encode_us_per_vector")
    part = _exponents(rows, "cbe-rand", "n_bits", "k")[0]
    return [claim.conclude([part], _source(rows, [name]), Estimate(slope, slope - 2 * error, slope + 2 * error))]


def fewer_bits(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S3-kltd: the time of cbe-rand for k < d over that for k = d.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for name, rows in _by_name(results).items():
        mine = _done(rows, "cbe-rand")
        whole = {row.n_features: row for row in mine if row.n_bits == row.n_features}
        d = max((row.n_features for row in mine if _shorter(row) and row.n_features in whole), default=0)
        times = {row.n_bits: row.encode_us_per_vector for row in mine if _shorter(row) and row.n_features == d}
        if times and d >= LEAST_DIM:
            ratios = {k: time / whole[d].encode_us_per_vector for k, time in sorted(times.items())}
            least = min(ratios.values())
            listed = ", ".join(f"{ratio:.2f} for {k:,} bits" for k, ratio in ratios.items())
            part = Part(least >= NO_CHEAPER, f"of the time of d = {d:,} bits: {listed}")
            verdicts.append(claim.conclude([part], _source(mine, [name]), Estimate(least, least, max(ratios.values()))))
    return verdicts


def _shorter(row: TimingRow) -> bool:
    return bool(row.n_bits < row.n_features)


def against_bilinear(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge T2-ratio: bilinear over circulant at the dimensions of Table 2, and where a full projection fits.

    Parameters
    ----------
    claim : Claim
    results : sequence of Results
    """
    verdicts = []
    for name, rows in _by_name(results).items():
        square = [row for row in rows if row.n_bits == row.n_features and row.n_features in ENCODE_MS]
        found = _ratios(square)
        if found:
            parts = [_as_in_the_paper(found), _rising(found), _full_fits(square)]
            last = max(found)
            region = (RATIO_LEAST * _printed_ratio(last), math.nan)
            verdicts.append(claim.conclude(parts, _source(square, [name]), found[last], region))
    return verdicts


def _ratios(rows: list[TimingRow]) -> dict[int, Estimate]:
    """Return bilinear over circulant at each d, with its ends by the quartiles of both."""
    slow, fast = ({row.n_features: row for row in _done(rows, name)} for name in ("bilinear-rand", "cbe-rand"))
    found = {}
    for d in sorted(slow.keys() & fast.keys()):
        (low, high), (least, most) = slow[d].encode_us_quartiles, fast[d].encode_us_quartiles
        found[d] = Estimate(slow[d].encode_us_per_vector / fast[d].encode_us_per_vector, low / most, high / least)
    return found


def _as_in_the_paper(found: dict[int, Estimate]) -> Part:
    printed = {d: _printed_ratio(d) for d in found}
    listed = ", ".join(f"{ratio.value:.3g} (paper {printed[d]:.3g}) at d = {d:,}" for d, ratio in found.items())
    holds = {d: ratio.value >= RATIO_LEAST * printed[d] for d, ratio in found.items()}
    evidence = tuple(
        Evidence("time of bilinear / circulant", d, *ratio, outcome_of(holds[d], not holds[d]))
        for d, ratio in found.items()
    )
    return Part(all(holds.values()), f"bilinear / circulant {listed}", evidence)


def _printed_ratio(d: int) -> float:
    return ENCODE_MS[d]["bilinear-rand"] / ENCODE_MS[d]["cbe-rand"]


def _rising(found: dict[int, Estimate]) -> Part:
    first, last = min(found), max(found)
    if first == last:
        return Part(None, "the ratio at several of the paper's dimensions")
    return Part(found[last].value > found[first].value, "the ratio is larger at the largest d than at the smallest")


def _full_fits(rows: list[TimingRow]) -> Part:
    """Judge that a full projection runs at the first d of Table 2 and does not fit at the others."""
    full = {row.n_features: row.status for row in rows if row.encoder == "lsh"}
    beyond = [status for d, status in full.items() if d > _LAST_FULL]
    if full.get(_LAST_FULL) is None or not beyond:
        return Part(None, f"full projections at d = {_LAST_FULL:,} and beyond")
    runs = [f"{d:,}" for d, status in full.items() if status == "ok"]
    text = f"a full projection fits at d = {', '.join(runs) or 'none'} of {', '.join(f'{d:,}' for d in full)}"
    return Part(full[_LAST_FULL] == "ok" and all(status == SKIPPED for status in beyond), text)


def _table_1(order: float, name: str, encoder: str, method: str, time: str, space: str) -> Claim:
    """Return the claim of a line of Table 1."""
    also = "" if encoder == "cbe-rand" else ", and in k for k up to d where it was varied"
    return Claim(
        id=name,
        order=order,
        statement=f"{method}: time grows as {time}, space as {space}.",
        where="Table 1",
        rule=f"fitted exponents in d at k = d{also}: of time within {TIME_OFF:g} of that of the law over the same "
        f"sizes, of space within {SPACE_OFF:g}; at least {_FEWEST} sizes, up to d = {LEAST_DIM:,} or more",
        measure="exponent of time in d (interval: two standard errors)",
        missing=f"fewer than {_FEWEST} dimensions, or none from {LEAST_DIM:,} on, were timed (cbe-bench time)",
        judge=partial(growth_with_d, encoder),
    )


CLAIMS = (
    _table_1(10, "T1-circ", "cbe-rand", "Circulant codes", "d log d", "d"),
    _table_1(11, "T1-bil", "bilinear-rand", "Bilinear codes", "d sqrt(k)", "sqrt(d k)"),
    _table_1(12, "T1-full", "lsh", "Full projections", "d k", "d k"),
    Claim(
        id="T1-kgtd",
        order=13,
        statement="For more than d bits circulant codes take k log d time.",
        where="Table 1; Section 3.3",
        rule=f"the fitted exponent of the time of cbe-rand in k, for k from d on at one d, is within {TIME_OFF:g} of "
        f"1; at least {_FEWEST} code lengths, d = {LEAST_DIM:,} or more",
        measure="exponent of time in k (interval: two standard errors)",
        region=(1 - TIME_OFF, 1 + TIME_OFF),
        missing=f"fewer than {_FEWEST} code lengths from d = {LEAST_DIM:,} or more on were timed (--bits d,2d,4d)",
        judge=more_bits,
    ),
    Claim(
        id="T2-ratio",
        order=14,
        statement="Circulant beats bilinear 2.6-fold at d = 2^15, rising to 33-fold at 2^27, where full projections do "
        "not fit beyond 2^15.",
        where="Table 2",
        rule=f"at every d of Table 2 that was timed, bilinear / circulant is at least {RATIO_LEAST:.2g} of the paper's "
        "ratio; it is larger at the largest d than at the smallest; a full projection fits the memory limit at 2^15 "
        "and at none beyond",
        measure="bilinear / circulant at the largest d (interval: quartiles)",
        missing="no dimension of Table 2 was timed (cbe-bench time --dims paper)",
        judge=against_bilinear,
    ),
    Claim(
        id="S3-kltd",
        order=15,
        statement="Fewer than d bits cost no less time than d bits.",
        where="Section 3.3",
        rule=f"the time of cbe-rand for k < d is at least {NO_CHEAPER:g} of that for k = d, at the largest d timed, "
        f"{LEAST_DIM:,} or more",
        measure="least time for k < d / time for k = d",
        region=(NO_CHEAPER, math.nan),
        missing=f"no codes of fewer than d bits were timed for d = {LEAST_DIM:,} or more (--bits d/4,d/2,d)",
        judge=fewer_bits,
    ),
    GPU_CLAIM,
)
