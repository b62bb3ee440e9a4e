"""Encode a file of vectors, block by block, to a file of codes.

What is done so far lies in a folder beside the output, ``NAME.partial``: the fitted encoder, what was asked for, and
one small file for each block. The same call resumes there. At the end the blocks become one file in one step.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbe_bench import __version__
from cbe_bench.core.cache import whole_file
from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.locks import exclusive
from cbe_bench.core.remote import as_path, local_path
from cbe_bench.core.resources import Resources
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.view import METRICS
from cbe_bench.encoders import Encoder, load_encoder
from cbe_bench.encoders.base import N_TRAIN
from cbe_bench.kernels.bits import code_bytes
from cbe_bench.kernels.parallel import threads
from cbe_bench.vectors.blocks import EncodeTask, Run, block_rows, run_here, save_block, saved_block
from cbe_bench.vectors.code_file import write_code_file
from cbe_bench.vectors.ids import open_ids
from cbe_bench.vectors.options import EncodeOptions
from cbe_bench.vectors.rows import sample

_JOB = "job.json"
"""What was asked for, in the folder of what is done so far."""
RowsDone = Callable[[int, int, int], None]
"""Takes how many rows are done, how many there are, and how many were done by an earlier call."""
Foreseen = Callable[[float], None]
"""Takes the seconds that the rest of the rows will take; called once, soon."""
_BLOCKS_TIMED = 3
"""Blocks, after the first, that the time of the others is judged by."""


@dataclass(frozen=True)
class EncodeSummary:
    """What became of a file: codes written, rows of zeros that were skipped, rows that an earlier call had done."""

    n_codes: int
    skipped: int
    resumed: int


def encode_file(
    path: str | Path,
    out: str | Path,
    *,
    method: str = "cbe-opt",
    n_bits: int | None = None,
    metric: str = "cosine",
    center: bool = True,
    n_train: int = N_TRAIN,
    seed: int = 0,
    params: dict[str, Any] | None = None,
    dataset: str | None = None,
    ids: str | Path | None = None,
    overwrite: bool = False,
    resources: Resources | None = None,
    run: Run = run_here,
    message: Callable[[str], None] = lambda text: None,
    rows_done: RowsDone = lambda done, total, before: None,
    foreseen: Foreseen = lambda seconds: None,
) -> EncodeSummary:
    """Encode the rows of a feature file to a file of codes, in constant memory; the same call resumes.

    Parameters
    ----------
    path : str or Path
        A feature file in any of the formats that are read.
    out : str or Path
        The file of codes, see `cbe_bench.vectors.code_file`; it appears whole or not at all.
    method, n_bits, metric, center, n_train, seed, params
        What decides the codes; see `EncodeOptions`.
    dataset : str, optional
        Which HDF5 dataset, Parquet column or ``.npz`` array, where the file holds several.
    ids : str or Path, optional
        A ``.npy`` file of integers or strings, an identifier for each row; default: the number of the row.
    overwrite : bool
        Write over `out`, and start over what was begun with other parameters.
    resources : Resources, optional
        Threads and memory that may be used.
    run : callable
        Where blocks are encoded: `run_here`, or a Dask cluster.
    message, rows_done, foreseen : callables
        Take a line for the user, how far it is, and how long the rest will take.

    Returns
    -------
    EncodeSummary

    Raises
    ------
    InputError
        If the file, or a row of it, cannot be encoded; nothing is written then.
    """
    path, out, resources = as_path(path), local_path(out, "codes"), resources or Resources()
    options = EncodeOptions(method, n_bits, metric, center, n_train, seed, dict(params or {}))
    if metric not in METRICS:
        raise InputError(f"metric {metric!r}: {did_you_mean(metric, METRICS)}")
    folder = out.with_name(out.name + ".partial")
    if not folder.exists():
        _check_output(out, overwrite)
    with threads(resources.threads), open_features(path, part=dataset) as features:
        encoder = options.encoder()
        encoder.check_params(features.n_features)
        message(_extent(features, encoder.bits(features.n_features)))
        known_ids = open_ids(ids, features.n_rows)
        try:
            with exclusive(folder, message):
                partial = _Partial(folder, features, options, dataset, ids)
                if not partial.resumes:  # otherwise the file may be there: the last thing before a call was killed
                    _check_output(out, overwrite)
                    partial.begin(overwrite)
                summary = partial.encode(resources, run, message, rows_done, foreseen)
                partial.finish(out, known_ids, summary)
                partial.remove()
        except InputError:
            if not any(folder.glob("*/*.npz")):  # nothing to resume
                shutil.rmtree(folder, ignore_errors=True)
            raise
    return summary


def _extent(features: Features, n_bits: int) -> str:
    """Say how much there is to read and to write."""
    rows = f"{features.n_rows:,} rows x {features.n_features:,} dimensions, {human_bytes(features.stamp()[0])}"
    return f"encoding {rows}, to {n_bits:,} bits each: {human_bytes(features.n_rows * code_bytes(n_bits))} of codes"


def _check_output(out: Path, overwrite: bool) -> None:
    if out.exists() and not overwrite:
        raise InputError(f"{out}: is there already; --force writes over it")
    if out.is_dir():
        raise InputError(f"{out}: a folder, not a file")


class _Partial:
    """A file of codes that is not finished: the folder with what is done so far."""

    def __init__(
        self,
        folder: Path,
        features: Features,
        options: EncodeOptions,
        dataset: str | None,
        ids: str | Path | None,
    ) -> None:
        self._folder, self._features, self._options, self._dataset = folder, features, options, dataset
        self._size = block_rows(features.n_features)
        self._numbers = range(-(-features.n_rows // self._size))
        self._wanted = json.loads(json.dumps(self._identity(ids)))
        try:
            self._found = json.loads((folder / _JOB).read_text())
        except (OSError, ValueError):
            self._found = None
        self.resumes = self._found == self._wanted
        """Whether an earlier call with the same parameters was interrupted."""

    def _identity(self, ids: str | Path | None) -> dict[str, Any]:
        """Return what must be the same for a later call to resume."""
        source = [self._features.source, *self._features.stamp(), self._dataset]
        return {"cbe-bench": __version__, "source": source, "ids": str(ids), **asdict(self._options)}

    def begin(self, overwrite: bool) -> None:
        """Start with an empty folder; what was begun with other parameters is removed only if asked for."""
        found, wanted = self._found, self._wanted
        if found is not None and not overwrite:
            changed = next((key for key in wanted if found.get(key) != wanted[key]), "its version")
            raise InputError(f"{self._folder}: was begun with another {changed}; --force starts over")
        for old in self._folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        _write_json(self._folder / _JOB, wanted)

    def remove(self) -> None:
        """Remove the folder; what was asked for last, so that a call that is killed here can be resumed too."""
        for path in self._folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _JOB:
                path.unlink()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _block(self, number: int) -> Path:
        return self._folder / f"{number // 1000:06d}" / f"{number:09d}.npz"

    def encode(
        self,
        resources: Resources,
        run: Run,
        message: Callable[[str], None],
        rows_done: RowsDone,
        foreseen: Foreseen,
    ) -> EncodeSummary:
        """Encode the blocks that are not there yet."""
        done = {number: len(block.rows) for number in self._numbers if (block := saved_block(self._block(number)))}
        left = [number for number in self._numbers if number not in done]
        before = sum(map(self._rows, done))
        if done:
            message(f"resuming: {before:,} of {self._features.n_rows:,} rows done")
        if left:
            source = str(as_path(self._features.source).absolute())
            task = EncodeTask(source, self._dataset, self._options.metric, self._encoder(message))
            task.encoder.set_resources(resources)
            with ThreadPoolExecutor(1, thread_name_prefix="cbe-bench-write") as writer:
                total, pending = before, None
                first = start = 0.0
                for place, (number, block) in enumerate(run(task, left)):
                    if pending:
                        pending.result()
                    pending = writer.submit(save_block, self._block(number), block)
                    done[number] = len(block.rows)
                    total += self._rows(number)
                    rows_done(total, self._features.n_rows, before)
                    if place == 0:
                        first, start = total, time.perf_counter()
                    elif place == _BLOCKS_TIMED:
                        speed = (total - first) / (time.perf_counter() - start)
                        foreseen((self._features.n_rows - total) / speed)
                _wait(pending)
        n_codes = sum(done.values())
        if not n_codes:
            raise InputError(f"{self._features.source}: all {self._features.n_rows:,} rows hold only zeros")
        return EncodeSummary(n_codes, self._features.n_rows - n_codes, before)

    def _rows(self, number: int) -> int:
        return min(self._size, self._features.n_rows - number * self._size)

    def _encoder(self, message: Callable[[str], None]) -> Encoder:
        """Return the fitted encoder, that of an earlier call if there is one."""
        path = self._folder / "encoder.npz"
        if path.exists():
            return load_encoder(path)
        message(f"fitting {self._options.method} on a sample of the rows")
        rows = sample(self._features, self._options.n_train, self._options.metric, self._options.seed)
        encoder = self._options.encoder().fit(rows.vectors)
        about = {"sampled_rows": len(rows.rows), "sample_sha256": hashlib.sha256(rows.vectors.data).hexdigest()}
        _write_json(self._folder / "sample.json", about)
        encoder.save(path)
        return load_encoder(path)  # exactly what a later call, and whoever opens the codes, encodes with

    def finish(self, out: Path, ids: NDArray | None, summary: EncodeSummary) -> None:
        """Write the file of codes from all blocks."""

        def blocks() -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
            for number in self._numbers:
                block = saved_block(self._block(number))
                if block is None:
                    raise InputError(
                        f"{self._block(number)}: was damaged after it was written; the same call repairs it"
                    )
                yield block.codes, block.rows

        provenance = {
            "source": as_path(self._features.source).name,
            "dataset": self._dataset,
            "n_rows": self._features.n_rows,
            "skipped_rows": summary.skipped,
            **json.loads((self._folder / "sample.json").read_text()),
            "cbe-bench": __version__,
            "parameters": asdict(self._options),
        }
        encoder = load_encoder(self._folder / "encoder.npz")
        write_code_file(out, blocks(), summary.n_codes, encoder, self._options.metric, ids, provenance)


def _write_json(path: Path, value: Any) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(value))


def _wait(pending: "Future[None] | None") -> None:
    if pending:
        pending.result()
