"""A kind of experiment and a claim added from outside the package: configured, run, reported and judged like others."""

import json
import sys
import textwrap
from dataclasses import replace

import pandas as pd
import pytest
from click.testing import CliRunner

from cbe_bench.cli import main
from cbe_bench.core import plugins
from cbe_bench.core.errors import InputError
from cbe_bench.core.progress import Silent
from cbe_bench.core.resources import Resources
from cbe_bench.core.runner import plan
from cbe_bench.evaluators import base
from cbe_bench.evaluators.base import Experiment, all_claims, experiment_kinds, judge, load_experiments, register
from cbe_bench.evaluators.configs import load_config
from cbe_bench.evaluators.run import job_of, opened, run_experiment

PLUGIN = '''
"""How often coins show heads."""
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from cbe_bench.core.claims import Claim, Evidence, Source, outcome_of
from cbe_bench.core.code_version import code_version
from cbe_bench.core.config import BaseConfig, Positive
from cbe_bench.core.report import Figure, Report, Table
from cbe_bench.core.results import Row, Spec
from cbe_bench.core.runner import Cell
from cbe_bench.evaluators.base import Experiment, Measurement, register


class CoinConfig(BaseConfig):
    sizes = {"smoke": {"n_flips": 100}, "quick": {"n_flips": 1000}, "paper": {"n_flips": 10000}}
    experiment: Literal["coins"]
    n_flips: Positive
    coins: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class CoinSpec(Spec):
    coin: float
    n_flips: int


@dataclass(frozen=True, kw_only=True)
class CoinRow(CoinSpec, Row):
    type: ClassVar[str] = "coin"
    heads: float = math.nan


def judge(claim, results):
    verdicts = []
    for one in results:
        off = max(abs(row.heads - row.coin) for row in one.rows if row.ok)
        source = Source("coins", "simulated", one.name)
        verdicts.append(claim.decide([Evidence("coins", 0, off, off, off, outcome_of(off < 0.1, True))], source))
    return verdicts


CLAIM = Claim(id="C-mean", order=99, statement="Coins are what they say.", where="Section 9", rule="off by < 0.1",
              missing="no coins were flipped", judge=judge)


@register
class CoinExperiment(Experiment):
    kind = "coins"
    config_class = CoinConfig
    row_classes = (CoinRow,)
    claims = (CLAIM,)
    judged_from = "quick"

    @property
    def headline(self):
        return f"{len(self.config.coins)} coins"

    def cells(self, stage, rows):
        return [
            Cell(spec=CoinSpec(coin=coin, n_flips=self.config.n_flips), row_class=CoinRow, label=f"coin {coin}",
                 code=code_version([__name__]), title=f"coin {coin}", memory_bytes=1, seconds=0.0)
            for coin in self.config.coins
        ]

    def evaluate(self, cell, context, progress):
        progress(0.5)
        rng = np.random.default_rng(0)
        return {"heads": float((rng.random(cell.spec.n_flips) < cell.spec.coin).mean())}

    def summarise(self, row):
        return f"heads {row.heads:.2f}"

    @classmethod
    def report(cls, results):
        frame = pd.DataFrame([{"coin": row.coin, "heads": row.heads} for row in results.rows])
        return Report(tables=(Table("heads", frame, "Heads of every coin."),),
                      figures=(Figure("nothing", lambda: None, "Nothing."),), terminal=("heads",))

    @classmethod
    def measurements(cls, results):
        for row in results.rows:
            yield Measurement(row.label, "heads", row.heads, row.heads - 0.1, row.heads + 0.1)
'''
CONFIG = "title: Coins\nexperiment: coins\ncoins: [0.25, 0.5]\nsection: own\n"


@pytest.fixture
def registry(monkeypatch):
    """The kinds of experiments; those registered meanwhile are forgotten."""
    experiment_kinds()
    monkeypatch.setattr(base, "_KINDS", dict(base._KINDS))
    monkeypatch.setattr(plugins, "_loaded", {})
    yield base._KINDS


