"""Tables in the terminal: as wide as it is, or as their content where there is none."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cbe_bench.reports.claims import measured
from cbe_bench.reports.verdicts import NOT_REPRODUCED, REPRODUCED, VACUOUS, VERDICTS, Verdict

_COLOURS = {REPRODUCED: "green", NOT_REPRODUCED: "red", VACUOUS: "yellow"}


def show(table: Table) -> None:
    """Print a table; a file has no width."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(1, Console(width=10_000).measure(table).maximum))
    console.print(table)


def show_claims(verdicts: Sequence[Verdict]) -> None:
    """Print each claim with its verdict, what was measured and on what; then how many there are of each."""
    table = Table("claim", "verdict", "the paper says", "measured", "data", show_lines=True)
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for one in verdicts:
        verdict = Text(one.verdict, style=_COLOURS.get(one.verdict, "dim"))
        says = Text(f"{one.statement} ({one.where})")
        value = measured(one)
        found = Text(f"{value}\n{one.found}" if value else one.found)
        table.add_row(one.claim, verdict, says, found, Text(one.data))
    show(table)
    counts = Counter(one.verdict for one in verdicts)
    Console(highlight=False).print(", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]))
