"""Figures as part of the page: drawn where their files are missing, and set into the page as SVG."""

import zlib
from pathlib import Path

from cbe_bench.core.report import Figure, save_figure
from cbe_bench.core.svg import for_page


def draw_missing(figure: Figure, folder: Path) -> Path | None:
    """Return the SVG of a figure, drawn now where its folder has none; None where the rows do not suffice.

    Parameters
    ----------
    figure : Figure
        Its name, and how it is drawn.
    folder : Path
        The folder of results.

    Returns
    -------
    Path or None
    """
    path = folder / f"{figure.name}.svg"
    if path.is_file():
        return path
    drawing = figure.draw()
    if drawing is None:
        return None
    save_figure(drawing, folder / figure.name)
    return path


def inline(path: Path, title: str) -> str:
    """Return a figure as a part of the page.

    Parameters
    ----------
    path : Path
        The SVG file.
    title : str
        What the figure shows, for screen readers.

    Returns
    -------
    str
        An ``svg`` element.
    """
    number = zlib.crc32(f"{path.parent.name}/{path.stem}".encode())
    return for_page(path.read_text(encoding="utf-8"), f"f{number:x}", title)
