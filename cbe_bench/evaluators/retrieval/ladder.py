"""The stage of retrieval experiments that measures encode times: which cells it has, and what follows from its rows.

Each method is timed at each code length of a ladder: the lengths of the experiment and halves of the shortest. Timed is
encoding a batch to packed bits on one pinned thread, in independent rounds, all methods and lengths that fit memory
together interleaved in each. Methods that encode by the same operations are timed once.
"""

from collections.abc import Iterable
from functools import cached_property

from cbe_bench.core import environment
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import Row
from cbe_bench.core.runner import Cell
from cbe_bench.evaluators.configs import EncoderConfig
from cbe_bench.evaluators.retrieval.config import RetrievalConfig
from cbe_bench.evaluators.retrieval.equal_time import Ladder, bits_by_round, brackets
from cbe_bench.evaluators.times.cells import encoding_cell, grouped
from cbe_bench.evaluators.times.methods import TimedMethod
from cbe_bench.evaluators.times.rows import TimingSpec, encode_rows

BATCH = 64
"""Vectors that are encoded at once."""
_THREADS = 1


class TimeLadder:
    """The encode times that an experiment needs.

    Parameters
    ----------
    config : RetrievalConfig
        The experiment.
    resources : Resources
        The memory it may use.
    """

    def __init__(self, config: RetrievalConfig, resources: Resources) -> None:
        self._config, self._resources = config, resources

    @cached_property
    def cells(self) -> list[Cell]:
        """Every method, unless it encodes like another, at every code length of the ladder, the shortest first."""
        config = self._config
        if "time" not in config.fixed:
            return []
        methods: dict[str, tuple[TimedMethod, list[str], set[int]]] = {}
        for entry in config.encoders:
            method = self._method(entry)
            _, labels, lengths = methods.setdefault(method.key, (method, [], set()))
            labels.append(entry.label)
            lengths.update(config.ladder(entry))
        ladder = sorted({n_bits for _, _, lengths in methods.values() for n_bits in lengths})
        blocks = [
            [self._cell(one, self._label(labels), k) for one, labels, lengths in methods.values() if k in lengths]
            for k in ladder
        ]
        return list(grouped(blocks, self._resources.memory_limit))

    def lengths(self, rows: Iterable[Row], *, foreseen: bool = False) -> dict[str, list[int]]:
        """Return the code lengths that each method is run at to have the time of the reference.

        Parameters
        ----------
        rows : iterable of Row
            The rows there are.
        foreseen : bool
            Whether times that are not measured yet are taken from the estimates of operations.

        Returns
        -------
        dict of str to list of int
            By label: lengths of its ladder that bracket what it computes in the time of each length of the reference.
        """
        config = self._config
        if "time" not in config.fixed:
            return {}
        ladders = self._ladders(rows)
        pending = {method for method, there in self._pending(rows).items() if there} if foreseen else set()
        reference = next(entry for entry in config.encoders if entry.label == config.time_reference)
        found = {}
        for entry in config.encoders:
            pair = [reference, entry]
            keys = [self._method(one).key for one in pair]
            known = {key: ladders.get(key, {}) for key in keys}
            if pending & known.keys():
                known = {key: self._estimated(one) for key, one in zip(keys, pair, strict=True)}
            own, rival = (known[key] for key in keys)
            rounds = [k for target in config.lengths(reference) for k in bits_by_round(own, target, rival)]
            allowed = set(config.ladder(entry)) & rival.keys()
            found[entry.label] = brackets(allowed, rounds) if allowed else []
        return found

    def _label(self, labels: list[str]) -> str:
        """Return what stands for methods that encode alike: the reference, or else the first."""
        reference = self._config.time_reference
        return reference if reference in labels else labels[0]

    def _method(self, entry: EncoderConfig) -> TimedMethod:
        return TimedMethod.of(entry.name, self._config.params_of(entry))

    def _ladders(self, rows: Iterable[Row]) -> dict[str, Ladder]:
        """Return the times that were measured, by the key of what was timed."""
        keys = {cell.key for cell in self.cells}
        found: dict[str, dict[int, tuple[float, ...]]] = {}
        for row in encode_rows(rows):
            if row.ok and row.key in keys:
                found.setdefault(TimedMethod(row.encoder, row.params).key, {})[row.n_bits] = row.rounds_us
        return dict(found)

    def _pending(self, rows: Iterable[Row]) -> dict[str, bool]:
        """Return, by the key of what is timed, whether some of its times are not measured yet."""
        ended = {row.key for row in rows}
        found: dict[str, bool] = {}
        for cell in self.cells:
            spec: TimingSpec = cell.spec  # type: ignore[assignment]
            key = TimedMethod(spec.encoder, spec.params).key
            is_pending = cell.key not in ended and not cell.excess(self._resources.memory_limit)
            found[key] = found.get(key, False) or is_pending
        return found

    def _estimated(self, entry: EncoderConfig) -> Ladder:
        method, d = self._method(entry), self._config.n_features
        return {n_bits: (method.make(n_bits).cost_estimate(d),) for n_bits in self._config.ladder(entry)}

    def _cell(self, method: TimedMethod, label: str, n_bits: int) -> Cell:
        config = self._config
        spec = TimingSpec(
            encoder=method.encoder,
            params=method.params,
            n_features=config.n_features,
            n_bits=n_bits,
            batch=BATCH,
            threads=_THREADS,
            dtype="float32",
            environment=environment.environment_id(),
            rounds=config.time_rounds,
        )
        return encoding_cell(spec, label, config.time_budget_s, self._resources)
