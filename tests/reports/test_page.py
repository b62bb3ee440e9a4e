"""The page of results: from small folders made by hand, and from a real run."""

import itertools
import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core.claims import Claim, Estimate, Source, Verdict
from cbe_bench.core.config import BaseConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Description, Row, append_row, write_description
from cbe_bench.core.statistics import difference_error
from cbe_bench.evaluators import base
from cbe_bench.evaluators.base import Experiment, judge, load_experiment, load_experiments, register
from cbe_bench.evaluators.retrieval.rows import RetrievalRow
from cbe_bench.evaluators.times.methods import TimedMethod
from cbe_bench.evaluators.times.rows import TimingRow
from cbe_bench.reports.advice import choices, summaries
from cbe_bench.reports.claim_summary import FAILING_FIRST, counts, summarise
from cbe_bench.reports.errata import ERRATA
from cbe_bench.reports.families import families_table
from cbe_bench.reports.page import PAPER, write_page
from cbe_bench.reports.page.explorer import explorer_data
from cbe_bench.reports.page.grid import grid_of
from cbe_bench.reports.page.scorecard import interval_bar
from cbe_bench.reports.page.text import duration, math
from cbe_bench.reports.readme import updated, write_readme

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "img", "br", "hr", "input"}
TRAINED = ("cbe-opt",)


