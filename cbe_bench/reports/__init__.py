"""Tables and figures: pure functions of result rows. They read rows and never write them."""

from pathlib import Path

import pandas as pd

from cbe_bench.reports.angles import theory_verdicts, write_angles
from cbe_bench.reports.figures import recall_figure, save_figure
from cbe_bench.reports.tables import data_label, recall_curves, recall_table, save_table
from cbe_bench.reports.verdicts import verdict_table
from cbe_bench.results import Row


def write_report(rows: list[Row], title: str, folder: Path) -> list[str]:
    """Write the tables and figures of an experiment from its rows; return the names of the files."""
    return {"retrieval": _write_retrieval, "angles": write_angles}[rows[0]["experiment"]](rows, title, folder)


def verdicts_on(rows: list[Row]) -> pd.DataFrame:
    """Return the verdicts on what is claimed of an experiment, for the kinds of experiment that have any."""
    return theory_verdicts(rows) if rows[0]["experiment"] == "angles" else verdict_table([])


def _write_retrieval(rows: list[Row], title: str, folder: Path) -> list[str]:
    curves = recall_curves(rows)
    tables = {"table": recall_table(rows), "recall": curves}
    written = [save_table(table, folder / name, digits=6) for name, table in tables.items()]
    if not len(curves):
        return written
    for scoring, name in (("symmetric", "recall"), ("asymmetric", "recall-asymmetric")):
        figure = recall_figure(curves, scoring, title, data_label(rows))
        written += save_figure(figure, folder / name)
    return written


__all__ = ["verdicts_on", "write_report"]
