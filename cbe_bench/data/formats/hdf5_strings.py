"""Strings of variable length in HDF5 files, read in a child process.

They lie in a heap that the HDF5 library follows without checks: a damaged one can make it loop for ever or crash. What
happens to the child happens to it alone. Run as a script, this file is the child: it needs nothing but h5py.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_SECONDS = 10
_MAX_CHARACTERS = 1 << 16
_MAX_ATTRIBUTES = 1000


def read_string_attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of a file that are strings of variable length, or lists of such, if not very long.

    Raises
    ------
    ValueError
        If they cannot be read.
    """
    found: dict[str, Any] = _ask(path)
    return found


def read_string_dataset(path: Path, key: str) -> list[str]:
    """Return a one-dimensional dataset of strings of variable length; raises ValueError if it cannot be read."""
    found: list[str] = _ask(path, key)
    return found


def _ask(*arguments: object) -> Any:
    command = [sys.executable, "-I", __file__, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError("the HDF5 library does not come to an end") from None
    if done.returncode < 0:
        raise ValueError("the HDF5 library crashes")
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1])
    return json.loads(done.stdout)


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else [_text(item) for item in value]


def _attributes(file: Any) -> dict[str, Any]:
    import h5py

    found = {}
    for name in list(file.attrs)[:_MAX_ATTRIBUTES]:
        kind = file.attrs.get_id(name).get_type()
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
            value = _text(file.attrs[name])
            if len(str(value)) <= _MAX_CHARACTERS:
                found[name] = value
    return found


if __name__ == "__main__":
    import h5py

    with h5py.File(sys.argv[1], "r") as file:
        answer = _attributes(file) if len(sys.argv) == 2 else _text(file[sys.argv[2]][:])
    sys.stdout.write(json.dumps(answer))
