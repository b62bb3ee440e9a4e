"""Timing experiments: encode time of every method at every dimension, methods of one dimension taking turns.

What is timed is an unchecked `encode`, vectors in memory to packed codes. Drawing the parameters and everything
built by the first call are timed apart.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import cbe_bench
from cbe_bench.core import environment
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.results import Row, append_row
from cbe_bench.encoders import encoder_classes, make_encoder
from cbe_bench.evaluators.timing import UNSTABLE, Candidate, fitted_to_time, in_turns, unit_vectors
from cbe_bench.kernels import parallel
from cbe_bench.runner.common import (
    BASE_BYTES,
    OPERATIONS_A_SECOND,
    BaseCell,
    Reporter,
    circumstances,
    done_keys,
    going_on,
    noted_warnings,
)

PAPER_DIMS = tuple(2**power for power in (15, 17, 20, 24, 27))
DEFAULT_METHODS = ("lsh", "bilinear-rand", "cbe-rand", "cbe-orth", "hd3")
TIMED_PARAMS: dict[str, dict[str, Any]] = {
    "lsh": {"store": True},  # drawing the matrix anew would be timed otherwise
    "bilinear-rand": {"permute": False},  # the reordering helps recall and is no part of the method's cost
}
"""Parameters that methods are timed with."""
_MOST_BITS = 1 << 31
_LEARN_ROWS = 64
"""Rows that methods learn from when only their encoding is of interest."""


@dataclass(frozen=True, kw_only=True)
class TimingCell(BaseCell):
    """One method at one dimension, number of bits and batch size."""

    encoder: str
    n_features: int
    n_bits: int
    batch: int

    def describe(self) -> str:
        """Name the cell for a person."""
        return f"{self.encoder}, d = {self.n_features:,}, {self.n_bits:,} bits"


def parse_dims(text: str) -> list[int]:
    """Read dimensions: 2^15..2^27 (every power of two), paper, or a list such as 768,2^20."""
    if text.strip() == "paper":
        return list(PAPER_DIMS)
    dims: list[int] = []
    for item in text.split(","):
        ends = [_number(end, item) for end in item.split("..")]
        if len(ends) == 1:
            dims += ends
        elif len(ends) == 2 and all(end & (end - 1) == 0 for end in ends) and ends[0] <= ends[1]:
            dims += [2**power for power in range(ends[0].bit_length() - 1, ends[1].bit_length())]
        else:
            raise InputError(f"--dims {item}: a range goes from one power of two up to another, as in 2^15..2^27")
    return sorted(set(dims))


def _number(text: str, item: str) -> int:
    match = re.fullmatch(r"\s*(\d[\d_]*)\s*(?:(?:\^|\*\*)\s*(\d+))?\s*", text)
    base, power = (int(match[1]), int(match[2] or 1)) if match else (0, 1)
    value = base**power if power <= 31 or base <= 1 else 0
    if not 1 <= value < 2**31:
        raise InputError(f"--dims {item}: write 768, 2^20, 2^15..2^27, paper or a list of these; found {text!r}")
    return value


def parse_bits(text: str, d: int) -> list[int]:
    """Read numbers of bits that may depend on the dimension: d, d/4, 2d, 512 or a list of these."""
    bits = []
    for item in text.split(","):
        match = re.fullmatch(r"\s*(\d*)\s*\*?\s*d\s*(?:/\s*(\d+))?\s*|\s*(\d+)\s*", item)
        if not match or (match[2] and int(match[2]) == 0):
            raise InputError(f"--bits {item}: write 512, d, d/4, 2d or a list of these")
        value = int(match[3]) if match[3] else int(match[1] or 1) * d // int(match[2] or 1)
        if value < 1:
            raise InputError(f"--bits {item}: is no bit at d = {d}")
        bits.append(value)
    return sorted(set(bits))


def choose_methods(text: str | None) -> list[str]:
    """Read the names of methods; by default those of the paper's Table 2 and their strongest rival."""
    classes = encoder_classes()
    if text is None:
        return list(DEFAULT_METHODS)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in classes:
            raise InputError(f"--methods: unknown encoder {name!r}; {did_you_mean(name, classes)}")
    return list(dict.fromkeys(names))


def plan_times(methods: list[str], dims: list[int], bits: str, batch: int) -> list[TimingCell]:
    """List the cells: every method at every dimension and number of bits."""
    cells = []
    for d in dims:
        for n_bits in parse_bits(bits, d):
            cells += [_make_cell(name, d, n_bits, batch) for name in methods]
    return cells


def _make_cell(name: str, d: int, n_bits: int, batch: int) -> TimingCell:
    if n_bits > _MOST_BITS:
        raise InputError(f"--bits: {n_bits:,} bits at d = {d:,}; at most {_MOST_BITS:,} are timed")
    params = TIMED_PARAMS.get(name, {})
    encoder = make_encoder(name, n_bits=n_bits, **params)
    encoder.check_params(d)
    identity = {
        "experiment": "time",
        "version": cbe_bench.__version__,
        "encoder": name,
        "params": params,
        "n_features": d,
        "n_bits": n_bits,
        "batch": batch,
        "threads": parallel.thread_count(),
        "dtype": "float32",
        "environment": environment.environment_id(),
    }
    memory = BASE_BYTES + 4 * d * batch + encoder.memory_bytes(d)
    return TimingCell(
        encoder=name,
        n_features=d,
        n_bits=n_bits,
        batch=batch,
        memory_bytes=memory,
        seconds=batch * encoder.work(d) / OPERATIONS_A_SECOND,
        identity=identity,
    )


