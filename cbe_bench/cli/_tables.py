"""Tables of several verbs in the terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cbe_bench.core.claims import NOT_REPRODUCED, NOT_TESTED, OUTCOMES, REPRODUCED, VACUOUS, Verdict
from cbe_bench.reports.claims_table import measured

_COLOURS = {REPRODUCED: "green", NOT_REPRODUCED: "red", VACUOUS: "yellow"}
_WIDTH = 150
"""Columns of a table that goes to a file, which has no width."""


def wide_console() -> Console:
    """Return a console as wide as the terminal; a file has no width and gets one."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=_WIDTH, highlight=False)


def show_claims(verdicts: Sequence[Verdict]) -> None:
    """Print each claim with its verdict, what was measured and on what; then why some were not reproduced."""
    console = wide_console()
    table = Table("claim", "verdict", "the paper says", "measured", "data", show_lines=True)
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for one in verdicts:
        verdict = Text(one.outcome, style=_COLOURS.get(one.outcome, "dim"))
        says = Text(f"{one.statement} ({one.where})")
        table.add_row(one.claim, verdict, says, Text(measured(one) or one.found), Text(one.data))
    console.print(table)
    for one in verdicts:
        if one.outcome == NOT_REPRODUCED:
            text = f"{one.claim} on {one.experiment} is not reproduced: {one.found}\n    rule: {one.rule}"
            console.print(text, markup=False, soft_wrap=True)
    counts = Counter(one.outcome for one in verdicts)
    console.print(", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name]))


def show_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print in a line each how the claims stand that one experiment decides."""
    console = wide_console()
    for one in verdicts:
        if one.experiment and one.outcome != NOT_TESTED:
            line = Text.assemble(f"{one.claim} ", (one.outcome, _COLOURS.get(one.outcome, "dim")), f"  {measured(one)}")
            console.print(line, soft_wrap=True)
