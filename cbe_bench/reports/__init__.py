"""Tables and figures: pure functions of result rows. They read rows and never write them."""

from pathlib import Path

import pandas as pd

from cbe_bench.cache import whole_file
from cbe_bench.config import Config, RetrievalConfig
from cbe_bench.reports.figures import save_figure
from cbe_bench.reports.recall import recall_figure
from cbe_bench.reports.sweeps import course_table, sweep_figure, sweep_table
from cbe_bench.reports.tables import data_label, equal_time_table, recall_curves, recall_table
from cbe_bench.results import Row


def write_report(rows: list[Row], config: Config, folder: Path) -> list[str]:
    """Write the tables and figures of an experiment from its rows; return the names of the files."""
    assert isinstance(config, RetrievalConfig)
    return _write_retrieval(rows, config, folder)


def _write_retrieval(rows: list[Row], config: RetrievalConfig, folder: Path) -> list[str]:
    cells = [row for row in rows if row["experiment"] == "retrieval"]
    times = equal_time_table(rows, config.time_reference)
    curves = recall_curves(cells)
    written = [_write_csv(recall_table(cells), folder / "table.csv"), _write_csv(curves, folder / "recall.csv")]
    if len(times):
        written.append(_write_csv(times, folder / "equal-time.csv"))
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
    written = [_write_csv(table, folder / "sweep.csv")]
    if len(course):
        written.append(_write_csv(course, folder / "objective.csv"))
    depth = max(row["depths"][-1] for row in rows if row["status"] == "ok")
    return written + save_figure(sweep_figure(table, course, parameter, depth, config.title, label), folder / "sweep")


def _write_csv(frame: pd.DataFrame, path: Path) -> str:
    with whole_file(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.6g")
    return str(path)


__all__ = ["write_report"]
