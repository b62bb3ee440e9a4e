"""One vector at a time: `encode_one` beside `encode`, checked and unchecked, and a row of a batch, interleaved.

The time of a row of a batch is the work itself; what `encode_one` takes beyond it is the cost of a call. Times are
those of one thread by its own clock, which stops while others have the core. Medians of the samples.
Usage: python scripts/bench_single.py [--dims 128,256,768,1536,4096]
"""

import time
from functools import partial

import click
import numpy as np
import pandas as pd
from tables import write_table

from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.timers import Candidate, interleaved, pinned_threads, unit_vectors

_BATCH = 256


def measure(name: str, d: int, budget_s: float) -> dict[str, object]:
    X = unit_vectors(_BATCH, d)
    encoder = make_encoder(name, random_state=0).fit(X)
    x, row = X[0].copy(), X[:1].copy()
    assert np.array_equal(encoder.encode_one(x), encoder.encode(X)[0]), "one vector and a row disagree"
    calls = {
        "encode_one_us": (partial(encoder.encode_one, x), 1),
        "row_of_a_batch_us": (partial(encoder.encode, X, check_input=False), _BATCH),
        "unchecked_encode_us": (partial(encoder.encode, row, check_input=False), 1),
        "encode_us": (partial(encoder.encode, row), 1),
    }
    candidates = [Candidate(key, call, vectors, clock=time.thread_time) for key, (call, vectors) in calls.items()]
    with pinned_threads(1):
        for _ in interleaved(candidates, budget_s, lambda fraction: None):
            pass
    us = {one.name: 1e6 * one.quartiles()[1] for one in candidates}
    return {
        "encoder": name,
        "d": d,
        **us,
        "call_us": us["encode_one_us"] - us["row_of_a_batch_us"],
        "encode_ratio": us["encode_us"] / us["encode_one_us"],
    }


@click.command(help=__doc__)
@click.option("--dims", default="128,256,768,1536,4096", show_default=True, help="Dimensions, by commas.")
@click.option("--methods", default="cbe-rand,hd3", show_default=True, help="Names of methods, by commas.")
@click.option("--budget", default=0.5, show_default=True, help="Seconds for which each call is sampled.")
def main(dims: str, methods: str, budget: float) -> None:
    rows = [measure(name, int(d), budget) for name in methods.split(",") for d in dims.split(",")]
    write_table(pd.DataFrame(rows), "single")


if __name__ == "__main__":
    main()
