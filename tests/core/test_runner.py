"""The runner: every cell becomes a row, what is done is not run again, what goes wrong is recorded or ends the run."""

import gc
import math
import os
import signal
import threading
import warnings
import weakref
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from cbe_bench.core.errors import InputError
from cbe_bench.core.execution import run_here
from cbe_bench.core.locks import exclusive, fcntl, time_limit
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import Description, Row, Spec, load_description, load_results, load_rows
from cbe_bench.core.runner import Cell, Job, plan, run
from cbe_bench.evaluators.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class ToySpec(Spec):
    name: str


@dataclass(frozen=True, kw_only=True)
class ToyRow(ToySpec, Row):
    type: ClassVar[str] = "toy"
    value: float = math.nan


class Toy:
    """An experiment whose cells do what a function of their name says."""

    stages: ClassVar = ("cells",)
    timed_stages: ClassVar = ()

    def __init__(self, names, do=lambda name: 1.0, code="1", memory=None):
        self.names, self.do, self.code, self.memory = names, do, code, memory or {}
        self.prepared, self.evaluated = [], []

    def row_types(self):
        return {"toy": ToyRow}

    def cells(self, stage, rows):
        return [self.cell(name) for name in self.names]

    def expected_cells(self, stage, rows):
        return self.cells(stage, rows)

    def cell(self, name):
        return Cell(
            spec=ToySpec(name=name),
            row_class=ToyRow,
            code=self.code,
            label=name.upper(),
            title=f"cell {name}",
            memory_bytes=self.memory.get(name, 10),
            seconds=1.0,
            group=name[0],
        )

    def prepare(self, cells, reporter):
        self.prepared.append([cell.spec.name for cell in cells])

    def evaluate(self, cell, context, progress):
        self.evaluated.append(cell.spec.name)
        return {"value": self.do(cell.spec.name)}

    def summarise(self, row):
        return f"value {row.value:g}"


class Recorder(Silent):
    def __init__(self):
        self.messages, self.begun, self.ended = [], [], []

    def message(self, text):
        self.messages.append(text)

    def begin(self, n_cells, seconds, memory_bytes=0):
        self.begun.append((n_cells, seconds))

    def end(self, line, notes=()):
        self.ended.append((line, tuple(notes)))


def description():
    return Description(name="toy", title="Toy", kind="toy", scale="smoke", command="x", config={}, labels={})


@pytest.fixture
def job(tmp_path):
    return Job(folder=tmp_path / "toy", description=description(), resources=Resources(1, 100))


def rows_by_name(results):
    return {row.name: row for row in results.rows}


def fail(error):
    raise error


def test_every_cell_becomes_a_row(job):
    toy, reporter = Toy(["a1", "a2", "b1"], do=lambda name: float(name[1])), Recorder()
    results = run(toy, replace(job, data={"data": "mine", "data_kind": "user"}), reporter)
    assert [(row.name, row.value, row.status, row.label) for row in results.rows] == [
        ("a1", 1.0, "ok", "A1"),
        ("a2", 2.0, "ok", "A2"),
        ("b1", 1.0, "ok", "B1"),
    ]
    assert toy.prepared == [["a1", "a2"], ["b1"]], "once for each group"
    assert {(row.data, row.data_kind, row.threads, row.code) for row in results.rows} == {("mine", "user", 1, "1")}
    assert all(row.key == toy.cell(row.name).key and row.memory_estimate_bytes == 10 for row in results.rows)
    assert reporter.begun == [(3, 3.0)]
    assert reporter.ended[1] == ("cell a2: value 2", ())
    assert (job.folder / "environments.json").is_file()


def test_the_description_is_there_from_the_first_row_on(job):
    def look(name):
        if name == "a":
            assert not list(job.folder.iterdir()), "nothing is written before a cell has ended"
        else:
            assert load_description(job.folder).labels == {toy.cell(one).key: one.upper() for one in toy.names}
            assert [row.name for row in load_results(job.folder, toy.row_types()).rows] == ["a"]
        return 1.0

    toy = Toy(["a", "b"], look)
    assert [row.reason for row in run(toy, job, Silent()).rows] == ["", ""]


def test_a_run_without_rows_is_described(job):
    assert run(Toy([]), job, Silent()).rows == []
    assert load_description(job.folder).name == "toy"


@pytest.mark.parametrize("stop_at", ["a", "b", "c"])
def test_an_interrupted_run_resumes(stop_at, job):
    names = ["a", "b", "c"]
    with pytest.raises(KeyboardInterrupt):
        run(Toy(names, lambda name: fail(KeyboardInterrupt()) if name == stop_at else 1.0), job, Silent())
    done = names[: names.index(stop_at)]
    assert [row.name for row in load_rows(job.rows_file, {"toy": ToyRow})] == done
    if done:
        assert len(load_results(job.folder, {"toy": ToyRow}).rows) == len(done)
    toy, reporter = Toy(names), Recorder()
    results = run(toy, job, reporter)
    assert toy.evaluated == names[len(done) :]
    assert [row.name for row in results.rows] == names
    assert reporter.messages == ([f"resuming: {len(done)} of 3 cells done"] if done else [])


