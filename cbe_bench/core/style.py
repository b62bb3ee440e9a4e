"""The style of all figures: fonts fit for a paper, and the colour and dash of each method."""

import textwrap
from contextlib import AbstractContextManager
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "cbe-bench",
    "savefig.dpi": 200,
}

_LINES = {
    "cbe-rand": ("#0072B2", "--"),
    "cbe-opt": ("#0072B2", "-"),
    "cbe-orth": ("#56B4E9", "-."),
    "lsh": ("#8A8A8A", "-"),
    "bilinear-rand": ("#D55E00", "--"),
    "bilinear-opt": ("#D55E00", "-"),
    "hd3": ("#009E73", "-."),
    "itq": ("#CC79A7", "-"),
    "fbe": ("#E69F00", "-"),
    "fbe, median": ("#E69F00", ":"),
    "fjlt-1": ("#6A3D9A", ":"),
    "fjlt-5": ("#6A3D9A", "--"),
    "fjlt-10": ("#6A3D9A", "-"),
}
"""Colour and dash of the methods met most often, the same in every figure, apart also in grey."""
BROAD = {"lsh": 3.5}
"""Width of lines that others are expected to cover; they are drawn first."""
_OTHER_LINES = [("#CC79A7", "--"), ("#E69F00", "-"), ("#009E73", ":"), ("#F0E442", "-"), ("#999999", "-")]


def drawing_style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws in the style of the suite."""
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)  # type: ignore[arg-type]


def line_styles(encoders: list[str]) -> dict[str, tuple[str, str]]:
    """Return colour and dash of each encoder."""
    others = cycle(_OTHER_LINES)
    return {encoder: _LINES.get(encoder) or next(others) for encoder in encoders}


_TITLE_SIZE, _SUBTITLE_SIZE = 10.5, 8.0
_CHARACTERS = 14.5
"""Characters of a title for each inch of a figure."""


def entitle(figure: "Figure", title: str, subtitle: str) -> None:
    """Write what a figure shows above it, and below that, smaller, the data and their size.

    Parameters
    ----------
    figure : matplotlib Figure
        Changed in place.
    title : str
        What it shows, wrapped to its width.
    subtitle : str
        The data and their size.
    """
    from matplotlib.text import Annotation

    inches = figure.get_size_inches()[0]
    lines = textwrap.wrap(title, int(_CHARACTERS * inches))
    below = textwrap.wrap(subtitle, int(_CHARACTERS * inches * _TITLE_SIZE / _SUBTITLE_SIZE))
    text = "\n".join([*lines, *[" "] * len(below)])
    heading = figure.suptitle(text, x=0.01, ha="left", fontsize=_TITLE_SIZE, linespacing=1.15, parse_math=False)
    small: dict[str, Any] = {"fontsize": _SUBTITLE_SIZE, "color": "0.35", "ha": "left", "va": "bottom"}
    under = Annotation("\n".join(below), (0, 0), xycoords=heading, annotation_clip=False, parse_math=False, **small)
    under.set_in_layout(False)
    figure.add_artist(under)


def plain(text: str) -> str:
    """Return a user's text such that matplotlib draws it as it stands: no mathematics, no hidden legend entry."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")
