"""The Walsh-Hadamard transform against fht_cpu and faiss HadamardRotation: same run, one thread each, taking turns.

faiss does three rounds with sign flips, so a third of its time is shown. Times wander on a shared machine; read the
ratios. Needs: pip install '.[peers]'

Usage: python scripts/bench_hadamard.py [--dims 2^10,2^15,2^20]
"""

from functools import partial

import click
import faiss
import fht_cpu
import numpy as np

from cbe_bench.core.progress import no_progress
from cbe_bench.evaluators.timers import Candidate, interleaved
from cbe_bench.evaluators.timing.config import parse_dims
from cbe_bench.kernels.hadamard import fwht
from cbe_bench.kernels.parallel import pinned


@click.command(help=__doc__)
@click.option("--dims", default="2^10,2^13,2^15,2^17,2^20,2^24,2^27", show_default=True)
@click.option("--budget", default=2.0, show_default=True, help="Seconds for each candidate.")
def main(dims: str, budget: float) -> None:
    faiss.omp_set_num_threads(1)
    print(f"{'length':>12} {'cbe-bench us':>13} {'fht_cpu us':>12} {'faiss us':>12} {'fht_cpu':>8} {'faiss':>8}")
    with pinned(1):
        for n in parse_dims(dims):
            rows = max(1, 2**18 // n)
            X = np.random.default_rng(0).integers(-3, 4, (rows, n)).astype(np.float32)
            mine, theirs = X.copy(), X.copy()
            fwht(mine)
            fht_cpu.fht(theirs, num_threads=1)
            assert np.array_equal(mine, theirs), "the two transforms disagree"
            mine[:], theirs[:] = 0, 0  # repeated transforms of anything else would overflow
            rotation = faiss.HadamardRotation(n, 1)
            candidates = [
                Candidate("cbe-bench", partial(fwht, mine), rows),
                Candidate("fht_cpu", partial(fht_cpu.fht, theirs, num_threads=1), rows),
                Candidate("faiss", partial(rotation.apply, X), 3 * rows),
            ]
            list(interleaved(candidates, budget, no_progress))
            us = [1e6 * candidate.quartiles()[1] for candidate in candidates]
            print(f"{n:12,} {us[0]:13.2f} {us[1]:12.2f} {us[2]:12.2f} {us[1] / us[0]:7.2f}x {us[2] / us[0]:7.2f}x")


if __name__ == "__main__":
    main()
