"""The Walsh-Hadamard transform against fht_cpu and faiss HadamardRotation: same run, one thread each, interleaved.

faiss does three rounds with sign flips, so a third of its time is shown. Times wander on a shared machine; read the
ratios. Needs: pip install '.[peers]'

Usage: python scripts/bench_hadamard.py [--dims 2^10,2^15,2^20]
"""

from functools import partial

import click
import numpy as np
import pandas as pd
from tables import peer, write_table

from cbe_bench.core.progress import no_progress
from cbe_bench.evaluators.timers import Candidate, interleaved
from cbe_bench.evaluators.timing.config import parse_dims
from cbe_bench.kernels.hadamard import fwht
from cbe_bench.kernels.parallel import pinned


@click.command(help=__doc__)
@click.option("--dims", default="2^10,2^13,2^15,2^17,2^20,2^24", show_default=True)
@click.option("--budget", default=0.5, show_default=True, help="Seconds for each candidate.")
def main(dims: str, budget: float) -> None:
    with pinned(1):
        table = pd.concat([compare(n, budget) for n in parse_dims(dims)])
    write_table(table, "hadamard")


def compare(n: int, budget: float) -> pd.DataFrame:
    """Time the transform of n numbers by every library that is installed."""
    rows = max(1, 2**18 // n)
    X = np.random.default_rng(0).integers(-3, 4, (rows, n)).astype(np.float32)
    mine = X.copy()
    fwht(mine)
    expected = mine.copy()
    mine[:] = 0  # repeated transforms of anything else would overflow
    candidates = [Candidate("cbe-bench", partial(fwht, mine), rows)]
    if (fht_cpu := peer("fht_cpu")) is not None:
        theirs = X.copy()
        fht_cpu.fht(theirs, num_threads=1)
        assert np.array_equal(expected, theirs), "the two transforms disagree"
        theirs[:] = 0
        candidates.append(Candidate("fht_cpu", partial(fht_cpu.fht, theirs, num_threads=1), rows))
    if (faiss := peer("faiss")) is not None:
        faiss.omp_set_num_threads(1)
        candidates.append(Candidate("faiss, a third", partial(faiss.HadamardRotation(n, 1).apply, X), 3 * rows))
    list(interleaved(candidates, budget, no_progress))
    us = [1e6 * candidate.quartiles()[1] for candidate in candidates]
    names = [candidate.name for candidate in candidates]
    return pd.DataFrame({"length": n, "by": names, "us_per_vector": us, "ratio": np.array(us) / us[0]})


if __name__ == "__main__":
    main()
