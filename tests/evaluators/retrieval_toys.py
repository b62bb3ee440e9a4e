"""Rows and results of retrieval experiments, made by hand."""

import math
from itertools import count
from pathlib import Path

import numpy as np

from cbe_bench.core.results import Description, Results
from cbe_bench.evaluators.retrieval.rows import RetrievalRow
from cbe_bench.evaluators.times.methods import TimedMethod
from cbe_bench.evaluators.times.rows import TimingRow

D = 800
_NUMBERS = count()


def metadata(label, **values):
    found = {"key": f"key-{next(_NUMBERS)}", "code": "c", "status": "ok", "label": label, "environment": "here"}
    return found | {"threads": 2, "peak_memory_bytes": 0, "ended": "", "data": "toy", "data_kind": "real"} | values


def recall_row(label, n_bits, points, seed=0, **values):
    """Return a row whose recall at the last depth is so many points."""
    spec = {"encoder": label, "params": {}, "n_bits": n_bits, "seed": seed, "n_train": 500, "n_train_pool": 500}
    spec |= {"protocol": "paper", "data_hash": "h", "n_rows": 1_500, "n_features": D, "n_database": 1_000}
    spec |= {"n_queries": 500, "n_neighbours": 10, "depth": 2, "auc": False, "split_seed": seed}
    metrics = {"depths": (1, 2), "recall": (points / 200, points / 100), "recall_asymmetric": (0.5, 0.75)}
    return RetrievalRow(**metadata(label) | spec | metrics | values)


def time_row(label, n_bits, rounds_us, **values):
    """Return the encode time of a method at a code length: one for each round, or one for all of five."""
    rounds_us = tuple(rounds_us) if hasattr(rounds_us, "__len__") else (rounds_us,) * 5
    method = TimedMethod.of(label, {})
    spec = {"encoder": method.encoder, "params": method.params, "n_features": D, "n_bits": n_bits, "batch": 64}
    spec |= {"dtype": "float32", "rounds": len(rounds_us), "rounds_us": rounds_us, "samples_us": rounds_us}
    spec |= {"encode_us_per_vector": float(np.median(rounds_us)) if rounds_us else math.nan}
    return TimingRow(**metadata(label) | spec | values)


def results(rows, name="toy", scale="quick", **config):
    config = {"sweep": None, "fixed": ["bits"], "n_bits": [100, 200], "time_reference": "cbe-rand"} | config
    labels = {row.key: row.label for row in rows}
    description = Description(
        name=name, title=name, kind="retrieval", scale=scale, command="", config=config, labels=labels
    )
    return Results(Path("results") / name, description, list(rows))
