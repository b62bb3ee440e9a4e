"""Tables and figures: pure functions of result rows. They read rows and never write them."""

from pathlib import Path

from cbe_bench.cache import whole_file
from cbe_bench.reports.figures import recall_figure, save_figure
from cbe_bench.reports.tables import data_label, recall_curves, recall_table
from cbe_bench.results import Row


def write_report(rows: list[Row], title: str, folder: Path) -> list[str]:
    """Write the tables and figures of an experiment from its rows; return the names of the files."""
    return {"retrieval": _write_retrieval}[rows[0]["experiment"]](rows, title, folder)


def _write_retrieval(rows: list[Row], title: str, folder: Path) -> list[str]:
    curves = recall_curves(rows)
    written = []
    for name, frame in (("table", recall_table(rows)), ("recall", curves)):
        path = folder / f"{name}.csv"
        with whole_file(path) as temporary:
            frame.to_csv(temporary, index=False, float_format="%.6g")
        written.append(str(path))
    if not len(curves):
        return written
    for scoring, name in (("symmetric", "recall"), ("asymmetric", "recall-asymmetric")):
        figure = recall_figure(curves, scoring, title, data_label(rows))
        written += save_figure(figure, folder / name)
    return written


__all__ = ["write_report"]
