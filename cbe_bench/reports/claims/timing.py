"""Tables 1 and 2: how time and memory grow, circulant against bilinear, and codes shorter or longer than d."""

import math
from collections.abc import Sequence

import numpy as np

from cbe_bench.reports.claims.claim import Claim, Finding, Part, all_hold, in_words
from cbe_bench.reports.paper import ENCODE_MS
from cbe_bench.reports.timing import EXPECTED
from cbe_bench.results import Experiment, Row

TIME_OFF = 0.2
"""How far an exponent of time may be off: the laws d log d, d sqrt(d) and d d are further apart than twice this."""
SPACE_OFF = 0.1
NO_CHEAPER = 0.8
"""Time of fewer than d bits over that of d bits, down to which it counts as no less: fewer bits are to be packed."""
RATIO_SHARE = 2 / 3
"""Share of the paper's ratio that ours must reach: machines and libraries differ."""
_FEWEST = 3
"""Points that make a slope."""
_LAST_FULL = min(ENCODE_MS)
"""The largest d at which a full projection fitted the paper's memory."""


def time_rows(experiments: Sequence[Experiment]) -> dict[str, list[Row]]:
    """Return the rows of timing experiments, by name."""
    return {one.name: one.rows for one in experiments if one.about.experiment == "time"}


def _done(rows: list[Row], encoder: str) -> list[Row]:
    return [row for row in rows if row["status"] == "ok" and row["encoder"] == encoder]


def _where(rows: list[Row], names: Sequence[str]) -> dict[str, str]:
    """Return what a finding says of the machine."""
    batch = " and ".join(f"{n:,}" for n in sorted({row["batch"] for row in rows}))
    threads = " and ".join(f"{n}" for n in sorted({row["threads"] for row in rows}))
    data = f"times on this machine: batches of {batch}, {threads} thread{'' if threads == '1' else 's'}"
    return {"data": data, "kind": "machine", "experiment": ", ".join(names)}


