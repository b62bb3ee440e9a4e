"""Indexes made from the name of their method and its parameters."""

from typing import Any

from cbe_bench.core.errors import InputError, did_you_mean
from cbe_bench.core.resources import Resources
from cbe_bench.encoders import make_encoder
from cbe_bench.encoders.rabitq import RaBitQ
from cbe_bench.encoders.registry import encoder_classes
from cbe_bench.evaluators.search.indexes import EncoderIndex, Index, RaBitQIndex, bits_and_dims
from cbe_bench.evaluators.search.peers import PEERS, make_peer

SCORINGS = ("symmetric", "asymmetric")


def make_index(
    name: str, params: dict[str, Any], *, n_bits: int, n_features: int, metric: str, seed: int, resources: Resources
) -> Index:
    """Return the index called `name`, empty and not fitted.

    Parameters
    ----------
    name : str
        "rabitq", an encoder, or one of `peers.PEERS`.
    params : dict
        Parameters of the method; of an encoder also `scoring`, one of `SCORINGS`.
    n_bits : int
        The code length, numbers beside the code aside.
    n_features : int
        Dimensions of the vectors.
    metric : {"cosine", "l2", "ip"}
        What neighbours are nearest by; vectors have unit length for "cosine".
    seed : int
        Decides every draw.
    resources : Resources
        What encoders may use.

    Raises
    ------
    InputError
        If there is no such method or parameter, or it cannot have such codes.
    """
    if name in PEERS:
        return make_peer(name, params, n_bits=n_bits, n_features=n_features, metric=metric, seed=seed)
    if name == "rabitq":
        return _make_rabitq(params, n_bits, n_features, metric, seed)
    if name not in (known := encoder_classes()):
        raise InputError(f"unknown method {name!r}; {did_you_mean(name, [*known, 'rabitq', *PEERS])}")
    own = {param: value for param, value in params.items() if param != "scoring"}
    scoring = str(params.get("scoring", "symmetric"))
    if scoring not in SCORINGS:
        raise InputError(f"{name}: scoring = {scoring!r}; {did_you_mean(scoring, SCORINGS)}")
    encoder = make_encoder(name, n_bits=n_bits, random_state=seed, **own)
    encoder.check_params(n_features)
    return EncoderIndex(encoder.set_resources(resources), scoring)


def _make_rabitq(params: dict[str, Any], n_bits: int, n_features: int, metric: str, seed: int) -> RaBitQIndex:
    known = {"bits_per_dim", "rotation", "query_bits"}
    for param in params:
        if param not in known:
            raise InputError(f"rabitq has no parameter {param!r}; {did_you_mean(param, known)}")
    bits, n_dims = bits_and_dims(n_bits, n_features, params.get("bits_per_dim"))
    quantizer = RaBitQ(
        **{**params, "bits_per_dim": bits},
        n_components=n_dims if n_dims < n_features else None,
        metric="l2" if metric == "l2" else "ip",
        random_state=seed,
    )
    quantizer.check_params(n_features)
    return RaBitQIndex(quantizer)
