"""The machine under the numbers: what it is and what it used."""

import hashlib
import json
import os
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cbe_bench.core.cache import whole_file
from cbe_bench.core.resources import machine_memory

GIB = 1 << 30
_PACKAGES = ("cbe-bench", "numpy", "scipy", "numba", "pyfftw", "scikit-learn", "h5py")


def peak_memory() -> int:
    """Return the largest resident size this process has had, in bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@cache
def describe() -> dict[str, Any]:
    """Describe the machine and the libraries that decide numbers and times, without naming the host."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(machine_memory() / GIB, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "vector_extensions": _vector_extensions(),
        "compiled_for": _compiler_target(),
        "blas": _blas_kernels(),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


@cache
def environment_id() -> str:
    """Return a short name for `describe()`: equal for equal machines and libraries."""
    return _short_name(describe())


def _short_name(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]


def _blas_kernels() -> list[str]:
    """Return library, version and kernels of every BLAS in use: they decide the last bits of matrix products."""
    import numpy.linalg  # noqa: F401 - loads its BLAS
    import scipy.linalg  # noqa: F401 - loads its own
    from threadpoolctl import threadpool_info

    found = (pool for pool in threadpool_info() if pool["user_api"] == "blas")
    return sorted(
        {" ".join(str(pool.get(key)) for key in ("internal_api", "version", "architecture")) for pool in found}
    )


def _vector_extensions() -> list[str]:
    """Return the vector extensions of the processor that NumPy makes use of."""
    import numpy

    extensions = numpy.show_config(mode="dicts").get("SIMD Extensions", {})
    return [*extensions.get("baseline", ()), *extensions.get("found", ())]


def _compiler_target() -> str:
    """Return the processor that numba compiles for."""
    import llvmlite.binding

    return os.environ.get("NUMBA_CPU_NAME") or str(llvmlite.binding.get_host_cpu_name())


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def human_bytes(count: float) -> str:
    """Write a number of bytes as a person would: 2.6 GiB, 512 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit in ("B", "KiB") or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.0f} PiB"


def write_description(path: Path, found: dict[str, Any] | None = None) -> None:
    """Add an environment to a file of environments by their id, if it is not there yet.

    Parameters
    ----------
    path : Path
        The file, of JSON.
    found : dict or None
        What `describe` returned, maybe on another machine; None means this environment.
    """
    described = describe() if found is None else found
    name = _short_name(described)
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        known = {}
    if name not in known:
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps({**known, name: described}, indent=1) + "\n")
