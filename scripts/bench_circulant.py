"""The circulant product against other libraries: same vectors, same run, one thread each, interleaved.

Every candidate goes from float32 vectors in memory to packed bits of sign(circ(r) D x). The peers do it the
straightforward way: flip signs, rfft, multiply, irfft, compare, np.packbits, plans or caches warm. Two candidates
compute another embedding of the same use and are shown for scale: three Hadamard rounds by fht_cpu, and one
rotation of faiss. Times wander on a shared machine; read the ratios. Needs: pip install '.[peers]'

Usage: python scripts/bench_circulant.py [--dims 768,25600,2^27] [--batch 0]
"""

from collections.abc import Callable
from functools import partial

import click
import numpy as np
import pandas as pd
import pyfftw
import scipy.fft
from tables import peer, write_table

from cbe_bench import CBERand
from cbe_bench.core.progress import no_progress
from cbe_bench.evaluators.timers import Candidate, interleaved
from cbe_bench.evaluators.timing.config import parse_dims
from cbe_bench.kernels import parallel
from cbe_bench.kernels.parallel import blas_threads, pinned

Job = Callable[[], object]

_BURST = 40
"""Calls in a row where threads are compared."""


def straightforward(forward: Callable, backward: Callable, X: np.ndarray, r: np.ndarray, signs: np.ndarray) -> Job:
    """Return the plain product by a pair of real transforms."""
    spectrum = forward(r)

    def job() -> np.ndarray:
        return np.packbits(backward(forward(X * signs) * spectrum) >= 0, axis=1, bitorder="little")

    return job


def fft_peers(X: np.ndarray, r: np.ndarray, signs: np.ndarray) -> dict[str, Job]:
    """Return the plain product by every FFT library that is installed."""
    d = X.shape[1]
    pairs = {
        "scipy.fft": (partial(scipy.fft.rfft, axis=-1), partial(scipy.fft.irfft, n=d, axis=-1)),
        "pyfftw": (
            partial(pyfftw.interfaces.numpy_fft.rfft, axis=-1, planner_effort="FFTW_ESTIMATE"),
            partial(pyfftw.interfaces.numpy_fft.irfft, n=d, axis=-1, planner_effort="FFTW_ESTIMATE"),
        ),
    }
    if (ducc0 := peer("ducc0")) is not None:
        pairs["ducc0"] = (
            lambda x: ducc0.fft.r2c(x, axes=(x.ndim - 1,)),
            lambda z: ducc0.fft.c2r(z, axes=(z.ndim - 1,), lastsize=d, forward=False, inorm=2),
        )
    if (mkl_fft := peer("mkl_fft")) is not None:
        pairs["mkl_fft"] = (partial(mkl_fft.rfft, axis=-1), partial(mkl_fft.irfft, n=d, axis=-1))
    return {name: straightforward(*pair, X, r, signs) for name, pair in pairs.items()}


def other_embeddings(X: np.ndarray) -> dict[str, Job]:
    """Return what else makes d bits of a vector: three Hadamard rounds, and a rotation of faiss."""
    n, d = X.shape
    power = 1 << (d - 1).bit_length()
    jobs: dict[str, Job] = {}
    signs = np.random.default_rng(1).choice(np.float32([-1, 1]), (3, power))
    if (fht_cpu := peer("fht_cpu")) is not None:

        def rounds() -> np.ndarray:
            padded = np.zeros((n, power), np.float32)
            padded[:, :d] = X
            for flips in signs:
                padded *= flips
                fht_cpu.fht(padded, num_threads=1)
            return np.packbits(padded[:, :d] >= 0, axis=1, bitorder="little")

        jobs["hd3 by fht_cpu"] = rounds
    if (faiss := peer("faiss")) is not None:
        faiss.omp_set_num_threads(1)
        rotation = faiss.HadamardRotation(d, 1)
        jobs["faiss HadamardRotation"] = lambda: np.packbits(rotation.apply(X) >= 0, axis=1, bitorder="little")
    return jobs


