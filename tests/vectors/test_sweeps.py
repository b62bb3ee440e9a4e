"""Experiments on a Dask cluster of processes: the rows of a single process, also when a worker is killed."""

import json
import os
import pickle
import signal
import threading
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import load_rows
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened, run_experiment
from cbe_bench.vectors import cluster, sweeps
from cbe_bench.vectors.sweeps import _Waiting, on_cluster

pytest.importorskip("distributed")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("png_only")]

CONFIG = str(Path("configs/flickr.yaml").resolve())
SMALL = ("seeds=[0,1]", "n_bits=[16,32]", "fixed=[bits]", "encoders=[cbe-rand,itq,lsh]", "n_queries=20")
ABOUT_THE_RUN = {"wall_s", "fit_s", "encode_us_per_vector", "ended", "threads", "peak_memory_bytes", "environment"}


@pytest.fixture(scope="module")
def address():
    """The scheduler of a cluster of two processes."""
    with cluster.running(2, None) as run:
        yield run.client.scheduler.address


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X = np.random.default_rng(3).standard_normal((620, 40)).astype(np.float32) + 0.2
    path = tmp_path_factory.mktemp("file") / "own.npy"
    np.save(path, X)
    return path


def sweep(file, out, address=None, reporter=None, *, rerun=None):
    """Run the experiment and return its outcome."""
    config = load_config(CONFIG, "smoke", [*SMALL, f"data.file={file}"])
    reporter = reporter or Silent()
    with opened(config, Resources(), reporter) as experiment:
        job = job_of(experiment, "smoke", out, "cbe-bench run", rerun=rerun)
        return run_experiment(experiment, job, reporter, on_cluster(experiment, None, address))


@pytest.fixture(scope="module")
def here(file, tmp_path_factory):
    return sweep(file, tmp_path_factory.mktemp("here")).results


def decided(results):
    """Return what is decided by the cells, as it is stored."""
    lines = [row.to_json() for row in results.rows]
    return [json.dumps({k: v for k, v in line.items() if k not in ABOUT_THE_RUN}, sort_keys=True) for line in lines]


class Listening(Silent):
    def __init__(self):
        self.messages = []

    def message(self, text):
        self.messages.append(text)


class Killing(Silent):
    """Kills a worker at the end of the first cell."""

    def __init__(self, address):
        self.address, self.ended = address, 0

    def end(self, line, notes=()):
        self.ended += 1
        if self.ended == 1:
            with cluster._connected(self.address) as client:
                os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)


def test_rows_are_those_of_one_process_although_a_worker_is_killed(file, here, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reporter = Killing(address)
    found = sweep(os.path.relpath(file), tmp_path / "out", address, reporter).results
    assert reporter.ended == len(here.rows) == 12
    assert decided(found) == decided(here)
    assert {row.threads for row in found.rows} == {1}
    known = json.loads((found.folder / "environments.json").read_text())
    assert {row.environment for row in found.rows} <= known.keys()
    again = sweep(file, tmp_path / "out", address)
    assert [asdict(row) for row in again.results.rows] == [asdict(row) for row in found.rows]


def test_a_stopped_sweep_resumes(file, here, address, tmp_path):
    class Stopping(Silent):
        def end(self, line, notes=()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(file, tmp_path, address, Stopping())
    before = load_rows(tmp_path / "smoke" / "own" / "rows.jsonl", {row.type: type(row) for row in here.rows})
    assert len(before) == 1
    found = sweep(file, tmp_path, address).results
    assert decided(found) == decided(here)
    assert [row.ended for row in found.rows if row.key == before[0].key] == [before[0].ended]


def test_cells_too_large_for_a_worker_run_in_this_process(file, here, address, tmp_path, monkeypatch):
    most = sorted(row.memory_estimate_bytes for row in here.rows)[6]
    monkeypatch.setattr(cluster.ClusterRun, "memory_bytes", lambda self, limit: most)
    reporter = Listening()
    found = sweep(file, tmp_path, address, reporter).results
    assert decided(found) == decided(here)
    assert "cells that need more memory than a worker may use are evaluated in this process" in reporter.messages
    where = {(row.memory_estimate_bytes > most, row.threads) for row in found.rows}
    assert where == {(True, Resources().n_threads), (False, 1)}, "all threads of this process, or one of a worker"


def test_what_workers_cannot_do_is_a_row_or_one_line(file, address, tmp_path, monkeypatch):
    def dies(self, task, count, take, per_worker, lost):
        while (number := take("a")) is not None:
            yield number, lost(number)

    with monkeypatch.context() as patch:
        patch.setattr(cluster.ClusterRun, "run", dies)
        rows = sweep(file, tmp_path, address).results.rows
    assert {row.status for row in rows} == {"failed"} and "died" in rows[0].reason
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "suite_version", lambda: "another")
        with pytest.raises(InputError, match="another version of cbe-bench"):
            sweep(file, tmp_path, address, rerun="failed")
    task = sweeps.SweepTask(load_config(CONFIG, "smoke", [*SMALL, f"data.file={file}"]), "another", None, [(0, [])])
    with pytest.raises(InputError, match="another file there"):
        task.compute(0, None)


def test_a_worker_of_several_threads_evaluates_cells_in_the_context_of_their_group(monkeypatch):
    """Dask may begin a unit while another runs, and read it before: their contexts stay apart."""
    monkeypatch.setattr(sweeps, "prepared", lambda experiment, cells, reporter: cells[0][0])
    monkeypatch.setattr(sweeps, "evaluated", lambda experiment, job, cell, context, reporter: (cell, context))
    task = pickle.loads(pickle.dumps(sweeps.SweepTask(None, None, None, [(0, ["a1", "a2"]), (1, ["b1"])])))
    task.__dict__["_experiment"] = None
    content = [task.read(number) for number in (0, 1)]
    assert task.compute(0, content[0]).rows == [("a1", "a"), ("a2", "a")]
    assert task.compute(1, content[1]).rows == [("b1", "b")]
    begun, ended = threading.Event(), []

    def slow(experiment, job, cell, context, reporter):
        if not begun.is_set():
            begun.set()
            other = threading.Thread(target=lambda: ended.append(task.compute(1, None)))
            other.start()
            other.join(0.05)
            assert not ended, "one unit at a time"
            threads.append(other)
        return cell, context

    threads: list[threading.Thread] = []
    monkeypatch.setattr(sweeps, "evaluated", slow)
    assert task.compute(0, None).rows == [("a1", "a"), ("a2", "a")]
    threads[0].join()
    assert ended[0].rows == [("b1", "b")]


def test_a_worker_stays_with_the_context_it_has():
    waiting = _Waiting([0, 0, 0, 1, 1, 2])
    given = [waiting.take(worker) for worker in ("a", "b", "a", "b", "b", "a", "c")]
    assert given == [0, 3, 1, 4, 5, 2, None]


def test_time_outs_and_workers_exclude_each_other(tmp_path):
    result = CliRunner().invoke(main, ["run", CONFIG, "--workers", "2", "--timeout", "5", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert result.output == (
        "error: --timeout gives up cells of this process; it does not go with --workers and --scheduler\n"
    )


def test_without_dask_one_line_says_what_to_install(file, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(
        main,
        ["run", CONFIG, "--scale", "smoke", "--set", f"data.file={file}", "--workers", "2", "--out", str(tmp_path)],
    )
    assert result.exit_code == 2
    assert result.output.endswith("error: --workers and --scheduler need Dask: pip install 'cbe-bench[dask]'\n")