@pytest.fixture
def plugin(registry, tmp_path, monkeypatch):
    """An installed package, as far as Python can see: a module and the metadata that names its entry point."""
    site = tmp_path / "site"
    installed = site / "coins-1.0.dist-info"
    installed.mkdir(parents=True)
    (site / "coins_plugin.py").write_text(textwrap.dedent(PLUGIN))
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n")
    entries = "[cbe_bench.experiments]\ncoins = coins_plugin\nbroken = no_such_module\n"
    (installed / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(str(site))
    config = tmp_path / "coins.yaml"
    config.write_text(CONFIG)
    yield config
    sys.modules.pop("coins_plugin", None)


def test_a_kind_from_outside_is_run_reported_and_judged(plugin, tmp_path, caplog):
    config = load_config(plugin, "quick", ["coins.1=0.75"])
    assert (config.n_flips, config.coins) == (1000, (0.25, 0.75))
    assert "entry point broken of cbe_bench.experiments cannot be loaded" in caplog.text
    with opened(config, Resources(), Silent()) as experiment:
        job = job_of(experiment, "quick", tmp_path / "out", "cbe-bench run coins.yaml")
        assert [one.state for one in plan(experiment, job)] == ["to run"] * 2
        outcome = run_experiment(experiment, job, Silent())
        assert [one.state for one in plan(experiment, job)] == ["done"] * 2
    assert outcome.files == [str(job.folder / "heads.csv")]
    assert pd.read_csv(job.folder / "heads.csv")["coin"].tolist() == [0.25, 0.75]
    (results,) = load_experiments(tmp_path / "out" / "quick")
    assert [(row.label, row.ok) for row in results.rows] == [("coin 0.25", True), ("coin 0.75", True)]
    (verdict,) = (verdict for verdict in judge([results]) if verdict.claim == "C-mean")
    assert (verdict.outcome, verdict.experiment, verdict.where) == ("reproduced", "coins", "Section 9")
    (untested,) = (verdict for verdict in judge([]) if verdict.claim == "C-mean")
    assert (untested.outcome, untested.found) == ("not tested", "no coins were flipped")


def test_a_kind_from_outside_works_on_the_command_line(plugin, tmp_path):
    def invoke(*args):
        result = CliRunner().invoke(main, [str(arg) for arg in args])
        assert result.exit_code == 0, result.output
        return result.output

    out = tmp_path / "out"
    assert "coin 0.25: heads 0.2" in invoke("run", plugin, "--scale", "quick", "--out", out)
    assert "resuming: 2 of 2 cells done" in invoke("run", plugin, "--scale", "quick", "--out", out)
    verdicts = json.loads(invoke("claims", out / "quick", "--format", "json"))
    assert [one["outcome"] for one in verdicts if one["claim"] == "C-mean"] == ["reproduced"]
    invoke("report", out / "quick")
    assert "Heads of every coin." in (out / "quick" / "index.html").read_text()
    invoke("compare", out / "quick", out / "quick")


def test_results_of_the_smoke_scale_judge_nothing_unless_a_kind_says_so(plugin, tmp_path, monkeypatch):
    config = load_config(plugin, "smoke")
    with opened(config, Resources(), Silent()) as experiment:
        results = run_experiment(experiment, job_of(experiment, "smoke", tmp_path, "x"), Silent()).results
    for least, outcome in (("quick", "not tested"), ("smoke", "reproduced")):
        monkeypatch.setattr(experiment_kinds()["coins"], "judged_from", least)
        assert [one.outcome for one in judge([results]) if one.claim == "C-mean"] == [outcome]


def test_a_claim_is_one_object_beside_its_experiment(registry, monkeypatch):
    timing = experiment_kinds()["timing"]
    first = min(claim.order for claim in all_claims())
    claim = replace(timing.claims[0], id="X-new", order=first - 1)
    monkeypatch.setattr(timing, "claims", (*timing.claims, claim))
    assert all_claims()[0] is claim
    assert judge([])[0].claim == "X-new"


def test_a_kind_registered_by_hand_is_known_and_kinds_have_one_class(registry):
    class Own(Experiment):
        kind = "own"

    assert register(register(Own)) is Own
    assert experiment_kinds()["own"] is Own

    class Other(Experiment):
        kind = "own"

    with pytest.raises(ValueError, match="two experiments are of kind 'own': Own and Other"):
        register(Other)


def test_claims_have_ids_and_places_of_their_own():
    claims = all_claims()
    assert len({claim.id for claim in claims}) == len(claims) == len({claim.order for claim in claims})
    assert all(claim.statement and claim.where and claim.rule and claim.missing for claim in claims)


def test_results_of_an_unknown_kind(tmp_path):
    (tmp_path / "old").mkdir()
    described = {"name": "old", "title": "Old", "kind": "tiem", "scale": "quick", "command": "", "config": {}}
    (tmp_path / "old" / "experiment.json").write_text(json.dumps(described | {"labels": {}}))
    with pytest.raises(InputError, match="no experiment is of kind 'tiem'"):
        load_experiments(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        load_experiments(tmp_path / "none")
