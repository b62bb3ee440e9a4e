"""Experiments on a Dask cluster of processes: the rows of a single process, also when a worker is killed."""

import json
import os
import signal
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
SMALL = ("seeds=[0,1]", "n_bits=[16,32]", "fixed=[bits]", "encoders=[cbe-rand,itq,cbe-opt,lsh,hd3,sh]", "n_queries=20")
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


def sweep(file, out, address=None, reporter=None, *, memory=None, rerun=None):
    """Run the experiment and return its outcome."""
    config = load_config(CONFIG, "smoke", [*SMALL, f"data.file={file}"])
    reporter = reporter or Silent()
    with opened(config, Resources(None, memory), reporter) as experiment:
        job = job_of(experiment, "smoke", out, "cbe-bench run", rerun=rerun)
        return run_experiment(experiment, job, reporter, on_cluster(experiment, None, address))


@pytest.fixture(scope="module")
def here(file, tmp_path_factory):
    return sweep(file, tmp_path_factory.mktemp("here")).results


def decided(results):
    """Return what is decided by the cells, as it is stored."""
    lines = [row.to_json() for row in results.rows]
    return [json.dumps({k: v for k, v in line.items() if k not in ABOUT_THE_RUN}, sort_keys=True) for line in lines]


class Killing(Silent):
    """Kills a worker at the end of the first cell."""

    def __init__(self, address):
        self.address, self.messages, self.ended = address, [], 0

    def message(self, text):
        self.messages.append(text)

    def end(self, line, notes=()):
        self.ended += 1
        if self.ended == 1:
            with cluster._connected(self.address) as client:
                os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)


def test_rows_are_those_of_one_process_although_a_worker_is_killed(file, here, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reporter = Killing(address)
    found = sweep(os.path.relpath(file), tmp_path / "out", address, reporter).results
    assert reporter.ended == len(here.rows) == 24
    assert decided(found) == decided(here)
    assert {row.threads for row in found.rows} == {1}
    known = json.loads((found.folder / "environments.json").read_text())
    assert {row.environment for row in found.rows} <= known.keys()
    again = sweep(file, tmp_path / "out", address, Killing(address))
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
    most = sorted(row.memory_estimate_bytes for row in here.rows)[12]
    monkeypatch.setattr(cluster.ClusterRun, "memory_bytes", lambda self, limit: most)
    reporter = Killing(address)
    reporter.ended = 1  # nothing is killed
    found = sweep(file, tmp_path, address, reporter).results
    assert decided(found) == decided(here)
    assert "cells that need more memory than a worker may use are evaluated in this process" in reporter.messages
    assert {row.peak_memory_bytes for row in found.rows if row.memory_estimate_bytes > most} != set()


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
        task.read(0)


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
