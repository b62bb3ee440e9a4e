"""A disk that is full: one line that names the file, nothing half-written, and the same command resumes."""

from contextlib import contextmanager

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main

resource = pytest.importorskip("resource", reason="there are no limits on the size of files")
ENCODE = ["encode", "rows.npy", "-o", "c.cbe.h5", "--method", "lsh", "--bits", "2048"]


@contextmanager
def no_file_above(n_bytes):
    """Let writing fail where a file would grow beyond this, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def run(*arguments, room=None):
    if room is None:
        return CliRunner().invoke(main, arguments)
    with no_file_above(room):
        return CliRunner().invoke(main, arguments)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).standard_normal((3000, 20)).astype(np.float32))


@pytest.mark.parametrize(
    ("room", "file"),
    [
        (10, "c.cbe.h5.partial/job.json"),
        (1000, "c.cbe.h5.partial/encoder.npz"),
        (300_000, "c.cbe.h5.partial/000000/000000000.npz"),
        (900_000, "c.cbe.h5"),
    ],
)
def test_encode_ends_in_one_line_and_resumes(room, file, rows, tmp_path):
    result = run(*ENCODE, room=room)
    assert result.exit_code == 2 and result.output.endswith(f"error: {file}: File too large\n")
    assert not (tmp_path / "c.cbe.h5").exists() and not list(tmp_path.rglob(".cbe-bench-*"))
    resumed = run(*ENCODE)
    assert resumed.exit_code == 0, resumed.output
    assert ("resuming" in resumed.output) == (room == 900_000)
    (tmp_path / "c.cbe.h5").rename("first.h5")
    assert run(*ENCODE).exit_code == 0
    assert (tmp_path / "c.cbe.h5").read_bytes() == (tmp_path / "first.h5").read_bytes()


@pytest.mark.parametrize("suffix", [".npy", ".jsonl", ".parquet"])
def test_search_ends_in_one_line(suffix, rows, tmp_path):
    run("encode", "rows.npy", "-o", "c.cbe.h5", "--method", "sign")
    result = run("search", "c.cbe.h5", "rows.npy", "-o", f"found{suffix}", room=2000)
    assert result.exit_code == 2 and result.output.endswith(f"error: found{suffix}: File too large\n")
    assert not list(tmp_path.glob("found*")) and not list(tmp_path.glob(".cbe-bench-*"))


def test_recommend_ends_in_one_line(rows):
    result = run("recommend", "rows.npy", "--methods", "sign", "--bits", "16", "--at", "10", "-o", "r", room=100)
    assert result.exit_code == 2 and result.output.endswith("error: r/frontier.csv: File too large\n")
