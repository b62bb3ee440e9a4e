"""Numbers and lists in words."""

from collections.abc import Iterable

from cbe_bench.core.claims import Verdict
from cbe_bench.reports.page.grid import Grid, number


def duration(seconds: float) -> str:
    """Write a time as a person would: 4.2 s, 3 min 20 s, 1 h 05 min."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def interval(verdict: Verdict) -> str:
    """Write the interval of a verdict; nothing where it has none."""
    ends = (verdict.low, verdict.high)
    known = all(end == end for end in ends) and ends != (verdict.value, verdict.value)
    return f"[{number(ends[0])}, {number(ends[1])}]" if known else ""


def counted(found: Iterable[tuple[str, int]], n: int) -> str:
    """Format names with their counts of n cases: cbe-opt (3 of 4), lsh (1 of 4).

    Parameters
    ----------
    found : iterable of (str, int)
        Names and counts.
    n : int
        The number of cases.

    Returns
    -------
    str
    """
    return ", ".join(f"{name} ({count} of {n})" for name, count in found)


def markdown_table(grid: Grid) -> str:
    """Write a table as Markdown."""
    lines = [grid.columns, ["---"] * len(grid.columns), *([cell.plain for cell in line] for line in grid.lines)]
    return "".join(f"| {' | '.join(map(markdown_cell, line))} |\n" for line in lines)


def markdown_cell(text: object) -> str:
    """Write a text so that it stays in one cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")
