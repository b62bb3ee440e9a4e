"""Blocks on a Dask cluster of processes: the same bytes, also when workers are killed."""

import os
import signal

import numpy as np
import pytest

from cbe_bench import CodeIndex, encode_file
from cbe_bench.core.errors import InputError
from cbe_bench.vectors.cluster import ClusterRun, running

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_workers_and_scheduler_exclude_each_other():
    with pytest.raises(InputError, match="choose one"), running(2, "tcp://x"):
        pass


def test_a_scheduler_that_does_not_answer_is_an_error_in_one_line(monkeypatch):
    from cbe_bench.vectors import cluster

    monkeypatch.setattr(cluster, "_SECONDS_TO_ANSWER", 0.2)
    with pytest.raises(InputError, match="does not answer"), running(None, "tcp://127.0.0.1:1"):
        pass


@pytest.mark.slow
def test_a_cluster_that_loses_workers_writes_the_same_bytes(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120_000, 256), dtype=np.float32)
    X[77_777] = 0
    np.save(tmp_path / "x.npy", X)
    encode_file(tmp_path / "x.npy", tmp_path / "here.h5", method="cbe-rand", n_bits=512)
    with CodeIndex.open(tmp_path / "here.h5") as index:
        expected = index.search(X[:20] + 1, 5), index.search(X[:20] + 1, 5, asymmetric=True)
    with running(2, None) as run:
        assert isinstance(run, ClusterRun)
        killed = []

        def kill(done, total, before):
            if not killed:
                workers = run.client.run(os.getpid)
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

        encode_file(tmp_path / "x.npy", tmp_path / "there.h5", method="cbe-rand", n_bits=512, run=run, rows_done=kill)
        assert killed
        assert (tmp_path / "there.h5").read_bytes() == (tmp_path / "here.h5").read_bytes()
        with CodeIndex.open(tmp_path / "there.h5") as index:
            for asymmetric, own in enumerate(expected):
                found = index.search(X[:20] + 1, 5, asymmetric=bool(asymmetric), run=run)
                assert np.array_equal(found.ids, own.ids) and np.array_equal(found.values, own.values)
