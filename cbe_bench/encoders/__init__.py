"""Every binary encoder, found by name; a method is one module, see `cbe_bench.encoders.registry`."""

from cbe_bench.encoders.base import Encoder
from cbe_bench.encoders.making import make_encoder
from cbe_bench.encoders.pca import PrincipalComponents
from cbe_bench.encoders.precondition import Preconditioned
from cbe_bench.encoders.rabitq import RaBitQ
from cbe_bench.encoders.registry import encoder_classes, register
from cbe_bench.encoders.saving import load_encoder, load_rabitq
from cbe_bench.encoders.thresholds import Thresholded

__all__ = [
    "Encoder",
    "Preconditioned",
    "PrincipalComponents",
    "RaBitQ",
    "Thresholded",
    "encoder_classes",
    "load_encoder",
    "load_rabitq",
    "make_encoder",
    "register",
]
