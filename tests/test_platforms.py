"""What some systems lack: modules and functions that are missing there are hidden, and everything works without."""

import subprocess
import sys
from pathlib import Path

CODE = """
import mmap, os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
for module, names in (
    (os, ("sched_getaffinity", "sched_setaffinity", "register_at_fork", "posix_fallocate", "sysconf", "fork")),
    (signal, ("setitimer", "alarm", "SIGALRM")),
    (mmap, ("MADV_DONTNEED",)),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

import numpy as np
from click.testing import CliRunner
from cbe_bench.cli import main

np.save("rows.npy", np.random.default_rng(0).standard_normal((1500, 24)).astype(np.float32))
for line in sys.argv[1:]:
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 0, (line, result.output, result.exception)
"""
COMMANDS = [
    "encode rows.npy -o c.cbe.h5 --method cbe-opt --bits 64",
    "search c.cbe.h5 rows.npy -o found.npy -k 3 --rerank rows.npy",
    "recommend rows.npy --methods lsh --bits 32 --at 10 -o r",
    "data check rows.npy",
    "run flickr --scale smoke --set data.file=rows.npy --set n_bits=[16] --set encoders=[cbe-opt] --set seeds=[0] "
    "--set fixed=[bits] --timeout 60",
    "run table1 --scale smoke --set encoders=[cbe-rand]",
]


def test_nothing_needs_what_only_some_systems_have(tmp_path):
    environment = {"PYTHONPATH": str(Path(__file__).parents[1]), "CBE_BENCH_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", CODE, *COMMANDS]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
