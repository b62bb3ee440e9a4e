"""Tables and figures: pure functions of result rows. They read rows and never write them."""

from pathlib import Path

import pandas as pd

from cbe_bench.config import AnglesConfig, BaseConfig, RetrievalConfig
from cbe_bench.core.results import Row
from cbe_bench.reports.angles import theory_verdicts, write_angles
from cbe_bench.reports.figures import save_figure
from cbe_bench.reports.recall import recall_figure
from cbe_bench.reports.sweeps import course_table, sweep_figure, sweep_table
from cbe_bench.reports.tables import data_label, equal_time_table, recall_curves, recall_table, save_table


def write_report(rows: list[Row], config: BaseConfig, folder: Path) -> list[str]:
    """Write the tables and figures of an experiment from its rows; return the names of the files."""
    if isinstance(config, AnglesConfig):
        return write_angles(rows, config.title, folder)
    assert isinstance(config, RetrievalConfig)
    return _write_retrieval(rows, config, folder)


def verdicts_on(rows: list[Row]) -> pd.DataFrame:
    """Return the verdicts on what is claimed of an experiment on angles."""
    return theory_verdicts(rows)


def _write_retrieval(rows: list[Row], config: RetrievalConfig, folder: Path) -> list[str]:
    cells = [row for row in rows if row["experiment"] == "retrieval"]
    times = equal_time_table(rows, config.time_reference)
    curves = recall_curves(cells)
    tables = {"table": recall_table(cells), "recall": curves}
    if len(times):
        tables["equal-time"] = times
    written = [save_table(table, folder / name, digits=6) for name, table in tables.items()]
    if not len(curves):
        return written
    label = data_label(cells)
    if config.sweep:
        return written + _write_sweep(cells, config, label, folder)
    for scoring, name in (("symmetric", "recall"), ("asymmetric", "recall-asymmetric")):
        figure = recall_figure(curves, times, sorted(config.bits), scoring, config.title, label)
        written += save_figure(figure, folder / name)
    return written


def _write_sweep(rows: list[Row], config: RetrievalConfig, label: str, folder: Path) -> list[str]:
    parameter = str(config.sweep)
    table, course = sweep_table(rows, parameter), course_table(rows)
    written = [save_table(table, folder / "sweep", digits=6)]
    if len(course):
        written.append(save_table(course, folder / "objective", digits=6))
    depth = max(row["depths"][-1] for row in rows if row["status"] == "ok")
    return written + save_figure(sweep_figure(table, course, parameter, depth, config.title, label), folder / "sweep")


__all__ = ["verdicts_on", "write_report"]
