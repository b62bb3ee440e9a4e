"""Commands killed at random points and started again: they must end as if nothing had happened.

    python scripts/kill.py [--verb run --verb make ...] [--points 100] [--seed 0]

Each point starts a command in an empty folder with an empty cache, kills it with SIGKILL, and starts it again. Half of
the points are moments of its running time, half are the n-th time it is about to open a file for writing, or to
rename, remove or create one: what a random moment hardly ever meets. Afterwards the folder must hold the same files
as that of an undisturbed run, rows with the same numbers, nothing temporary, and no lock. The exit code is 1 if one
does not. Commands run as forks of this process, which has everything imported and compiled; the steps of `reproduce`
are processes of their own.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from PIL import Image

from cbe_bench.cli import main as cbe_bench

WAIT_S = 300
"""A command that takes longer hangs."""
WRITING = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
PASSING = (
    "environment",
    "threads",
    "peak_memory_bytes",
    "memory_estimate_bytes",
    "ended",
    "wall_s",
    "notes",
)
"""Fields of a row that say how it came about; times are left out by their unit."""
CONFIG = {
    "title": "Tiny",
    "experiment": "retrieval",
    "data": {"name": "toy", "dim": 64},
    "n_bits": [16, 32],
    "seeds": [0, 1],
    "encoders": ["cbe-rand", "cbe-opt", "lsh"],
    "n_database": 200,
    "n_train": 100,
    "n_queries": 10,
    "depth": 20,
}


class Verb(NamedTuple):
    """A command and how a folder is prepared for it."""

    arguments: tuple[str, ...]
    prepare: Callable[[], None]
    spawns: bool = False
    """Whether it runs other commands."""


def write_config() -> None:
    Path("configs").mkdir()
    Path("configs/tiny.yaml").write_text(yaml.safe_dump(CONFIG))


def write_images() -> None:
    rng = np.random.default_rng(0)
    for i in range(120):
        folder = Path(f"photos/{'ab'[i % 2]}")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (24, 24), dtype=np.uint8)).save(folder / f"{i}.png")


def write_rows() -> None:
    """Write a file that is encoded in five blocks."""
    np.save("rows.npy", np.random.default_rng(0).standard_normal((600_000, 16), np.float32))


VERBS = {
    "run": Verb(("run", "configs/tiny.yaml", "--scale", "smoke"), write_config),
    "make": Verb(("data", "make", "vlad", "--images", "photos", "--words", "4", "--out", "photos.h5"), write_images),
    "make-synthetic": Verb(("data", "make", "flickr25600", "--rows", "60"), lambda: None),
    "encode": Verb(("encode", "rows.npy", "-o", "codes.cbe.h5", "--method", "cbe-opt", "--bits", "16"), write_rows),
    "reproduce": Verb(("reproduce", "--scale", "smoke"), write_config, spawns=True),
}


def start(verb: Verb, folder: Path, kill_at: int | None = None) -> int:
    """Fork a process that runs the command in a folder; it kills itself as it writes for the `kill_at`-th time."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        os.environ.update(CBE_BENCH_CACHE=str(folder / "cache"), TMPDIR=str(folder / "tmp"))
        tempfile.tempdir = None
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.addaudithook(_Writes(folder, kill_at))
        cbe_bench(list(verb.arguments))
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 70
    except BaseException:
        traceback.print_exc(file=os.fdopen(2, "w"))
    finally:
        os._exit(code)


