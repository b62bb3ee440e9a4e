"""Numbers and lists in words."""

import re
from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup, escape

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


def notes() -> Markup:
    """Return the notes of the page, on methods, numbers and limits, as HTML."""
    from markdown_it import MarkdownIt

    text = (Path(__file__).parent / "templates" / "notes.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark").enable("table").render(text)
    for i in range(html.count("<table>")):
        box = f'<div class="scroll" tabindex="0" role="group" aria-label="Table {i + 1} of the notes">'
        html = html.replace("<table>", f'{box}<table class="prose notes">', 1)
    return Markup(html.replace("</table>", "</table></div>"))


_GREEK = {"lambda": "λ", "lam": "λ", "mu": "μ", "pi": "π", "theta": "θ", "rho": "\u03c1", "delta": "δ", "epsilon": "ε"}
_SIGNS = {**_GREEK, "sqrt(": "√(", ">=": "≥", "<=": "≤"}
_WORDS = re.compile(rf"\bsqrt\(|(?<![-\w/])(?:{'|'.join(_GREEK)})\b(?![-\w./]*\.(?:yaml|csv))|>=|<=")
_POWER = re.compile(r"(?<=[\w)])\^(-?\d+(?:\.\d+)?|\w)")


def math(text: object) -> Markup:
    """Write formulas in a text as the paper does: powers raised, Greek letters, roots."""
    safe = _WORDS.sub(lambda found: _SIGNS[found[0]], str(text))
    return Markup(_POWER.sub(r"<sup>\1</sup>", str(escape(safe))))