class Document(HTMLParser):
    """Reads a page and holds that every tag is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loaded, self.titles = [], [], [], [], []
        self.texts = {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert len(values) == len(attrs), f"an attribute of {tag} recurs"
        if tag not in VOID:
            self.open.append((tag, values.get("id")))
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        elif tag == "link" or "src" in values:
            self.loaded.append(values.get("href") or values.get("src"))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        for _, name in self.open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data


def write_experiment(folder, rows, *, kind="retrieval", title="A title", section="", config=None, files=()):
    for row in rows:
        append_row(folder / "rows.jsonl", row)
    write_description(
        folder,
        Description(
            name=folder.name,
            title=title,
            kind=kind,
            scale="smoke",
            section=section,
            command=f"cbe-bench run configs/{folder.name}.yaml --scale smoke",
            config=config or {},
            labels={row.key: row.label for row in rows},
        ),
    )
    machine = {"cpu": "a processor", "cores": 2, "memory_gib": 24.0}
    (folder / "environments.json").write_text(json.dumps({"e1": machine}))
    for name in files:
        if name.endswith(".svg"):
            drawing = '<svg width="40pt" viewBox="0 0 40 20"><path id="i0" style="fill: #000000"/></svg>'
            (folder / name).write_text(drawing)
        else:
            (folder / name).write_text("n_bits,encoder,recall@100\n64,lsh,0.5\n")
    return load_experiment(folder)


def metadata(label, **more):
    """Return the fields that every row has."""
    found = {"key": f"key-{next(NUMBERS)}", "code": "c", "status": "ok", "label": label, "environment": "e1"}
    found |= {"threads": 2, "peak_memory_bytes": 3 << 30, "ended": "2026-11-17T17:09:42+00:00"}
    return found | more


NUMBERS = itertools.count()


def retrieval_rows(recalls, *, kind="real", n_bits=64, times=None):
    """Rows of a retrieval experiment from the recall of each method under each seed."""
    rows = [
        RetrievalRow(
            **metadata(name, data="some-features", data_kind=kind, wall_s=1.5),
            encoder=name,
            params={},
            n_bits=n_bits,
            seed=seed,
            split_seed=seed,
            n_train=500 if name in TRAINED else 0,
            n_train_pool=500 if name in TRAINED else 0,
            protocol="paper",
            data_hash="h",
            n_rows=1050,
            n_features=512,
            n_database=1000,
            n_queries=50,
            n_neighbours=10,
            depth=100,
            auc=False,
            depths=(1, 100),
            recall=(value / 2, value),
            recall_asymmetric=(value / 2, value),
        )
        for name, values in recalls.items()
        for seed, value in enumerate(values)
    ]
    for name, ratio in (times or {}).items():
        timed = TimedMethod.of(name, {})
        rows.append(
            TimingRow(
                **metadata(timed.encoder),
                encoder=timed.encoder,
                params=timed.params,
                n_features=512,
                n_bits=n_bits,
                batch=64,
                dtype="float32",
                rounds=2,
                encode_us_per_vector=10 * ratio,
                rounds_us=(10 * ratio, 10 * ratio),
            )
        )
    return rows


class OtherRow(Row):
    """A row of a kind of experiment that the suite does not come with."""

    type = "other"


class Other(Experiment):
    """A kind of experiment that the suite does not come with."""

    kind = "other"
    config_class = BaseConfig
    row_classes = (OtherRow,)
    headline = ""

    def cells(self, stage, rows):
        return []

    def evaluate(self, cell, context, progress):
        return {}

    def summarise(self, row):
        return ""

    @classmethod
    def report(cls, results):
        table = Table("values", pd.DataFrame({"value": [1.0]}), "Some values.")
        return Report(tables=(table,), figures=(Figure("some thing", lambda: None, "Some thing."),))


@pytest.fixture(autouse=True, scope="module")
def other_kind():
    register(Other)
    yield
    del base._KINDS["other"]


CONFIG = {"n_bits": [64], "fixed": ["time", "bits"], "seeds": [0, 1, 2], "sweep": None, "time_reference": "cbe-rand"}
RECALLS = {"cbe-opt": [0.60, 0.62, 0.64], "hd3": [0.599, 0.613, 0.632], "lsh": [0.5, 0.52, 0.51]}
TIMES = {"cbe-opt": 1.0, "hd3": 0.5, "lsh": 40.0}


@pytest.fixture
def results(tmp_path):
    """A folder of results: real, synthetic, timed, and a user's own of a kind nobody knows."""
    folder = tmp_path / "results"
    shown = ["recall.svg", "recall.csv", "recall.pdf", "recall-asymmetric.svg", "differences.svg", "table.csv"]
    shown += ["frontier.svg"]
    for name, kind in (("cifar10", "real"), ("flickr", "synthetic")):
        rows, title = retrieval_rows(RECALLS, kind=kind, times=TIMES), f"Features of {name}"
        write_experiment(folder / name, rows, config=CONFIG, files=shown, title=title, section="figures-1-3")
    timed = TimingRow(
        **metadata("cbe-rand", wall_s=0.04),
        encoder="cbe-rand",
        params={},
        n_features=1 << 15,
        n_bits=1 << 15,
        batch=2,
        dtype="float32",
        encode_us_per_vector=1000.0,
        encode_us_quartiles=(1000.0, 1000.0),
        samples_us=(1000.0, 1000.0),
        calls_per_sample=10,
        fit_s=1.0,
        plan_s=0.5,
        parameter_bytes=1 << 17,
    )
    files = ["growth.svg", "speedup.svg", "growth.pdf", "times.csv"]
    write_experiment(folder / "time", [timed], kind="timing", section="table-2", files=files)
    own = OtherRow(**metadata("x", data="a <b> & c", data_kind="user", wall_s=2.0))
    write_experiment(folder / "mine", [own], kind="other", title="<script>1</script> | x", files=["some thing.svg"])
    return folder


def page_of(folder):
    write_page(folder)
    text = (folder / "index.html").read_text()
    return Document(text), text, (folder / "REPORT.md").read_text()


def markdown_links(text):
    return re.findall(r"\]\(([^)]*)\)", text)


def test_page_is_whole_and_loads_nothing(results):
    document, text, twin = page_of(results)
    assert len(set(document.ids)) == len(document.ids)
    assert all(address.startswith("data:") for address in document.loaded)
    assert not re.search(r"@import|url\((?!#)|src=.http", text)
    assert "default-src 'none'" in text
    for target in document.links + markdown_links(twin):
        if target == PAPER:
            continue
        if target.startswith("#"):
            assert target[1:] in document.ids
        else:
            assert (results / unquote(target)).is_file(), target
    assert {"cifar10/recall.csv", "cifar10/recall.pdf", "time/times.csv", "mine/some%20thing.svg"} <= {
        *document.links,
        *markdown_links(twin),
    }


