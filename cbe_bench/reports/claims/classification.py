"""Table 3: linear classifiers on codes."""

from cbe_bench.reports.verdicts import Verdict
from cbe_bench.results import Row


def classification_verdicts(rows: list[Row]) -> list[Verdict]:
    """Judge T3-class and T3-asym."""
    return []
