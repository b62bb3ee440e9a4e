"""Encoders made from the name of their method and their parameters, with the steps around it."""

from typing import Any

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.encoders.base import Encoder
from cbe_bench.encoders.pca import PrincipalComponents
from cbe_bench.encoders.precondition import Preconditioned
from cbe_bench.encoders.registry import encoder_class
from cbe_bench.encoders.thresholds import Thresholded

_STEPS = {"precondition", "pca", "center", "threshold"}


def make_encoder(
    name: str,
    /,
    *,
    precondition: str | None = None,
    pca: bool = False,
    center: bool = False,
    threshold: str = "zero",
    **params: Any,
) -> Encoder:
    """Construct the encoder called `name`.

    Parameters
    ----------
    name : str
        The method; see `encoder_classes`.
    precondition : {"hadamard", "hadamard-blocks"}, optional
        Encode vectors that a random rotation has flattened; see `Preconditioned`.
    pca : bool
        Encode as many principal components as there are bits; see `PrincipalComponents`.
    center : bool
        Encode vectors less the mean of the training set; see `Thresholded`.
    threshold : {"zero", "median"}
        Compare each projection with zero or with its median over the training set; see `Thresholded`.
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
    if not isinstance(pca, bool):
        raise InputError(f"encoder {name!r}: pca = {pca!r}; allowed: True, False")
    encoder: Encoder = cls(**params)
    if precondition is not None:
        encoder = Preconditioned(encoder, precondition=precondition)
    if pca:
        encoder = PrincipalComponents(encoder)
    if center or threshold != "zero":
        encoder = Thresholded(encoder, center=center, threshold=threshold)
    own = {param: params[param] for param in ("n_bits", "random_state") if param in params}
    if not isinstance(encoder, cls):
        _innermost(encoder).set_params(**dict.fromkeys(own))
        encoder.set_params(**own)
    return encoder


def _innermost(encoder: Any) -> Encoder:
    while hasattr(encoder, "encoder"):
        encoder = encoder.encoder
    innermost: Encoder = encoder
    return innermost
