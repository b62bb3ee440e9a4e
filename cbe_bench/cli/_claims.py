"""Claims in the terminal: all of them on one screen, or one with its whole story."""

import math
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from cbe_bench.cli._output import console, elided, height, line_width, say, show_table, verbosity, width
from cbe_bench.core.claims import INCONCLUSIVE, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VACUOUS, Verdict
from cbe_bench.reports.claim_summary import FAILING_FIRST, ClaimSummary, counts, summarise
from cbe_bench.reports.claims_table import CLAIMS_FILE, changes, evidence_table, load_claims, measured, region
from cbe_bench.reports.page.grid import grid_of

_COLOURS = {REPRODUCED: "green", NOT_REPRODUCED: "red", INCONCLUSIVE: "yellow", VACUOUS: "yellow"}
_NARROW = 100
"""Columns below which values have fewer digits and what a value is gives way to it."""
_LONGEST_VALUE = 20
"""Characters of a value in a narrow terminal."""
_LEAST_TEXT = 20
"""Characters of what a claim says below which it is left out."""
_OTHER_LINES = 6
"""Lines of the screen that are not about claims: messages before, notes after, the prompt."""
Line = tuple[str, str, str, str]
"""The name of a claim, its value, the region that is claimed, and the data."""


def show_screen(verdicts: Sequence[Verdict], folder: Path) -> None:
    """Print a line for each claim, failing ones first, on one screen.

    Claims that are not tested, and outcomes from the last on that do not fit the terminal, are listed by name; details
    print every line.
    """
    claims, out = summarise(verdicts), console()
    number = counts(claims)
    out.print(f"{len(claims)} claims: " + ", ".join(f"{n} {name}" for name, n in number.items() if n), style="bold")
    groups = [(name, mine) for name in FAILING_FIRST if (mine := [one for one in claims if one.outcome == name])]
    named = _named_only(groups)
    lines = {id(one): _line(one) for name, mine in groups for one in mine if name not in named}
    sizes = [max((len(line[i]) for line in lines.values()), default=0) for i in range(4)]
    for name, mine in groups:
        out.print(name, style=_COLOURS.get(name, "dim"))
        if name in named:
            _wrapped(_names(mine), indent=2)
            continue
        for claim in mine:
            columns = "  ".join(text.ljust(size) for text, size in zip(lines[id(claim)], sizes, strict=True))
            out.print(f"{columns}  {_fitting(_what(claim), columns)}".rstrip(), markup=False)
    _show_notes(claims, verdicts, folder, bool(named))


def _named_only(groups: Sequence[tuple[str, list[ClaimSummary]]]) -> set[str]:
    """Return the outcomes whose claims are listed by name."""
    if verbosity() > 0:
        return set()
    named = {NOT_TESTED}
    for name, _ in reversed(groups):
        if sum(_height(name in named, mine) for name, mine in groups) <= height() - _OTHER_LINES:
            break
        named.add(name)
    return named - {NOT_REPRODUCED}


def _height(named: bool, claims: list[ClaimSummary]) -> int:
    return 1 + (-(-len(_names(claims)) // (width() - 10)) if named else len(claims))


def _names(claims: list[ClaimSummary]) -> str:
    return ", ".join(dict.fromkeys(one.first.claim for one in claims))


def _fitting(text: str, before: str) -> str:
    """Return as much of a text as fits the terminal after another; all of it in a file or a pipe."""
    left = line_width() - len(before) - 2
    return elided(text, left) if left >= _LEAST_TEXT else ""


def _line(claim: ClaimSummary) -> Line:
    one = claim.deciding
    data = one.experiment.split(", ")[0] + (" +" if "," in one.experiment else "")
    is_synthetic = one.kind == "synthetic"
    if line_width() < _NARROW:
        value = elided(measured(one, named=False, digits=2) or "-", _LONGEST_VALUE)
        return one.claim, value, region(one), "synthetic" if is_synthetic else elided(data, len("synthetic"))
    value = measured(one, named=False) or "-"
    return one.claim, value, region(one), f"{data} (synthetic)" if is_synthetic else data


def _what(claim: ClaimSummary) -> str:
    one = claim.deciding
    return one.statement if math.isnan(one.value) else one.measure.split(" (interval")[0]


def _show_notes(claims: Sequence[ClaimSummary], verdicts: Sequence[Verdict], folder: Path, shortened: bool) -> None:
    """Print which claims stand near a threshold, which differ from the reference, and how to see more."""
    out = console()
    near = [claim.deciding.claim for claim in claims if claim.deciding.near_threshold and claim.outcome != NOT_TESTED]
    if near:
        out.print(f"near the threshold: {', '.join(near)}", markup=False)
    reference = Path("results/reference") / folder.name / CLAIMS_FILE
    if reference.is_file() and reference.parent.resolve() != folder.resolve():
        different = [change for change in changes(load_claims(reference), verdicts) if change.before and change.now]
        for change in different:
            out.print(f"different from the reference: {change}", markup=False)
        if not different:
            out.print("none differs from the reference", markup=False)
    more = "; -v has a line for each" if shortened else ""
    say(f"cbe-bench claims ID has the rule and the evidence of one{more}")


def show_claim(verdicts: Sequence[Verdict]) -> None:
    """Print all there is about one claim."""
    for claim in summarise(verdicts):
        first = claim.first
        _wrapped(f"{first.claim}  {first.statement} ({first.where})", style="bold")
        for rule in claim.rules:
            _wrapped(f"rule: {rule}")
        for one in claim.verdicts:
            click.echo()
            _show_verdict(one)


def _show_verdict(one: Verdict) -> None:
    line = Text.assemble((one.outcome, _COLOURS.get(one.outcome, "dim")))
    on = f" on {one.experiment} ({one.kind})" if one.experiment else ""
    console().print(Text.assemble(line, on))
    for name, text in (("measured", measured(one)), ("needs", region(one)), ("data", one.data), ("found", one.found)):
        if text:
            _wrapped(f"{name}: {text}", indent=2)
    if one.evidence:
        click.echo()
        show_table(grid_of(evidence_table(one)), "evidence; * is what fails, ? what is open, ~ what does not count")


def _wrapped(text: str, style: str = "", indent: int = 0) -> None:
    import textwrap

    pad = " " * indent
    lines = textwrap.wrap(text, width(), initial_indent=pad, subsequent_indent=pad + "  ", break_on_hyphens=False)
    console().print("\n".join(lines), style=style, markup=False)


def show_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print in a line each how the claims stand that one experiment decides."""
    shown = [one for one in verdicts if one.experiment and one.outcome != NOT_TESTED]
    first = max((len(one.claim) + 2 for one in shown), default=0)
    for one in shown:
        value = measured(one, named=False)
        line = Text.assemble(f"{one.claim:<{first}}", (f"{one.outcome:<15}", _COLOURS.get(one.outcome, "dim")))
        console().print(Text.assemble(line, elided(f"{value} {one.measure}", max(width() - first - 15, 12))))
