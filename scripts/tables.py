"""Where the tables of the benchmarks go, and the libraries they compare with."""

import importlib
from pathlib import Path
from types import ModuleType

import pandas as pd

from cbe_bench.core.cache import whole_file
from cbe_bench.core.environment import describe

SPEED = Path(__file__).parents[1] / "results/reference/speed"


def write_table(table: pd.DataFrame, name: str, folder: Path = SPEED) -> None:
    """Print a table and write it, with the name of the processor, to NAME.csv in a folder."""
    print(table.to_string(index=False, float_format="{:.3g}".format))
    with whole_file(folder / f"{name}.csv") as temporary:
        table.assign(cpu=describe()["cpu"]).to_csv(temporary, index=False, float_format="%.5g")
    print(f"wrote {name}.csv")


def peer(name: str) -> ModuleType | None:
    """Return another library; None, and one line, if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed and left out: pip install '.[peers]'")
        return None
