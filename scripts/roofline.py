"""How near the circulant product and hd3 come to what a core can do: one thread, batched, to packed bits.

A small loop of vector instructions measures what the core adds and multiplies per second, another how fast it reads
memory. Needed are, for a vector of d numbers (P the power of two from d on, h = d/2),

    circulant   10 h log2 h + 16 h operations: two complex transforms of h numbers and a product of spectra;
                the vector once, and, beyond the cache, its sign flips and the spectrum of r
    hd3         3 P log2 P + 3 P additions; the vector once, and, beyond the cache, three rows of sign flips

The limit is the longer of both times, operations at the measured rate (fused multiply-adds for the circulant product,
additions for hd3, which has nothing else) and bytes at the measured rate; the fraction reached is the limit over the
time taken. Passes over memory beyond the one that is needed are not part of the limit: for vectors longer than the
cache a transform cannot do without them, so that there the fraction stays well below one.

For strided rows, k = d/16 and d/64, the operations are those of all phases, 5 h log2 (h/s) + 16 h, and the way back.

Usage: python scripts/roofline.py [--dims 768,25600,2^20,2^27] [--budget 2]
"""

import math
import time
from collections.abc import Callable
from functools import partial

import click
import numpy as np
import pandas as pd
from numba import njit
from tables import write_table

from cbe_bench.core.progress import no_progress
from cbe_bench.encoders import make_encoder
from cbe_bench.evaluators.timers import Candidate, interleaved, pinned_threads, unit_vectors
from cbe_bench.evaluators.timing.config import parse_dims
from cbe_bench.kernels.hadamard import padded_length
from cbe_bench.kernels.simd.vector import LANES, fma, load, store

_CHAINS, _STEPS = 8, 1 << 16
_CACHE_BYTES = 1 << 20
"""A vector and all that its product needs stay in a cache of this size, or are read from memory for every vector."""
_MEMORY_BYTES = 1 << 28


@njit(nogil=True)
def _additions(x, steps):  # type: ignore[no-untyped-def]
    """Add one vector to eight others, in turn, so that no addition waits for the one before."""
    one = load(x, 0)
    a, b, c, d, e, f, g, h = one, one, one, one, one, one, one, one
    for _ in range(steps):
        a, b, c, d, e, f, g, h = a + one, b + one, c + one, d + one, e + one, f + one, g + one, h + one
    store(x, 0, a + b + c + d + (e + f + g + h))


@njit(nogil=True)
def _multiply_adds(x, steps):  # type: ignore[no-untyped-def]
    """Do the same with multiplications and additions in one."""
    one = load(x, 0)
    a, b, c, d, e, f, g, h = one, one, one, one, one, one, one, one
    for _ in range(steps):
        a, b, c, d = fma(a, one, one), fma(b, one, one), fma(c, one, one), fma(d, one, one)
        e, f, g, h = fma(e, one, one), fma(f, one, one), fma(g, one, one), fma(h, one, one)
    store(x, 0, a + b + c + d + (e + f + g + h))


@njit(nogil=True)
def _read(x):  # type: ignore[no-untyped-def]
    """Add up a long array."""
    a = b = c = d = load(x, 0)
    for i in range(0, x.shape[0], 4 * LANES):
        a, b = a + load(x, i), b + load(x, i + LANES)
        c, d = c + load(x, i + 2 * LANES), d + load(x, i + 3 * LANES)
    out = np.empty(LANES, x.dtype)
    store(out, 0, a + b + (c + d))
    return out[0]


def best_seconds(call: Callable[[], object], repeats: int = 15) -> float:
    """Return the shortest time of a call."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def core_rates() -> dict[str, float]:
    """Return what this core does in a second: additions, additions and multiplications together, bytes read."""
    x = np.zeros(LANES, np.float32)
    long = np.ones(_MEMORY_BYTES // 4, np.float32)  # zeros never written would all be one page
    operations = _CHAINS * LANES * _STEPS
    return {
        "additions": operations / best_seconds(partial(_additions, x, _STEPS)),
        "multiply-adds": 2 * operations / best_seconds(partial(_multiply_adds, x, _STEPS)),
        "bytes": _MEMORY_BYTES / best_seconds(partial(_read, long), 5),
    }


def needed(form: str, d: int, stride: int) -> tuple[float, float]:
    """Return the operations and the bytes from memory that a vector needs."""
    bits = d / stride / 8
    if form == "hd3":
        length = padded_length(d)
        operations, tables = 3 * length * (math.log2(length) + 1), 3 * length
    else:
        half, outputs = d / 2, d / 2 / stride
        operations = 5 * half * math.log2(outputs) + 16 * half + 5 * outputs * math.log2(outputs)
        tables = d + 4 * d  # sign flips and spectrum
    vector = 4 * d
    return operations, vector + bits + (tables if vector + tables > _CACHE_BYTES else 0)


def compare(d: int, rates: dict[str, float], budget: float) -> pd.DataFrame:
    """Time every form at one dimension and relate it to its limit."""
    X = unit_vectors(max(1, min(2**22 // d, 1024)), d)
    forms = {"circulant, k = d": ("cbe-rand", 1), "hd3, k = d": ("hd3", 1)}
    for stride in (16, 64):
        forms |= {f"circulant, k = d/{stride}": ("cbe-rand", stride), f"hd3, k = d/{stride}": ("hd3", stride)}
    candidates = []
    for form, (method, stride) in forms.items():
        strided = {"rows": "strided"} if method == "cbe-rand" and stride > 1 else {}
        encoder = make_encoder(method, n_bits=d // stride, random_state=0, **strided).fit(X[:1])
        candidates.append(Candidate(form, partial(encoder.encode, X, check_input=False), len(X)))
    list(interleaved(candidates, budget, no_progress))
    rows = []
    for candidate, (method, stride) in zip(candidates, forms.values(), strict=True):
        operations, n_bytes = needed(method, d, stride)
        compute_s = operations / rates["additions" if method == "hd3" else "multiply-adds"]
        memory_s, seconds = n_bytes / rates["bytes"], candidate.quartiles()[1]
        rows.append(
            {
                "d": d,
                "form": candidate.name,
                "encode_us_per_vector": 1e6 * seconds,
                "operations": operations,
                "bytes": n_bytes,
                "compute_limit_us": 1e6 * compute_s,
                "memory_limit_us": 1e6 * memory_s,
                "fraction_reached": max(compute_s, memory_s) / seconds,
                "gflops": operations / seconds / 1e9,
            }
        )
    return pd.DataFrame(rows)


@click.command(help=__doc__)
@click.option("--dims", default="768,25600,2^20,2^27", show_default=True)
@click.option("--budget", default=1.0, show_default=True, help="Seconds for each form.")
def main(dims: str, budget: float) -> None:
    with pinned_threads(1):
        rates = core_rates()
        print(", ".join(f"{name} {rate / 1e9:.1f} G/s" for name, rate in rates.items()))
        table = pd.concat([compare(d, rates, budget) for d in parse_dims(dims)])
    for name, rate in rates.items():
        table[f"core_{name.replace('-', '_')}_g_per_s"] = rate / 1e9
    write_table(table, "roofline")


if __name__ == "__main__":
    main()
