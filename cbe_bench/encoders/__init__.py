"""Every binary encoder, found by name.

A module in this package that decorates a class with ``@register("name")`` adds a method to the suite; there is
no other list to edit.
"""

import importlib
import pkgutil
from functools import cache
from typing import Any

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import REGISTRY, Encoder, load_encoder, register
from cbe_bench.encoders.precondition import Preconditioned


@cache
def encoder_classes() -> dict[str, type[Encoder]]:
    """Return the classes of all encoders by their registry name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(REGISTRY.items()))


def make_encoder(name: str, /, *, precondition: str | None = None, **params: Any) -> Encoder:
    """Construct the encoder called `name`; a wrong name or parameter is told with the nearest right one.

    With `precondition`, it is one of vectors that a Walsh-Hadamard transform has spread: see `Preconditioned`.
    """
    classes = encoder_classes()
    if name not in classes:
        raise InputError(f"unknown encoder {name!r}; {did_you_mean(name, classes)}")
    known = {*classes[name]().get_params(), "precondition"}
    for param in params:
        if param not in known:
            raise InputError(f"encoder {name!r} has no parameter {param!r}; {did_you_mean(param, known)}")
    encoder = classes[name](**params)
    if precondition is None:
        return encoder
    own = {param: params[param] for param in ("n_bits", "random_state") if param in params}
    return Preconditioned(encoder.set_params(**dict.fromkeys(own)), precondition=precondition, **own)


__all__ = ["Encoder", "Preconditioned", "encoder_classes", "load_encoder", "make_encoder", "register"]
