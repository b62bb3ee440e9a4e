"""Rows and results of retrieval experiments, made by hand."""

from itertools import count
from pathlib import Path

from cbe_bench.core.results import Description, Results
from cbe_bench.evaluators.retrieval.rows import EqualTimeRow, RetrievalRow

D = 800
_NUMBERS = count()


def metadata(label, **values):
    found = {"key": f"key-{next(_NUMBERS)}", "code": "c", "status": "ok", "label": label, "environment": "here"}
    return found | {"threads": 2, "peak_memory_bytes": 0, "ended": "", "data": "toy", "data_kind": "real"} | values


def recall_row(label, n_bits, points, seed=0, **values):
    """Return a row whose recall at the last depth is so many points."""
    spec = {"encoder": label, "params": {}, "n_bits": n_bits, "seed": seed, "n_train": 500, "n_train_pool": 500}
    spec |= {"protocol": "paper", "data_hash": "h", "n_rows": 1_500, "n_features": D, "n_database": 1_000}
    spec |= {"n_queries": 500, "n_neighbours": 10, "depth": 2, "auc": False}
    metrics = {"depths": (1, 2), "recall": (points / 200, points / 100), "recall_asymmetric": (0.5, 0.75)}
    return RetrievalRow(**metadata(label) | spec | metrics | values)


def equal_time_row(label, target_bits, n_bits, ratio, **values):
    """Return a row whose method takes so many times as long as the reference at equal code length."""
    spec = {"encoder": label, "params": {}, "reference": "cbe-rand", "reference_params": {}, "n_features": D}
    spec |= {"target_bits": target_bits, "most_bits": 4 * D, "batch": 64, "budget_s": 0.1}
    metrics = {"n_bits": n_bits, "time_ratio": 1.0, "time_ratio_at_equal_bits": ratio, "reference_us_per_vector": 5.0}
    return EqualTimeRow(**metadata(label) | spec | metrics | {"searched_at_bits": target_bits} | values)


def results(rows, name="toy", scale="quick", **config):
    config = {"sweep": None, "fixed": ["bits"], "n_bits": [100, 200], "time_reference": "cbe-rand"} | config
    labels = {row.key: row.label for row in rows}
    description = Description(
        name=name, title=name, kind="retrieval", scale=scale, command="", config=config, labels=labels
    )
    return Results(Path("results") / name, description, list(rows))
