"""Configurations, overrides, results and cached files, and how their content is changed."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from fuzzing.draw import NUMBERS, change_bytes, pick
from numpy.random import Generator

CONFIGS = Path(__file__).parents[2] / "configs"
NAMES = ("angles", "cifar10", "classification", "convergence", "flickr", "lambda", "semisup", "table1", "table2")
WORDS = ("", "lsh", "cbe-opt", "$x$", "<script>", "a\nb", "../..", "\x1b[2J", "é", "smoke", "0" * 5000, "nan", "1e999")
HARMFUL = (
    "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 30)),
    "x: !!python/object/apply:os.abort []\n",
    "? [a]\n: 1\n",
    "title: twice\n",
    f"n: 0x{'f' * 9999}",
)
KEYS = (
    *("n_bits", "seeds", "encoders", "data.file", "data.dim", "data", "encoders.0.params.n_iter", "scales.smoke"),
    *("encoders.lsh.label", "depth", "a..b", ".", "", "encoders.-1", "encoders.99", "title.x", "name", "fixed"),
)
RESULTS = Path(__file__).parents[2] / "results" / "reference" / "paper"
_ROWS_OF_A_CASE = 12
_DRAWN_EVERY = 200
"""Figures and the page take a second: only those of one case in so many are drawn."""


def odd_value(rng: Generator) -> Any:
    """Draw a value of any type that YAML and JSON know."""
    number = int(pick(rng, NUMBERS))
    plain = [None, True, number, float(number), -0.5, float("nan"), float("inf"), pick(rng, WORDS), [], {}, [number]]
    nested: Any = number
    for _ in range(int(rng.integers(1, 200))):
        nested = [nested]
    odd = [[number, number], {"name": "lsh"}, {pick(rng, WORDS): number}, nested, [None, "x"], list(range(300))]
    return pick(rng, plain + odd)


def change_tree(tree: Any, rng: Generator) -> Any:
    """Replace, remove, rename or add something at some depth of a tree of values."""
    tree = copy.deepcopy(tree)
    for _ in range(int(rng.integers(1, 4))):
        place = tree
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            inner = [key for key in keys if isinstance(place[key], dict | list) and len(place[key])]
            if not inner or rng.random() < 0.4:
                break
            place = place[pick(rng, inner)]
        if not keys:
            continue
        key, way = pick(rng, keys), int(rng.integers(6))
        if way == 0:
            del place[key]
        elif way == 1 and isinstance(place, dict):
            place[pick(rng, WORDS)] = place.pop(key)
        elif way == 2 and isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        else:
            place[key] = odd_value(rng)
    return tree


@cache
def config_text(name: str) -> str:
    """Return a configuration of the suite."""
    return (CONFIGS / f"{name}.yaml").read_text()


def write_config(path: Path, rng: Generator, change: bool) -> None:
    """Write a configuration of the suite, with changed values or with YAML that means harm."""
    text = config_text(pick(rng, NAMES))
    if change:
        text = yaml.safe_dump(change_tree(yaml.safe_load(text), rng), sort_keys=False)
        if rng.random() < 0.2:
            bomb = "a: &a [x, x]\n" + "".join(
                f"b{i}: &b{i} [*{'a' if i == 0 else f'b{i - 1}'}, *a]\n" for i in range(30)
            )
            harm = [
                bomb,
                "x: !!python/object/apply:os.abort []\n",
                "? [a]\n: 1\n",
                "title: twice\n",
                "n: 0x" + "f" * 9999,
            ]
            text += pick(rng, harm)
    path.write_text(text)


def use_config(path: Path, overrides: tuple[str, ...] = ()) -> None:
    """Read a configuration and list its cells, as a dry run does."""
    from cbe_bench.core.progress import Silent
    from cbe_bench.core.resources import Resources
    from cbe_bench.core.runner import plan
    from cbe_bench.evaluators.configs import load_config
    from cbe_bench.evaluators.run import job_of, opened

    config = load_config(path, "smoke", overrides)
    with opened(config, Resources(1, 1 << 30), Silent()) as experiment:
        plan(experiment, job_of(experiment, "smoke", path.parent / "none", ""))


def write_override(path: Path, rng: Generator, change: bool) -> None:
    """Write the argument of `--set`, behind the name of the configuration it is for."""
    name, text = pick(rng, NAMES), "title=x"
    if change:
        keys = [
            "n_bits",
            "seeds",
            "encoders",
            "data.file",
            "data.dim",
            "data",
            "encoders.0.params.n_iter",
            "scales.smoke",
        ]
        keys += [
            "encoders.lsh.label",
            "depth",
            "a..b",
            ".",
            "",
            "encoders.-1",
            "encoders.99",
            "title.x",
            "name",
            "fixed",
        ]
        text = f"{pick(rng, keys)}{pick(rng, ['=', ' = ', '', '=='])}{json.dumps(odd_value(rng))}"
    path.write_text(f"{name}\n{text}")


def use_override(path: Path) -> None:
    """Read a configuration with an override."""
    name, _, text = path.read_bytes().decode(errors="replace").partition("\n")
    use_config(CONFIGS / f"{name if name in NAMES else 'flickr'}.yaml", (text,))


@cache
def results_of(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the description of an experiment of the reference results, and some of its rows."""
    folder = RESULTS / name
    lines = (folder / "rows.jsonl").read_text().splitlines()
    chosen = lines[:: max(1, len(lines) // _ROWS_OF_A_CASE)]
    return json.loads((folder / "experiment.json").read_text()), [json.loads(line) for line in chosen]


def write_results(path: Path, rng: Generator, change: bool) -> None:
    """Write the description of an experiment in the first line and rows in the others."""
    names = sorted(folder.name for folder in RESULTS.iterdir() if (folder / "rows.jsonl").is_file())
    description, rows = results_of(pick(rng, names))
    if change:
        if rng.random() < 0.3:
            description = change_tree(description, rng)
        at = int(rng.integers(len(rows)))
        rows = [*rows[:at], change_tree(rows[at], rng), *rows[at + 1 :]]
    path.write_text("\n".join(map(json.dumps, [description, *rows])) + "\n")


def use_results(path: Path) -> None:
    """Read results, judge claims by them, and make tables of them; now and then also figures and the page."""
    from cbe_bench.evaluators.base import experiment_class, judge, load_experiment
    from cbe_bench.reports.page import write_page

    folder = path.with_suffix("") / "experiment"
    folder.mkdir(parents=True, exist_ok=True)
    description, _, rows = path.read_bytes().partition(b"\n")
    (folder / "experiment.json").write_bytes(description)
    (folder / "rows.jsonl").write_bytes(rows)
    results = load_experiment(folder)
    cls = experiment_class(results.kind)
    report = cls.report(results)
    list(cls.measurements(results))
    judge([results])
    if path.stem == "valid" or int(path.stem.partition("-")[2]) % _DRAWN_EVERY == 0:
        for figure in report.figures:
            figure.draw()
        write_page(folder.parent)


def write_claims(path: Path, rng: Generator, change: bool) -> None:
    """Write verdicts."""
    found = json.loads((RESULTS / "claims.json").read_text())[:5]
    path.write_text(json.dumps(change_tree(found, rng) if change else found))


def use_claims(path: Path) -> None:
    """Read verdicts and what changed since others."""
    from cbe_bench.reports.claims_table import changes, claims_markdown, load_claims

    found = load_claims(path)
    changes(found, load_claims(RESULTS / "claims.json"))
    claims_markdown(found)


CONTENTS = (b"", b"{}", b"\0" * 8 * 20, json.dumps({"n_bits": 8}).encode(), np.arange(20).astype("<i8").tobytes())


def write_cached(path: Path, rng: Generator, change: bool) -> None:
    """Write a file of the cache, damaged behind its hash or before it."""
    from cbe_bench.core.cache import write_checked

    write_checked(path, pick(rng, CONTENTS))
    if change:
        path.write_bytes(change_bytes(path.read_bytes(), rng))


def use_cached(path: Path) -> None:
    """Read a file of the cache: what was damaged counts as absent; and a file of times, which may say anything."""
    from cbe_bench.core.cache import read_checked
    from cbe_bench.evaluators.suite import load_seconds

    found = read_checked(path)
    assert found is None or found in CONTENTS, "damaged content was taken"
    load_seconds(path)