def growth_with_d(encoder: str, experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge a line of Table 1: exponents of time and space in d at k = d, and in k at one d where that was varied.

    Of several experiments the one that reaches the largest d decides on d, the other exponent comes from where bits
    were varied.
    """
    rows = {name: _done(mine, encoder) for name, mine in time_rows(experiments).items()}
    square = {name: [row for row in mine if row["n_bits"] == row["n_features"]] for name, mine in rows.items()}
    square = {name: mine for name, mine in square.items() if _points(mine, "n_features") >= _FEWEST}
    if not square:
        return []
    name = max(square, key=lambda key: max(row["n_features"] for row in square[key]))
    slope, error = _slope(square[name], "n_features", "seconds")
    parts = _exponents(square[name], encoder, "n_features", "d")
    fewer = {key: _at_largest_d(mine, below=True) for key, mine in rows.items()}
    fewer = {key: mine for key, mine in fewer.items() if _points(mine, "n_bits") >= _FEWEST}
    used = [name]
    if encoder != "cbe-rand" and fewer:
        also = max(fewer, key=lambda key: len(fewer[key]))
        parts += _exponents(fewer[also], encoder, "n_bits", "k")
        used += [also] if also != name else []
    ends = {"value": slope, "low": slope - 2 * error, "high": slope + 2 * error}
    where = _where([row for key in used for row in rows[key]], used)
    return [Finding(verdict=all_hold(parts), found=in_words(parts), **ends, **where)]


def _points(rows: list[Row], size: str) -> int:
    return len({row[size] for row in rows})


def _at_largest_d(rows: list[Row], *, below: bool) -> list[Row]:
    """Return the rows of the largest d that has bits below and up to d, or from d on."""
    kept = [row for row in rows if (row["n_bits"] <= row["n_features"]) == below or row["n_bits"] == row["n_features"]]
    wide = [d for d in {row["n_features"] for row in kept} if len([r for r in kept if r["n_features"] == d]) >= _FEWEST]
    return [row for row in kept if wide and row["n_features"] == max(wide)]


def _slope(rows: list[Row], size: str, what: str) -> tuple[float, float]:
    """Return the slope of a logarithm over that of a size, and its standard error."""
    x, y = (np.log([row[name] for row in rows]) for name in (size, what))
    slope, level = np.polyfit(x, y, 1)
    if len(x) < _FEWEST:
        return float(slope), math.nan
    left = y - slope * x - level
    return float(slope), float(np.sqrt(np.sum(left**2) / max(len(x) - 2, 1) / np.sum((x - x.mean()) ** 2)))


def _exponents(rows: list[Row], encoder: str, size: str, name: str) -> list[Part]:
    """Judge the exponents of time and space in a size against those of their laws over the same points."""
    d, k = (np.array([row[key] for row in rows], float) for key in ("n_features", "n_bits"))
    time_law, time_of, space_law, space_of = EXPECTED[encoder]
    span = f"{name} = {min(row[size] for row in rows):,} to {max(row[size] for row in rows):,}"
    parts = []
    for what, key, law, of, off in (
        ("time", "seconds", time_law, time_of, TIME_OFF),
        ("space", "parameter_bytes", space_law, space_of, SPACE_OFF),
    ):
        found = _slope(rows, size, key)[0]
        expected = float(np.polyfit(np.log([row[size] for row in rows]), np.log(of(d, k)), 1)[0])
        parts.append(
            Part(abs(found - expected) <= off, f"{what} as {name}^{found:.2f} ({law}: {expected:.2f}) for {span}")
        )
    return parts


def more_bits(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge T1-kgtd: how the time of cbe-rand grows with k from d on."""
    found = {name: _at_largest_d(_done(rows, "cbe-rand"), below=False) for name, rows in time_rows(experiments).items()}
    found = {name: rows for name, rows in found.items() if _points(rows, "n_bits") >= _FEWEST}
    if not found:
        return []
    name = max(found, key=lambda key: len(found[key]))
    rows = found[name]
    slope, error = _slope(rows, "n_bits", "seconds")
    part = _exponents(rows, "cbe-rand", "n_bits", "k")[0]
    ends = {"value": slope, "low": slope - 2 * error, "high": slope + 2 * error}
    return [Finding(verdict=all_hold([part]), found=in_words([part]), **ends, **_where(rows, [name]))]


def fewer_bits(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge S3-kltd: the time of cbe-rand for k < d over that for k = d."""
    findings = []
    for name, rows in time_rows(experiments).items():
        mine = _done(rows, "cbe-rand")
        whole = {row["n_features"]: row for row in mine if row["n_bits"] == row["n_features"]}
        ratios = {
            (row["n_features"], row["n_bits"]): row["seconds"] / whole[row["n_features"]]["seconds"]
            for row in mine
            if row["n_bits"] < row["n_features"] and row["n_features"] in whole
        }
        if ratios:
            (d, k), least = min(ratios.items(), key=lambda item: item[1])
            text = f"{len(ratios)} times of fewer bits are {least:.2f} to {max(ratios.values()):.2f} of those of d bits"
            part = Part(least >= NO_CHEAPER, f"{text}, least for {k:,} bits at d = {d:,}")
            ends = {"value": least, "low": least, "high": max(ratios.values())}
            findings.append(Finding(verdict=all_hold([part]), found=in_words([part]), **ends, **_where(mine, [name])))
    return findings


def ratios(experiments: Sequence[Experiment]) -> list[Finding]:
    """Judge T2-ratio: bilinear over circulant at the dimensions of Table 2, and where a full projection fits."""
    findings = []
    for name, rows in time_rows(experiments).items():
        square = [row for row in rows if row["n_bits"] == row["n_features"] and row["n_features"] in ENCODE_MS]
        found = _ratios(square)
        if found:
            parts = [_as_in_the_paper(found), _rising(found), _full_fits(square)]
            first, last = (found[d] for d in (min(found), max(found)))
            ends = {"value": last[0], "low": last[1], "high": last[2]}
            text = f"bilinear / circulant from {first[0]:.3g} at d = {min(found):,} to {last[0]:.3g} at {max(found):,}"
            findings.append(
                Finding(verdict=all_hold(parts), found=f"{text}; {in_words(parts)}", **ends, **_where(square, [name]))
            )
    return findings


def _ratios(rows: list[Row]) -> dict[int, tuple[float, float, float]]:
    """Return bilinear over circulant at each d, with its ends by the quartiles of both."""
    slow, fast = ({row["n_features"]: row for row in _done(rows, name)} for name in ("bilinear-rand", "cbe-rand"))
    found = {}
    for d in sorted(slow.keys() & fast.keys()):
        (low, high), (least, most) = slow[d]["seconds_quartiles"], fast[d]["seconds_quartiles"]
        found[d] = slow[d]["seconds"] / fast[d]["seconds"], low / most, high / least
    return found


def _as_in_the_paper(found: dict[int, tuple[float, float, float]]) -> Part:
    printed = {d: ENCODE_MS[d]["bilinear-rand"] / ENCODE_MS[d]["cbe-rand"] for d in found}
    d = min(found, key=lambda d: found[d][0] / printed[d])
    text = f"least against the paper's: {found[d][0]:.3g}, there {printed[d]:.3g}, at d = {d:,}"
    return Part(found[d][0] >= RATIO_SHARE * printed[d], text)


def _rising(found: dict[int, tuple[float, float, float]]) -> Part:
    first, last = min(found), max(found)
    if first == last:
        return Part(None, "the ratio at several of the paper's dimensions")
    return Part(found[last][0] > found[first][0], "the ratio rises with d")


def _full_fits(rows: list[Row]) -> Part:
    """Judge that a full projection runs at the first d of Table 2 and does not fit at the others."""
    full = {row["n_features"]: row["status"] for row in rows if row["encoder"] == "lsh"}
    beyond = [status for d, status in full.items() if d > _LAST_FULL]
    if full.get(_LAST_FULL) is None or not beyond:
        return Part(None, f"full projections at d = {_LAST_FULL:,} and beyond")
    runs = [f"{d:,}" for d, status in full.items() if status == "ok"]
    text = f"a full projection fits at d = {', '.join(runs) or 'none'} of {', '.join(f'{d:,}' for d in full)}"
    return Part(full[_LAST_FULL] == "ok" and all(status == "skipped" for status in beyond), text)


def _table_1(name: str, encoder: str, method: str, time: str, space: str) -> Claim:
    """Return the claim of a line of Table 1."""
    also = "" if encoder == "cbe-rand" else ", and in k for k up to d where it was varied"
    return Claim(
        id=name,
        statement=f"{method}: time grows as {time}, space as {space}.",
        where="Table 1",
        rule=f"fitted exponents in d at k = d{also}: of time within {TIME_OFF:g} of that of the law over the same sizes, of "
        f"space within {SPACE_OFF:g}; at least {_FEWEST} sizes",
        measure="exponent of time in d (spread: two standard errors)",
        missing=f"fewer than {_FEWEST} dimensions were timed (cbe-bench time)",
        find=lambda experiments: growth_with_d(encoder, experiments),
    )


CLAIMS = (
    _table_1("T1-circ", "cbe-rand", "Circulant codes", "d log d", "d"),
    _table_1("T1-bil", "bilinear-rand", "Bilinear codes", "d sqrt(k)", "sqrt(d k)"),
    _table_1("T1-full", "lsh", "Full projections", "d k", "d k"),
    Claim(
        id="T1-kgtd",
        statement="For more than d bits circulant codes take k log d time.",
        where="Table 1; Section 3.3",
        rule=f"the fitted exponent of the time of cbe-rand in k, for k from d on at one d, is within {TIME_OFF:g} of 1; at "
        f"least {_FEWEST} numbers of bits",
        measure="exponent of time in k (spread: two standard errors)",
        missing=f"fewer than {_FEWEST} numbers of bits from d on were timed (cbe-bench time --bits d,2d,4d)",
        find=more_bits,
    ),
    Claim(
        id="T2-ratio",
        statement="Circulant beats bilinear 2.6-fold at d = 2^15, rising to 33-fold at 2^27, where full projections do not "
        "fit beyond 2^15.",
        where="Table 2",
        rule=f"at every d of Table 2 that was timed, bilinear / circulant is at least {RATIO_SHARE:.2g} of the paper's "
        "ratio; it is larger at the largest d than at the smallest; a full projection fits the memory limit at 2^15 and "
        "at none beyond",
        measure="bilinear / circulant at the largest d (spread: quartiles)",
        missing="no dimension of Table 2 was timed (cbe-bench time --dims paper)",
        find=ratios,
    ),
    Claim(
        id="S3-kltd",
        statement="Fewer than d bits cost no less time than d bits.",
        where="Section 3.3",
        rule=f"the time of cbe-rand for k < d is at least {NO_CHEAPER:g} of that for k = d, at every d and k timed",
        measure="least time for k < d / time for k = d",
        missing="no codes of fewer than d bits were timed (cbe-bench time --bits d/4,d/2,d)",
        find=fewer_bits,
    ),
    Claim(
        id="S7-gpu",
        statement="A graphics processor makes codes up to 20 times as fast.",
        where="Section 7.1",
        rule="not judged",
        measure="",
        missing="the suite has no code for graphics processors",
        find=lambda experiments: [],
    ),
)
