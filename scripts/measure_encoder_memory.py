"""Peak memory of fitting and encoding against `Encoder.memory_bytes`, each method in a process of its own.

    python scripts/measure_encoder_memory.py [--dim 25600] [--bits 3200 25600] [--train 2000] [--csv FILE] [METHOD ...]

The peak is the growth of the resident size beyond the rows, after a small encoder of the same method has compiled and
loaded everything. What would need more than the memory that is free is measured at a quarter of the dimensions and
bits; the line says so. Linux only.
"""

import argparse
import csv
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from cbe_bench.core.errors import InputError
from cbe_bench.encoders import encoder_classes, make_encoder

ENCODED_ROWS = 7_800
"""So many that slices of them are about as large as they may be."""
MIB = 1 << 20
COLUMNS = ("encoder", "n_features", "n_bits", "n_train", "measured_bytes", "estimated_bytes", "ratio")


def status(file: str, field: str) -> int:
    lines = Path(file).read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(name: str, d: int, n_bits: int, n_train: int) -> tuple[object, ...]:
    encoder = make_encoder(name, n_bits=n_bits, random_state=0)
    if "n_iter" in encoder.get_params():
        encoder.set_params(n_iter=2)  # a third iteration would need no more memory
    encoder.check_params(d)
    estimate = encoder.memory_bytes(d, n_train)
    rows = max(ENCODED_ROWS, n_train if encoder.data_dependent else 0)
    if estimate + 4 * rows * d > 0.8 * status("/proc/meminfo", "MemAvailable"):
        return measure(name, d // 4, n_bits // 4, n_train)
    X = np.random.default_rng(0).standard_normal((rows, d), dtype=np.float32)
    small = X[:300, :256].copy()
    make_encoder(name, n_bits=64, random_state=0).fit(small).encode(small)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("/proc/self/status", "VmRSS")
    codes = encoder.fit(X[:n_train]).encode(X[:ENCODED_ROWS])
    peak = status("/proc/self/status", "VmHWM") - before - codes.nbytes
    return name, d, n_bits, n_train, peak, estimate, round(estimate / peak, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=[])
    parser.add_argument("--dim", type=int, default=25_600)
    parser.add_argument("--bits", type=int, nargs="+", default=[3_200, 25_600])
    parser.add_argument("--train", type=int, default=2_000)
    parser.add_argument("--csv", type=Path, help="write the table here")
    parser.add_argument("--here", action="store_true", help="measure in this process")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = []
    for name in options.methods or encoder_classes():
        for n_bits in options.bits:
            if options.here:
                try:
                    print(*measure(name, options.dim, n_bits, options.train))
                except InputError as error:
                    print(error, file=sys.stderr)
                continue
            own = ["--here", "--dim", options.dim, "--bits", n_bits, "--train", options.train]
            done = subprocess.run(
                [sys.executable, __file__, name, *map(str, own)], stdout=subprocess.PIPE, text=True, check=False
            )
            if line := done.stdout.split():
                table.append(line)
                measured, estimated = int(line[4]) / MIB, int(line[5]) / MIB
                print(f"{name:14s} d = {line[1]}, {line[2]} bits: {measured:,.1f} MiB measured, ", end="")
                print(f"{estimated:,.1f} estimated, ratio {line[6]}", flush=True)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *table])


if __name__ == "__main__":
    main()
