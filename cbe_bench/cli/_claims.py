"""Claims in the terminal: all of them on one screen, or one with its whole story."""

import math
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from cbe_bench.cli._output import console, elided, show_table, width
from cbe_bench.core.claims import INCONCLUSIVE, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VACUOUS, Verdict
from cbe_bench.reports.claim_summary import FAILING_FIRST, ClaimSummary, counts, summarise
from cbe_bench.reports.claims_table import CLAIMS_FILE, changes, evidence_table, load_claims, measured, region
from cbe_bench.reports.page.grid import grid_of

_COLOURS = {REPRODUCED: "green", NOT_REPRODUCED: "red", INCONCLUSIVE: "yellow", VACUOUS: "yellow"}
_NARROW = 100
"""Columns below which values have fewer digits and long cells are cut."""
_CUT = (11, 20, 13, 9)
"""Characters of the cells of a line in a narrow terminal."""


def show_screen(verdicts: Sequence[Verdict], folder: Path) -> None:
    """Print a line for each claim, failing ones first: its value, the region that is claimed, and the data."""
    claims, out = summarise(verdicts), console()
    number = counts(claims)
    out.print(f"{len(claims)} claims: " + ", ".join(f"{n} {name}" for name, n in number.items() if n), style="bold")
    lines = [(claim, _line(claim)) for claim in claims]
    sizes = [max(len(line[i]) for _, line in lines) for i in range(4)]
    rest = max(width() - sum(sizes) - 2 * len(sizes), 12)
    for outcome in FAILING_FIRST:
        mine = [(claim, line) for claim, line in lines if claim.outcome == outcome]
        if mine:
            out.print(outcome, style=_COLOURS.get(outcome, "dim"))
        for claim, line in mine:
            name, value, needed, data = (text.ljust(size) for text, size in zip(line, sizes, strict=True))
            out.print(f"{name}  {value}  {needed}  {data}  {elided(_what(claim), rest)}".rstrip(), markup=False)
    _show_notes(claims, verdicts, folder)


def _line(claim: ClaimSummary) -> tuple[str, ...]:
    one = claim.deciding
    data = one.experiment.split(", ")[0] + (" +" if "," in one.experiment else "")
    narrow = width() < _NARROW
    value = measured(one, named=False, digits=2 if narrow else 3) or "-"
    synthetic = " (synthetic)" if one.kind == "synthetic" else ""
    line = (one.claim, value, region(one), f"{data}{synthetic}")
    return tuple(elided(text, size) for text, size in zip(line, _CUT, strict=True)) if narrow else line


def _what(claim: ClaimSummary) -> str:
    one = claim.deciding
    return one.statement if math.isnan(one.value) else one.measure.split(" (interval")[0]


def _show_notes(claims: Sequence[ClaimSummary], verdicts: Sequence[Verdict], folder: Path) -> None:
    """Print which claims stand near a threshold, which differ from the reference, and how to see more."""
    out = console()
    near = [claim.deciding.claim for claim in claims if claim.deciding.near_threshold]
    if near:
        out.print(f"near the threshold: {', '.join(near)}", markup=False)
    reference = Path("results/reference") / folder.name / CLAIMS_FILE
    if reference.is_file() and reference.parent.resolve() != folder.resolve():
        different = [change for change in changes(load_claims(reference), verdicts) if change.before and change.now]
        for change in different:
            out.print(f"different from the reference: {change}", markup=False)
        if not different:
            out.print("none differs from the reference", markup=False)
    out.print("cbe-bench claims ID has the rule and the evidence of one", style="dim", markup=False)


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
