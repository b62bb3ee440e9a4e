"""Bits of equal time: for each number of bits of a reference method, the bits every other method makes in its time.

Times are those of encoding a batch to packed bits on one pinned thread, a method and the reference taking turns. It is
the processor's time that is counted, which does not run while others use the core. The time at equal bits is measured
first. What was found is kept as rows beside the results of the experiment, and in the user's cache for other
experiments on the same machine: it depends on the number of dimensions, not on the data. Methods whose codes are made
by the same operations have the same time; it is measured once. So it is where the reference takes as long for fewer
bits as for more, as circulant products do: there the others have the same bits as well.
"""

import json
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import cbe_bench
from cbe_bench.config import EncoderConfig, RetrievalConfig
from cbe_bench.core import environment
from cbe_bench.core.cache import cache_directory, remember
from cbe_bench.core.errors import InputError
from cbe_bench.core.results import Row, append_row, cell_key, load_rows
from cbe_bench.encoders import Encoder, encoder_classes, make_encoder
from cbe_bench.evaluators.budget import TOLERANCE, Found, most_bits
from cbe_bench.evaluators.timing import Candidate, fitted_to_time, in_turns, unit_vectors
from cbe_bench.kernels import parallel
from cbe_bench.runner.common import BASE_BYTES, BaseCell, Reporter, circumstances
from cbe_bench.runner.timing import TIMED_PARAMS, quiet_machine

_BATCH = 64
_DOUBTFUL = 1.2
"""A share between one and this is measured again: noise, or where in memory its tables lie, may make it too much."""
_ATTEMPTS = 3
_MOST_TIMES_D = 4
"""Codes longer than this many times d are not looked for."""
_FORECAST = 3.0
_VERSION = 6
"""Part of every key: to be raised by a change of how bits are found."""


@dataclass(frozen=True, kw_only=True)
class Calibration(BaseCell):
    """One method against the reference at one number of its bits."""

    encoder: EncoderConfig
    reference: EncoderConfig
    target_bits: int

    def describe(self) -> str:
        """Name the cell for a person."""
        return f"bits of {self.encoder.label} in the time of {self.target_bits:,}"


def calibrations(config: RetrievalConfig) -> list[Calibration]:
    """List what must be known for the methods of an experiment to have equal time."""
    if "time" not in config.fixed:
        return []
    reference = next(entry for entry in config.encoders if entry.label == config.time_reference)
    return [
        _calibration(config, entry, reference, target_bits) for target_bits in config.bits for entry in config.encoders
    ]


def _calibration(
    config: RetrievalConfig, entry: EncoderConfig, reference: EncoderConfig, target_bits: int
) -> Calibration:
    identity = {
        "experiment": "calibration",
        "version": cbe_bench.__version__,
        "calibration_version": _VERSION,
        "encoder": entry.name,
        "params": config.params_of(entry),
        "reference": reference.name,
        "reference_params": config.params_of(reference),
        "n_features": config.n_features,
        "target_bits": target_bits,
        "batch": _BATCH,
        "environment": environment.environment_id(),
    }
    return Calibration(
        encoder=entry,
        reference=reference,
        target_bits=target_bits,
        memory_bytes=BASE_BYTES,
        seconds=_FORECAST,
        identity=identity,
    )


def known_bits(wanted: list[Calibration], rows_file: Path) -> dict[tuple[str, int], int]:
    """Return the bits found earlier, by label and bits of the reference."""
    rows = {row["key"]: row for row in load_rows(rows_file) if row["status"] == "ok"}
    return {(cell.encoder.label, cell.target_bits): rows[cell.key]["n_bits"] for cell in wanted if cell.key in rows}


def calibrate(
    wanted: list[Calibration], config: RetrievalConfig, rows_file: Path, reporter: Reporter, *, anew: bool = False
) -> None:
    """Measure what is not known yet, or everything anew; every finding is a row."""
    known = {} if anew else known_bits(wanted, rows_file)
    missing = [cell for cell in wanted if (cell.encoder.label, cell.target_bits) not in known]
    if not missing:
        return
    reporter.begin(len(missing), sum(cell.seconds for cell in missing))
    X = unit_vectors(_BATCH, config.n_features)
    measured: dict[Path, Row] = {}
    longer: dict[str, Row] = {}
    for cell in sorted(missing, key=lambda cell: -cell.target_bits):
        reporter.step(cell.describe(), cell.seconds)
        kept = _kept_file(cell, config.time_budget)
        if kept not in measured:
            sought = longer.get(cell.encoder.label)
            measured[kept] = (None if anew else _recall(kept)) or _find(cell, X, config.time_budget, sought)
            remember(kept, json.dumps(measured[kept]).encode())
        if measured[kept]["sought_for"] == cell.target_bits:
            longer[cell.encoder.label] = measured[kept]
        row = {"key": cell.key, **cell.identity, "status": "ok", "reason": "", **measured[kept], **circumstances()}
        append_row(rows_file, row)
        reporter.end(_line(cell, row))


def _cost(name: str, params: Row) -> tuple[str, Row]:
    """Return the method and the parameters that decide how long a code takes."""
    classes = encoder_classes()
    twin = classes[name].encodes_as or name
    known = {*classes[twin]().get_params(), "precondition"}
    return twin, {key: value for key, value in params.items() if key in known} | TIMED_PARAMS.get(twin, {})


