"""Places that cannot be written to: one line, exit code 2, nothing half-written, and the same command resumes."""

import json
import os
import resource
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.cache import cache_directory
from cbe_bench.core.locks import exclusive

CONFIG = {
    "title": "Tiny",
    "experiment": "retrieval",
    "data": {"name": "toy", "dim": 64},
    "n_bits": [16],
    "seeds": [0, 1],
    "encoders": ["cbe-rand", "lsh"],
    "n_database": 200,
    "n_train": 100,
    "n_queries": 10,
    "depth": 20,
}
RUN = ["run", "tiny.yaml", "--scale", "smoke"]
MAKE = ["data", "make", "flickr25600", "--rows", "40"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CBE_BENCH_CACHE", str(tmp_path / "cache"))
    Path("tiny.yaml").write_text(yaml.safe_dump(CONFIG))
    return tmp_path


@contextmanager
def files_of_at_most(n_bytes):
    """Let no file grow beyond a size, which looks to a program as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def call(arguments):
    return CliRunner().invoke(main, arguments)


def refusal(arguments):
    """Return the one line of an error."""
    done = call(arguments)
    assert done.exit_code == 2, done.output + repr(done.exception)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and done.stderr.endswith(errors[0] + "\n")
    return errors[0]


def recall_of_rows(folder):
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return {row["key"]: (row["recall"], row["recall_asymmetric"]) for row in rows}


def test_a_full_disk_leaves_nothing_half_written(place):
    assert call([*RUN, "--out", "once"]).exit_code == 0
    once, folder = place / "once/smoke/tiny", place / "results/smoke/tiny"
    sizes = {path.name: path.stat().st_size for path in once.iterdir()}
    for most in (0, 700, 1500, 40_000):
        with files_of_at_most(most):
            assert "File too large" in refusal(RUN)
        left = {path.name for path in folder.iterdir()}
        assert left <= sizes.keys(), "no temporary file"
        assert all(path.stat().st_size == sizes[path.name] for path in folder.glob("*.p*"))
    assert call(RUN).exit_code == 0
    assert {path.name for path in folder.iterdir()} == sizes.keys()
    torn = [line for line in (folder / "rows.jsonl").read_text().splitlines() if not line.endswith("}")]
    (folder / "rows.jsonl").write_text(
        "\n".join(line for line in (folder / "rows.jsonl").read_text().splitlines() if line not in torn)
    )
    assert recall_of_rows(folder) == recall_of_rows(once)


def test_a_full_disk_while_data_are_made(place):
    for most in (1000, 1_000_000):
        with files_of_at_most(most):
            assert "too large" in refusal(MAKE)
        assert not any((place / "data").iterdir())
    assert call(MAKE).exit_code == 0
    assert [path.name for path in (place / "data").iterdir()] == ["flickr25600.h5"]


@pytest.mark.parametrize("command", [[*RUN, "--out"], ["reproduce", "--configs", ".", "--out"], [*MAKE, "--folder"]])
def test_a_place_that_cannot_be_written_to_is_reported_before_anything_runs(command, place):
    (place / "file").write_text("")
    assert "file" in refusal([*command, "file/below"])
    assert not (place / "results").exists() and not (place / "cache").exists()


def test_a_cache_that_cannot_be_written_is_only_a_warning(place, monkeypatch, caplog):
    assert call([*RUN, "--out", "once"]).exit_code == 0
    (place / "file").write_text("")
    monkeypatch.setenv("CBE_BENCH_CACHE", str(place / "file" / "below"))
    assert call(RUN).exit_code == 0
    assert "could not be cached for the next run" in caplog.text
    assert recall_of_rows(place / "results/smoke/tiny") == recall_of_rows(place / "once/smoke/tiny")


def test_without_a_home_nothing_is_cached(place, monkeypatch, caplog):
    for name in ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "CBE_BENCH_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["no such user"])
    assert cache_directory().is_relative_to(os.devnull)
    assert call(RUN).exit_code == 0
    assert "could not be cached for the next run" in caplog.text
    assert not (place / "~").exists()


@pytest.mark.parametrize("command, folder", [(RUN, "results/smoke/tiny"), (MAKE, "data")])
def test_a_second_run_in_a_folder_waits_for_the_first(command, folder, place, monkeypatch):
    from cbe_bench.cli._progress import Progress

    said = []
    with ExitStack() as first:
        first.enter_context(exclusive(place / folder, said.append))

        def message(self, text):
            said.append(text)
            if "another run" in text:
                assert not any((place / folder).iterdir())
                first.close()

        monkeypatch.setattr(Progress, "message", message)
        assert call(command).exit_code == 0
    assert any(f"another run is writing to {folder}: waiting for it to end" in text for text in said)
    assert any((place / folder).iterdir())
