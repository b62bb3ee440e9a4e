"""What there is to choose from: every method with its parameters, its cost and what it is good for."""

from dataclasses import dataclass
from typing import Any

from cbe_bench.core.errors import InputError
from cbe_bench.encoders import encoder_classes, make_encoder


@dataclass(frozen=True)
class MethodInfo:
    """A method at one dimension and code length.

    Attributes
    ----------
    name, summary, good_for : str
        What it is called, what it does, and when to use it.
    trained : bool
        Whether it is data-dependent.
    params : dict
        Its own parameters with their defaults.
    cost_ratio : float or None
        Estimated operations to encode one vector, relative to a dense matrix; None if it cannot do the code length.
    memory_bytes : int or None
        Estimated bytes to fit and to encode.
    problem : str
        Why it cannot do the code length.
    """

    name: str
    summary: str
    good_for: str
    trained: bool
    params: dict[str, Any]
    cost_ratio: float | None
    memory_bytes: int | None
    problem: str = ""


def describe_methods(n_features: int, n_bits: int) -> list[MethodInfo]:
    """Return all methods, those of other packages included, with estimates for vectors and codes of some length."""
    return [_describe(name, cls, n_features, n_bits) for name, cls in encoder_classes().items()]


def _describe(name: str, cls: Any, n_features: int, n_bits: int) -> MethodInfo:
    encoder = make_encoder(name, n_bits=n_bits)
    own = {key: value for key, value in encoder.get_params().items() if key not in ("n_bits", "random_state")}
    cost, memory, problem = None, None, ""
    try:
        encoder.check_params(n_features)
        cost = encoder.cost_estimate(n_features) / (2.0 * n_features * n_bits)
        memory = encoder.memory_bytes(n_features)
    except InputError as error:
        problem = str(error)
    summary = (cls.__doc__ or "").strip().split("\n")[0]
    return MethodInfo(name, summary, cls.good_for, cls.data_dependent, own, cost, memory, problem)