def _own_cost(cell: Calibration) -> tuple[str, Row]:
    return _cost(cell.identity["encoder"], cell.identity["params"])


def _reference_cost(cell: Calibration) -> tuple[str, Row]:
    return _cost(cell.identity["reference"], cell.identity["reference_params"])


def _kept_file(cell: Calibration, budget: float) -> Path:
    """Return where the finding is kept, for all cells of the same cost."""
    others = {key: cell.identity[key] for key in ("version", "n_features", "target_bits", "batch", "environment")}
    limits = {"memory": environment.memory_limit(), "budget": budget, "calibration_version": _VERSION}
    decisive = {"own": _own_cost(cell), "reference": _reference_cost(cell), **others, **limits}
    return cache_directory() / "calibration" / f"{cell_key(decisive)}.json"


def _recall(kept: Path) -> Row | None:
    try:
        found: Row = json.loads(kept.read_text())
    except (OSError, ValueError):
        return None
    return found


def _find(cell: Calibration, X: NDArray, budget: float, longer: Row | None) -> Row:
    """Find the bits of a method, and its time at equal bits.

    `longer` is what was found in the time of more bits of the reference: where the reference takes the same time for
    either, the bits are the same and need not be sought.
    """
    own, other = _own_cost(cell), _reference_cost(cell)
    reference = _fitted(*other, cell.target_bits, X)
    allowed = []

    def share(n_bits: int) -> float:
        found = np.inf
        for _ in range(_ATTEMPTS):
            ratio, seconds = _compare(_fitted(*own, n_bits, X), reference, X, budget)
            allowed.append(seconds)
            found = min(found, ratio)
            if not 1 < found < _DOUBTFUL:
                break
        return found

    most = _most(cell, X)
    at_equal_bits = share(cell.target_bits) if _fits(cell, cell.target_bits, X) else None
    same, sought_for = None, cell.target_bits
    if own == other:
        same = Found(cell.target_bits, 1.0)
    elif at_equal_bits is not None and abs(at_equal_bits - 1) <= TOLERANCE:
        same = Found(cell.target_bits, at_equal_bits)
    elif longer is not None:
        ratio, _ = _compare(reference, _fitted(*other, longer["sought_for"], X), X, budget)
        if abs(ratio - 1) <= TOLERANCE and longer["share"] / ratio <= 1 + TOLERANCE:
            same, sought_for = Found(longer["n_bits"], longer["share"] / ratio), longer["sought_for"]
    lengths = make_encoder(own[0], n_bits=most, **own[1]).lengths(X.shape[1], most)
    found = same or most_bits(share, cell.target_bits / (at_equal_bits or 8), lengths)
    return {
        "n_bits": found.n_bits,
        "sought_for": sought_for,
        "share": found.share,
        "share_at_equal_bits": at_equal_bits,
        "reference_seconds": min(allowed),
        "most": most,
    }


def _compare(encoder: Encoder, reference: Encoder, X: NDArray, budget: float) -> tuple[float, float]:
    """Return the time of an encoder as a share of the reference's, and the latter in seconds.

    The quickest of many turns counts, of either: it is what is left when nothing else uses the machine.
    """
    own, other = (
        Candidate(name, partial(one.encode, X, check_input=False), len(X), clock=time.thread_time)
        for name, one in (("own", encoder), ("reference", reference))
    )
    with parallel.threads(1), quiet_machine():
        for _ in in_turns([own, other], budget, lambda done: None, least_samples=1):
            pass
    return min(own.samples) / min(other.samples), min(other.samples)


def _fitted(name: str, params: Row, n_bits: int, X: NDArray) -> Encoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fitted_to_time(make_encoder(name, n_bits=n_bits, random_state=0, **params), X)


def _most(cell: Calibration, X: NDArray) -> int:
    """Return the most bits the method can be asked for."""
    d = X.shape[1]
    return next((bits for bits in (_MOST_TIMES_D * d, d) if _can(cell, bits, d)), cell.target_bits)


def _can(cell: Calibration, n_bits: int, d: int) -> bool:
    try:
        make_encoder(cell.encoder.name, n_bits=n_bits, **cell.identity["params"]).check_params(d)
    except InputError:
        return False
    return True


def _fits(cell: Calibration, n_bits: int, X: NDArray) -> bool:
    """Tell whether the method can make this many bits within memory."""
    if not _can(cell, n_bits, X.shape[1]):
        return False
    name, params = _own_cost(cell)
    needed = make_encoder(name, n_bits=n_bits, **params).memory_bytes(X.shape[1])
    return BASE_BYTES + needed <= environment.memory_limit() // 2


def _line(cell: Calibration, row: Row) -> str:
    """Tell what was found."""
    equal = row["share_at_equal_bits"]
    at_equal = "" if equal is None else f"; {equal:.2f} of it at equal bits"
    return (
        f"{cell.encoder.label} makes {row['n_bits']:,} bits in the time of {cell.target_bits:,} of "
        f"{cell.reference.label} ({row['share']:.2f} of it{at_equal})"
    )
