"""Damaged and hostile files against everything that opens one: each must be read, or refused in one line.

    python scripts/fuzz.py [--kind npy --kind h5 ...] [--cases 10000] [--seed 0] [--keep FOLDER]

A case is a valid small file of its kind, changed as a program that knows the format would change it, or blindly by
bytes, or both. Cases run one after the other in a child process with a limit on memory and time, so that a crash, a
hang or a greedy allocation costs one case and is counted. The table gives, for each kind, how many files were tried,
read, refused and wrong: anything but one printable line of `InputError` is wrong. The exit code is 1 if any was.
"""

import argparse
import collections
import contextlib
import faulthandler
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fuzzing.draw import change_bytes
from fuzzing.kinds import KINDS

from cbe_bench.core.errors import InputError

SECONDS = 20
"""Time of a case; its file is a few kilobytes."""
MEMORY_BYTES = 2 << 30
"""Address space a case may take beyond what the process has when it starts."""


class Case(NamedTuple):
    """How one case ended: "read", "refused", or what was wrong."""

    number: int
    outcome: str
    detail: str


def write_case(kind: str, number: int, seed: int, folder: Path) -> Path:
    """Write the file of a case: valid, changed in its structure, in its bytes, or in both."""
    rng = np.random.default_rng([seed, number, *kind.encode()])
    known = KINDS[kind]
    path = folder / f"case-{number}{known.suffix}"
    change_structure, change_content = rng.random() < 0.6, rng.random() < 0.7
    known.write(path, rng, change_structure)
    if change_content and path.is_file():
        path.write_bytes(change_bytes(path.read_bytes(), rng))
    return path


def run_case(kind: str, path: Path) -> tuple[str, str]:
    """Open and use a file; return how it ended, and what was said."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            KINDS[kind].use(path)
    except InputError as error:
        said = str(error)
        clear = said.isprintable() and (path.stem in said or not KINDS[kind].names_itself)
        return ("refused" if clear else "unclear message"), said
    except BaseException as error:
        return type(error).__name__, repr(error)
    return ("warning", str(warned[0].message)) if warned else ("read", "")


def child(kind: str, first: int, last: int, seed: int, folder: Path) -> None:
    """Run cases, a line of JSON before and after each."""
    KINDS[kind].use(_valid(kind, folder))  # what is imported or compiled only once counts for no case
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for number in range(first, last):
        path = write_case(kind, number, seed, folder)
        print(json.dumps({"number": number}), flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        outcome, detail = run_case(kind, path)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"number": number, "outcome": outcome, "detail": detail[:500]}), flush=True)
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)


def _valid(kind: str, folder: Path) -> Path:
    path = folder / f"valid{KINDS[kind].suffix}"
    KINDS[kind].write(path, np.random.default_rng(0), False)
    return path


def run_kind(kind: str, cases: int, seed: int, folder: Path) -> Iterator[Case]:
    """Run the cases of a kind in child processes, a new one after each that ends early."""
    first = 0
    while first < cases:
        command = [sys.executable, __file__, "--child", kind, str(first), str(cases), str(seed), str(folder)]
        started, ended = first - 1, first - 1
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                with contextlib.suppress(ValueError):
                    said = json.loads(line)
                    started = said["number"]
                    if "outcome" in said:
                        ended = started
                        yield Case(**said)
            errors = process.stderr.read()
        first = ended + 1
        if process.returncode:
            if started == ended:
                raise SystemExit(f"{kind}: the child process ended before case {first}: {errors[-2000:]}")
            outcome = "hang" if "Timeout" in errors else f"crash ({process.returncode})"
            yield Case(started, outcome, errors.strip()[-300:])
            first = started + 1


def main() -> None:
    """Run the kinds asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="default: all")
    parser.add_argument("--cases", type=int, default=1000, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="write the files of wrong cases here")
    asked = parser.parse_args()
    print(f"{'kind':<14}{'tried':>8}{'read':>8}{'refused':>9}{'wrong':>7}  what was wrong", flush=True)
    any_wrong = False
    for kind in asked.kind or list(KINDS):
        outcomes: collections.Counter[str] = collections.Counter()
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            for case in run_kind(kind, asked.cases, asked.seed, Path(folder)):
                outcomes[case.outcome] += 1
                if case.outcome not in ("read", "refused"):
                    wrong.append(case)
                    if asked.keep:
                        asked.keep.mkdir(parents=True, exist_ok=True)
                        write_case(kind, case.number, asked.seed, asked.keep)
        kinds = ", ".join(f"{n} {name}" for name, n in outcomes.items() if name not in ("read", "refused"))
        counts = f"{sum(outcomes.values()):>8}{outcomes['read']:>8}{outcomes['refused']:>9}{len(wrong):>7}"
        print(f"{kind:<14}{counts}  {kinds}", flush=True)
        for case in wrong[:20]:
            print(f"    case {case.number}: {case.outcome}: {case.detail}", flush=True)
        any_wrong |= bool(wrong)
    raise SystemExit(int(any_wrong))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        kind, first, last, seed, folder = sys.argv[2:]
        child(kind, int(first), int(last), int(seed), Path(folder))
    else:
        main()
