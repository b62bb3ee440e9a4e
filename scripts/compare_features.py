"""How families of features differ: zeros, norms, flatness, and how near the nearest neighbours are.

    python scripts/compare_features.py data/cifar10-vlad25600.h5 data/cifar10-vlad25600-dense.h5 ...

All files are measured alike, with as many queries and database rows drawn by seed 0; cosines are those of the exact
neighbours. Prints a table and writes it to results/reference/features.csv.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from cbe_bench.core.cache import whole_file
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.ground_truth import exact_neighbours
from cbe_bench.data.splits import PROTOCOLS, make_split
from cbe_bench.data.view import DatasetView
from cbe_bench.kernels.parallel import slices

QUERIES, DATABASE, NEIGHBOURS = 200, 9_800, 10
_ROWS_AT_ONCE = 64


def measure(features: Features) -> dict[str, float | str]:
    """Return the measures of a file, by name."""
    split = make_split(
        features.n_rows,
        database=DATABASE,
        train=1,
        queries=QUERIES,
        least=NEIGHBOURS,
        seed=0,
        source=features.source,
        own_queries=features.own_queries,
    )
    data = DatasetView(features, split, PROTOCOLS["paper"], seed=0)
    norms, flatness, nonzero = shape_of_rows(features, split.database)
    cosines = neighbour_cosines(data)
    return {
        "data": features.name,
        "kind": features.kind,
        "n_features": features.n_features,
        "n_database": len(split.database),
        "n_queries": len(split.queries),
        "nonzero": nonzero,
        "norm_median": float(np.median(norms)),
        "norm_min": float(norms.min()),
        "norm_max": float(norms.max()),
        "flatness_median": float(np.median(flatness)),
        "cosine_neighbour_1": float(np.median(cosines[:, 0])),
        f"cosine_neighbour_{NEIGHBOURS}": float(np.median(cosines[:, NEIGHBOURS - 1])),
        "cosine_random_row": float(np.median(cosines[:, NEIGHBOURS])),
    }


def shape_of_rows(features: Features, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the l2 norm and the flatness max|x| / ||x|| of each row, and the fraction of values other than zero."""
    norms, flatness, nonzero = [], [], 0
    for part in slices(len(rows), _ROWS_AT_ONCE):
        block = features.read(rows[part])
        norms.append(np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)))
        flatness.append(np.abs(block).max(axis=1) / norms[-1])
        nonzero += np.count_nonzero(block)
    return np.concatenate(norms), np.concatenate(flatness), nonzero / (len(rows) * features.n_features)


def neighbour_cosines(data: DatasetView) -> np.ndarray:
    """Return, for each query, the cosines of its nearest rows, nearest first, and of a row drawn at random."""
    nearest = exact_neighbours(data, NEIGHBOURS)
    drawn = np.random.default_rng(0).integers(len(data.split.database), size=(len(nearest), 1))
    wanted, out = np.hstack([nearest, drawn]), np.empty((len(nearest), NEIGHBOURS + 1))
    queries = data.queries()
    for part, block in data.database_blocks():
        inside = (wanted >= part.start) & (wanted < part.stop)
        for query, place in zip(*np.nonzero(inside), strict=True):
            out[query, place] = queries[query] @ block[wanted[query, place] - part.start]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="feature files")
    parser.add_argument("--out", type=Path, default=Path("results/reference/features.csv"))
    asked = parser.parse_args()
    found = []
    for file in asked.files:
        with open_features(file) as features:
            found.append(measure(features))
    table = pd.DataFrame(found)
    print(table.round(4).to_string(index=False))
    with whole_file(asked.out) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g")
    print(f"wrote {asked.out}")


if __name__ == "__main__":
    main()
