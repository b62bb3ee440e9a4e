"""HDF5 files that use a global heap, looked at in a child process first.

Strings of variable length and virtual datasets lie in a heap that the HDF5 library follows without checks: a damaged
one can make it loop for ever or crash. What happens to the child happens to it alone; strings are read there only.
Run as a script, this file is the child: it needs nothing but h5py.
"""

import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

_SECONDS = 10
_MEMORY_BYTES = 4 << 30
_KILL_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""
_SCANNED_BYTES = 1 << 26
"""Files up to this size are searched for a heap; larger ones are taken to have one."""
_HEAP_SIGNATURE = b"GCOL"
_MAX_CHARACTERS = 1 << 16
_MAX_ITEMS = 10_000
_MAX_DEPTH = 8


def probe(path: Path) -> dict[str, Any]:
    """Return the attributes of a file that are strings of variable length, after every object was opened elsewhere.

    Raises
    ------
    ValueError
        If the HDF5 library crashes or does not come to an end.
    """
    status = path.stat()
    return _probe(path.absolute(), status.st_size, status.st_mtime_ns)


def read_strings(path: Path, key: str) -> list[str]:
    """Return a one-dimensional dataset of strings of variable length; raises ValueError if it cannot be read."""
    found: list[str] = _ask(path, key)
    return found


def _has_heap(path: Path, size: int) -> bool:
    if not size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_HEAP_SIGNATURE) >= 0


@lru_cache(maxsize=64)
def _probe(path: Path, size: int, modified_ns: int) -> dict[str, Any]:
    found: dict[str, Any] = _ask(path) if size > _SCANNED_BYTES or _has_heap(path, size) else {}
    return found


def _ask(*arguments: object) -> Any:
    command = [sys.executable, "-P", __file__, str(os.getpid()), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError("the HDF5 library does not come to an end") from None
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        raise ValueError("the HDF5 library does not come to an end")
    if done.returncode < 0:
        raise ValueError("the HDF5 library crashes")
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1])
    return json.loads(done.stdout)


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else [_text(item) for item in value]


def _string_attributes(file: Any) -> dict[str, Any]:
    import h5py

    found = {}
    for name in list(file.attrs)[:_MAX_ITEMS]:
        kind = file.attrs.get_id(name).get_type()
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
            value = _text(file.attrs[name])
            if len(str(value)) <= _MAX_CHARACTERS:
                found[name] = value
    return found


def _open_all(group: Any, depth: int = 0) -> None:
    """Open what the group holds itself; what cannot be opened is reported by whoever asks for it."""
    import h5py

    for name in list(group)[:_MAX_ITEMS]:
        try:
            item = group[name] if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
        except Exception:
            continue
        if isinstance(item, h5py.Group) and depth < _MAX_DEPTH:
            _open_all(item, depth + 1)


def _limit(parent: int) -> None:
    """Take a limited time and memory, and no longer than the parent process lives, as far as the system can do it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_KILL_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the parent process is gone")


def _main(parent: str, path: str, key: str = "") -> None:
    import h5py

    _limit(int(parent))
    with h5py.File(path, "r") as file:
        if key:
            answer: Any = _text(file[key][:])
        else:
            _open_all(file)
            answer = _string_attributes(file)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main(*sys.argv[1:])
