"""What encoding costs: vectors per second from memory and from a file, as rows and workers grow, and what follows.

    python scripts/cost.py [--rows 400000] [--folder FOLDER]

A file of synthetic vectors is written to FOLDER and encoded as `cbe-bench encode` does: with the training, without the
start of Python or of a Dask cluster. The same rows are encoded from memory, and read without encoding, interleaved.
Written to results/reference/cost.csv; the last rows are computed from the others: one billion vectors of 768
dimensions and 100 million of 25,600, on one machine like this one.
"""

import argparse
import csv
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from cbe_bench import CodeIndex, encode_file
from cbe_bench.core.environment import peak_memory
from cbe_bench.kernels.parallel import thread_count
from cbe_bench.vectors.blocks import Run, block_rows, run_here
from cbe_bench.vectors.cluster import running

OUT = Path(__file__).parents[1] / "results/reference/cost.csv"
FRACTIONS, REPEATS = (0.25, 0.5, 1.0), 3
TARGETS = ((1_000_000_000, 768), (100_000_000, 25_600))
FIELDS = ("what", "n_rows", "n_features", "n_bits", "workers", "seconds", "rows_per_s", "bytes_of_codes", "peak_bytes")


def write_vectors(path: Path, n_rows: int, n_features: int) -> None:
    """Write synthetic rows; blocks of them are alike but for the first value."""
    rng = np.random.default_rng(0)
    block = rng.standard_normal((block_rows(n_features), n_features), dtype=np.float32) + 1
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n_rows, len(block)):
            block[:, 0] = first / n_rows
            file.write(block[: n_rows - first].data)


def forget(path: Path) -> None:
    """Drop a file from the page cache, where the platform can."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(path: Path) -> float:
    """Return the seconds that reading a file takes."""
    forget(path)
    start = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 25):
            pass
    return time.perf_counter() - start


def encode(path: Path, run: Run = run_here) -> float:
    """Return the seconds that encoding a file takes, in this process or on a cluster that is running."""
    forget(path)
    start = time.perf_counter()
    encode_file(path, path.with_suffix(".cbe.h5"), method="cbe-orth", overwrite=True, run=run)
    return time.perf_counter() - start


def from_memory(path: Path, n_rows: int, n_features: int) -> float:
    """Return the seconds that as many rows take that are in memory, with the encoder of the file."""
    with CodeIndex.open(path.with_suffix(".cbe.h5")) as index:
        encoder = index.file.encoder
    block = np.random.default_rng(1).standard_normal((block_rows(n_features), n_features), dtype=np.float32)
    encoder.encode(block, check_input=False)
    start, rounds = time.perf_counter(), max(1, n_rows // len(block))
    for _ in range(rounds):
        encoder.encode(block, check_input=False)
    return (time.perf_counter() - start) * n_rows / (rounds * len(block))


def measure(folder: Path, n_rows: int, n_features: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []

    def add(what: str, count: int, seconds: float, workers: object = "") -> None:
        n_bytes = count * n_features // 8
        peak = peak_memory() if what == "file" and not workers else ""
        values = (
            what,
            count,
            n_features,
            n_features,
            workers,
            round(seconds, 2),
            round(count / seconds),
            n_bytes,
            peak,
        )
        rows.append(dict(zip(FIELDS, values, strict=True)))
        print(rows[-1], flush=True)

    for fraction in FRACTIONS:
        count, path = int(n_rows * fraction), folder / f"vectors-{n_features}.npy"
        write_vectors(path, count, n_features)
        times: dict[str, list[float]] = {"file": [], "memory": [], "read": []}
        for _ in range(REPEATS):
            times["file"].append(encode(path))
            times["memory"].append(from_memory(path, count, n_features))
            times["read"].append(read(path))
        for what, seconds in times.items():
            add(what, count, min(seconds))
    for workers in sorted({1, thread_count()}):
        with running(workers, None) as run:
            add("file", n_rows, min(encode(path, run) for _ in range(REPEATS)), workers)
    path.unlink()
    path.with_suffix(".cbe.h5").unlink()
    return rows


def computed(rows: list[dict[str, object]], n_rows: int, n_features: int) -> dict[str, object]:
    """Return the row of a size that was not run, by the rows per second of the largest file of its dimension."""
    like = [row for row in rows if (row["what"], row["n_features"], row["workers"]) == ("file", n_features, "")]
    speed = float(str(max(like, key=lambda row: int(str(row["n_rows"])))["rows_per_s"]))
    values = (
        "computed",
        n_rows,
        n_features,
        n_features,
        "",
        round(n_rows / speed),
        speed,
        n_rows * n_features // 8,
        "",
    )
    return dict(zip(FIELDS, values, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000, help="rows of 768 dimensions; of 25,600 a 33rd of them")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for _, n_features in TARGETS:
        rows += measure(options.folder, options.rows * 768 // n_features, n_features)
    rows += [computed(rows, *target) for target in TARGETS]
    with OUT.open("w", newline="") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
