"""Classification experiments from a configuration to rows, tables and a figure."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened, run_experiment

pytestmark = pytest.mark.usefixtures("png_only")

CONFIG = Path(__file__).parents[2] / "configs" / "classification.yaml"
FEW = ("seeds=[0]", "encoders=[cbe-opt, hd3]")


def toy_file(path, rng, labels=None, rows=12 * 16):
    """Write features around 12 centres, with their labels, others, or none."""
    classes = np.arange(rows) % 12
    centres = np.random.default_rng(0).standard_normal((12, 64))
    with h5py.File(path, "w") as file:
        file["features"] = (centres[classes] + 1.5 * rng.standard_normal((rows, 64))).astype(np.float32)
        if labels is not False:
            file["labels"] = classes if labels is None else labels
    return path


class Recorder(Silent):
    def __init__(self):
        self.messages, self.ended = [], []

    def message(self, text):
        self.messages.append(text)

    def end(self, line, notes=()):
        self.ended.append(line)


def run(out, file, *overrides, resources=None, reporter=None):
    own = [f"data.file={file}", "center=false", "n_bits=[16,64]", "name=classification"]
    config = load_config(CONFIG, "smoke", [*own, *overrides])
    reporter = reporter or Silent()
    with opened(config, resources or Resources(), reporter) as experiment:
        return run_experiment(experiment, job_of(experiment, "smoke", out, "cbe-bench run"), reporter)


def test_run_writes_rows_table_and_figure_and_resumes(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng)
    outcome = run(tmp_path, file)
    folder = tmp_path / "smoke" / "classification"
    outputs = {"table.csv", "accuracy.png", "accuracy.pdf", "accuracy.svg"}
    assert {path.name for path in folder.iterdir()} == {"rows.jsonl", "experiment.json", "environments.json"} | outputs
    rows = outcome.results.rows
    assert len(rows) == 2 * (1 + 6 * 2)
    assert all(row.ok for row in rows)
    assert all(row.accuracy > 2 / 12 for row in rows if row.encoder == "original")
    table = outcome.report.table("table").set_index(["encoder", "n_bits"])
    lsh = [row.accuracy for row in rows if (row.encoder, row.n_bits) == ("lsh", 64)]
    assert table.loc[("lsh", 64), "accuracy_percent"] == pytest.approx(100 * np.mean(lsh))
    assert table.loc[("lsh", 64), "bytes_per_vector"] == 8
    assert table.loc[("original", 32 * 64), "bytes_per_vector"] == 256
    assert table.loc[("cbe-opt", 64), "accuracy_percent_paper"] == 24.55
    assert np.isnan(table.loc[("cbe-opt", 16), "accuracy_percent_paper"])
    before, reporter = (folder / "rows.jsonl").read_bytes(), Recorder()
    run(tmp_path, file, reporter=reporter)
    assert reporter.messages == ["resuming: 26 of 26 cells done"]
    assert (folder / "rows.jsonl").read_bytes() == before


def test_values_do_not_depend_on_threads_or_memory(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng)
    found = []
    for name, resources in (("one", Resources(threads=1)), ("two", Resources(threads=2, memory_bytes=2 << 30))):
        rows = run(tmp_path / name, file, *FEW, resources=resources).results.rows
        found.append([(row.key, row.test_accuracies, row.validation_accuracies) for row in rows])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (False, "has no labels"),
        (np.zeros(192, int), "all rows have the label 0"),
        (np.r_[np.zeros(190, int), 1, 1], "class 1 has 2 rows"),
    ],
)
def test_bad_labels_end_in_one_line_and_leave_nothing(labels, message, tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng, labels)
    with pytest.raises(InputError, match=message) as raised:
        run(tmp_path / "out", file)
    assert str(raised.value).startswith(str(file))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("classes=1", "classes: found 1"),
        ("costs=[1, 0]", "costs.1: found 0"),
        ("costs=[1, 1]", "costs: 1.0 given more than once"),
        ("protocol=released-code", "protocol: found 'released-code'"),
        ("encoders=[{name: lsh, label: original}]", "encoders: 'original' is the label of the features themselves"),
        ("test_per_clas=3", "test_per_clas: unknown key; did you mean 'test_per_class'"),
    ],
)
def test_bad_configurations(override, message):
    with pytest.raises(InputError) as raised:
        load_config(CONFIG, "smoke", [override])
    assert message in str(raised.value)


def test_too_little_memory_skips_with_a_reason(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng)
    rows = run(tmp_path, file, "encoders=[lsh]", resources=Resources(memory_bytes=300 << 20)).results.rows
    assert {row.status for row in rows} == {"skipped"}
    assert "the memory limit is 300 MiB" in rows[0].reason
    assert (tmp_path / "smoke" / "classification" / "table.csv").exists()
    assert not (tmp_path / "smoke" / "classification" / "accuracy.png").exists()


def test_a_bad_row_of_any_seed_ends_the_run_before_its_first_cell(tmp_path, rng):
    file = toy_file(tmp_path / "toy.h5", rng, rows=12 * 40)
    with h5py.File(file, "r+") as features:
        features["features"][3] = np.nan
    with pytest.raises(InputError, match="row 3 holds NaN"):
        run(tmp_path / "out", file, "encoders=[cbe-rand]", f"seeds={list(range(30))}")
    assert not list((tmp_path / "out").rglob("rows.jsonl"))


def test_training_sizes_of_encoders(tmp_path, rng):
    """Data-independent methods are fitted to no rows; others to their own number, at most all there are."""
    encoders = "encoders=[lsh, cbe-opt, {name: cbe-opt, label: few, n_train: 20}, {name: itq, n_train: 10000}]"
    config = load_config(
        CONFIG, "smoke", [f"data.file={toy_file(tmp_path / 'toy.h5', rng)}", "n_bits=[16]", "center=false", encoders]
    )
    with opened(config, Resources(), Silent()) as experiment:
        found = {cell.label: cell.spec.n_train for cell in experiment.cells("cells", ())}
    assert found == {"original": 0, "lsh": 0, "cbe-opt": 48, "few": 20, "itq": 48}


def test_rows_of_a_file_and_of_a_surrogate():
    config = load_config(CONFIG, "smoke")
    assert config.rows_needed == SyntheticFeatures.rows_for(8)
    assert config.rows_used(10) == SyntheticFeatures.rows_for(8, 10)
