"""Linear SVMs of all classes and costs from one Gram matrix of packed codes, beside scikit-learn's LinearSVC.

Both get the same codes and minimise the same objective. Ours starts from packed codes and ends with the weights of all
classifiers at all values of C; LinearSVC has the codes as float32 and is fitted once for each C. The values of C are
solved in sequence in either case; LinearSVC can be given fewer of them, and its time for the grid is then the mean time
of one multiplied. On a shared machine the ratio of processor times, over all cores, is more reliable than that of wall
times. Agreement is the correlation of decision values on held-out rows.

Usage: python scripts/bench_svm.py [--sizes 3000x25600] [--costs 0.01,0.1,1,10,100] [--their-costs 1]
"""

import time

import click
import numpy as np
import pandas as pd
from sklearn.svm import LinearSVC
from tables import write_table

from cbe_bench.core.progress import no_progress
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.classification.metrics import weights_of_codes
from cbe_bench.evaluators.classification.svm import train_linear_svms
from cbe_bench.kernels.bits import Codes, unpack_signs
from cbe_bench.kernels.linalg.gram import code_gram
from cbe_bench.kernels.parallel import thread_count

_CLASSES = 100


def make_codes(n: int, n_bits: int) -> tuple[Codes, np.ndarray]:
    """Return codes of synthetic features and their classes, the same number of each."""
    each = -(-n // _CLASSES)
    features = SyntheticFeatures("imagenet25600", SyntheticFeatures.rows_for(each), n_bits)
    labels = features.labels()
    rows = np.sort(np.concatenate([np.flatnonzero(labels == c)[:each] for c in range(_CLASSES)]))
    encoder = make_encoder("cbe-rand", random_state=0).fit(np.ones((1, n_bits), np.float32))
    codes = [encoder.encode(features.read(part)) for part in np.array_split(rows, -(-len(rows) // 1000))]
    return np.concatenate(codes), labels[rows]


def clocks() -> np.ndarray:
    """Return the wall time and the processor time of all cores."""
    return np.array([time.perf_counter(), time.process_time()])


def ours(codes: Codes, labels: np.ndarray, n_bits: int, costs: list[float]) -> tuple[np.ndarray, dict[float, tuple]]:
    """Return both times for the whole grid, and weights and intercepts by cost."""
    start = clocks()
    gram = code_gram(codes, n_bits)
    gram *= np.float32(1 / n_bits)
    found = list(train_linear_svms(gram, labels, _CLASSES, costs, no_progress))
    weights = weights_of_codes(codes, n_bits, np.concatenate(found, axis=1)).reshape(len(costs), _CLASSES, n_bits)
    return clocks() - start, {cost: (weights[i], found[i].sum(axis=0)) for i, cost in enumerate(costs)}


def measure(n: int, n_bits: int, costs: list[float], their_costs: list[float]) -> dict[str, float]:
    """Solve the grid both ways and return times, ratios and agreement."""
    codes, labels = make_codes(n + n // 4, n_bits)
    chosen = np.random.default_rng(0).permutation(len(codes))
    train, test = np.sort(chosen[:n]), np.sort(chosen[n:])
    ours(codes[train[:200]], labels[train[:200]], n_bits, costs[:1])  # compiled code
    seconds, classifiers = ours(codes[train], labels[train], n_bits, costs)
    print(
        f"n = {n:,}, k = {n_bits:,}: ours, {len(costs)} costs: {seconds[0]:.1f} s, {seconds[1]:.1f} of processor time",
        flush=True,
    )
    signs = unpack_signs(codes, n_bits, np.float32)
    signs /= np.sqrt(np.float32(n_bits))
    times, agreement, off = [], [], []
    for cost in their_costs:
        start = clocks()
        theirs = LinearSVC(C=cost).fit(signs[train], labels[train])
        times.append(clocks() - start)
        weights, intercepts = classifiers[cost]
        values = [signs[test] @ weights.T + intercepts, theirs.decision_function(signs[test])]
        accuracies = [100 * (value.argmax(axis=1) == labels[test]).mean() for value in values]
        agreement.append(np.corrcoef(values[0].ravel(), values[1].ravel())[0, 1])
        off.append(accuracies[0] - accuracies[1])
        print(
            f"    LinearSVC, C = {cost:g}: {times[-1][0]:.1f} s, {times[-1][1]:.1f} of processor time; "
            f"correlation of values {agreement[-1]:.6f}; accuracy {accuracies[0]:.2f}, theirs {accuracies[1]:.2f}",
            flush=True,
        )
    per_cost = np.mean(times, axis=0)
    ratio, cpu_ratio = len(costs) * per_cost / seconds
    return {
        "n": n,
        "n_bits": n_bits,
        "n_classes": _CLASSES,
        "threads": thread_count(),
        "n_costs": len(costs),
        "ours_s": seconds[0],
        "ours_cpu_s": seconds[1],
        "linear_svc_s_per_cost": per_cost[0],
        "linear_svc_cpu_s_per_cost": per_cost[1],
        "ratio": ratio,
        "cpu_ratio": cpu_ratio,
        "correlation": min(agreement),
        "accuracy_difference": max(off, key=abs),
    }


@click.command(help=__doc__)
@click.option("--sizes", default="1000x6400", show_default=True, help="Training rows x code length.")
@click.option("--costs", default="0.01,0.1,1,10,100", show_default=True, help="The values of C that ours solves.")
@click.option("--their-costs", default="1", show_default=True, help="Those of them that LinearSVC is timed at.")
def main(sizes: str, costs: str, their_costs: str) -> None:
    rows = []
    for size in sizes.split(","):
        n, n_bits = (int(part) for part in size.split("x"))
        grids = [[float(cost) for cost in text.split(",")] for text in (costs, their_costs)]
        rows.append(measure(n, n_bits, *grids))
        print(
            f"    ratio for the grid: {rows[-1]['ratio']:.1f}, of processor time {rows[-1]['cpu_ratio']:.1f}",
            flush=True,
        )
    write_table(pd.DataFrame(rows), "svm")


if __name__ == "__main__":
    main()
