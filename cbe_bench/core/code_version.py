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
_NEVER_DECIDE = (f"{_PACKAGE}.core",)
"""Packages that run and store, and compute no result."""


def code_version(modules: Iterable[str]) -> str:
    """Return the version of some modules, given by their dotted names.

    Followed are static imports within the package the modules belong to, at any depth, also within functions.
    """
    digest = hashlib.sha256()
    for name in sorted(_closure(frozenset(modules))):
        digest.update(name.encode() + _normalised(name).encode())
    return digest.hexdigest()[:16]


@cache
def _closure(modules: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name not in found and not name.startswith(_NEVER_DECIDE):
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
    """Return the modules of the suite that a module imports."""
    return tuple(dict.fromkeys(module for module in _named(_tree(name)) if _source(module)))


def _named(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(f"{_PACKAGE}."))
        elif isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(f"{_PACKAGE}."):
            if node.module != _PACKAGE:
                yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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
