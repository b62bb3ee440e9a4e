"""The version of the code that decides a value: a hash of the modules that compute it, and of all they import.

Comments, docstrings and layout do not count, nor do modules that only report, so editing those leaves results valid;
any change to what is computed gives another version, without a number to be raised by hand.
"""

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_PACKAGE = "cbe_bench"
_NEVER_DECIDE = tuple(f"{_PACKAGE}.{name}." for name in ("core", "evaluators.configs", "encoders.saving"))
"""What runs, stores, and reads configurations and files: what it reads is in the key by value or by hash."""


def code_version(modules: Iterable[str]) -> str:
    """Return the version of some modules, given by their dotted names.

    Followed are static imports of modules of the suite and of the package a module belongs to, at any depth, also
    within functions; not followed are a whole top-level package, what is imported by name at run time, and what never
    decides a value.
    """
    digest = hashlib.sha256()
    for name in sorted(_closure(frozenset(modules))):
        digest.update(name.encode() + _normalised(name).encode())
    return digest.hexdigest()[:16]


@cache
def suite_version() -> str:
    """Return the hash of all modules of the suite as they are: equal only where the same suite is installed."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _closure(modules: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name not in found and not f"{name}.".startswith(_NEVER_DECIDE):
            found.add(name)
            pending += _imports(name)
    return frozenset(found)


@cache
def _tree(name: str) -> ast.Module:
    source = _source(name)
    return ast.parse(source.read_text(encoding="utf-8")) if source else ast.Module(body=[], type_ignores=[])


@cache
def _source(name: str) -> Path | None:
    """Return the file of a module; None where there is no such module, or none in Python."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


@cache
def _imports(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports from the suite and from its own package."""
    packages = {_PACKAGE, name.partition(".")[0]}
    found = (module for module in _named(name) if module.partition(".")[0] in packages - {module})
    return tuple(dict.fromkeys(module for module in found if _source(module)))


def _named(name: str) -> Iterator[str]:
    """Yield the dotted names in the import statements of a module; some may be no modules."""
    source = _source(name)
    package = name if source and source.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def _normalised(name: str) -> str:
    """Return the code of a module without docstrings, comments and layout."""
    tree = _tree(name)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