def run_times(
    cells: list[TimingCell], rows_file: Path, reporter: Reporter, *, rerun: str | None = None, budget: float = 10.0
) -> None:
    """Time the cells that are not done; methods of one dimension take turns, rows are appended as they end."""
    done = done_keys(rows_file, rerun)
    pending = [cell for cell in cells if cell.key not in done]
    if len(pending) < len(cells):
        reporter.message(going_on(len(cells) - len(pending), len(cells), rows_file))
    reporter.begin(len(pending), sum(_forecast(cell, budget) for cell in pending))
    with quiet_machine():
        for _, group in groupby(pending, key=lambda cell: (cell.n_features, cell.n_bits)):
            _run_group(list(group), rows_file, reporter, budget)


def _shared_bytes(cell: TimingCell) -> int:
    """Return the part of a cell's memory that all cells of its dimension share."""
    return BASE_BYTES + 4 * cell.n_features * cell.batch


def _forecast(cell: TimingCell, budget: float) -> float:
    return max(budget, 2 * cell.seconds) if cell.memory_bytes <= environment.memory_limit() else 0.0


@contextmanager
def quiet_machine() -> Iterator[None]:
    """Hold BLAS to the kernels' threads and keep them on as many cores."""
    with parallel.pinned(parallel.thread_count()), parallel.blas_threads(parallel.thread_count()):
        yield


def _run_group(cells: list[TimingCell], rows_file: Path, reporter: Reporter, budget: float) -> None:
    """Time the cells of one dimension, as many at once as fit into memory together."""
    limit = environment.memory_limit()
    together: list[TimingCell] = []
    room = limit
    for cell in cells:
        if reason := cell.too_large():
            row = {"status": "skipped", "reason": reason, "needed_bytes": cell.memory_bytes}
            _finish(cell, row, rows_file, reporter)
            continue
        if cell.memory_bytes > room:
            _run_together(together, rows_file, reporter, budget)
            together, room = [], limit
        together.append(cell)
        room -= cell.memory_bytes - _shared_bytes(cell)
    if together:
        _run_together(together, rows_file, reporter, budget)


def _run_together(cells: list[TimingCell], rows_file: Path, reporter: Reporter, budget: float) -> None:
    d, batch = cells[0].n_features, cells[0].batch
    X = unit_vectors(batch, d)
    running: dict[str, tuple[TimingCell, Row]] = {}
    candidates = []
    for cell in cells:
        reporter.step(f"{cell.encoder}, d = {d:,}: parameters, first call", _forecast(cell, budget) / 2)
        try:
            candidate, row = _set_up(cell, X)
        except Exception as error:  # one failing method must not end the comparison of the others
            row = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
            _finish(cell, row, rows_file, reporter)
            continue
        candidates.append(candidate)
        running[cell.key] = cell, row
    reporter.step(f"d = {d:,}: {', '.join(cell.encoder for cell, _ in running.values())}", budget * len(running))
    for candidate in in_turns(candidates, budget, reporter.share):
        cell, row = running[candidate.name]
        _finish(cell, {"status": "ok", "reason": "", **row, **_times(candidate)}, rows_file, reporter)


def _set_up(cell: TimingCell, X: NDArray) -> tuple[Candidate, Row]:
    """Draw the parameters and call the encoder once."""
    encoder = make_encoder(cell.encoder, n_bits=cell.n_bits, random_state=0, **cell.identity["params"])
    notes: list[str] = []
    with noted_warnings(notes):
        rows = unit_vectors(_LEARN_ROWS, X.shape[1]) if encoder.learns else X
        fit_seconds = Candidate("fit", partial(fitted_to_time, encoder, rows)).once()
    candidate = Candidate(cell.key, partial(encoder.encode, X, check_input=False), len(X))
    candidate.first_seconds = candidate.once()
    return candidate, {"fit_seconds": fit_seconds, "parameter_bytes": encoder.parameter_bytes(), "notes": notes}


def _finish(cell: TimingCell, row: Row, rows_file: Path, reporter: Reporter) -> None:
    append_row(rows_file, {"key": cell.key, **cell.identity, **row, **circumstances()})
    reporter.end(f"{cell.describe()}: {_line(row)}", row.get("notes", ()))


def _times(candidate: Candidate) -> Row:
    low, median, high = candidate.quartiles()
    return {
        "seconds": median,
        "seconds_quartiles": [low, high],
        "samples": candidate.samples,
        "calls_per_sample": candidate.calls,
        "prepare_seconds": max(0.0, candidate.first_seconds - median * candidate.vectors),
    }


def _line(row: Row) -> str:
    if row["status"] != "ok":
        return f"{row['status']}: {row['reason']}"
    spread = spread_of(row)
    how = f"quartiles within {spread:.0%}" if len(row["samples"]) > 1 else "a single sample"
    line = f"{1e3 * row['seconds']:.4g} ms a vector, {how} ({len(row['samples'])} samples)"
    if spread > UNSTABLE:
        line += "; UNSTABLE: something else is using the machine, so close it, or raise --budget and --rerun all"
    return line


def spread_of(row: Row) -> float:
    """Return the distance of the quartiles relative to the median."""
    low, high = row["seconds_quartiles"]
    return float((high - low) / row["seconds"])
