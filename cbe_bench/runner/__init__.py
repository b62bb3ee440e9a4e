"""Runs experiments cell by cell: plan, skip what is done, append a row as each cell ends."""

from cbe_bench.runner.common import Reporter
from cbe_bench.runner.retrieval import make_plan, open_data, run_plan

__all__ = ["Reporter", "make_plan", "open_data", "run_plan"]
