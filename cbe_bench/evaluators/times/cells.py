"""Cells of encode times, the groups of them that are timed together, and what times a group."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cbe_bench.core.code_version import code_version
from cbe_bench.core.progress import Reporter
from cbe_bench.core.resources import Resources
from cbe_bench.core.runner import BASE_BYTES, OPERATIONS_PER_SECOND, Cell
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.timers import UNSTABLE
from cbe_bench.evaluators.times.measure import EncodingRound, LearningRound, Round
from cbe_bench.evaluators.times.rounds import Rounds
from cbe_bench.evaluators.times.rows import LearningSpec, TimingRow, TimingSpec

_TIMING_MODULE = "cbe_bench.evaluators.times.rounds"


def timing_code(encoder: str) -> str:
    """Return the version of the code that decides the times of a method."""
    return code_version([encoder_class(encoder).__module__, _TIMING_MODULE])


def encoding_cell(spec: TimingSpec, label: str, budget_s: float, resources: Resources) -> Cell:
    """Return the cell of an encode time.

    Parameters
    ----------
    spec : TimingSpec
        What is timed.
    label : str
        What tables and figures call it.
    budget_s : float
        Seconds for which it is sampled in each round.
    resources : Resources
        The threads and the memory of the run.

    Returns
    -------
    Cell
        Of no group yet.
    """
    d, n_bits = spec.n_features, spec.n_bits
    encoder = make_encoder(spec.encoder, n_bits=n_bits, **spec.params).set_resources(resources)
    seconds = spec.batch * encoder.cost_estimate(d) / OPERATIONS_PER_SECOND
    return Cell(
        spec=spec,
        row_class=TimingRow,
        code=timing_code(spec.encoder),
        label=label,
        title=f"{label}, d = {d:,}, {n_bits:,} bits",
        memory_bytes=BASE_BYTES + 4 * d * spec.batch + encoder.memory_bytes(d),
        seconds=spec.rounds * max(budget_s, 2 * seconds),
    )


def grouped(blocks: Iterable[list[Cell]], memory_limit: int) -> Iterator[Cell]:
    """Put cells into groups that fit into memory together; a block is divided only if it must be.

    Parameters
    ----------
    blocks : iterable of lists of Cell
        Cells that are to be timed together, in the order in which they are yielded.
    memory_limit : int
        The bytes the run may use; cells that need more by themselves are in any group.

    Yields
    ------
    Cell
        With the number of its group.
    """
    number, free = 0, memory_limit - BASE_BYTES
    for cells in blocks:
        own = [0 if cell.excess(memory_limit) else cell.memory_bytes - BASE_BYTES for cell in cells]
        if sum(own) > free:
            number, free = number + 1, memory_limit - BASE_BYTES
        for cell, needed in zip(cells, own, strict=True):
            if needed > free:
                number, free = number + 1, memory_limit - BASE_BYTES
            free -= needed
            yield replace(cell, group=number)


def timer_of(cells: Sequence[Cell], n_rounds: int, budget_s: float, reporter: Reporter) -> Round | Rounds:
    """Return what times the cells of a group, all interleaved.

    Parameters
    ----------
    cells : sequence of Cell
        All of encode times or all of training times.
    n_rounds : int
        Rounds: a single one is set up now and runs in this process, several run in a new process each.
    budget_s : float
        Seconds for which each cell is sampled in each round.
    reporter : Reporter
        Takes what is being set up.

    Returns
    -------
    Round or Rounds
    """
    specs = {cell.key: cell.spec for cell in cells}
    if n_rounds > 1:
        return Rounds(specs, n_rounds, budget_s)
    titles = {cell.key: cell.title for cell in cells}
    kind = LearningRound if isinstance(cells[0].spec, LearningSpec) else EncodingRound
    return kind(specs, budget_s, lambda key: reporter.step(f"{titles[key]}: parameters, first call", 0.0))


def summary_of(row: TimingRow) -> str:
    """Say how long encoding takes and whether that is stable."""
    how = f"IQR {row.relative_iqr:.0%}" if len(row.samples_us) > 1 else "a single sample"
    line = f"{row.encode_us_per_vector:,.4g} us per vector, {how} ({len(row.samples_us)} samples)"
    return f"{line}, unstable" if row.relative_iqr > UNSTABLE else line
