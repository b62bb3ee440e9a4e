"""What the README shows works: its Python runs, its commands parse, its links lead to files."""

import csv
import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest

from cbe_bench.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(
    {
        line.removeprefix("$ ").split("#")[0].strip()
        for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
        for line in block.splitlines()
        if line.startswith("$ cbe-bench")
    }
    | {found for found in re.findall(r"`(cbe-bench [^`]+)`", README) if "FILE" not in found}
)


def test_python_snippets_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((60, 96), dtype=np.float32)
    snippets = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert snippets
    for snippet in snippets:
        names = {"X": X, "queries": X[:5]}
        exec(compile(snippet, "README.md", "exec"), names)
        assert names["distances"].shape == (5, 10)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_parse(command):
    _, *words = shlex.split(command)
    context = click.Context(main, help_option_names=["-h", "--help"])  # commands cache their help option
    group, name = main, words.pop(0)
    found = group.get_command(context, name)
    while isinstance(found, click.Group) and words:
        found = found.get_command(context, name := words.pop(0))
    assert found is not None, name
    try:
        found.make_context(name, list(words), parent=context)
    except click.UsageError as error:  # a verb or an option that is named without what it takes
        named_only = isinstance(error, click.MissingParameter) and not words
        assert named_only or "requires an argument" in error.message, error.message


def test_links_lead_to_files():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_costs_follow_from_the_committed_rows():
    with (ROOT / "results/reference/cost.csv").open() as file:
        rows = list(csv.DictReader(file))
    files = [row for row in rows if row["what"] == "file"]
    text = " ".join(README.split())
    ratios = []
    for row in (row for row in rows if row["what"] == "computed"):
        like = [other for other in files if other["n_features"] == row["n_features"]]
        largest = max((other for other in like if not other["workers"]), key=lambda other: int(other["n_rows"]))
        n_rows, speed = int(row["n_rows"]), float(largest["rows_per_s"])
        assert float(row["seconds"]) == pytest.approx(n_rows / speed, abs=1)
        hours, size = n_rows / speed / 3600, n_rows * int(row["n_features"]) / 8 / 1e9
        words = re.compile(
            rf"{n_rows:,} (vectors )?of {int(row['n_features']):,} (dimensions )?in {hours:.1f} hours to "
        )
        assert words.search(text) and f"{hours:.1f} hours to {size:.0f} GB" in text
        ratios += [float(other["rows_per_s"]) / speed for other in like if other["workers"] == "2"]
    assert "{:.2f} and {:.2f} times as many rows per second".format(*ratios) in text


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?\bmake (reproduce|test[\w-]*|bench)\b", README)) <= targets
