"""The suite as other processors would run it: codes, data and tests under every set of kernels this one can run.

    python scripts/portability.py codes [--small] [--out results/reference/portability]
    python scripts/portability.py tests [pytest arguments]

BLAS, numba and NumPy choose instructions by the processor they find; environment variables make all three choose as
on another one. `codes` fits and encodes by every method under each choice and writes how many bits differ from those of
this processor (`flips.csv`), and which data are equal to the bit (`data.csv`). `tests` runs the tests under each.
"""

import argparse
import csv
import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np

from cbe_bench.core.progress import no_progress
from cbe_bench.data.formats import open_features
from cbe_bench.data.ground_truth import exact_neighbours
from cbe_bench.data.images.build import make_vlad
from cbe_bench.data.images.parsers import LabelledImages
from cbe_bench.data.images.readers import StoredImages, store_images
from cbe_bench.data.splits import PROTOCOLS, make_split
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders import encoder_classes, make_encoder
from cbe_bench.evaluators.retrieval.metrics import asymmetric_ranks
from cbe_bench.kernels.bits import pack_signs

ROOT = Path(__file__).parents[1]
REFERENCE = "native"
PROCESSORS = {
    "Prescott": ("sse3", "generic"),
    "Nehalem": ("sse4.2", "x86-64-v2"),
    "Sandybridge": ("avx", "x86-64-v2"),
    "Haswell": ("avx2", "x86-64-v3"),
    "Zen": ("avx2", "x86-64-v3"),
    "SkylakeX": ("avx512vl", "x86-64-v4"),
}
"""Processors by the kernels OpenBLAS has for them: an extension each needs, and what numba compiles for."""


def choices() -> dict[str, dict[str, str]]:
    """Return the environment variables under which libraries choose as on each processor that this one can play."""
    features = llvmlite.binding.get_host_cpu_features()
    found = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
    played: dict[str, dict[str, str]] = {REFERENCE: {}}
    for name, (needs, target) in PROCESSORS.items():
        if features.get(needs):
            lacks = [one for one in found if not _has(name, one)]
            played[name] = {"OPENBLAS_CORETYPE": name, "NUMBA_CPU_NAME": target, "NUMBA_CPU_FEATURES": ""}
            played[name] |= {"NPY_DISABLE_CPU_FEATURES": " ".join(lacks)} if lacks else {}
    if len(played) == 1:  # no x86: what any processor can play
        played["generic"] = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    return played


def _has(processor: str, extension: str) -> bool:
    """Tell whether a processor has an extension that NumPy uses beyond its baseline."""
    if extension.startswith(("AVX512", "X86_V4")):
        return processor == "SkylakeX"
    return processor in ("Haswell", "Zen", "SkylakeX")


def fingerprints(small: bool) -> dict[str, np.ndarray]:
    """Return the codes of every method, and the hash of every set of data, as this process computes them."""
    d, n_learned, n = (128, 200, 400) if small else (512, 1000, 8000)
    features = SyntheticFeatures("portability", n, d)
    found = {f"data/{name}": np.array(value) for name, value in data_hashes(features).items()}
    X = features.read(np.arange(n))
    for name, method in encoder_classes().items():
        rows = slice(n_learned if method.data_dependent else n)
        encoder = make_encoder(name, n_bits=d, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[f"codes/{name}/{'trained' if method.data_dependent else 'untrained'}"] = encoder.fit(X[rows]).encode(
                X
            )
    return found


def data_hashes(features: SyntheticFeatures) -> dict[str, str]:
    """Return hashes of what is promised to be the same on every machine."""
    X = features.read(np.arange(features.n_rows))
    split = make_split(len(X), database=len(X), train=50, queries=50, least=100, seed=0, source="synthetic")
    view = DatasetView(features, split, PROTOCOLS["released-code"], seed=0)
    neighbours = exact_neighbours(view, 10)
    queries, database = view.queries(), view.training_set(None)
    found = {
        "synthetic features": X,
        "prepared queries": queries,
        "prepared rows": database,
        "ground truth": neighbours,
        "asymmetric ranks": np.stack(
            asymmetric_ranks(queries, pack_signs(database), neighbours % 50, lambda share: None)
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        images, target = Path(folder) / "images.h5", Path(folder) / "vlad.h5"
        pixels = np.random.default_rng(0).integers(0, 256, (80, 6, 6, 3), np.uint8).repeat(6, axis=1).repeat(6, axis=2)
        store_images(images, LabelledImages(pixels, np.zeros(80, np.int16), ("any",)), kind="real")
        make_vlad(StoredImages(images), target, 16, progress=no_progress)
        with open_features(target) as built:
            found["VLAD features"] = built.read(np.arange(80))
            found["visual words"] = np.array(built.describe()["words_sha256"])
            found["identity of VLAD features"] = np.array(built.content_hash())
    return {name: hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for name, value in found.items()}


def under(variables: dict[str, str], *command: str, **options: Any) -> subprocess.CompletedProcess:
    """Run a command with these variables and a cache of its own, as if on another machine."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CBE_BENCH_CACHE": cache, **variables}
        return subprocess.run([sys.executable, *command], env=environment, **options)


def compare_codes(small: bool, out: Path) -> None:
    """Write the tables of flipped bits and of equal data."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, variables) in enumerate(choices().items()):
            path = Path(folder) / f"{number}.npz"
            under(variables, __file__, "worker", str(path), *(["--small"] if small else []), check=True)
            results[name] = dict(np.load(path))
            print(f"{name}: done", flush=True)
    reference = results.pop(REFERENCE)
    flips, data = [], []
    for name, found in results.items():
        for key, value in found.items():
            kind, what, *trained = key.split("/")
            if kind == "data":
                data.append({"processor": name, "data": what, "equal": bool(value == reference[key])})
                continue
            flipped = int(np.bitwise_count(value ^ reference[key]).sum())
            row = {
                "processor": name,
                "method": what,
                "parameters": trained[0],
                "bits": 8 * value.size,
                "flipped": flipped,
            }
            flips.append({**row, "flipped_per_million": round(1e6 * flipped / (8 * value.size), 3)})
    out.mkdir(parents=True, exist_ok=True)
    for path, rows in ((out / "flips.csv", flips), (out / "data.csv", data)):
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0], lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        print(f"wrote {path}")


def run_tests(arguments: list[str]) -> int:
    """Run the tests as on every processor; return on how many they failed."""
    failed = []
    for name, variables in choices().items():
        print(f"== {name}", flush=True)
        command = ["-m", "pytest", "-m", "not slow", "--ignore=tests/test_other_kernels.py", *arguments]
        if under(variables, *command, cwd=ROOT).returncode:
            failed.append(name)
    print(f"failed as on: {', '.join(failed)}" if failed else "passed as on every processor")
    return len(failed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    codes, worker = verbs.add_parser("codes"), verbs.add_parser("worker")
    verbs.add_parser("tests")
    codes.add_argument("--out", type=Path, default=ROOT / "results/reference/portability")
    worker.add_argument("path", type=Path)
    for verb in (codes, worker):
        verb.add_argument("--small", action="store_true", help="fewer rows and dimensions")
    asked, others = parser.parse_known_args()
    if asked.verb == "codes":
        compare_codes(asked.small, asked.out)
    elif asked.verb == "worker":
        np.savez(asked.path, **fingerprints(asked.small))
    else:
        sys.exit(run_tests(others))


if __name__ == "__main__":
    main()
