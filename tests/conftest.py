import os
import tempfile

import numpy as np
import pytest

# Before anything is imported: plans, truths and hashes of the tests stay out of the user's cache.
_CACHE = tempfile.TemporaryDirectory(prefix="cbe-bench-tests-")
os.environ["CBE_BENCH_CACHE"] = _CACHE.name


@pytest.fixture
def rng():
    return np.random.default_rng(20140617)


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def png_only(request, monkeypatch):
    """Figures are drawn once, unless the test is about them: drawing takes longer than most small experiments."""
    from cbe_bench.core import report

    if "figure" not in request.node.name:
        monkeypatch.setattr(report, "FORMATS", {".png": report.FORMATS[".png"]})
