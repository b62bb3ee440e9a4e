"""Tables as a person reads them: numbers to a few digits, an interval or the paper's value beside its number."""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

_BESIDE = {"_std": "± {}", "_paper": "({})", "_expected": "({})"}
"""How the value of a column that belongs to another, by the end of its name, is written beside it."""
_IN_HEADING = ("data", "data_kind")


@dataclass(frozen=True)
class Cell:
    """What a cell of a table says, what is said beside it more quietly, and what it is sorted by."""

    text: str
    beside: str = ""
    key: float | str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is set to the right and sorted by size."""
        return isinstance(self.key, float)

    @property
    def sort_key(self) -> str:
        """What a script sorts it by where its text does not do; empty where it does."""
        if not isinstance(self.key, float):
            return ""
        return "" if self.text == f"{self.key:g}" and not self.beside else f"{self.key:.6g}"

    @property
    def plain(self) -> str:
        """All of it, as plain text."""
        return f"{self.text} {self.beside}".strip()


@dataclass(frozen=True)
class Grid:
    """A table: its columns and its lines."""

    columns: list[str]
    lines: list[list[Cell]]

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """The columns, each with whether it is one of numbers."""
        return [(name, all(line[i].is_number for line in self.lines)) for i, name in enumerate(self.columns)]


def number(value: float, digits: int = 3) -> str:
    """Format a number to a few digits: 1,234, 0.0123, 5e-07.

    Parameters
    ----------
    value : float
        NaN gives an empty string.
    digits : int
        Significant digits of fractions below 1,000.

    Returns
    -------
    str
    """
    if value != value:
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def recall(value: float) -> str:
    """Write a recall, or another proportion, to a tenth of a point."""
    return "" if value != value else f"{value:.3f}"


def dimensions(value: float) -> str:
    """Write a number of dimensions; large powers of two as such."""
    size = int(value)
    return f"2^{size.bit_length() - 1}" if size >= 1 << 15 and not size & (size - 1) else f"{size:,}"


def grid_of(frame: pd.DataFrame) -> Grid:
    """Return a table for a reader; columns that are empty, or that its heading has already, are left out."""
    frame = frame.drop(columns=[name for name in frame if frame[name].isna().all() or name in _IN_HEADING])
    columns = [str(name) for name in frame if _owner(str(name), frame) is None]
    lines = [[_cell(name, line) for name in columns] for line in frame.to_dict("records")]
    return Grid([name.replace("_", " ") for name in columns], lines)


def _owner(name: str, frame: pd.DataFrame) -> str | None:
    """Return the column that this one stands beside."""
    return next((name.removesuffix(end) for end in _BESIDE if name.endswith(end) and name[: -len(end)] in frame), None)


def _cell(name: str, line: dict[Any, Any]) -> Cell:
    key = _number(line[name])
    return Cell(_text(name, line[name]), _beside(name, line), str(line[name]) if key is None else key)


def _beside(name: str, line: dict[Any, Any]) -> str:
    """Write what stands beside a value: its interval, and the paper's value with its own."""
    there = [(form, name + end) for end, form in _BESIDE.items() if name + end in line and _text("", line[name + end])]
    return " ".join(form.format(f"{_text(name, line[other])} {_beside(other, line)}".strip()) for form, other in there)


def _number(value: Any) -> float | None:
    """Return a value as a number to sort by; empty ones come last."""
    if isinstance(value, bool):
        return None
    try:
        return float(value) if value == value else math.inf
    except ValueError:
        return None


def _text(name: str, value: Any) -> str:
    size = _number(value)
    if value != value or value is None:
        return ""
    if isinstance(value, bool) or str(value) in ("True", "False"):
        return "yes" if str(value) == "True" else ""
    if size is None:
        return str(value)
    if name in ("d", "n_bits", "target_bits"):
        return dimensions(size)
    is_recall = "@" in name or name.startswith("k=") or name in ("recall", "auc")
    return recall(size) if is_recall else number(size)
