"""Runs experiments cell by cell: plan, skip what is done, append a row as each cell ends.

Each kind of experiment is a module of its name with `make_plan` and `run_plan`.
"""

import importlib
from typing import Any

from cbe_bench.runner.common import Reporter, open_data


def experiment_runner(kind: str) -> Any:
    """Return the module that plans and runs experiments of a kind."""
    return importlib.import_module(f"{__name__}.{kind}")


__all__ = ["Reporter", "experiment_runner", "open_data"]
