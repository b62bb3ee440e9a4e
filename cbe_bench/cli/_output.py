"""Results on standard output, in one of four formats; how much is said on standard error.

Every verb that prints results has `--format`: a table for people, or JSON, CSV or Markdown for programs and documents.
Tables are as wide as the terminal; into a file or a pipe they go plain, as wide as they are. `-q` silences progress
and messages, `-v` adds details; every verb has both.
"""

import json
import logging
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from cbe_bench.reports.page.grid import Grid

TABLE, JSON, CSV, MARKDOWN = FORMATS = ("table", "json", "csv", "md")
_SHORTEST = 18
"""Texts in a table are cut to no fewer characters; a table that is still too wide is printed in parts."""
_UNBOUNDED = 10**6
_VERBOSITY = "cbe_bench.verbosity"


def format_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--format`."""
    formats = click.Choice(FORMATS)
    text = "How results are printed."
    return click.option("--format", "form", type=formats, default=TABLE, show_default=True, help=text)(function)


def add_verbosity(command: click.Command) -> None:
    """Give a verb, and the verbs within it, `-q` and `-v`."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        add_verbosity(inner)
    if isinstance(command, click.Group) or any(parameter.name == "quiet" for parameter in command.params):
        return
    for flag, name, level, text in (
        ("-q", "quiet", -1, "Print results and errors only."),
        ("-v", "verbose", 1, "Print every table and every note."),
    ):
        option = click.Option([flag, f"--{name}"], is_flag=True, expose_value=False, help=text, callback=_set(level))
        command.params.append(option)


def _set(level: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def callback(context: click.Context, parameter: click.Parameter, given: bool) -> None:
        if given:
            context.meta[_VERBOSITY] = level
            show_warnings(level >= 0)

    return callback


def show_warnings(shown: bool) -> None:
    """Show or silence what the library warns of."""
    logging.getLogger("cbe_bench").setLevel(logging.WARNING if shown else logging.ERROR)


def verbosity() -> int:
    """Return -1 where only results and errors are printed, 1 where details are, else 0."""
    context = click.get_current_context(silent=True)
    return int(context.meta.get(_VERBOSITY, 0)) if context else 0


def say(text: str) -> None:
    """Print a message to standard error, unless it is silenced."""
    if verbosity() >= 0:
        click.echo(text, err=True)


def emit(
    frame: "pd.DataFrame",
    form: str,
    title: str = "",
    show: Callable[[], None] | None = None,
    people: "pd.DataFrame | None" = None,
) -> None:
    """Print a table in a format.

    Parameters
    ----------
    frame : DataFrame
        The table, numbers in full: what programs get.
    form : str
        One of `FORMATS`.
    title : str
        What stands above it as a table.
    show : callable or None
        Prints what people see instead of the table itself.
    people : DataFrame or None
        The table that people see, where that is another.
    """
    from cbe_bench.reports.page.grid import grid_of
    from cbe_bench.reports.page.text import markdown_table

    if form == TABLE:
        if show is None:
            show_table(grid_of(frame if people is None else people), title)
        else:
            show()
    elif form == JSON:
        click.echo(json.dumps(json.loads(frame.to_json(orient="records")), indent=1))
    elif form == CSV:
        click.echo(frame.to_csv(index=False), nl=False)
    elif len(frame):
        click.echo(markdown_table(grid_of(frame)), nl=False)


def brief(frame: "pd.DataFrame", columns: int) -> "pd.DataFrame":
    """Return the first columns of a table; all of them where details are printed."""
    return frame if verbosity() > 0 else frame.iloc[:, :columns]


def emit_facts(facts: Mapping[str, Any], form: str, show: Callable[[], None]) -> None:
    """Print what is known of one thing in a format: as JSON an object, as CSV and Markdown a line for each name.

    Parameters
    ----------
    facts : mapping
        Values by name; None and NaN are unknown.
    form : str
        One of `FORMATS`.
    show : callable
        Prints what people see.
    """
    known = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in facts.items()}
    if form == JSON:
        click.echo(json.dumps(known, indent=1, default=str))
        return
    import pandas as pd

    lines = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in known.items()]
    emit(pd.DataFrame(lines, columns=["name", "value"]), form, show=show)


def console() -> "Console":
    """Return where results go."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not _is_terminal())


def width() -> int:
    """Return the columns of the terminal; a file or a pipe gets 100."""
    return console().width if _is_terminal() else 100


def line_width() -> int:
    """Return the characters that fit a line: the columns of the terminal, and any number in a file or a pipe."""
    return console().width if _is_terminal() else _UNBOUNDED


def height() -> int:
    """Return the lines of the terminal, and any number in a file or a pipe."""
    return console().height if _is_terminal() else _UNBOUNDED


def _is_terminal() -> bool:
    return bool(sys.stdout.isatty())


def show_table(grid: "Grid", title: str = "", keys: int = 1) -> None:
    """Print a table; where it is wider than the terminal, in parts, each with the first columns."""
    if not grid.lines:
        return
    out = console()
    lines = [grid.columns, *([cell.plain for cell in line] for line in grid.lines)]
    texts = [list(column) for column in zip(*lines, strict=True)]
    numbers = [is_number for _, is_number in grid.headings]
    if _is_terminal():
        texts = _shortened(texts, [j >= keys and not is_number for j, is_number in enumerate(numbers)], out.width)
    if title:
        out.print(title, style="bold", markup=False, no_wrap=False)
    for part in _parts([max(map(len, column)) for column in texts], keys, line_width()):
        for i, line in enumerate(zip(*(_aligned(texts[j], numbers[j]) for j in part), strict=True)):
            out.print("  ".join(line).rstrip(), style="dim" if i == 0 else "", markup=False)
        out.print()


def _shortened(texts: list[list[str]], may_be_cut: list[bool], most: int) -> list[list[str]]:
    """Cut long texts, as many characters from the longest columns as it takes, so that all fit.

    Parameters
    ----------
    texts : list of list of str
        The columns.
    may_be_cut : list of bool
        Which of them: neither names nor numbers.
    most : int
        The characters of a line.
    """
    widths = [max(map(len, column)) for column in texts]
    while sum(widths) + 2 * (len(widths) - 1) > most:
        longest = max((j for j, free in enumerate(may_be_cut) if free), key=widths.__getitem__, default=None)
        if longest is None or widths[longest] <= _SHORTEST:
            break
        widths[longest] -= 1
    return [[elided(text, size) for text in column] for column, size in zip(texts, widths, strict=True)]


def elided(text: str, size: int) -> str:
    """Return a text cut to a number of characters."""
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def _aligned(column: Sequence[str], is_number: bool) -> list[str]:
    most = max(map(len, column))
    return [text.rjust(most) if is_number else text.ljust(most) for text in column]


def _parts(widths: Sequence[int], keys: int, most: int) -> list[list[int]]:
    """Divide columns into groups that fit a width, each beginning with the key columns."""
    first = list(range(keys))
    parts, used = [list(first)], sum(widths[j] + 2 for j in first)
    start = used
    for j in range(keys, len(widths)):
        if used + widths[j] > most and len(parts[-1]) > keys:
            parts.append(list(first))
            used = start
        parts[-1].append(j)
        used += widths[j] + 2
    return parts
