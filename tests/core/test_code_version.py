"""Which changes of code give results another version."""

import importlib
import sys

import pytest

import cbe_bench.core.code_version as module
from cbe_bench.core.code_version import code_version

START = {
    "__init__.py": "",
    "method.py": 'from toy_methods import helper\n\n\ndef f(x):\n    """Double."""\n    return helper.twice(x)\n',
    "helper.py": "from .inner.deep import two\n\n\ndef twice(x):\n    return two * x\n",
    "other.py": "unrelated = 1\n",
    "lazy.py": "value = 1\n",
    "inner/__init__.py": "",
    "inner/deep.py": "def g():\n    import toy_methods.lazy\n\n\ntwo = 2\n",
}


@pytest.fixture
def version(tmp_path, monkeypatch):
    """Write a package with some files changed, and return the version of its method."""
    folder = tmp_path / "toy_methods"
    monkeypatch.syspath_prepend(str(tmp_path))

    def version_with(**changed):
        forget()
        for name, text in (START | {f"{key.replace('__', '/')}.py": text for key, text in changed.items()}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return code_version(["toy_methods.method"])

    yield version_with
    forget()


def forget():
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_methods"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    for function in vars(module).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def test_docstrings_comments_and_layout_do_not_count(version):
    text = START["method.py"].replace('"""Double."""', '"""Twice x."""\n    # why').replace("(x)\n", "(\n        x)\n")
    assert text.count("\n") == START["method.py"].count("\n") + 2
    assert version() == version(method=text)


@pytest.mark.parametrize(
    "changed",
    [
        {"method": START["method.py"].replace("(x)\n", "(x + 0)\n")},
        {"helper": START["helper.py"].replace("two *", "2 *")},
        {"inner__deep": START["inner/deep.py"].replace("two = 2", "two = 3")},
        {"lazy": "value = 2\n"},
    ],
    ids=["the module", "an imported one", "a relative import of one that is imported", "an import within a function"],
)
def test_any_other_change_counts(version, changed):
    assert version() != version(**changed)


def test_modules_that_are_not_imported_do_not_count(version):
    before = version()
    assert version(other="unrelated = 2\n") == before
    assert version(added="value = 1\n") == before


def test_names_that_vanish_are_followed_no_more(version):
    before = version(method="value = 1\n")
    assert version(method="value = 1\n", helper="changed = 1\n") == before


def closure(*names):
    return module._closure(frozenset(names))


def test_a_method_has_its_kernels_and_no_other_method():
    found = closure("cbe_bench.encoders.lsh")
    assert {"cbe_bench.encoders.lsh", "cbe_bench.encoders.base", "cbe_bench.kernels.bits"} <= found
    assert not found & {"cbe_bench.encoders.itq", "cbe_bench.encoders.circulant"}


def test_what_runs_and_reports_decides_no_value():
    kinds = ("timers", "classification.metrics", "retrieval.evaluator", "times.rounds")
    found = closure(*(f"cbe_bench.evaluators.{name}" for name in kinds))
    assert not [name for name in found if f"{name}.".startswith(("cbe_bench.core.", "cbe_bench.reports."))]
    assert not [name for name in found if name.endswith((".tables", ".figures", ".claims", ".experiment"))]
    read = ("cbe_bench.data.formats", "cbe_bench.data.sources", "cbe_bench.data.images", "cbe_bench.data.text")
    assert not [name for name in found if name.startswith(read)], "the data hash stands for how a file is read"
    assert "cbe_bench.evaluators.classification.svm" in found


def test_modules_can_be_given_in_any_order():
    names = ["cbe_bench.encoders.lsh", "cbe_bench.evaluators.timers"]
    assert code_version(names) == code_version(reversed(names))
    assert code_version(names) != code_version(names[:1])
