"""Tables of several verbs in the terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cbe_bench.reports.claims import measured
from cbe_bench.reports.verdicts import NOT_REPRODUCED, REPRODUCED, VACUOUS, VERDICTS, Verdict

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
        verdict = Text(one.verdict, style=_COLOURS.get(one.verdict, "dim"))
        says = Text(f"{one.statement} ({one.where})")
        table.add_row(one.claim, verdict, says, Text(measured(one) or one.found), Text(one.data))
    console.print(table)
    for one in verdicts:
        if one.verdict == NOT_REPRODUCED:
            text = f"{one.claim} on {one.experiment} is not reproduced: {one.found}\n    rule: {one.rule}"
            console.print(text, markup=False, soft_wrap=True)
    counts = Counter(one.verdict for one in verdicts)
    console.print(", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]))