class _Writes:
    """Counts what is about to change files, in a file of its own, and kills the process at some point."""

    def __init__(self, folder: Path, kill_at: int | None) -> None:
        self._count, self._kill_at = 0, kill_at
        self._handle = os.open(folder / "writes", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        opened = event == "open" and isinstance(flags := arguments[2], int) and flags & (os.O_WRONLY | os.O_RDWR)
        if opened or event in WRITING:
            self._count += 1
            os.write(self._handle, b".")
            if self._count == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


def wait(process: int, seconds: float) -> int | None:
    """Return how a process ended, None if it still runs after so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def descendants(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def kill(processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def content(folder: Path) -> dict[str, str]:
    """Return what must be equal: all files by name, features with their bytes, rows with their numbers."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name in ("log", "writes"):
            continue
        found[name] = ""
        if path.suffix in (".h5", ".npy"):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.name == "rows.jsonl":
            found |= {f"{name} {key}": text for key, text in rows(path)}
    return found


def rows(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_bytes().splitlines():
        with contextlib.suppress(ValueError):  # a line torn by the kill
            row = json.loads(line)
            timed = {name for name in row if name.endswith("_s") or "_us_" in name}
            yield (
                row["key"],
                json.dumps({name: row[name] for name in row.keys() - timed - set(PASSING)}, sort_keys=True),
            )


@contextlib.contextmanager
def place(verb: Verb) -> Iterator[Path]:
    """Give an empty folder that is prepared for a command."""
    with tempfile.TemporaryDirectory(prefix="kill-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        with contextlib.chdir(folder):
            verb.prepare()
        yield folder


def undisturbed(verb: Verb) -> tuple[dict[str, str], float, int]:
    """Return the content that a command leaves, the seconds it takes and how often it writes."""
    with place(verb) as folder:
        begin = time.monotonic()
        code = wait(start(verb, folder), WAIT_S)
        if code != 0:
            raise SystemExit(f"the undisturbed run ended with {code}: {(folder / 'log').read_text()[-2000:]}")
        return content(folder), time.monotonic() - begin, (folder / "writes").stat().st_size


def try_point(verb: Verb, rng: np.random.Generator, expected: tuple[dict[str, str], float, int]) -> tuple[bool, str]:
    """Kill a command once and resume it; return whether it was killed, and what was wrong."""
    wanted, seconds, writes = expected
    by_write, fraction, all_processes = rng.random() < 0.5, rng.random(), rng.random() < 0.5
    with place(verb) as folder:
        process = start(verb, folder, 1 + int(fraction * writes) if by_write else None)
        code = wait(process, WAIT_S if by_write else fraction * seconds)
        if code is None:
            kill([process, *(descendants(process) if all_processes else [])])
            code = wait(process, WAIT_S)
        again = start(verb, folder)
        ended = wait(again, WAIT_S)
        if ended is None:
            kill([again, *descendants(again)])
        where = f"killed at write {1 + int(fraction * writes)}" if by_write else f"killed after {fraction:.0%}"
        if ended not in (0, 2):  # it may find that all is done: then the content is right
            return code != 0, f"{where}: resumed, it ended with {ended}: {(folder / 'log').read_text()[-500:]}"
        found = content(folder)
        other = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        return code != 0, f"{where}: {', '.join(other[:5])}" if other else ""


def attack(name: str, points: int, seed: int) -> tuple[int, list[str]]:
    """Kill a command at some points; return how often it was killed, and what was wrong."""
    verb, rng = VERBS[name], np.random.default_rng([seed, *name.encode()])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if not verb.spawns:  # import and compile here what every fork would have to
            with place(verb) as folder, contextlib.chdir(folder), contextlib.suppress(SystemExit):
                os.environ["CBE_BENCH_CACHE"] = str(folder / "cache")
                cbe_bench(list(verb.arguments))
    expected = undisturbed(verb)
    killed, wrong = 0, []
    for _ in range(points):
        hit, what = try_point(verb, rng, expected)
        killed += hit
        wrong += [what] if what else []
    return killed, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verb", action="append", choices=sorted(VERBS), help="default: all")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    any_wrong = False
    print(f"{'verb':<16}{'points':>7}{'killed':>8}{'wrong':>7}", flush=True)
    for name in asked.verb or VERBS:
        killed, wrong = attack(name, asked.points, asked.seed)
        print(f"{name:<16}{asked.points:>7}{killed:>8}{len(wrong):>7}", flush=True)
        for what in wrong[:20]:
            print(f"    {what}", flush=True)
        any_wrong |= bool(wrong)
    raise SystemExit(int(any_wrong))


if __name__ == "__main__":
    main()
