"""The import rules, read from the sources: who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cbe_bench

ROOT = Path(cbe_bench.__file__).parent
ALLOWED = {
    "core": set(),
    "kernels": {"core"},
    "encoders": {"core", "kernels"},
    "data": {"core", "kernels"},
    "evaluators": {"core", "kernels", "encoders", "data"},
    "vectors": {"core", "kernels", "encoders", "data", "evaluators"},
    "reports": {"core", "encoders", "data", "evaluators"},
    "cli": {"core", "kernels", "encoders", "data", "evaluators", "vectors", "reports"},
    "__main__": {"cli"},
}
"""The packages that each package may import, itself aside."""
MODULES = sorted(ROOT.rglob("*.py"))
KINDS = {path.parent.name for path in ROOT.glob("evaluators/*/experiment.py")}


def name_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path: Path) -> set[tuple[str, ...]]:
    """Return the modules of the package that a module imports, as parts of their names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found |= {tuple(f"{node.module}.{alias.name}".split(".")) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
    return {name[1:] for name in found if name[0] == "cbe_bench" and len(name) > 1 and name[1] != "__version__"}


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path)], ids=ids)
def test_imports_point_down(path):
    own = name_of(path)
    for imported in imports(path):
        package = imported[0]
        assert package == own[0] or package in ALLOWED[own[0]], f"{'.'.join(own)} must not import {package}"


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path)[:1] == ("evaluators",)], ids=ids)
def test_kinds_of_experiments_never_import_each_other(path):
    own = name_of(path)
    for imported in imports(path):
        if imported[0] == "evaluators" and len(imported) > 1 and imported[1] in KINDS:
            assert own[1:2] == imported[1:2], f"{'.'.join(own)} must not import evaluators.{imported[1]}"


@pytest.mark.parametrize("path", sorted((ROOT / "encoders").glob("*.py")), ids=ids)
def test_methods_never_import_each_other(path):
    methods = {file.stem for file in (ROOT / "encoders").glob("*.py") if "\n@register(" in file.read_text()}
    own = name_of(path)[-1]
    imported = {name[1] for name in imports(path) if name[0] == "encoders" and len(name) > 1}
    assert not (imported & methods) - {own}, "what methods share belongs into a module that is no method"


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path)[0:1] == ("kernels",)], ids=ids)
def test_only_simd_imports_llvmlite(path):
    if name_of(path)[:2] == ("kernels", "simd"):
        return
    assert "llvmlite" not in path.read_text()


def test_every_package_has_a_rule():
    packages = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert packages - {"__init__", "__pycache__", "configs"} <= set(ALLOWED)


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
