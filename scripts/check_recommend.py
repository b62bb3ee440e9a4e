"""Whether `recommend` keeps its promises: its advice from samples, followed on the whole file.

    python scripts/check_recommend.py VECTORS [--metric ip] [--sample 2000] [--queries 2000] [--seeds 1 2 3 4 6]
        [--out FILE.csv]

Some rows of VECTORS become a file of queries, the others a file that is searched. For each seed and target the codes
that `recommend` names from a sample and 500 of the queries are made of the whole file, searched and re-ranked as it
says. The recall of the exact neighbours of all queries is compared with the interval it gave. With odd seeds encoders
are trained on the whole file, with even ones on a quarter of it. Embeddings: cbe-bench data make jeopardy-embeddings.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from cbe_bench import CodeIndex, encode_file, recommend
from cbe_bench.data.formats import open_features
from cbe_bench.data.view import METRICS
from cbe_bench.kernels.linalg.rescoring import exact_nearest
from cbe_bench.vectors.recommend.answer import Choice, Target, choose
from cbe_bench.vectors.rows import prepare

OUT = Path(__file__).parents[1] / "results/reference"
TARGETS = [
    Target(0.9, 10),
    Target(0.95, 10),
    Target(0.99, 10),
    Target(0.8, 100),
    Target(0.9, 100),
    Target(None, 10, 32),
    Target(None, 100, 64),
    Target(None, 10, 192),
]


def check(database: Path, queries: Path, metric: str, sample: int, seed: int, n_train: int) -> list[dict[str, object]]:
    """Follow the advice for all targets and return what was promised and what was found."""
    found = recommend(database, queries=queries, sample_rows=sample, metric=metric, seed=seed, n_train=n_train)
    lines = []
    for target in TARGETS:
        choice, _ = choose(found.cells, target)
        assert choice is not None
        promised = choice.estimate(target.at)
        recall = follow(database, queries, metric, choice, target.at, seed, n_train)
        wanted = f"recall {target.recall:g}" if target.recall else f"{target.most_bytes} bytes"
        line = {
            "target": f"{wanted}, at {target.at}",
            "seed": seed,
            "method": choice.cell.method,
            "n_bits": choice.cell.n_bits,
            "search": choice.cell.search,
            "oversample": choice.oversample,
            "sample_rows": sample,
            "n_train": n_train,
            "n_rows": len(np.load(database, mmap_mode="r")),
            "promised": round(promised.full, 4),
            "low": round(promised.low, 4),
            "high": round(promised.high, 4),
            "measured": round(recall, 4),
            "within": promised.low <= recall <= promised.high,
        }
        print(line, flush=True)
        lines.append(line)
    return lines


def follow(database: Path, queries: Path, metric: str, choice: Choice, at: int, seed: int, n_train: int) -> float:
    """Encode and search the whole file as advised and return the recall@at."""
    cell, more, codes = choice.cell, choice.oversample, database.with_suffix(".cbe.h5")
    options = {"method": cell.method, "n_bits": cell.n_bits, "metric": metric, "seed": seed, "n_train": n_train}
    encode_file(database, codes, overwrite=True, **options)
    asked, rows = np.load(queries), np.load(database)
    known, sought = (prepare(X.copy(), np.arange(len(X)), metric, "") for X in (rows, asked))  # less rows of zeros
    exact = known.rows[exact_nearest(sought.vectors, known.vectors, at, metric)]
    with CodeIndex.open(codes) as index:
        again = {"rerank": rows, "oversample": more} if more > 1 else {}
        ids = index.search(asked[sought.rows], at, asymmetric=cell.search == "asymmetric", **again).ids
    return float(np.mean([len(set(a) & set(b)) / at for a, b in zip(ids, exact, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--metric", choices=METRICS, default="ip")
    parser.add_argument("--sample", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 6])
    parser.add_argument(
        "--out", type=Path, help="default: recommend.csv, or recommend-METRIC.csv, of the reference results"
    )
    options = parser.parse_args()
    suffix = "" if options.metric == "ip" else f"-{options.metric}"
    out = options.out or OUT / f"recommend{suffix}.csv"
    with open_features(options.vectors) as features, tempfile.TemporaryDirectory() as name:
        order = np.random.default_rng(0).permutation(features.n_rows)
        folder = Path(name)
        database, queries = folder / "database.npy", folder / "queries.npy"
        np.save(queries, features.read(np.sort(order[: options.queries])))
        np.save(database, features.read(np.sort(order[options.queries :])))
        n_rows, lines = features.n_rows - options.queries, []
        for seed in options.seeds:
            n_train = n_rows if seed % 2 else n_rows // 4
            lines += check(database, queries, options.metric, options.sample, seed, n_train)
    print(f"{sum(bool(line['within']) for line in lines)} of {len(lines)} in their interval")
    with out.open("w", newline="") as file:
        table = csv.DictWriter(file, lines[0], lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


if __name__ == "__main__":
    main()
