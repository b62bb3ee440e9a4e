"""Who may import whom, read from the sources."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cbe_bench

ROOT = Path(cbe_bench.__file__).parent
LEVELS = [
    {"core"},
    {"kernels"},
    {"encoders", "data"},
    {"evaluators"},
    {"config"},
    {"runner", "reports"},
    {"cli", "__main__"},
]
SIDEWAYS = {("runner", "config"), ("__main__", "cli")}


def level(room: str) -> int:
    return next(i for i, rooms in enumerate(LEVELS) if room in rooms)


def imported_rooms(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "cbe_bench" and len(parts) > 1 and parts[1] != "__version__":
                yield parts


def registers_a_method(module: str) -> bool:
    """Methods never import one another; what they share is in modules that are no method."""
    return "\n@register(" in (ROOT / "encoders" / f"{module}.py").read_text()


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts == ("__init__",):
        return
    room = parts[0]
    for imported in imported_rooms(path):
        other = imported[1]
        if other == room:
            if room == "encoders" and parts[-1] not in ("__init__", "base") and len(imported) > 2:
                assert not registers_a_method(imported[2]), f"{path.name} imports its neighbour {imported[2]}"
            continue
        allowed = level(other) < level(room) or (room, other) in SIDEWAYS
        assert allowed, f"{'.'.join(parts)} must not import {other}"


def test_every_module_has_a_level():
    rooms = {path.stem if path.is_file() else path.name for path in ROOT.iterdir() if path.suffix != ".typed"}
    assert rooms - {"__init__", "__pycache__"} == set().union(*LEVELS)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from cbe_bench.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "for verb in main.list_commands(None):\n"
        "    assert CliRunner().invoke(main, [verb, '--help']).exit_code == 0\n"
        "heavy = {'numpy', 'numba', 'pandas', 'matplotlib', 'h5py', 'sklearn', 'pydantic', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
