"""Try methods and code lengths on a sample of a file."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.progress import LONG_S, Progress, duration, no_progress
from cbe_bench.core.resources import Resources
from cbe_bench.core.runner import OPERATIONS_PER_SECOND
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.view import METRICS
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.base import N_TRAIN
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.evaluators.retrieval.estimates import evaluation_operations, ground_truth_operations
from cbe_bench.kernels.parallel import threads
from cbe_bench.vectors.options import EncodeOptions
from cbe_bench.vectors.recommend.answer import Choice, Target, choose, sentence
from cbe_bench.vectors.recommend.measure import Cell, measure
from cbe_bench.vectors.recommend.sample import draw_sample
from cbe_bench.vectors.rows import open_alike

METHODS: dict[str, int | None] = {"cbe-opt": None, "cbe-orth": None, "hd3": None, "itq": 512, "lsh": None, "sign": None}
"""Methods that are tried unless others are named, and the longest codes tried of those that are slow to train."""
_LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
_LONGEST = 4
"""Code lengths go up to this many times the dimension, and to 512 bits at least."""
_SHORT = 512


@dataclass(frozen=True)
class Recommendation:
    """What to use, and everything that was measured.

    Attributes
    ----------
    answer : str
        One sentence.
    choice : Choice or None
        The cell and the oversampling it names.
    reached : bool
        Whether the target is reached.
    cells : list of Cell
        All that was measured.
    skipped : list of str
        What was not tried, and why.
    target : Target
        What was wanted.
    """

    answer: str
    choice: Choice | None
    reached: bool
    cells: list[Cell]
    skipped: list[str]
    target: Target


def recommend(
    path: str | Path,
    *,
    recall: float | None = None,
    at: int = 100,
    max_bytes: int | None = None,
    metric: str = "cosine",
    queries: str | Path | None = None,
    dataset: str | None = None,
    methods: Sequence[str] | None = None,
    n_bits: Sequence[int] | None = None,
    sample_rows: int = 50_000,
    n_queries: int = 500,
    n_train: int = N_TRAIN,
    seed: int = 0,
    resources: Resources | None = None,
    message: Callable[[str], None] = lambda text: None,
    progress: Progress = no_progress,
) -> Recommendation:
    """Find out which codes to use for a file of vectors, on a sample of it.

    Parameters
    ----------
    path : str or Path
        A feature file in any of the formats that are read.
    recall : float, optional
        Recall@`at` that is wanted, at the fewest bytes; 0.95 unless `max_bytes` is given.
    at : int
        Neighbours of a query.
    max_bytes : int, optional
        Bytes of a code, at most; without `recall`, the best recall within them is wanted.
    metric : {"cosine", "l2", "ip"}
        What neighbours are nearest by.
    queries : str or Path, optional
        A file of queries; default: rows of the file, left out of the database.
    dataset : str, optional
        Which HDF5 dataset, Parquet column or ``.npz`` array, where the file, or that of queries, holds several.
    methods, n_bits : sequences, optional
        What is tried; default: `METHODS`, and lengths from 64 bits to four times the dimension.
    sample_rows, n_queries : int
        Rows that are searched, less than 1 GiB of them, and queries, at most.
    n_train, seed : int
        As of `encode_file`: the recall expected is that of the codes it makes with the same.
    resources : Resources, optional
        Threads and memory that may be used.
    message, progress : callables
        Take a line for the user, and the fraction that is done.

    Returns
    -------
    Recommendation
    """
    resources = resources or Resources()
    target = Target(0.95 if recall is None and max_bytes is None else recall, at, max_bytes)
    if metric not in METRICS:
        raise InputError(f"metric {metric!r}: {did_you_mean(metric, METRICS)}")
    with threads(resources.threads), ExitStack() as files:
        features = files.enter_context(open_features(path, part=dataset))
        asked = None if queries is None else files.enter_context(open_alike(queries, dataset))
        planned, skipped = _plan(features.n_features, target, methods, n_bits, seed)
        depths = tuple(sorted({10, 100, at}))
        message(_extent(planned, features, sample_rows, n_queries, resources))
        sample = draw_sample(
            features,
            metric=metric,
            n_rows=sample_rows,
            n_queries=n_queries,
            n_train=n_train,
            depth=depths[-1],
            seed=seed,
            queries=asked,
        )
        if sample.skipped:
            message(f"{sample.skipped:,} of the rows of the sample hold only zeros: skipped, zeros have no direction")
        cells: list[Cell] = []
        for number, (name, bits) in enumerate(planned):
            message(f"[{number + 1}/{len(planned)}] {name}, {bits:,} bits")
            encoder = EncodeOptions(name, bits, metric, n_train=n_train, seed=seed).encoder().set_resources(resources)
            cells += measure(encoder, sample, depths)
            progress((number + 1) / len(planned))
    choice, reached = choose(cells, target)
    answer = sentence(choice, reached, target, sample.sizes, sample.full_rows) if choice else "nothing could be tried"
    return Recommendation(answer, choice, reached, cells, skipped, target)


def _extent(
    planned: Sequence[tuple[str, int]], features: Features, n_rows: int, n_queries: int, resources: Resources
) -> str:
    """Say how much is tried on how much, and about how long it will take, training aside."""
    n, d = min(n_rows, features.n_rows), features.n_features
    operations = ground_truth_operations(d, n, n_queries)
    for name, bits in planned:
        operations += (n + n_queries) * make_encoder(name, n_bits=bits).cost_estimate(d)
        operations += 2 * evaluation_operations(n, n_queries, bits)
    seconds = operations / (OPERATIONS_PER_SECOND * resources.n_threads)
    rows = f"{n:,} of {features.n_rows:,} rows x {d:,} dimensions, {human_bytes(4 * n * d)}"
    time = f": about {duration(seconds)} beside training" if seconds >= LONG_S else ""
    return f"trying {len(planned)} codes on {rows}{time}"


def _plan(
    n_features: int, target: Target, methods: Sequence[str] | None, n_bits: Sequence[int] | None, seed: int
) -> tuple[list[tuple[str, int]], list[str]]:
    """Return methods and code lengths that can be tried, and what cannot be, with the reason."""
    lengths = set(n_bits or [k for k in _LENGTHS if k <= max(_SHORT, _LONGEST * n_features)])
    if n_bits is None:
        lengths.add(n_features)
    if target.most_bytes is not None:
        lengths = {k for k in lengths if k <= 8 * target.most_bytes}
        lengths |= set() if n_bits else {8 * target.most_bytes}
    planned: list[tuple[str, int]] = []
    skipped: dict[str, list[str]] = {}
    for name in methods or METHODS:
        encoder_class(name)
        longest = METHODS.get(name) if methods is None else None
        for bits in sorted(lengths):
            try:
                make_encoder(name, n_bits=bits, center=True, random_state=seed).check_params(n_features)
            except InputError as error:
                why = str(error).removeprefix(f"{name}: ").removeprefix(f"n_bits = {bits}; ")
                skipped.setdefault(f"{name}: {why}", []).append(f"{bits:,}")
                continue
            if longest is not None and bits > longest:
                skipped.setdefault(f"{name}: long to train; --methods {name} tries them", []).append(f"{bits:,}")
            else:
                planned.append((name, bits))
    return planned, [f"{why} (left out: {', '.join(bits)} bits)" for why, bits in skipped.items()]
