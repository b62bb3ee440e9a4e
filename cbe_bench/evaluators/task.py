"""Searches for neighbours: the split of a seed and its view of the features, decided by what a row's spec says."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from numpy.typing import NDArray
from pydantic import Field

from cbe_bench.core.config import Positive, Scales
from cbe_bench.core.results import Spec
from cbe_bench.data.features import Features
from cbe_bench.data.splits import PROTOCOLS, Split, make_split
from cbe_bench.data.view import DatasetView
from cbe_bench.encoders.diagnostics import CodeWarning, mean_energy, mean_problem
from cbe_bench.encoders.registry import encoder_classes
from cbe_bench.evaluators.configs import EncodersConfig
from cbe_bench.evaluators.seeds import derive_seed


class NeighboursConfig(EncodersConfig):
    """The keys of experiments that search for neighbours."""

    sizes: ClassVar[Scales] = {
        "smoke": {"n_database": 1_000, "n_train": 500, "n_queries": 50},
        "quick": {"n_database": 1_000, "n_train": 600, "n_queries": 200},
        "paper": {"n_database": 100_000, "n_train": 10_000, "n_queries": 500},
    }

    n_database: Positive
    n_train: Positive
    """Rows of the database that make the training set."""
    n_queries: Positive
    n_neighbours: Positive = 10
    """Exact neighbours of a query."""
    metric: Literal["cosine", "l2", "ip"] = "cosine"
    """What neighbours are nearest by: the angle (rows are scaled to unit length), the distance, the inner product."""
    depth: Annotated[int, Field(ge=10, strict=True)] = 100
    """Recall is measured up to this many retrieved rows."""

    @property
    def rows_needed(self) -> int:
        """Rows that a synthetic surrogate must have."""
        return self.n_database + self.n_queries

    def task(self, features: Features, n_train: int) -> "Task":
        """Return what is searched for in what.

        Parameters
        ----------
        features : Features
            The vectors.
        n_train : int
            Rows of the training set.

        Returns
        -------
        Task
        """
        return Task(
            features=features,
            protocol=self.protocol,
            n_features=self.n_features,
            n_database=self.n_database,
            n_train=n_train,
            n_queries=self.n_queries,
            n_neighbours=self.n_neighbours,
            depth=self.depth,
            metric=self.metric,
        )

    def problems(self) -> Iterable[str]:
        """Find what is well-formed but cannot work."""
        yield from super().problems()
        if self.n_train > self.n_database:
            yield f"n_train: found {self.n_train}; the database it is drawn from has {self.n_database} rows"
        for entry in self.encoders:
            if entry.n_train is not None and entry.n_train > self.n_train:
                yield f"encoders.{entry.label}.n_train: found {entry.n_train}; the training set has {self.n_train} rows"
        least = max(self.n_neighbours, self.depth)
        if self.n_database < least:
            yield f"n_database: found {self.n_database}; n_neighbours and depth need at least {least} rows"


@dataclass(frozen=True, kw_only=True)
class NeighboursSpec(Spec):
    """One method at one code length under one seed, searching one data set."""

    encoder: str
    params: dict[str, Any]
    n_bits: int
    seed: int
    n_train: int
    """Rows the method is trained on; 0 where it is data-independent."""
    n_train_pool: int
    """Rows of the training set that those are drawn from; 0 where it is data-independent."""
    protocol: str
    data_hash: str
    n_rows: int
    """Rows of the file that queries and database are drawn from."""
    n_features: int
    n_database: int
    n_queries: int
    n_neighbours: int
    depth: int
    metric: str = "cosine"
    """What neighbours are nearest by: cosine (rows have unit length), l2 or ip."""


def is_trained(spec: NeighboursSpec) -> bool:
    """Return whether a method is trained; centring alone, by the mean of the training set, does not count."""
    known = encoder_classes()
    return known[spec.encoder].data_dependent if spec.encoder in known else spec.n_train > 0


def warn_of_mean(queries: NDArray, labels: Sequence[str]) -> None:
    """Warn in one line, with the remedy, if the mean of the data carries most of their energy.

    Parameters
    ----------
    queries : float32 array of shape (n, d)
        Rows like those of the database.
    labels : sequence of str
        Encoders that are not centred.
    """
    problem = mean_problem(mean_energy(queries), "the queries")
    if problem and labels:
        warnings.warn(f"{problem}; try center: true among the params of {', '.join(labels)}", CodeWarning, stacklevel=2)


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is retrieved from what: sizes, as far as the data have as many rows, and how rows are prepared."""

    features: Features
    protocol: str
    n_features: int
    """Dimensions that are used; where the features have more, they are drawn by the seed."""
    n_database: int
    n_train: int
    n_queries: int
    n_neighbours: int
    depth: int
    metric: str = "cosine"
    """What neighbours are nearest by."""

    def spec_fields(self, split: Split, data_hash: str) -> dict[str, Any]:
        """Return the fields of a spec that all methods have in common.

        Parameters
        ----------
        split : Split
            The rows of the database, the queries and the training set.
        data_hash : str
            The hash of the features.

        Returns
        -------
        dict
        """
        return {
            "protocol": self.protocol,
            "data_hash": data_hash,
            "n_rows": self.features.n_rows,
            "n_features": self.n_features,
            "n_database": len(split.database),
            "n_queries": len(split.queries),
            "n_neighbours": self.n_neighbours,
            "depth": self.depth,
            "metric": self.metric,
        }

    def split(self, seed: int) -> Split:
        """Return the split of a seed."""
        protocol = PROTOCOLS[self.protocol]
        return make_split(
            self.features.n_rows,
            database=min(self.n_database, protocol.max_database or self.n_database),
            train=min(self.n_train, protocol.max_train or self.n_train),
            queries=self.n_queries,
            least=max(self.n_neighbours, self.depth),
            seed=derive_seed(seed, "split"),
            source=self.features.source,
            own_queries=self.features.own_queries,
        )

    def view(self, seed: int, cache_bytes: int) -> DatasetView:
        """Return the dataset view of a seed.

        Parameters
        ----------
        seed : int
            The seed of the split and of the choice of dimensions.
        cache_bytes : int
            The most bytes of cached rows.

        Returns
        -------
        DatasetView
        """
        return DatasetView(
            self.features,
            self.split(seed),
            PROTOCOLS[self.protocol],
            seed=derive_seed(seed, "dimensions"),
            n_dims=self.n_features if self.n_features != self.features.n_features else None,
            cache_bytes=cache_bytes,
            metric=self.metric,
        )