def test_every_verdict_is_on_the_page_and_in_its_twin(results):
    document, text, twin = page_of(results)
    verdicts = judge(load_experiments(results))
    assert verdicts
    table = twin.split("## The claims")[1].split("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(lines) == len(verdicts)
    for verdict, line in zip(verdicts, lines, strict=True):
        for said in (verdict.claim, verdict.statement, verdict.rule, verdict.data):
            assert math(said).striptags() in " ".join(document.texts["claims"].split())
        shown = [one.subject for one in verdict.evidence] or [verdict.found]
        assert all(math(said).striptags() in " ".join(document.texts["claims"].split()) for said in shown)
        assert line.startswith(f"| {verdict.claim} |")
        assert line.endswith(f"| **{verdict.outcome}** |")
    outcomes = re.findall(r'data-outcome="([a-z ]+)" id=', text)
    claims = summarise(verdicts)
    assert Counter(outcomes) == Counter(claim.outcome for claim in claims)
    assert outcomes == sorted(outcomes, key=FAILING_FIRST.index), "failing claims come first"
    for word, count in counts(claims).items():
        assert re.search(rf"\b{count}\s+{word}", document.texts["claims"])
        assert bool(re.search(rf"\b{count} (is|are) {word}", document.texts["findings"])) == (count > 0)
        assert f"**{count}** {word}" in twin


def made_up(outcome, kind, statement="s"):
    texts = dict.fromkeys(("found", "rule", "data", "experiment", "where", "measure"), "")
    return Verdict(claim="x", statement=statement, outcome=outcome, value=1.0, low=1.0, high=1.0, kind=kind, **texts)


@pytest.mark.parametrize(
    ("verdicts", "stands"),
    [
        ([("reproduced", "real"), ("not reproduced", "synthetic")], "reproduced"),
        ([("reproduced", "real"), ("not reproduced", "real")], "not reproduced"),
        ([("not tested", "real"), ("reproduced", "real")], "reproduced"),
        ([("vacuous", "simulated"), ("not tested", "simulated")], "vacuous"),
        ([("not reproduced", "synthetic")], "not reproduced"),
        ([("not tested", "")], "not tested"),
    ],
)
def test_a_claim_stands_as_on_the_weightiest_data(verdicts, stands):
    claims = summarise([*(made_up(*one) for one in verdicts), made_up("vacuous", "real", statement="another")])
    assert [claim.outcome for claim in claims] == [stands, "vacuous"]
    assert sum(counts(claims).values()) == 2


def test_synthetic_data_are_called_so(results):
    document, _, twin = page_of(results)
    assert "synthetic" in document.texts["experiment-flickr"]
    assert "synthetic" not in document.texts["experiment-cifar10"]
    assert "real data" in document.texts["experiment-cifar10"]
    assert re.search(r"synthetic\s+flickr|flickr\s+synthetic", document.texts["advice"])
    assert "**synthetic**: some-features, synthetic surrogate: 1,000 database rows" in twin
    order = [document.ids.index(f"experiment-{name}") for name in ("cifar10", "flickr")]
    assert order == sorted(order), "real data come first"


def test_each_experiment_says_how_to_make_it_again(results):
    document, _, twin = page_of(results)
    section = document.texts["experiment-cifar10"]
    for said in (
        "cbe-bench run configs/cifar10.yaml --scale smoke",
        "0, 1, 2",
        "14 s",
        "3.0 GiB",
        "e1",
        "n_bits: [64]",
    ):
        assert said in section
    assert "Made by `cbe-bench run configs/cifar10.yaml --scale smoke`, seeds 0, 1, 2; 12 ok" in twin
    assert "a processor, 2 cores, 24.0 GiB" in document.texts["data"]
    assert all(erratum.where in document.texts["errata"] for erratum in ERRATA)


def test_what_was_not_run_is_listed_with_its_command(results):
    document, _, twin = page_of(results)
    assert "cbe-bench run configs/fbe.yaml --scale smoke" in document.texts["figure-5"]
    assert "- fbe: not run here; `cbe-bench run configs/fbe.yaml --scale smoke`" in twin
    assert "configs/cifar10.yaml" not in document.texts["figures-1-3"].split("Not run here:")[1]


def test_commands_of_what_was_not_run_name_files_that_exist(results):
    _, _, twin = page_of(results)
    named = re.findall(r"not run here; `cbe-bench run (\S+)", twin)
    assert named
    assert not [name for name in named if not (ROOT / name).is_file()]


def test_an_experiment_of_ones_own_has_a_section(results):
    document, text, twin = page_of(results)
    section = document.texts["experiment-mine"]
    assert "<script>1</script> | x" in section
    assert "a <b> & c (user's file)" in section
    assert "Some thing." in section and "Some values." in section
    assert text.count("<script>") == 1, "text from results is escaped"
    assert "## Other experiments" in twin


def test_page_elsewhere_links_back(results, tmp_path):
    out = tmp_path / "elsewhere" / "page.html"
    written = write_page(results, out)
    assert written == [str(out), str(out.with_suffix(".md"))]
    document = Document(out.read_text())
    files = [link for link in document.links if not link.startswith("#") and link != PAPER]
    assert files
    assert all((out.parent / unquote(link)).is_file() for link in files)


def test_best_level_and_fastest_by_hand(results):
    (choice,) = choices(load_experiment(results / "cifar10"))
    assert [one.method for one in choice.standings] == ["cbe-opt", "hd3", "lsh"]
    best, second, last = choice.standings
    assert best.recall == pytest.approx(0.62)
    assert best.std == pytest.approx(0.02)
    assert best.trained
    assert not second.trained
    assert second.behind == pytest.approx(0.016 / 3)
    # what is left after a shift of each method and of each seed, by least squares; four degrees of freedom
    shifts = np.hstack([np.kron(np.eye(3), np.ones((3, 1))), np.kron(np.ones((3, 1)), np.eye(3))])
    table = np.array(list(RECALLS.values())).ravel()
    left = table - shifts @ np.linalg.lstsq(shifts, table, rcond=None)[0]
    half = 2.7764 * np.sqrt(2 * (left @ left) / 4 / 3)
    assert second.behind_low == pytest.approx(0.016 / 3 - half, abs=1e-6)
    assert last.behind_high == pytest.approx(0.11 + half, abs=1e-6)
    assert second.level
    assert last.behind == pytest.approx(0.11)
    assert not last.level
    assert choice.level == [second]
    assert choice.untrained is second
    assert choice.fastest is second
    assert choice.fastest.time == pytest.approx(0.5)
    assert choice.depth == 100


def test_two_methods_are_compared_by_students_paired_interval():
    # differences 0.001, 0.007, 0.008: standard deviation 0.0037859; Student's 4.3027 for two degrees of freedom
    half = 4.3027 * 0.0037859 / 3**0.5
    assert difference_error([RECALLS["cbe-opt"], RECALLS["hd3"]]) == pytest.approx(half, abs=1e-6)
    assert np.isnan(difference_error([[0.5], [0.6]]))


def test_few_seeds_of_many_methods_still_tell_them_apart(tmp_path):
    rng = np.random.default_rng(0)
    recalls = {f"method-{i}": 0.5 + 0.02 * i + rng.normal(0, 0.001, 2) for i in range(6)}
    rows = retrieval_rows({name: values.tolist() for name, values in recalls.items()})
    (choice,) = choices(write_experiment(tmp_path / "x", rows, config=CONFIG))
    assert choice.best.method == "method-5"
    assert choice.level == []


def test_a_faster_method_beyond_a_point_is_not_named(tmp_path):
    rows = retrieval_rows({"cbe-opt": [0.7, 0.7], "hd3": [0.68, 0.68]}, times={"cbe-opt": 1.0, "hd3": 0.1})
    (choice,) = choices(write_experiment(tmp_path / "x", rows, config=CONFIG))
    assert choice.fastest.method == "cbe-opt"
    assert choice.level == []


def test_one_seed_tells_nothing_of_noise(tmp_path):
    rows = retrieval_rows({"cbe-opt": [0.7], "lsh": [0.2]})
    experiment = write_experiment(tmp_path / "x", rows, config=CONFIG)
    (choice,) = choices(experiment)
    assert choice.level == choice.standings[1:]
    assert summaries([experiment])[0].best == [("cbe-opt", 1)]
    assert choice.fastest is None
    document, _, _ = page_of(tmp_path)
    assert "one seed: not known" in document.texts["advice"]
    assert "not timed" in document.texts["advice"]


def test_only_seeds_all_methods_have_are_compared(tmp_path):
    rows = retrieval_rows({"cbe-opt": [0.7, 0.1], "lsh": [0.6]})
    (choice,) = choices(write_experiment(tmp_path / "x", rows, config=CONFIG))
    assert choice.seeds == 1
    assert choice.best.recall == 0.7


def test_sweeps_and_other_kinds_give_no_advice(results, tmp_path):
    rows = retrieval_rows(RECALLS)
    sweep = write_experiment(tmp_path / "sweep", rows, config={**CONFIG, "sweep": "lam"})
    assert choices(sweep) == []
    assert choices(load_experiment(results / "time")) == []
    lines = summaries(load_experiments(results))
    assert [line.experiment for line in lines] == ["cifar10", "flickr"]
    assert lines[0].best == [("cbe-opt", 1), ("hd3", 1)]


def test_chart_draws_what_the_rows_say(tmp_path):
    rows = retrieval_rows(RECALLS, times=TIMES) + retrieval_rows({"cbe-opt": [0.8], "lsh": [0.7]}, n_bits=128)
    experiment = write_experiment(tmp_path / "x", rows, config={**CONFIG, "n_bits": [64, 128]})
    entry = explorer_data(experiment)
    assert entry["bits"] == [64, 128]
    lines = {line["name"]: line["points"] for line in entry["lines"]}
    first, second = lines["cbe-opt"]
    assert (first["deep"], first["deep_std"], first["us"]) == (0.62, 0.02, 10.0)
    assert first["less"] == pytest.approx(11.0) and first["less_std"] > 0
    assert (second["deep"], second["deep_std"], second["us"]) == (0.8, None, None)
    assert entry["baseline"] == "lsh" and entry["d"] == 512
    assert lines["hd3"][1] is None, "a method without rows there has no point"
    document, text, _ = page_of(tmp_path)
    assert json.loads(text.split('id="explorer-data">')[1].split("</script>")[0]) == [entry]
    assert "explorer" in document.ids


def test_formulas_are_written_as_in_the_paper():
    assert math("d = 2^15, lambda <= sqrt(k), pi/3") == "d = 2<sup>15</sup>, λ ≤ √(k), π/3"
    assert math("<b> lambda-sweep configs/lambda.yaml") == "&lt;b&gt; λ-sweep configs/lambda.yaml"


def test_an_interval_is_drawn_against_its_region():
    texts = dict.fromkeys(("id", "statement", "where", "rule", "missing"), "")
    claim = Claim(**texts, judge=lambda *_: [], region=(0.0, float("nan")))
    drawn = [
        interval_bar(claim.verdict("reproduced", Estimate(value, value - 1, value + 1), "", Source("", "real", "x")))
        for value in (5.0, -5.0)
    ]
    places = [
        (float(re.search(r'region" x="([\d.]+)', one)[1]), float(re.search(r'cx="([\d.]+)', one)[1])) for one in drawn
    ]
    assert places[0][1] > places[0][0] and places[1][1] < places[1][0]
    assert interval_bar(made_up("vacuous", "real")) == "", "nothing is drawn without a region"


def test_durations_are_written_as_a_person_would():
    assert [duration(value) for value in (4.24, 42.4, 200, 3900)] == ["4.2 s", "42 s", "3 min 20 s", "1 h 05 min"]


def test_an_interrupted_run_is_on_the_page_and_says_so(tmp_path):
    rows = retrieval_rows(RECALLS)
    write_experiment(tmp_path / "cifar10", rows, config=CONFIG)
    description = json.loads((tmp_path / "cifar10" / "experiment.json").read_text())
    description["labels"] |= {"not-run-yet": "lsh", "nor-this": "lsh"}
    (tmp_path / "cifar10" / "experiment.json").write_text(json.dumps(description))
    document, _, _ = page_of(tmp_path)
    assert "Incomplete: 2 of its cells have not been run" in document.texts["experiment-cifar10"]


def test_tables_read_well():
    frame = pd.DataFrame(
        {
            "data": ["x", "x"],
            "d": [32768, 1000],
            "n_bits": [1600, 800],
            "full_ms": [250.1, "- (4.0 TiB)"],
            "full_ms_paper": [544, None],
            "full_ms_paper_std": [3.5, None],
            "recall@10": [0.51234, 0.5],
            "recall@10_std": [0.0012, None],
            "note": [None, None],
        }
    )
    grid = grid_of(frame)
    assert grid.columns == ["d", "n bits", "full ms", "recall@10"]
    assert [cell.plain for cell in grid.lines[0]] == ["2^15", "1,600", "250 (544 ± 3.5)", "0.512 ± 0.001"]
    assert [cell.plain for cell in grid.lines[1]] == ["1,000", "800", "- (4.0 TiB)", "0.500"]
    assert [cell.key for cell in grid.lines[0]][:2] == [32768.0, 1600.0]


def run(*args, code=0):
    result = CliRunner().invoke(main, ["report", *map(str, args)])
    assert result.exit_code == code, result.output
    return result.output


def test_nothing_to_report_is_told_in_a_line(tmp_path):
    for folder, said in ((tmp_path, "no results there"), (tmp_path / "absent", "no such folder")):
        output = run(folder, code=2)
        assert output.startswith(f"error: {folder}: {said}")
        assert output.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_not_its_own_twin(results, tmp_path):
    output = run(results, "--out", tmp_path / "page.md", code=2)
    assert "the same name" in output
    assert not (tmp_path / "page.md").exists()


def test_default_folder_is_the_own_of_the_largest_scale(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results.rename(tmp_path / "there")
    (tmp_path / "results" / "reference").mkdir(parents=True)
    (tmp_path / "there").rename(tmp_path / "results" / "reference" / "paper")
    assert "\nwrote results/reference/paper/index.html\n" in run()
    for scale in ("quick", "paper"):
        shutil.copytree(tmp_path / "results" / "reference" / "paper", tmp_path / "results" / scale)
        assert run().startswith(f"wrote results/{scale}/index.html\n")


def test_report_of_a_real_run(tmp_path):
    few = ["--set", "seeds=[0, 1]", "--set", "n_bits=[32]", "--set", "data.keep_dims=64"]
    few += ["--set", "encoders=[cbe-rand, lsh]", "--set", "fixed=[bits]"]
    config = str(ROOT / "configs" / "flickr.yaml")
    arguments = ["run", config, "--scale", "smoke", "--out", str(tmp_path), *few]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    output = run(tmp_path / "smoke")
    assert output == "".join(f"wrote {tmp_path}/smoke/{name}\n" for name in ("index.html", "REPORT.md"))
    page = (tmp_path / "smoke" / "index.html").read_text()
    document = Document(page)
    assert "synthetic surrogate: 1,000 database rows" in document.texts["experiment-flickr"]
    assert page.count('<svg class="plot"') == 1, "differences to lsh; the paper's layout is linked"
    assert "#ffffff" not in page.split("</style>", 1)[1], "figures have the colours of the page"
    assert "recall@100" in document.texts["experiment-flickr"]


README = "# x\n\n<!-- generated: claims -->\nold\n<!-- end -->\nkept\n<!-- generated: advice -->\n<!-- end -->\n"


def test_readme_parts_come_from_rows(results, tmp_path):
    path = tmp_path / "README.md"
    path.write_text(README)
    assert write_readme(path, results) == [str(path)]
    text = path.read_text()
    assert text.startswith("# x\n\n<!-- generated: claims -->\n| claim | the paper says |")
    assert "\nold\n" not in text
    assert "\n<!-- end -->\nkept\n<!-- generated: advice -->\nDrawn from the rows" in text
    claims = summarise(judge(load_experiments(results)))
    lines = [line for line in text.splitlines() if line.startswith("|")][2 : 2 + len(claims)]
    for claim, line in zip(claims, lines, strict=True):
        assert line.startswith(f"| {claim.first.claim} |")
        assert line.endswith(f"| **{claim.outcome}** |")
    assert updated(text, results, path) == text
    assert updated(text.replace("cbe-opt (1 of 1)", "cbe-opt (2 of 1)"), results, path) == text, "a wrong block differs"
    assert run(results, "--readme", path) == f"wrote {path}\n"
    assert not (results / "index.html").exists()


def test_table_2_in_a_readme_has_the_papers_times_beside(results, tmp_path):
    text = updated("<!-- generated: table2 -->\n<!-- end -->", results, tmp_path / "README.md")
    assert "| d | n bits | circulant ms |\n| --- | --- | --- |\n| 2^15 | 2^15 | 1 (1.11) |\n" in text
    text = updated("<!-- generated: summary -->\n<!-- end -->", results, tmp_path / "README.md")
    assert re.search(r"\*\*\d+\*\* reproduced, \*\*\d+\*\* not reproduced", text)


def test_readme_faults_are_told(results, tmp_path):
    with pytest.raises(InputError, match="cannot generate 'claim'; did you mean 'claims'"):
        updated("<!-- generated: claim -->\n<!-- end -->", results, tmp_path / "README.md")
    with pytest.raises(InputError, match="no results to make 'advice' from"):
        (tmp_path / "few").mkdir()
        (results / "time").rename(tmp_path / "few" / "time")
        updated("<!-- generated: advice -->\n<!-- end -->", tmp_path / "few", tmp_path / "README.md")
    for text in ("<!-- generated: claims -->\nx\n", README.replace("old\n<!-- end -->", "old")):
        with pytest.raises(InputError, match="'claims' has no <!-- end -->"):
            updated(text, results, tmp_path / "README.md")


def test_readme_agrees_with_the_committed_rows():
    path = ROOT / "README.md"
    text = path.read_text()
    assert updated(text, ROOT / "results" / "reference" / "paper", path) == text, (
        "run: cbe-bench report results/reference/paper --readme README.md"
    )


def verdict(claim, experiment, outcome, kind="real"):
    numbers = {"value": 1.5, "low": 1.0, "high": 2.0}
    words = {"measure": "points", "found": "", "rule": "", "data": "", "where": "", "statement": f"says {claim}"}
    return Verdict(claim=claim, experiment=experiment, outcome=outcome, kind=kind, **numbers, **words)


def test_claims_stand_by_families_of_features(tmp_path):
    files = {"a": "cifar10-vlad25600", "b": "fashion-mnist-vlad25600", "c": "movie-reviews-tfidf25600", "d": "mine"}
    experiments = [
        write_experiment(tmp_path / name, [], config={"data": {"name": stem, "file": f"data/{stem}.h5"}})
        for name, stem in files.items()
    ]
    verdicts = [
        verdict("A", "s", "reproduced", "synthetic"),
        verdict("A", "a", "reproduced"),
        verdict("A", "b", "not reproduced"),
        verdict("A", "c", "reproduced"),
        verdict("A", "a, c", "vacuous"),  # about no family alone
        verdict("B", "d", "not tested", "user"),
        verdict("B", "c", "reproduced"),
        verdict("C", "a", "reproduced"),  # on one family only
        verdict("D", "e", "reproduced", "machine"),
    ]
    table = families_table(verdicts, experiments)
    assert table.families == ["VLAD of photos", "text (TF-IDF)", "mine", "synthetic surrogates"]
    outcomes = [{name: found.outcome for name, found in one.by_family.items()} for one in table.claims]
    assert [one.claim for one in table.claims] == ["A", "B"]
    assert outcomes[0] == {
        "VLAD of photos": "not reproduced",
        "text (TF-IDF)": "reproduced",
        "synthetic surrogates": "reproduced",
    }
    assert outcomes[1] == {"text (TF-IDF)": "reproduced", "mine": "not tested"}
    assert families_table(verdicts[-2:], experiments) is None
