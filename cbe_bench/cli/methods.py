"""``cbe-bench methods``: what there is to choose from."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from cbe_bench.cli._output import TABLE, brief, emit, emit_facts, format_option, say

if TYPE_CHECKING:
    from cbe_bench.vectors.methods import MethodInfo


@click.command(name="methods")
@click.argument("name", required=False)
@click.option("--dims", default=768, show_default=True, type=click.IntRange(min=1), help="Dimension to estimate for.")
@click.option("--bits", type=click.IntRange(min=1), help="Code length to estimate for; default: the dimension.")
@format_option
def command(name: str | None, dims: int, bits: int | None, form: str) -> None:
    """List the methods, or describe the method NAME.

    What each does, its parameters, cost and memory, and what it is good for. Cost is an estimate of the operations to
    encode a vector, relative to a dense matrix product; `cbe-bench time` measures. Every method also takes center,
    threshold, pca and precondition.

    \b
    Examples:
      cbe-bench methods
      cbe-bench methods cbe-opt --dims 1536 --bits 1024
    """
    import pandas as pd

    from cbe_bench.core.environment import human_bytes
    from cbe_bench.core.errors import InputError, did_you_mean
    from cbe_bench.vectors.methods import describe_methods

    found = {one.name: one for one in describe_methods(dims, bits or dims)}
    if name is not None:
        if name not in found:
            raise InputError(f"unknown encoder {name!r}; {did_you_mean(name, found)}")
        _describe(found[name], f"{dims:,} dimensions, {bits or dims:,} bits", form)
        return
    lines = []
    for one in found.values():
        cost = "cannot" if one.cost_ratio is None else f"{one.cost_ratio:.3g}"
        memory = "" if one.memory_bytes is None else human_bytes(one.memory_bytes)
        lines.append((one.name, "yes" if one.trained else "no", cost, memory, one.good_for, one.summary))
    people = pd.DataFrame(lines, columns=["method", "trained", "cost", "memory", "good for", "what it is"])
    title = f"{dims:,} dimensions, {bits or dims:,} bits; cost relative to a dense matrix"
    emit(pd.DataFrame(map(asdict, found.values())).drop(columns="params"), form, title, people=brief(people, 5))
    if form == TABLE:
        say("cbe-bench methods NAME describes one; -v says what each is")


def _describe(one: "MethodInfo", of: str, form: str) -> None:
    from cbe_bench.core.environment import human_bytes

    def show() -> None:
        params = ", ".join(f"{key}={value!r}" for key, value in one.params.items()) or "none of its own"
        click.echo(f"{one.name}: {one.summary}")
        click.echo(f"  good for:   {one.good_for}")
        click.echo(f"  trained:    {'yes' if one.trained else 'no'}")
        click.echo(f"  parameters: {params}")
        if one.problem:
            click.echo(f"  {one.problem}")
        else:
            click.echo(f"  cost:       {one.cost_ratio:.3g} of a dense matrix at {of}")
            click.echo(f"  memory:     {human_bytes(one.memory_bytes or 0)} to fit and encode")

    emit_facts(asdict(one), form, show)
