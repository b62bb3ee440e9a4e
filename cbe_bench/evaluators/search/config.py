"""The configuration of search experiments."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from cbe_bench.core.config import Positive
from cbe_bench.core.resources import Resources
from cbe_bench.evaluators.configs import EncoderConfig
from cbe_bench.evaluators.search.making import make_index
from cbe_bench.evaluators.search.peers import PEERS, missing_library
from cbe_bench.evaluators.task import NeighboursConfig


class SearchConfig(NeighboursConfig):
    """How well compressed vectors are searched, by bytes and by time."""

    experiment: Literal["search"]
    protocol: Literal["paper"] = "paper"
    depth: Annotated[int, Field(ge=10, strict=True)] = 1000
    """Candidates that are found, and of which ever more are re-ranked."""
    timed_depth: Positive = 100
    """Search time is that of finding this many."""

    @property
    def present(self) -> tuple[EncoderConfig, ...]:
        """The methods that can be run."""
        return tuple(entry for entry in self.encoders if not self.skipped(entry))

    def skipped(self, entry: EncoderConfig) -> str:
        """Say why the index of another library cannot be run; an empty string where it can."""
        if entry.name not in PEERS:
            return ""
        return missing_library() or ("" if self.lengths(entry) else self._problem(entry, self.n_bits[0]))

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        if self.timed_depth > self.depth:
            yield f"timed_depth: found {self.timed_depth}; at most the depth, {self.depth}"
        if self.depth < self.n_neighbours:
            yield f"depth: found {self.depth}; there are {self.n_neighbours} neighbours to be found"

    def _check_encoder(self, entry: EncoderConfig) -> None:
        """Raise InputError unless a method can have one of the code lengths; an index of another library need not."""
        if entry.name in PEERS:
            self._index(entry, n_bits=8, n_features=8)
        else:
            super()._check_encoder(entry)

    def _make(self, entry: EncoderConfig, n_bits: int) -> None:
        self._index(entry, n_bits=n_bits, n_features=self.n_features)

    def _index(self, entry: EncoderConfig, **sizes: int) -> None:
        make_index(entry.name, self.params_of(entry), **sizes, metric=self.metric, seed=0, resources=Resources())
