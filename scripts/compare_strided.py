"""Recall of strided rows of a circulant matrix beside that of its first rows: same data, same seeds.

    python scripts/compare_strided.py data/cifar10-vlad25600.h5 data/jeopardy-embeddings.h5

For each seed a split is drawn and every method fitted, to centred vectors, with both kinds of rows. Recall is that of
the ten nearest neighbours among the first 100 by Hamming distance. A difference is the mean over seeds of strided less
first, with its 95 % interval (Student's t over the seeds). Prints a table and writes it to
results/reference/strided-recall.csv.
"""

from itertools import product
from pathlib import Path

import click
import numpy as np
import pandas as pd
from scipy import stats
from tables import SPEED, write_table

from cbe_bench.core.progress import no_progress
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.ground_truth import exact_neighbours
from cbe_bench.data.splits import PROTOCOLS, make_split
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.retrieval.metrics import expected_recall, symmetric_ranks

METHODS, ROWS = ("cbe-rand", "cbe-orth", "cbe-opt"), ("first", "strided")
NEIGHBOURS, DEPTH = 10, 100


def recalls(features: Features, fractions: list[int], seed: int, sizes: tuple[int, int, int]) -> dict[tuple, float]:
    """Return the recall of each method, code length and kind of rows on one split."""
    database, train, queries = sizes
    split = make_split(
        features.n_rows,
        database=database,
        train=train,
        queries=queries,
        least=NEIGHBOURS,
        seed=seed,
        source=features.source,
        own_queries=features.own_queries,
    )
    data = DatasetView(features, split, PROTOCOLS["paper"], seed=seed)
    neighbours, training_set = exact_neighbours(data, NEIGHBOURS), data.training_set()
    lengths = [features.n_features // fraction for fraction in fractions]
    encoders = {
        (method, n_bits, rows): make_encoder(method, n_bits=n_bits, rows=rows, center=True, random_state=seed).fit(
            training_set
        )
        for method, n_bits, rows in product(METHODS, lengths, ROWS)
    }
    codes: dict[tuple, list] = {key: [] for key in encoders}
    for _, block in data.database_blocks():
        for key, encoder in encoders.items():
            codes[key].append(encoder.encode(block))
    found = {}
    for key, encoder in encoders.items():
        ranks = symmetric_ranks(encoder.encode(data.queries()), np.concatenate(codes[key]), neighbours, no_progress)
        found[key] = float(expected_recall(ranks, np.array([DEPTH])).mean())
    return found


def compare(features: Features, fractions: list[int], seeds: int, sizes: tuple[int, int, int]) -> pd.DataFrame:
    """Return both recalls and their difference for each method and code length."""
    runs = [recalls(features, fractions, seed, sizes) for seed in range(seeds)]
    rows = []
    for method, n_bits in dict.fromkeys(key[:2] for key in runs[0]):
        first, strided = (np.array([run[method, n_bits, rows] for run in runs]) for rows in ROWS)
        difference = strided - first
        half_width = stats.t.ppf(0.975, seeds - 1) * difference.std(ddof=1) / np.sqrt(seeds)
        rows.append(
            {
                "data": features.name,
                "kind": features.kind,
                "d": features.n_features,
                "n_bits": n_bits,
                "method": method,
                "seeds": seeds,
                "recall_first": first.mean(),
                "recall_strided": strided.mean(),
                "difference": difference.mean(),
                "difference_low": difference.mean() - half_width,
                "difference_high": difference.mean() + half_width,
            }
        )
    return pd.DataFrame(rows)


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--fractions", default="4,16", show_default=True, help="Code lengths: d over each of these.")
@click.option("--seeds", default=12, show_default=True, type=click.IntRange(min=2))
@click.option("--database", default=5_000, show_default=True)
@click.option("--train", default=1_000, show_default=True)
@click.option("--queries", default=200, show_default=True)
def main(files: tuple[Path, ...], fractions: str, seeds: int, database: int, train: int, queries: int) -> None:
    tables = []
    for file in files:
        with open_features(file) as features:
            lengths = [int(fraction) for fraction in fractions.split(",")]
            tables.append(compare(features, lengths, seeds, (database, train, queries)))
    write_table(pd.concat(tables), "strided-recall", SPEED.parent)


if __name__ == "__main__":
    main()
