"""The report on angles: tables with intervals, figures, and verdicts on what the paper says and proves."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from cbe_bench.core.results import Row
from cbe_bench.reports.angles.figures import features_figure, mean_figure, signs_figure, variance_figure
from cbe_bench.reports.angles.tables import chosen, features_table, mean_table, simulations, tails_table, variance_table
from cbe_bench.reports.angles.verdicts import judge_theory, theory_verdicts
from cbe_bench.reports.figures import save_figure
from cbe_bench.reports.tables import save_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_angles(rows: list[Row], title: str, folder: Path) -> list[str]:
    """Write the tables, the figures and the verdicts; return the names of the files."""
    done = [row for row in rows if row["status"] == "ok"]
    cells = simulations(done)
    tables = {
        "mean": mean_table(cells),
        "variance": variance_table(chosen(cells, pairs=["dense"])),
        "signs": variance_table(cells, angle_over_pi=1 / 3),
        "tails": tails_table(cells),
        "features": features_table(done),
        "claims": theory_verdicts(done),
    }
    figures: dict[str, Callable[[pd.DataFrame], Figure | None]] = {
        "mean": mean_figure,
        "variance": variance_figure,
        "signs": signs_figure,
        "features": partial(features_figure, title=title),
    }
    written = [save_table(table, folder / name) for name, table in tables.items() if len(table)]
    for name, draw in figures.items():
        figure = draw(tables[name]) if len(tables[name]) else None
        if figure:
            written += save_figure(figure, folder / name)
    return written


__all__ = ["judge_theory", "theory_verdicts", "write_angles"]
