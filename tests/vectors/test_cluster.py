"""Blocks on a Dask cluster of processes: the same bytes, also when workers are killed."""

import os
import signal
from collections import Counter
from concurrent.futures import CancelledError

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


class Future:
    """A piece of work on workers that all die of some pieces, and with them of whatever they do beside these."""

    def __init__(self, cluster, number):
        self.cluster, self.number, self.lost = cluster, number, False

    def result(self):
        if self.number in self.cluster.deadly:
            for future in self.cluster.sent:
                future.lost = True
        if self.lost:
            raise CancelledError
        return 10 * self.number


class Client:
    """Two workers."""

    loop = None

    def __init__(self, deadly):
        self.deadly, self.sent, self.begun, self.n_tasks = deadly, [], Counter(), 0

    def nthreads(self):
        return {"a": 1, "b": 1}

    def scatter(self, task, **options):
        self.n_tasks += 1
        self.sent = []
        return task

    def submit(self, function, task, number, version, **options):
        self.begun[number] += 1
        self.sent.append(Future(self, number))
        return self.sent[-1]


class Ended(list):
    """Futures in the order they were sent."""

    def __init__(self, loop):
        super().__init__()

    add = list.append

    def __next__(self):
        return self.pop(0)


def test_a_piece_that_all_workers_die_of_is_given_up_and_no_other(monkeypatch):
    monkeypatch.setattr("distributed.as_completed", Ended)
    client, waiting = Client(deadly={2}), iter(range(8))
    found = dict(ClusterRun(client).run(None, 8, lambda worker: next(waiting, None), 2, lambda number: "lost"))
    assert found == {number: 10 * number for number in range(8)} | {2: "lost"}
    assert client.begun[2] == 3 and max(client.begun[number] for number in found if number != 2) == 2
    assert client.n_tasks == 1 + 3, "sent again after each loss"
    with pytest.raises(InputError, match="block 2: every worker that began it died"):
        list(ClusterRun(Client(deadly={2}))(None, range(8)))


@pytest.mark.slow
def test_workers_that_die_of_a_piece_end_neither_others_nor_the_run():
    class Deadly:
        def read(self, number):
            return number

        def compute(self, number, content):
            return os._exit(1) if number == 2 else content

    waiting = iter(range(5))
    with running(2, None) as run:
        assert isinstance(run, ClusterRun)
        found = dict(run.run(Deadly(), 5, lambda worker: next(waiting, None), 1, lambda number: "lost"))
    assert found == {0: 0, 1: 1, 2: "lost", 3: 3, 4: 4}


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
