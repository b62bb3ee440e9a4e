"""The generators that parameters are drawn from."""

import numpy as np


def seed_of(rng: np.random.Generator) -> int:
    """Return the integer that the generator given to `_fit` was seeded with."""
    return int(rng.bit_generator.seed_seq.entropy)  # type: ignore[attr-defined]


def child_rng(rng: np.random.Generator, *key: int) -> np.random.Generator:
    """Return a generator decided by the seed of `rng` and by `key`, whatever was drawn before.

    Parameters drawn in tiles, each from the child of its number, are the same however many tiles there are.
    """
    return np.random.default_rng([seed_of(rng), *key])
