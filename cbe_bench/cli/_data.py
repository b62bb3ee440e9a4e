"""Files of vectors in the terminal: what they say about themselves, and what reading all rows has found."""

import json
from pathlib import Path
from typing import Any

import click

from cbe_bench.cli._output import emit_facts
from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import printable
from cbe_bench.data.features import Features
from cbe_bench.data.inspect import Findings
from cbe_bench.encoders.diagnostics import mean_problem

_LONGEST = 200
"""Characters that are shown of a value."""
_RANGE = ("least", "median", "largest")


def show_description(file: Path, features: Features, form: str) -> None:
    """Print the shape of a file, and what it says about itself."""
    described = features.describe()
    facts = {
        "file": str(file),
        "rows": features.n_rows,
        "dimensions": features.n_features,
        "kind": features.kind,
        "bytes": features.stamp()[0],
        "queries": features.own_queries,
        "neighbours_known": features.own_queries > 0 and features.own_neighbours() is not None,
        **{name: value for name, value in described.items() if name != "kind"},
    }

    def show() -> None:
        click.echo(f"{file}: {features.n_rows:,} rows x {features.n_features:,} dimensions, {features.kind} data")
        click.echo(f"  size: {human_bytes(facts['bytes'])}")
        if features.own_queries:
            known = "with" if facts["neighbours_known"] else "without"
            click.echo(f"  queries: its last {features.own_queries:,} rows, {known} their exact neighbours")
        for name, value in described.items():
            if name != "kind":
                click.echo(f"  {name}: {_shown(value)}")

    emit_facts(facts, form, show)


def _shown(value: Any) -> str:
    text = printable(json.dumps(value) if isinstance(value, dict | list) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def show_findings(file: Path, found: Findings, values: str, form: str) -> None:
    """Print the statistics of a file, and whether it can be used."""
    facts: dict[str, Any] = {"file": str(file), "rows": found.n_rows, "dimensions": found.n_features, "values": values}
    for name, range_ in (("norm", found.norms), ("flatness", found.flatness)):
        facts |= {f"{name}_{which}": value for which, value in zip(_RANGE, range_, strict=True)}
    facts |= {"nonzero": found.nonzero, "mean_energy": found.mean_energy, "duplicates": len(found.duplicates)}
    facts |= {"labels": found.labels, "nearest_has_same_label": found.same_label}
    emit_facts({**facts, "problems": found.problems}, form, lambda: _show_findings(file, found, values))


def _show_findings(file: Path, found: Findings, values: str) -> None:
    click.echo(f"{file}: {found.n_rows:,} rows x {found.n_features:,} dimensions, {values}")
    click.echo("  norms: least {:.4g}, median {:.4g}, largest {:.4g}".format(*found.norms))
    click.echo("  flatness max|x| / ||x||: least {:.4g}, median {:.4g}, largest {:.4g}".format(*found.flatness))
    click.echo(f"  values that are not zero: {found.nonzero:.1%}")
    click.echo(f"  energy of the mean, rows scaled to unit length: {found.mean_energy:.1%}")
    click.echo(f"  rows equal to an earlier one: {len(found.duplicates):,}")
    if found.labels is None:
        click.echo("  labels: none")
    else:
        counts = sorted(found.labels.values())
        click.echo(f"  labels: {len(counts):,}, each of {counts[0]:,} to {counts[-1]:,} rows")
        if found.sampled:
            click.echo(f"  nearest neighbour has the same label: {found.same_label:.1%} of {found.sampled:,} rows")
    if problem := mean_problem(found.mean_energy, "the rows"):
        advice = "many bits of a code will be constant; try center=True, in a config center: true"
        click.echo(f"  note: {problem}: {advice}")
    for problem in found.problems:
        click.echo(f"  cannot be used: {problem}")
    if not found.problems:
        click.echo("  can be used")
