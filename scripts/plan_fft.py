"""Measure which FFTW plans are fast, once, and write them as wisdom that the package ships.

    python scripts/plan_fft.py float32 [--most 8192] [--out cbe_bench/kernels/fft/wisdom]

Plans of one length round differently, so the package takes plans from a file instead of measuring them where it runs
(see `kernels/fft/fftw.py`). For each length and direction several plans are made by FFTW's own measurements, the
fastest of them by interleaved runs, least time of each, is taken. Name the file that is printed in `fftw.py`.
"""

import argparse
import ctypes
import gzip
import hashlib
import time
from pathlib import Path

import numpy as np

from cbe_bench.kernels.fft.fftw import Library, has_small_factors
from cbe_bench.kernels.memory import aligned_empty

MEASURE, ESTIMATE, PATIENT = 0, 1 << 6, 1 << 5
WAYS = (-1, 1)
ROUNDS, ROUND_S = 15, 3e-4
PATIENT_UP_TO = 1024
HEADER_LINES = 1


class Timer:
    """Runs plans on the arrays they were made with."""

    def __init__(self, library: Library, length: int) -> None:
        self._execute = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library.execute)
        rng = np.random.default_rng(length)
        self.a, self.b = (aligned_empty((length,), library.complex) for _ in range(2))
        self.a[:] = rng.standard_normal(length) + 1j * rng.standard_normal(length)

    def seconds(self, plan: int, repeats: int) -> float:
        """Return the time of one of several executions."""
        source, target = self.a.ctypes.data, self.b.ctypes.data
        start = time.perf_counter()
        for _ in range(repeats):
            self._execute(plan, source, target)
        return (time.perf_counter() - start) / repeats


def best_wisdom(library: Library, length: int, way: int, tries: int) -> tuple[list[str], float]:
    """Return the wisdom of the fastest plan found, and the time of the estimated plan over its time."""
    timer = Timer(library, length)
    found: dict[str, tuple[int, list[str]]] = {}
    kinds = {"estimated": ESTIMATE, **{f"measured {i}": MEASURE for i in range(tries)}}
    if length <= PATIENT_UP_TO and tries > 1:
        kinds["patient"] = PATIENT
    header = library.exported_wisdom()
    for kind, flags in kinds.items():
        values = timer.a.copy()
        with library.wisdom(header.split(b"\n")[0] + b"\n)\n"):
            plan = library.plan(length, timer.a, timer.b, way, flags)  # overwrites the arrays
            lines = library.exported_wisdom().decode().splitlines()[HEADER_LINES:-1]
        timer.a[:] = values
        found[kind] = plan, lines
    repeats = max(3, int(ROUND_S / timer.seconds(found["estimated"][0], 5)))
    least = dict.fromkeys(found, np.inf)
    for _ in range(ROUNDS):
        for kind, (plan, _) in found.items():
            least[kind] = min(least[kind], timer.seconds(plan, repeats))
    chosen = min((kind for kind in found if kind != "estimated"), key=least.__getitem__)
    return found[chosen][1], least["estimated"] / least[chosen]


def lengths(most: int, primes: tuple[int, ...]) -> list[int]:
    """Return the lengths of short products, and of rows of long ones, which are multiples of 16."""
    candidates = [*range(2, most + 1), *range(most + 16, 2 * most + 1, 16)]
    return [length for length in candidates if has_small_factors(length, primes)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dtype", choices=["float32", "float64"])
    parser.add_argument("--most", type=int, default=8192)
    parser.add_argument("--primes", type=int, nargs="+", default=[2, 3, 5, 7, 11, 13], help="factors of lengths")
    parser.add_argument("--tries", type=int, default=3, help="plans to choose from")
    parser.add_argument("--out", type=Path, default=Path("cbe_bench/kernels/fft/wisdom"))
    asked = parser.parse_args()
    library = Library(asked.dtype)
    first_line = library.exported_wisdom().decode().splitlines()[0]
    entries: dict[str, str] = {}
    ratios = []
    for length in lengths(asked.most, tuple(asked.primes)):
        for way in WAYS:
            lines, ratio = best_wisdom(library, length, way, asked.tries)
            entries = {line.split("#x0 ")[-1]: line for line in lines} | entries  # one plan for a problem
            ratios.append(ratio)
        if len(ratios) % 100 == 0:
            print(f"{length}: estimated over measured: median {np.median(ratios):.2f}", flush=True)
    content = "\n".join([first_line, *entries.values(), ")", ""]).encode()
    asked.out.mkdir(parents=True, exist_ok=True)
    target = asked.out / f"{asked.dtype}-{hashlib.sha256(content).hexdigest()[:8]}.gz"
    target.write_bytes(gzip.compress(content, mtime=0))
    print(f"wrote {target}: {len(entries)} entries; an estimated plan takes {np.median(ratios):.2f} times as long, ")
    print(f"at most {max(ratios):.2f} times")


if __name__ == "__main__":
    main()
