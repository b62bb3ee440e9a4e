"""Encoders made from the name of their method and their parameters, with the steps that may come before it."""

from typing import Any

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import Encoder
from cbe_bench.encoders.precondition import Preconditioned
from cbe_bench.encoders.registry import encoder_class

_STEPS = ("precondition",)


def make_encoder(name: str, /, *, precondition: str | None = None, **params: Any) -> Encoder:
    """Construct the encoder called `name`.

    Parameters
    ----------
    name : str
        The method; see `encoder_classes`.
    precondition : {"hadamard", "hadamard-blocks"}, optional
        Encode vectors that a random rotation has flattened; see `Preconditioned`.
    **params
        The method's own parameters, `n_bits` and `random_state` among them.

    Raises
    ------
    InputError
        If there is no such method or parameter; the message has the nearest one.
    """
    cls = encoder_class(name)
    known = {*cls().get_params(), *_STEPS}
    for param in params:
        if param not in known:
            raise InputError(f"encoder {name!r} has no parameter {param!r}; {did_you_mean(param, known)}")
    encoder = cls(**params)
    if precondition is None:
        return encoder
    own = {param: params[param] for param in ("n_bits", "random_state") if param in params}
    return Preconditioned(encoder.set_params(**dict.fromkeys(own)), precondition=precondition, **own)
