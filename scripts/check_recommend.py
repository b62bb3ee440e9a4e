"""Whether `recommend` keeps its promises: its advice from samples, followed on the whole file.

    python scripts/check_recommend.py VECTORS [--sample 2000] [--queries 500] [--out FILE.csv]

Some rows of VECTORS become a file of queries, the others a file that is searched. For each target the codes that
`recommend` names from a sample are made of the whole file, searched and re-ranked as it says, and the recall of the
exact neighbours is compared with the interval it gave. Embeddings: cbe-bench data make jeopardy-embeddings.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from cbe_bench import CodeIndex, encode_file, recommend
from cbe_bench.data.formats import open_features
from cbe_bench.kernels.linalg.rescoring import exact_nearest

OUT = Path(__file__).parents[1] / "results/reference/recommend.csv"
TARGETS = [
    {"recall": 0.95, "at": 10},
    {"recall": 0.9, "at": 100},
    {"recall": 0.99, "at": 10},
    {"max_bytes": 32, "at": 10},
    {"max_bytes": 64, "at": 100},
    {"max_bytes": 192, "at": 10},
]


def check(database: Path, queries: Path, target: dict, sample: int, folder: Path) -> dict[str, object]:
    """Follow the advice for a target and return what was promised and what was found."""
    found = recommend(database, queries=queries, sample_rows=sample, metric="ip", seed=1, **target)
    assert found.choice is not None
    cell, promised, at = found.choice.cell, found.choice.estimate(target["at"]), target["at"]
    codes = folder / "codes.cbe.h5"
    encode_file(database, codes, method=cell.method, n_bits=cell.n_bits, metric="ip", overwrite=True)
    asked, rows = np.load(queries), np.load(database)
    exact = exact_nearest(asked, rows, at, "ip")
    more = found.choice.oversample
    with CodeIndex.open(codes) as index:
        again = {"rerank": rows, "oversample": more} if more > 1 else {}
        ids = index.search(asked, at, asymmetric=cell.search == "asymmetric", **again).ids
    recall = float(np.mean([len(set(a) & set(b)) / at for a, b in zip(ids, exact, strict=True)]))
    return {
        "target": ", ".join(f"{name} {value}" for name, value in target.items()),
        "method": cell.method,
        "n_bits": cell.n_bits,
        "search": cell.search,
        "oversample": more,
        "sample_rows": sample,
        "n_rows": len(rows),
        "promised": round(promised.full, 4),
        "low": round(promised.low, 4),
        "high": round(promised.high, 4),
        "measured": round(recall, 4),
        "within": promised.low <= recall <= promised.high,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--sample", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    with open_features(options.vectors) as features, tempfile.TemporaryDirectory() as name:
        order = np.random.default_rng(0).permutation(features.n_rows)
        folder = Path(name)
        database, queries = folder / "database.npy", folder / "queries.npy"
        np.save(queries, features.read(np.sort(order[: options.queries])))
        np.save(database, features.read(np.sort(order[options.queries :])))
        lines = []
        for target in TARGETS:
            lines.append(check(database, queries, target, options.sample, folder))
            print(lines[-1], flush=True)
    with options.out.open("w", newline="") as file:
        table = csv.DictWriter(file, lines[0], lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


if __name__ == "__main__":
    main()
