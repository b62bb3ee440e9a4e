"""What decides the codes of a file."""

from dataclasses import dataclass, field
from typing import Any

from cbe_bench.encoders import Encoder, make_encoder
from cbe_bench.encoders.base import N_TRAIN


@dataclass(frozen=True)
class EncodeOptions:
    """What decides the codes of a file.

    Attributes
    ----------
    method : str
        The method; see `cbe-bench methods`.
    n_bits : int or None
        Code length; None means as many bits as there are dimensions.
    metric : {"cosine", "l2", "ip"}
        What vectors are compared by; with "cosine" they are scaled to unit length first.
    center : bool
        Encode vectors less the mean of the sampled rows.
    n_train : int
        Rows sampled from the whole file to train on.
    seed : int
        Decides every random draw.
    params : dict
        Other parameters of the method.
    """

    method: str = "cbe-opt"
    n_bits: int | None = None
    metric: str = "cosine"
    center: bool = True
    n_train: int = N_TRAIN
    seed: int = 0
    params: dict[str, Any] = field(default_factory=dict)

    def encoder(self) -> Encoder:
        """Return the encoder, not fitted."""
        return make_encoder(self.method, n_bits=self.n_bits, center=self.center, random_state=self.seed, **self.params)