def test_what_is_done_is_not_run_again(job):
    run(Toy(["a", "b"]), job, Silent())
    before = job.rows_file.read_bytes()
    toy = Toy(["a", "b"])
    assert len(run(toy, job, Silent()).rows) == 2
    assert (toy.evaluated, toy.prepared) == ([], [])
    assert job.rows_file.read_bytes() == before


def test_rows_of_other_code_are_not_used(job):
    run(Toy(["a"], lambda name: 1.0), job, Silent())
    toy = Toy(["a"], lambda name: 2.0, code="2")
    assert [row.value for row in run(toy, job, Silent()).rows] == [2.0]
    assert len(load_rows(job.rows_file, toy.row_types())) == 2, "nor are they lost"
    assert [row.value for row in run(Toy(["a"]), job, Silent()).rows] == [1.0], "and count again for their own code"


def test_labels_are_those_of_the_latest_run(job):
    run(Toy(["a", "b"]), job, Silent())
    assert [row.label for row in run(Toy(["b"]), job, Silent()).rows] == ["B"]


@pytest.mark.parametrize(("rerun", "again"), [(None, []), ("failed", ["b"]), ("all", ["a", "b"])])
def test_rerun(rerun, again, job):
    run(Toy(["a", "b"], lambda name: fail(RuntimeError("broken")) if name == "b" else 1.0), job, Silent())
    toy = Toy(["a", "b"], lambda name: 2.0)
    found = rows_by_name(run(toy, replace(job, rerun=rerun), Silent()))
    assert toy.evaluated == again
    assert [found[name].value for name in again] == [2.0] * len(again)


def test_a_failing_cell_is_a_row_and_the_others_run(job):
    reporter = Recorder()
    toy = Toy(["a", "b", "c"], lambda name: fail(ZeroDivisionError("by zero")) if name == "b" else 1.0)
    found = rows_by_name(run(toy, job, reporter))
    assert [row.status for row in found.values()] == ["ok", "failed", "ok"]
    assert found["b"].reason == "ZeroDivisionError: by zero"
    assert math.isnan(found["b"].value)
    assert reporter.ended[1][0] == "cell b: failed: ZeroDivisionError: by zero"


def test_bad_input_ends_the_run_and_keeps_what_is_done(job):
    with pytest.raises(InputError, match="row 3"):
        run(Toy(["a", "b", "c"], lambda name: fail(InputError("row 3")) if name == "b" else 1.0), job, Silent())
    assert [row.name for row in load_results(job.folder, {"toy": ToyRow}).rows] == ["a"]


def test_cells_that_do_not_fit_are_skipped_and_judged_again(job):
    toy = Toy(["a1", "a2", "b1"], memory={"a2": 101, "b1": 1000})
    assert [one.state for one in plan(toy, job)] == ["to run", "too large", "too large"]
    found = rows_by_name(run(toy, job, Silent()))
    assert [row.status for row in found.values()] == ["ok", "skipped", "skipped"]
    assert found["a2"].reason == "needs about 101 B, the memory limit is 100 B"
    assert found["a2"].memory_estimate_bytes == 101
    assert toy.prepared == [["a1"]], "nothing is prepared for cells that do not run"
    larger = replace(job, resources=Resources(1, 500))
    assert [one.state for one in plan(toy, larger)] == ["done", "to run", "too large"]
    assert [row.status for row in run(toy, larger, Silent()).rows] == ["ok", "ok", "skipped"]


def test_a_plan_runs_and_writes_nothing(job):
    toy = Toy(["a"])
    plan(toy, job)
    assert not job.folder.exists()
    assert toy.evaluated == toy.prepared == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarm signals")
def test_a_cell_that_takes_too_long_is_given_up(job):
    toy = Toy(["a", "b"], lambda name: threading.Event().wait(60) if name == "a" else 1.0)
    found = rows_by_name(run(toy, replace(job, timeout=0.05), Silent()))
    assert (found["a"].status, found["a"].reason) == ("timeout", "took longer than 0.05 s")
    assert found["b"].ok
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert run(toy, job, Silent()) and toy.evaluated == ["a", "b"], "it is not tried again unless asked"
    assert rows_by_name(run(Toy(["a", "b"]), replace(job, rerun="failed"), Silent()))["a"].ok


def test_a_time_limit_needs_the_main_thread_and_sets_none_elsewhere():
    found = []

    def work():
        with time_limit(1e-9):
            found.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["done"]


def test_warnings_become_notes(job):
    def warn(name):
        for text in ("second", "first", "first"):
            warnings.warn(text, stacklevel=1)
        return 1.0

    reporter = Recorder()
    assert run(Toy(["a"], warn), job, reporter).rows[0].notes == ("first", "second")
    assert reporter.ended[0][1] == ("first", "second")


