"""The style of all figures: fonts fit for a paper, and the colour and dash of each method."""

from contextlib import AbstractContextManager
from itertools import cycle

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
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}

_LINES = {
    "cbe-rand": ("#0072B2", "--"),
    "cbe-opt": ("#0072B2", "-"),
    "cbe-orth": ("#56B4E9", "-."),
    "lsh": ("#B8B8B8", "-"),
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


def plain(text: str) -> str:
    """Return a user's text such that matplotlib draws it as it stands: no mathematics, no hidden legend entry."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")