def compare(d: int, batch: int, budget: float) -> pd.DataFrame:
    """Time everything at one dimension."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((batch, d), dtype=np.float32)
    encoder = CBERand(random_state=0).fit(X)
    r, signs = encoder.r_[0], encoder.signs_[0].astype(np.float32)
    jobs: dict[str, Job] = {"cbe-bench": partial(encoder.encode, X, check_input=False)}
    peers = fft_peers(X, r, signs)
    ours = jobs["cbe-bench"]()
    for name, job in peers.items():
        flipped = np.unpackbits(ours ^ job()).mean()  # type: ignore[operator]
        assert flipped < 1e-5, f"{name} disagrees in {flipped:.2%} of the bits"
    candidates = [Candidate(name, job, batch) for name, job in {**jobs, **peers, **other_embeddings(X)}.items()]
    for _ in interleaved(candidates, budget, no_progress):
        pass
    ours_seconds = candidates[0].quartiles()[1]
    return pd.DataFrame(
        {
            "d": d,
            "batch": batch,
            "by": candidate.name,
            "us": 1e6 * candidate.quartiles()[1],
            "us_lower_quartile": 1e6 * candidate.quartiles()[0],
            "us_upper_quartile": 1e6 * candidate.quartiles()[2],
            "ratio": candidate.quartiles()[1] / ours_seconds,
            "samples": len(candidate.samples),
        }
        for candidate in candidates
    )


def flipped_bits(d: int) -> float:
    """Return the share of bits that single precision decides otherwise than double."""
    X = np.random.default_rng(0).standard_normal((max(1, 2**22 // d), d))
    encoder = CBERand(random_state=0).fit(X)
    return float(np.unpackbits(encoder.encode(X) ^ encoder.encode(X.astype(np.float32))).mean())


def encoding(X: np.ndarray, *, threads: int = 1, times: int = 1, **params: object) -> Job:
    """Return a job that encodes X, some times in a row."""
    encoder = CBERand(random_state=0, **params).fit(X)

    def job() -> None:
        with parallel.threads(threads):
            for _ in range(times):
                encoder.encode(X, check_input=False)

    return job


def forms(d: int, budget: float) -> pd.DataFrame:
    """Time our own product in other forms than all rows of a convenient d on one thread."""
    X = np.random.default_rng(0).standard_normal((max(1, 2**24 // d), d), dtype=np.float32)
    prime = next(n for n in range(d - 1, 0, -1) if all(n % p for p in range(2, int(n**0.5) + 1)))
    jobs = {
        "all rows": encoding(X),
        "k = d/4, first rows": encoding(X, n_bits=d // 4),
        "k = d/4, strided rows": encoding(X, n_bits=d // 4, rows="strided"),
        "k = d/16, strided rows": encoding(X, n_bits=d // 16, rows="strided"),
        f"d = {prime:,}, a prime": encoding(np.ascontiguousarray(X[:, :prime])),
        "double precision": encoding(X.astype(np.float64)),
    }
    # A core that was idle takes some tenths of a second to reach its speed, so threads are compared in long bursts.
    bursts = {f"{n} threads": encoding(X, threads=n, times=_BURST) for n in (1, 2)}
    us = measured(jobs, len(X), budget) | measured(bursts, _BURST * len(X), 4 * budget)
    frame = pd.DataFrame({"d": d, "form": list(us), "us": list(us.values())})
    frame["speedup"] = [us["all rows"] / t for t in us.values()]
    frame.loc[frame["form"] == "2 threads", "speedup"] = us["1 threads"] / us["2 threads"]
    return frame


def measured(jobs: dict[str, Job], vectors: int, budget: float) -> dict[str, float]:
    """Return the median microseconds a vector of each job."""
    candidates = [Candidate(name, job, vectors) for name, job in jobs.items()]
    list(interleaved(candidates, budget, no_progress))
    return {candidate.name: 1e6 * candidate.quartiles()[1] for candidate in candidates}


@click.command(help=__doc__)
@click.option("--dims", default="768,2048,25600,2^15,2^17,2^20,2^24", show_default=True)
@click.option("--batch", default=0, help="Vectors a call; 0: 64 MiB of them up to 25,600 dimensions, one beyond.")
@click.option("--budget", default=1.0, show_default=True, help="Seconds for each candidate.")
def main(dims: str, batch: int, budget: float) -> None:
    frames = []
    with pinned(1), blas_threads(1):
        pyfftw.interfaces.cache.enable()
        pyfftw.interfaces.cache.set_keepalive_time(3600)
        for d in parse_dims(dims):
            rows = batch or (max(1, 2**24 // d) if d <= 25_600 else 1)
            frame = compare(d, rows, budget)
            flips = flipped_bits(d) if d <= 2**20 else float("nan")
            frames.append(frame.assign(float32_flips=flips))
    write_table(pd.concat(frames), "circulant")
    write_table(pd.concat([forms(d, budget) for d in (768, 2048, 25_600)]), "forms")


if __name__ == "__main__":
    main()