def test_warnings_of_what_is_shared_are_shown(job):
    class Warns(Toy):
        def prepare(self, cells, reporter):
            warnings.warn("few rows", stacklevel=1)

    reporter = Recorder()
    run(Warns(["a"]), job, reporter)
    assert reporter.messages == ["note: few rows"]


def test_what_cells_share_is_freed_before_the_next_is_prepared(job):
    class Shared:
        pass

    class Sharing(Toy):
        alive: ClassVar = []

        def prepare(self, cells, reporter):
            gc.collect()
            assert [one() for one in self.alive] == [None] * len(self.alive)
            shared = Shared()
            self.alive.append(weakref.ref(shared))
            return shared

        def evaluate(self, cell, context, progress):
            assert isinstance(context, Shared)
            return {}

    assert all(row.ok for row in run(Sharing(["a1", "a2", "b", "c"]), job, Silent()).rows)
    assert len(Sharing.alive) == 3


class Staged(Toy):
    """Cells of the second stage are named after the values of the first."""

    stages: ClassVar = ("first", "second")

    def cells(self, stage, rows):
        if stage == "first":
            return super().cells(stage, rows)
        return [self.cell(f"z{row.value:g}") for row in rows if row.name in self.names and row.ok]


def test_later_stages_depend_on_the_rows_of_earlier_ones(job):
    toy = Staged(["a", "b"], lambda name: {"a": 3.0, "b": 5.0}.get(name, 0.0))
    assert [one.cell.spec.name for one in plan(toy, job)] == ["a", "b"], "not known yet"
    results = run(toy, job, Silent())
    assert [row.name for row in results.rows] == ["a", "b", "z3", "z5"]
    assert [one.state for one in plan(toy, job)] == ["done"] * 4
    again = Staged(["a", "b"])
    assert len(run(again, job, Silent()).rows) == 4
    assert again.evaluated == []


def test_a_spec_may_fix_what_is_metadata_elsewhere(job):
    @dataclass(frozen=True, kw_only=True)
    class MachineSpec(Spec):
        name: str
        threads: int
        environment: str

    @dataclass(frozen=True, kw_only=True)
    class MachineRow(MachineSpec, Row):
        type: ClassVar[str] = "machine"
        value: float = math.nan

    class OnMachine(Toy):
        def row_types(self):
            return {"machine": MachineRow}

        def cell(self, name):
            spec = MachineSpec(name=name, threads=7, environment="there")
            return replace(super().cell(name), spec=spec, row_class=MachineRow)

    (row,) = run(OnMachine(["a"]), job, Silent()).rows
    assert (row.threads, row.environment) == (7, "there")


def test_metrics_may_replace_the_wall_time(job):
    class Timed(Toy):
        def evaluate(self, cell, context, progress):
            return {"value": 1.0, "wall_s": 12.5}

    assert run(Timed(["a"]), job, Silent()).rows[0].wall_s == 12.5


@pytest.mark.skipif(fcntl is None, reason="runs are not kept apart here")
def test_a_run_waits_for_another_in_its_folder(job):
    job.folder.mkdir(parents=True)
    other = os.open(job.folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)

    class Ends(Recorder):
        def message(self, text):
            super().message(text)
            os.close(other)  # the other run ends when this one says that it waits

    toy, reporter = Toy(["a"]), Ends()
    assert run(toy, job, reporter).rows[0].ok
    assert reporter.messages == [f"another run is writing to {job.folder}: waiting for it to end"]


@pytest.mark.skipif(fcntl is None, reason="runs are not kept apart here")
@pytest.mark.parametrize("error", [InputError("bad"), KeyboardInterrupt()])
def test_a_run_that_ends_early_releases_its_folder(error, job):
    with pytest.raises(type(error)):
        run(Toy(["a"], lambda name: fail(error)), job, Silent())
    with exclusive(job.folder, lambda text: pytest.fail(text)):
        pass


def test_seeds_depend_on_what_they_are_for():
    assert derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(1, "split") != derive_seed(0, "encoder")
    assert 0 <= derive_seed("any", 1, None) < 2**31
    assert derive_seed(0, "split") == 831871185, "rows of earlier runs rest on it, and no code version follows it"


class Timed(Staged):
    timed_stages: ClassVar = ("first",)


def test_cells_go_where_the_caller_says_unless_they_are_times(job):
    sent = []

    def elsewhere(workload, job, cells, reporter):
        sent.extend(cell.spec.name for cell in cells)
        yield from run_here(workload, job, reversed(cells), reporter)

    toy, reporter = Timed(["a", "b"], lambda name: {"a": 3.0, "b": 5.0}.get(name, 0.0)), Recorder()
    results = run(toy, job, reporter, elsewhere)
    assert sent == ["z3", "z5"]
    assert reporter.messages == ["times are measured in this process, alone, not by workers (2 cells)"]
    assert [row.name for row in load_rows(job.rows_file, toy.row_types())] == ["a", "b", "z5", "z3"]
    assert [row.name for row in results.rows] == ["a", "b", "z3", "z5"], "in the order of the cells"
