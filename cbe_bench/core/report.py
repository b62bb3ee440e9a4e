"""Tables and figures of an experiment as objects, and written to files: CSV, PNG, PDF and SVG, whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cbe_bench.core.cache import whole_file

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

FORMATS = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}
"""What figures are written as, and what of their metadata would differ from run to run."""


@dataclass(frozen=True)
class Table:
    """A table with its name, which is that of its file, and its caption."""

    name: str
    frame: "pd.DataFrame"
    caption: str
    folded: bool = False
    """Whether a reader of the page has to open it."""
    shown: bool = True
    """Whether the page shows it; where not, it is linked."""
    digits: int = 5
    keys: int = 1
    """How many of its first columns say what a line is about."""
    written: bool = True
    """Whether it has a file; one that only arranges the values of another has none."""


@dataclass(frozen=True)
class Figure:
    """A figure, drawn when it is asked for; None is drawn where the rows do not suffice."""

    name: str
    draw: Callable[[], "Drawing | None"]
    caption: str
    folded: bool = False
    table: str = ""
    """The table with its numbers, where that has another name."""
    inline: bool = True
    """Whether the page shows it; where not, it is linked."""


@dataclass(frozen=True)
class Report:
    """What the rows of an experiment amount to."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    terminal: tuple[str, ...] = ()
    """Tables that are printed when the experiment ends."""
    notes: tuple[str, ...] = ()
    """What a reader of them has to know."""

    def table(self, name: str) -> "pd.DataFrame | None":
        """Return a table by its name; None where the rows do not suffice for it."""
        return next((table.frame for table in self.tables if table.name == name), None)


def write_report(report: Report, folder: Path) -> list[str]:
    """Write the tables and figures of a report into a folder; return the names of the files.

    Parameters
    ----------
    report : Report
        Tables, and figures that are drawn here.
    folder : Path
        Where the files are written.

    Returns
    -------
    list of str
        The names of the files.
    """
    written = [save_table(table.frame, folder / table.name, table.digits) for table in report.tables if table.written]
    for figure in report.figures:
        drawing = figure.draw()
        if drawing is not None:
            written += save_figure(drawing, folder / figure.name)
    return written


def save_table(table: "pd.DataFrame", path: Path, digits: int = 5) -> str:
    """Write a table as CSV; return the name of the file.

    Parameters
    ----------
    table : DataFrame
        Written without its index.
    path : Path
        The file; its suffix becomes ``.csv``.
    digits : int
        Significant digits of floating-point numbers.

    Returns
    -------
    str
        The name of the file.
    """
    target = path.with_suffix(".csv")
    with whole_file(target) as temporary:
        table.to_csv(temporary, index=False, float_format=f"%.{digits}g")
    return str(target)


def save_figure(figure: "Drawing", path: Path) -> list[str]:
    """Write a figure as PNG, PDF and SVG; return the names of the files.

    Parameters
    ----------
    figure : matplotlib Figure
        Its layout is frozen after the first file.
    path : Path
        The file; its suffix becomes ``.png``, ``.pdf`` and ``.svg``.

    Returns
    -------
    list of str
        The names of the files.
    """
    from cbe_bench.core.style import drawing_style
    from cbe_bench.core.svg import compact

    written = []
    for suffix, metadata in FORMATS.items():
        target = path.with_suffix(suffix)
        with whole_file(target) as temporary, drawing_style():
            figure.savefig(temporary, metadata=metadata)
            if suffix == ".svg":
                temporary.write_text(compact(temporary.read_text(encoding="utf-8")), encoding="utf-8")
        figure.set_layout_engine("none")  # laid out once, for the first of the files
        written.append(str(target))
    return written
